"""Several maps in a row: the first one that knows a user or segment answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._progress import part_of
from sureness._settings import clone, written
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.artefacts.packed import Packed, Parts, kind_of
from sureness.calibration.expressing import Conditional
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, Who, check_map, wide
from sureness.calibration.pair_fields import Fields, PairNumbers
from sureness.calibration.reach import Reach
from sureness.calibration.standardised import StandardisedMap
from sureness.data.ids import IdMap
from sureness.errors import NotFittedError, SettingError
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Node


class MapChain(ProbabilityMap):
    """Maps that are asked one after the other: that of the user, then that of the segment, then that of all.

    Parameters
    ----------
    links : sequence of ProbabilityMap
        From the most specific to the most general. The last one answers for everybody else.

    Attributes
    ----------
    links_ : tuple of ProbabilityMap
        The fitted maps.

    Examples
    --------
    >>> from sureness.calibration.parametric import PlattCalibrator
    >>> from sureness.calibration.per_segment import SegmentCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores, segments = rng.normal(size=4_000), np.repeat(["books", "films"], 2_000)
    >>> labels = rng.random(4_000) < 1 / (1 + np.exp(np.where(segments == "books", 3, 0) - scores))
    >>> chain = MapChain.of(
    ...     SegmentCalibrator().fit(scores, labels, segments=segments), PlattCalibrator().fit(scores, labels)
    ... )
    >>> chain.answered_by(chain.who(2, segments=["films", "games"])).tolist()  # a segment, and all
    [1, 0]
    """

    def __init__(self, links: Sequence[ProbabilityMap] = ()) -> None:
        self.links = links

    @classmethod
    def of(cls, *fitted: ProbabilityMap) -> Self:
        """A chain of maps that are fitted already; they are used as they are."""
        chain = cls(fitted)
        return chain._linked(fitted)

    def _fit_observed(self, observed: Observed) -> Self:
        """Fit a copy of every link to the candidates of a recommender."""
        count = len(self.links)
        parts = [part_of(observed.progress, number, count, link.answers_for) for number, link in enumerate(self.links)]
        return self._linked([
            clone(check_map(link))._fit_observed(replace(observed, progress=part))
            for link, part in zip(self.links, parts, strict=True)
        ])  # fmt: skip

    def _linked(self, fitted: Sequence[ProbabilityMap]) -> Self:
        if not fitted:
            raise SettingError("a chain needs at least one map, got none")
        for link in fitted:
            check_map(link).check_fitted()
        fitted = [part for link in fitted for part in getattr(link, "links_", (link,))]  # also those of inner chains
        self._refuse_twice(fitted)
        self._refuse_other_users(fitted)
        if len({link.estimand_ for link in fitted}) > 1:
            known = ", ".join(f"{written(link)}: {link.estimand_}" for link in fitted)
            raise SettingError(f"all maps of a chain must estimate the same, got {known}")
        if other := next((link for link in fitted if fitted[0].horizon_.differs(link.horizon_)), None):
            known = f"{fitted[0]!r}: {fitted[0].horizon_}, and {other!r}: {other.horizon_}"
            raise SettingError(f"all maps of a chain must be about periods of one length, got {known}; fit one again")
        if other := next((link for link in fitted if fitted[0].horizon_.other_pairs(link.horizon_)), None):
            known = f"{fitted[0]!r}: {fitted[0].horizon_.pairs}, and {other!r}: {other.horizon_.pairs}"
            raise SettingError(f"all maps of a chain must be about the same pairs, got {known}; fit all with one seen=")
        self.links_ = tuple(fitted)
        self.top = fitted[0].top
        self.estimand_, self.horizon_ = fitted[0].estimand_, fitted[0].horizon_
        return self

    @staticmethod
    def _refuse_twice(fitted: Sequence[ProbabilityMap]) -> None:
        """Rows of users and numbers of segments are those of one link, so a second one would answer for others."""
        whose: list[str] = [link.answers_for for link in fitted]
        twice = next((each for each in ("user", "segment") if whose.count(each) > 1), None)
        if twice is not None:
            raise SettingError(
                f"a chain can have only one link with a map per {twice}, got {whose.count(twice)}; leave the others out"
            )

    @staticmethod
    def _refuse_other_users(fitted: Sequence[ProbabilityMap]) -> None:
        """Rows of users must be the same in all links that know users."""
        known = [link.users_ for link in fitted if isinstance(link, StandardisedMap)]
        if not all(known[0].same_as(users) for users in known[1:]):
            raise SettingError("the maps of a chain are fitted to different users; fit them all to one source")

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        found = [(link.answers_for, link.who(n, users, segments)) for link in self._fitted()]
        of_users = next((who.users for _, who in found if who.users is not None), None)
        of_segments = next((who.segments for answers, who in found if answers == "segment"), None)
        return Who(n, of_users, of_segments)

    def segment_numbers(self, names: ArrayLike | pl.Series) -> IntArray | None:
        found = (link.segment_numbers(names) for link in self._fitted())
        return next((numbers for numbers in found if numbers is not None), None)

    def pair_numbers(self, told: Segments | Fields) -> PairNumbers | None:
        found = (link.pair_numbers(told) for link in self._fitted())
        return next((numbers for numbers in found if numbers is not None), None)

    def unknown_of(self, table: pl.DataFrame) -> dict[str, pl.Series]:
        return next((found for link in self._fitted() if (found := link.unknown_of(table))), {})

    def unknown_segments(self, names: ArrayLike | pl.Series) -> pl.Series:
        found = (link.unknown_segments(names) for link in self._fitted() if link.answers_for == "segment")
        return next(found, super().unknown_segments(names))

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        *specific, last = self._fitted()
        result = last.probability_of(scores, who)
        for link in reversed(specific):
            result = np.where(wide(link.knows(who), scores), link.probability_of(scores, who), result)
        return result

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        *specific, last = self._fitted()
        result = last.log_odds_of(scores, who)
        for link in reversed(specific):
            result = np.where(wide(link.knows(who), scores), link.log_odds_of(scores, who), result)
        return result

    def _for_all(self, names: ColumnNames) -> Node:
        *_, (last, own) = self._asked_with(names)
        return last._for_all(own)

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        return [each for link, own in self._asked_with(names) for each in link._for_some(own)]

    def _asked_with(self, names: ColumnNames) -> Iterator[tuple[ProbabilityMap, ColumnNames]]:
        """The links that are asked, with the names of what each has learned about users in the joined table."""
        joined = 0
        for link in self._asked():
            yield link, replace(names, suffix=f"_{joined + 1}" if joined else "")
            joined += link.joins_users

    def table(self) -> pl.DataFrame:
        """What all links have learned about each user; columns of the second link that has any end in _2."""
        tables = [link.table() for link in self._asked() if link.joins_users]
        if not tables:
            return super().table()
        more = [table.drop("user_id").select(pl.all().name.suffix(f"_{n}")) for n, table in enumerate(tables[1:], 2)]
        return pl.concat([tables[0], *more], how="horizontal")

    def _asked(self) -> tuple[ProbabilityMap, ...]:
        """The links up to the first one that answers for everybody."""
        links = self._fitted()
        last = next((number for number, link in enumerate(links) if link.answers_for == "all"), len(links) - 1)
        return links[: last + 1]

    def _joined_users(self) -> Literal["text", "numbers"] | None:
        return next((kind for link in self._asked() if (kind := link._joined_users()) is not None), None)

    def knows(self, who: Who) -> BoolArray:
        return np.ones(who.n, dtype=bool)

    def fits(self, users: IdMap) -> bool:
        return all(link.fits(users) for link in self._fitted())

    def answered_by(self, who: Who) -> IntArray:
        *specific, last = self._fitted()
        result = last.answered_by(who)
        for link in reversed(specific):
            known, own = link.knows(who), link.answered_by(who)
            deepest = max(known, result, key=np.ndim)  # items of one user may belong to several segments
            result = np.where(wide(known, deepest), wide(own, deepest), wide(result, deepest))
        return result

    def reach(self) -> Reach | None:
        return self._fitted()[-1].reach()

    def expected_count(self, who: Who) -> FloatArray:
        return self._first_known([link.expected_count(who) for link in self._fitted()])

    def expected_beyond(self, who: Who) -> FloatArray:
        return self._first_known([link.expected_beyond(who) for link in self._fitted()])

    @staticmethod
    def _first_known(found: list[FloatArray]) -> FloatArray:
        result = found[-1]
        for values in reversed(found[:-1]):
            result = np.where(np.isnan(values), result, values)
        return result

    def _fitted(self) -> tuple[ProbabilityMap, ...]:
        if not hasattr(self, "links_"):
            raise NotFittedError(
                "MapChain is not fitted yet; call fit_source, or make it of fitted maps with MapChain.of"
            )
        return self.links_

    def pack(self) -> Packed:
        links: dict[str, Any] = {f"link{number}": link.pack() for number, link in enumerate(self._fitted())}
        return Packed(kind=kind_of("map", type(self)), parts=links, about={"estimand": self.estimand_})

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        return cls.of(*(parts[name] for name in packed.parts))
