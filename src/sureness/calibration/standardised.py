"""Maps of scores that are compared within a user: what they know of each user."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.artefacts.packed import JSON, Packed, Parts, kind_of
from sureness.calibration.expressing import Conditional, tame
from sureness.calibration.families import TREE, rising_curve
from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import ProbabilityMap, Who, wide
from sureness.calibration.reach import Reach
from sureness.data.ids import IdMap
from sureness.errors import IdError, SettingError
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Is, Named, Node, coalesce
from sureness.numerics.rising_curve import RisingCurve

_MOST_DEVIATIONS = 20.0  # between two of 200 numbers: none of them can be further apart


def at_rows(values: FloatArray, rows: IntArray, otherwise: float) -> FloatArray:
    """The value of each row, and another one where the row is unknown (-1).

    Examples
    --------
    >>> at_rows(np.array([0.5, 0.7]), np.array([1, -1]), 0.6).tolist()
    [0.7, 0.6]
    """
    return np.where(rows < 0, otherwise, values[rows])


class StandardisedTree(NamedTuple):
    """A standardised score as a tree."""

    inside: Node  # not below that of the user's last fitted candidate, where another curve goes on
    behind: Node | None  # what that curve adds to the log-odds; None: there is none


class StandardisedMap(ProbabilityMap):
    """A map of scores in standard deviations from the mean of the user's fitted ones.

    The scale of scores differs between users more than their meaning does. Users that the map does not know have the
    mean of all users in everything.
    """

    LEARNED: ClassVar[dict[str, str]]
    """What is learned about each user, and what it is called in files and tables."""

    users_: IdMap
    location_: FloatArray
    scale_: FloatArray
    expected_relevant_: FloatArray
    beyond_: FloatArray
    last_: FloatArray
    behind_: RisingCurve | None

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        if users is None:
            raise SettingError(f"{type(self).__name__} compares scores within a user; give users=, one id for each")
        rows = self.users_.rows(users) if n else np.empty(0, dtype=np.int64)
        if len(rows) != n:
            raise IdError(f"users must be one id for each of the {counted(n, 'score')}, got {len(rows):,}")
        return Who(n, users=rows)

    def fits(self, users: IdMap) -> bool:
        return self.users_.same_as(users)

    def expected_count(self, who: Who) -> FloatArray:
        return self._of_users(self.expected_relevant_, who)

    def expected_beyond(self, who: Who) -> FloatArray:
        return self._of_users(self.beyond_, who)

    def reach(self) -> Reach | None:
        """Only scores far above those of all users are strange; lower ones are those of candidates behind the best."""
        self.check_fitted()
        known = getattr(self, "_reach", None)
        if known is None or known[0] is not self.location_:  # of this fit
            lowest = float((self.location_ - _MOST_DEVIATIONS * self.scale_).min())
            highest = float((self.location_ + _MOST_DEVIATIONS * self.scale_).max())
            self._reach = known = (self.location_, lowest, highest)
        return Reach(known[1], known[2], self._n_fitted(), upwards=True)

    @abstractmethod
    def _n_fitted(self) -> int:
        """How many pairs it was fitted on."""

    @staticmethod
    def _rows(who: Who) -> IntArray:
        if who.users is None:
            raise SettingError("scores are compared within a user here; give users=")
        return who.users

    def _of_users(self, values: FloatArray, who: Who) -> FloatArray:
        """A learned value of each user; of an unknown one the mean over all."""
        rows = self._rows(who)
        return at_rows(values, rows, float(values.mean()) if len(rows) and rows.min() < 0 else 0.0)

    def _standardised(self, scores: FloatArray, who: Who) -> FloatArray:
        """Scores of shape (n,) or (n, n_candidates) in standard deviations from the mean of each user."""
        location, scale = (wide(self._of_users(values, who), scores) for values in (self.location_, self.scale_))
        return np.asarray((scores - location) / scale)

    def _below(self, standardised: FloatArray, rows: IntArray) -> FloatArray | None:
        """How far scores are below those of the fitted candidates, where another curve goes on; None: nowhere."""
        if self.behind_ is None:
            return None
        last = wide(at_rows(self.last_, rows, float(self.last_.mean())), standardised)
        below = standardised < last
        if not below.any():
            return None
        return np.where(below & np.isfinite(standardised), standardised - last, 0.0)

    # --- as an expression -------------------------------------------------------------------------------------------

    def _standardised_tree(self, names: ColumnNames) -> StandardisedTree:
        """A score in standard deviations from the mean of the user, and what lies behind the fitted candidates."""
        location, scale, last = (self._learned_tree(each, names) for each in ("location", "scale", "last"))
        standardised = Named("standardised", (tame(names.reference_to("score")) - location) / scale)
        curve = self.behind_
        if curve is None:
            return StandardisedTree(standardised, None)
        above = standardised - last
        below = Named("below", (above - TREE.absolute(above)) * 0.5)
        behind = rising_curve(below, curve.knots, curve.slopes, TREE) + curve.intercept
        return StandardisedTree(Named("inside", standardised - below), behind)

    def _learned_tree(self, column: str, names: ColumnNames) -> Node:
        """A column of the joined table; users who are not in it have the mean of all."""
        attribute = next(each for each, name in self.LEARNED.items() if name == column)
        return coalesce(names.learned(column), float(getattr(self, attribute).mean()))

    def _unanswered(self, names: ColumnNames) -> list[Conditional]:
        return [(Is(names.reference_to("user"), "missing"), None)]

    def _joined_users(self) -> Literal["text", "numbers"]:
        self.check_fitted()
        return "text" if self.users_.ids.dtype == pl.String else "numbers"

    def table(self) -> pl.DataFrame:
        """Everything that was learned about each user, one row per user: what `query` joins."""
        self.check_fitted()
        columns: dict[str, Any] = {"user_id": self.users_.ids}
        for attribute, name in self.LEARNED.items():
            values = getattr(self, attribute)
            columns |= {name: values} if values.ndim == 1 else {f"{name}_{n}": each for n, each in enumerate(values.T)}
        return pl.DataFrame(columns)

    # --- saving -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _of_all(self) -> tuple[str, ProbabilityMap]:
        """The map that all users have in common, and what it is called in files."""

    def _own_state(self) -> dict[str, JSON]:
        """What else is learned, as JSON."""
        return {}

    @abstractmethod
    def _restore(self, state: dict[str, Any], parts: Parts) -> None:
        """Take over the calibrator for all users, and what `_own_state` returned."""

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), self.get_params(deep=False)
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        name, of_all = self._of_all()
        about: dict[str, JSON] = {"estimand": self.estimand_, "horizon": self.horizon_.plain()}
        return Packed(
            kind=kind,
            settings=settings,
            state={**self._own_state(), "behind": None if self.behind_ is None else self.behind_.plain()},
            arrays={name: getattr(self, attribute) for attribute, name in self.LEARNED.items()},
            parts={name: of_all.pack(), "users": self.users_.pack()},
            about={**about, "users": len(self.users_), "pairs": self._n_fitted()},
        )

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        calibrator = cls(**packed.settings)
        if not packed.arrays:
            return calibrator
        state: dict[str, Any] = dict(packed.state)
        for attribute, name in cls.LEARNED.items():
            setattr(calibrator, attribute, packed.arrays[name])
        calibrator.behind_ = None if state["behind"] is None else RisingCurve.of(state["behind"])
        calibrator.users_ = parts.opened("users", IdMap)
        calibrator.estimand_, calibrator.horizon_ = "interaction", Horizon.of(packed.about["horizon"])
        calibrator._restore(state, parts)
        return calibrator
