"""The question that every map answers: how likely are these scores?

Maps of pairs look at one score at a time: calibrators for all pairs, per segment and per user. Maps of lists look at
all candidates of a group. All are a `ProbabilityMap`, so a recommender, a report or a service asks any of them in the
same way.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._settings import Configurable
from sureness._types import AnyArray, Estimand, FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.expressing import Expressible
from sureness.calibration.fields import Fields, FieldTable
from sureness.calibration.horizon import Horizon
from sureness.calibration.list_terms import Groups
from sureness.calibration.usable import Reach
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import IdError, NotFittedError, SettingError
from sureness.numerics.checks import as_array, check_scores
from sureness.numerics.logistic import logit
from sureness.saving.packed import Packed, Parts, Savable, kind_of
from sureness.sources.aligned import Aligned, Seen
from sureness.sources.base import ScoreSource
from sureness.tables.id_values import segment_series

if TYPE_CHECKING:
    from sureness.calibration.list_sample import ListSample


class Who(NamedTuple):
    """For whom probabilities are asked, one entry per row of scores."""

    n: int  # rows of scores
    users: IntArray | None = None  # (n,) row of each user in the map, -1: unknown
    segments: IntArray | None = None  # (n,), or the shape of the scores; number in the map, -1: unknown
    groups: Groups | None = None  # of each row, for maps of lists

    def __repr__(self) -> str:
        return fields_repr(self)


@dataclass(frozen=True, eq=False)
class Segments(Savable):
    """The segment of every user, or of every item, of a source."""

    names: AnyArray  # (n_users,) or (n_items,) whole numbers or text
    of: Literal["users", "items"] = "items"

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        if self.of not in ("users", "items"):
            raise SettingError(f"segments are those of 'users' or of 'items', got {self.of!r}")
        names = segment_series(self.names)
        if names.null_count():
            raise IdError(f"all {len(names):,} {self.of} must have a segment, {names.null_count():,} of them without; "
                          "give those a segment of their own")  # fmt: skip
        object.__setattr__(self, "names", names.to_numpy())

    def check(self, source: ScoreSource) -> None:
        """Refuse segments of more or fewer users or items than a source has."""
        wanted = source.n_users if self.of == "users" else source.n_items
        if len(self.names) != wanted:
            what = counted(wanted, self.of.removesuffix("s"))
            raise SettingError(
                f"segments must name the segment of each of {what} of the source, got {len(self.names):,}"
            )

    @classmethod
    def of_domains(cls, log: Interactions) -> Self:
        """The domain of every item of a log."""
        if log.item_domain is None:
            raise SettingError("the log has no domains to take for segments; give segments=Segments(names)")
        return cls(log.item_domain.fill_null("").to_numpy())

    def of_pairs(self, user_rows: IntArray, item_rows: IntArray) -> AnyArray:
        """The segment of each pair, given as rows of the source."""
        return np.asarray(self.names[user_rows if self.of == "users" else item_rows])

    def pack(self) -> Packed:
        known = IdMap.of(self.names)
        arrays, parts = {"numbers": known.rows(self.names)}, {"names": known.pack()}
        return Packed(kind=kind_of("saved", type(self)), state={"of": self.of}, arrays=arrays, parts=parts)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        names = parts["names"].at(packed.arrays["numbers"])
        return cls(names, cast(Literal["users", "items"], packed.state["of"]))


@dataclass(frozen=True, eq=False)
class Observed:
    """A recommender and what became of its candidates: what maps are fitted to."""

    source: ScoreSource
    held_out: Interactions
    seen: Interactions | None = None
    segments: Segments | Fields | None = None
    progress: Progress = silent

    __repr__ = fields_repr

    @property
    def horizon(self) -> Horizon:
        """The period that was held out."""
        return Horizon.of_split(self.held_out, self.seen)


class ProbabilityMap(Expressible, Configurable, Savable):
    """Turns scores into probabilities, for any users and segments.

    Learned values end in an underscore: ``estimand_`` is what a probability is of, ``horizon_`` of which
    period and of which pairs.
    """

    learns_from_labels: ClassVar[bool] = True
    """Whether labels decide the map; False for references that only rescale scores."""

    estimand_: Estimand
    horizon_: Horizon

    @property
    def meaning(self) -> str:
        """What happens to an item with the probability of this map, in words."""
        self.check_fitted()
        return self.horizon_.sentence if self.estimand_ == "interaction" else "liked by the user who sees it"

    def learned_facts(self) -> dict[str, str]:
        """What was learned, as short texts by name; maps per user or segment have no single set of parameters."""
        if not hasattr(self, "estimand_"):
            return {}
        shown = getattr(self, "base_", self)
        facts = {name: f"{value:.6g}" for name, value in getattr(shown, "natural_parameters_", {}).items()}
        facts["estimand"] = self.estimand_
        if (n_pairs := getattr(self, "n_pairs_", None)) is not None:
            facts["fitted on"] = counted(n_pairs, "pair")
        if (fitted_range := getattr(self, "score_range_", None)) is not None:
            facts["scores from"] = f"{fitted_range[0]:.4g} to {fitted_range[1]:.4g}"
        if others := self.reads()[1:]:
            facts["reads"] = ", ".join(("score", *others))
        return facts

    # --- asked by id ------------------------------------------------------------------------------------------------

    def probability(
        self, scores: ArrayLike, *, users: ArrayLike | None = None, segments: FieldTable | ArrayLike | None = None
    ) -> FloatArray:
        """Probabilities of scores, in the same order.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,)
        users : array-like of shape (n_pairs,), optional
            The id of each pair's user; needed by maps that differ between users. Unknown users get the global map.
        segments : array-like of shape (n_pairs,), table, or mapping of names to columns; optional
            The segment or the fields of each pair, for maps that differ between them: one plain value stands for all
            pairs. Unknown segments get the global map; unknown values of a field add nothing, with a warning.

        Returns
        -------
        array of shape (n_pairs,)
        """
        checked, who = self.asked(scores, users, segments)
        if (reach := self.reach()) is not None:
            reach.count(checked)
            reach.warn()
        return self.probability_of(checked, who)

    def log_odds(
        self, scores: ArrayLike, *, users: ArrayLike | None = None, segments: FieldTable | ArrayLike | None = None
    ) -> FloatArray:
        """The same as log-odds, which are infinite where a probability is 0 or 1."""
        checked, who = self.asked(scores, users, segments)
        return self.log_odds_of(checked, who)

    def reads(self) -> tuple[str, ...]:
        """The columns that the map looks at, by their usual names: score first."""
        return ("score",)

    def reach(self) -> Reach | None:
        """The scores that the map was fitted on, to compare others with; None: there is no such range."""
        return None

    def who(self, n: int, users: ArrayLike | None = None, segments: FieldTable | ArrayLike | None = None) -> Who:
        """For whom is asked, in this map's own rows."""
        return Who(n)

    # --- asked by row: what recommenders and services do -------------------------------------------------------------

    @abstractmethod
    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        """Probabilities of scores of shape (n,) or (n, n_candidates); 0 where a score is -inf: no candidate."""

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        """Log-odds of scores of shape (n,) or (n, n_candidates); -inf where there is no candidate, never NaN."""
        return logit(self.probability_of(scores, who))

    def fits(self, users: IdMap) -> bool:
        """Whether rows of these users are rows of this map."""
        return True

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit_source(
        self,
        source: ScoreSource,
        held_out: Interactions,
        *,
        seen: Seen = None,
        segments: Segments | Fields | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from the candidates of a recommender, labelled by what was held out.

        Parameters
        ----------
        source : ScoreSource
        held_out : Interactions
            The positives; every other candidate is a negative.
        seen : Interactions or "nothing", optional
            The training log, whose pairs are not candidates; "nothing": every pair is one.
        segments : Segments or Fields, optional
            Needed by maps that differ between segments; fields for those of several.
        progress : Progress
        """
        aligned = Aligned.of(source, held_out, seen)
        return self._fit_observed(Observed(source, aligned.held_out, aligned.seen, segments, progress))

    @abstractmethod
    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from what was observed of a recommender's candidates."""

    def fit_sample(self, observed: Observed, sample: ListSample) -> Self:
        """Learn for lists, from the best candidates of some users; by default from all candidates."""
        return self._fit_observed(observed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted map to one file; `sureness.load` opens it again."""
        self.check_fitted()
        super().save(path)

    # --- inside -----------------------------------------------------------------------------------------------------

    def asked(
        self, scores: ArrayLike, users: ArrayLike | None, segments: FieldTable | ArrayLike | None
    ) -> tuple[FloatArray, Who]:
        """Checked scores, and for whom they are, in this map's own rows."""
        self.check_fitted()
        given = as_array(scores, "scores")
        checked = check_scores(given).astype(np.float64, copy=False) if given.size else np.empty(0)
        who = self.who(len(checked), users, segments)
        return checked, who

    def check_fitted(self) -> None:
        """Refuse to answer before `fit`."""
        if not hasattr(self, "estimand_"):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")


def check_map(given: object) -> ProbabilityMap:
    """A map of any kind; anything else is refused."""
    if not isinstance(given, ProbabilityMap):
        raise SettingError(
            f"a calibrator must be a map such as ListCalibrator() or PlattCalibrator(), got {given!r}; "
            "make_calibrator gives one by name"
        )
    return given


def wide(per_row: AnyArray, scores: AnyArray) -> AnyArray:
    """Values of rows in a shape that fits scores of shape (n,) or (n, n_candidates)."""
    return per_row[:, None] if scores.ndim > per_row.ndim else per_row
