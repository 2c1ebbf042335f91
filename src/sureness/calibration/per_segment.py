"""One map for each domain, country or rank group, shrunk to the global map."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import clone
from sureness._types import FloatArray, IntArray, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.expressing import Conditional, logit_tree
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, Who, wide
from sureness.calibration.pair_fields import Fields, PairNumbers
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.usable import Reach, usable
from sureness.data.ids import IdMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, IdError, SettingError
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Case, Compare, Id, Is, Node, Number, clip
from sureness.metrics.cells import METRICS, Judged, cell_sums
from sureness.numerics.checks import same_length
from sureness.numerics.grouping import fold_of_groups
from sureness.numerics.hashing import folds_of_ids
from sureness.saving.packed import Form, Packed, Parts, kind_of, reals
from sureness.sources.base import ScoreSource, id_maps
from sureness.tables.id_values import segment_series

if TYPE_CHECKING:
    from sureness.calibration.list_sample import ListSample

_MOST_PAIRS = 5_000_000  # candidates of a recommender that are held in memory

STRENGTHS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, np.inf)
"""Positives at which a segment's own map and the global one weigh the same; the choices of ``strength="auto"``."""


class SegmentCalibrator(ProbabilityMap):
    """Any calibrator for each segment of the pairs, mixed with the global map.

    A segment with n positives gets ``share * own + (1 - share) * global`` with ``share = n / (n + strength)``, where n
    is the effective number of positives. A segment in which the calibrator cannot be fitted (one class only, say), and
    a segment never seen, gets the global map; a warning says how many of the latter there are. Within a segment the
    ranking stays; between segments it may change.

    Segments are ids, as users are: whole numbers, text, or true and false. 2.0 is the segment 2; a map of numbers that
    is asked for text refuses.

    Parameters
    ----------
    base : Calibrator, optional
        What to fit; Platt by default.
    strength : float or "auto"
        How many positives the global map is worth; "auto" takes the value that predicts held-out users best.
    n_folds : int
        Folds for "auto".
    seed : int

    Attributes
    ----------
    global_ : Calibrator
    segments_ : IdMap
        All segments of the fit.
    maps_ : dict of segment to Calibrator
        Only segments that could be fitted.
    shares_ : dict of segment to float
        How much of the own map a segment got.
    strength_ : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores, segments = rng.normal(size=4_000), np.repeat(["books", "films"], 2_000)
    >>> labels = rng.random(4_000) < 1 / (1 + np.exp(np.where(segments == "books", 3, 0) - scores))
    >>> calibrator = SegmentCalibrator().fit(scores, labels, segments=segments)
    >>> books, films = calibrator.probability([0.0, 0.0], segments=["books", "films"])
    >>> bool(books < calibrator.global_.probability([0.0])[0] < films)
    True
    """

    segments_: IdMap
    maps_: dict[str | int, Calibrator]
    shares_: dict[str | int, float]
    saved_as: ClassVar[Form] = "json"

    def __init__(
        self,
        base: Calibrator | None = None,
        *,
        strength: float | Literal["auto"] = "auto",
        n_folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.base = base
        self.strength = strength
        self.n_folds = n_folds
        self.seed = seed

    def fit(
        self,
        scores: ArrayLike | CalibrationSet,
        labels: ArrayLike | None = None,
        *,
        segments: ArrayLike | pl.Series,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> Self:
        """Learn the global map, the maps of the segments and how far to trust them.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,) or CalibrationSet
        labels : array-like of shape (n_pairs,), optional
            Needed with plain scores.
        segments : array-like of shape (n_pairs,)
            The segment of each pair, in the order of the pairs: whole numbers, text, or true and false.
        """
        data = CalibrationSet.given(scores, labels, sample_weight=sample_weight, propensity=propensity, users=users)
        names = segment_series(segments)
        if names.null_count():
            raise IdError("segments must not be missing; drop the pairs without one, or give them one")
        known = IdMap.of(names)
        codes = known.rows(names)

        def codes_of(pairs: ScoredPairs) -> IntArray:
            same_length(codes, len(pairs), "segments")
            return codes

        return self._fit_pairs(data, known, codes_of)

    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from the candidates of a recommender, or from a known share of them where they are many."""
        segments, source = observed.segments, observed.source
        if segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=Segments(names)")
        names = one_field(segments).names
        segments.check(source)
        known = IdMap.of(names)
        codes = known.rows(names)
        return self._fit_pairs(
            candidates_of(observed), known, lambda pairs: codes[rows_of(one_field(segments), source, pairs)]
        )

    def fit_sample(self, observed: Observed, sample: ListSample) -> Self:
        if observed.segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=Segments(names)")
        one_field(observed.segments)
        return self.fit(sample.pairs(observed), segments=sample.fields(observed)["segment"])

    def _fit_pairs(self, given: CalibrationSet, known: IdMap, codes_of: Callable[[ScoredPairs], IntArray]) -> Self:
        base = self._base()
        risk = given.resolve_risk(base.risk)
        pairs = given.gather(risk)
        codes, kept = codes_of(pairs), usable(pairs)
        if kept is not None:
            pairs, codes = pairs.take(kept), codes[kept]
        data = given.with_pairs(pairs)
        if self.strength == "auto":
            self.strength_ = self._best_strength(data, pairs, codes, risk)
        else:
            if isinstance(self.strength, str) or not self.strength >= 0:
                raise SettingError(f"strength must not be negative, got {self.strength!r}; give a number or 'auto'")
            self.strength_ = float(self.strength)
        self.global_ = base.fit_set(data)
        maps, positives = self._fit_segments(data, pairs, codes, risk, self.global_)
        names = known.ids.to_list()
        self.maps_ = {names[code]: own for code, own in maps.items()}
        self.shares_ = {names[code]: own_share(n, self.strength_) for code, n in positives.items()}
        return self._learned(known)

    @classmethod
    def of_fits(
        cls, settings: SegmentCalibrator, overall: Calibrator, maps: dict[str | int, Calibrator],
        positives: dict[str | int, float], strength: float, known: IdMap,
    ) -> Self:  # fmt: skip
        """Maps that were fitted elsewhere, with the effective number of positives of each segment."""
        made = cls(**settings.get_params(deep=False))
        made.global_, made.maps_, made.strength_ = overall, maps, strength
        made.shares_ = {name: own_share(n, strength) for name, n in positives.items()}
        return made._learned(known)

    def _learned(self, known: IdMap) -> Self:
        """Take over what the global map knows about itself, and number the segments that have a map of their own."""
        self.estimand_, self.horizon_ = self.global_.estimand_, self.global_.horizon_
        self.n_pairs_, self.score_range_ = self.global_.n_pairs_, self.global_.score_range_
        self.segments_ = known
        places = {name: number for number, name in enumerate(self.maps_)}
        self._numbers = np.array([places.get(name, -1) for name in known.ids.to_list()], dtype=np.int64)
        return self

    # --- using ------------------------------------------------------------------------------------------------------

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        if segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=, one for each score")
        numbers = self.segment_numbers(segments)
        same_length(numbers, n, "segments")
        return Who(n, segments=numbers)

    def segment_numbers(self, names: ArrayLike | pl.Series) -> IntArray:
        rows = self._segment_rows(segment_series(names))
        return np.where(rows < 0, -1, self._numbers[rows])

    def pair_numbers(self, told: Segments | Fields) -> PairNumbers:
        segments = one_field(told)
        return segments.numbered(self.segment_numbers(segments.names) + 1, first=1)

    def unknown_segments(self, names: ArrayLike | pl.Series) -> pl.Series:
        asked = segment_series(names)
        return asked.filter(pl.Series(self._segment_rows(asked) < 0))

    def _segment_rows(self, names: pl.Series) -> IntArray:
        if not len(names):  # an empty column has no kind
            return np.empty(0, dtype=np.int64)
        try:
            return self.segments_.rows(names)
        except IdError as error:
            raise IdError(f"segments are ids: {error}") from error

    def reach(self) -> Reach | None:
        return self.global_.reach()

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        result = self.global_.probability_of(scores, who)
        if who.segments is None:
            return result
        numbers = np.broadcast_to(wide(who.segments, scores), scores.shape)
        for number, name in enumerate(self.maps_):
            inside = numbers == number
            if inside.any():
                own = self.maps_[name].probability_of(scores[inside], Who(int(inside.sum())))
                result[inside] += self.shares_[name] * (own - result[inside])
        return np.clip(result, 0.0, 1.0)

    def _for_all(self, names: ColumnNames) -> Node:
        return self.global_._for_all(names)

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        own = [(self._is(name, names), self._of_segment(name, names)) for name in self.maps_]
        return [*self._unanswered(names), *own]

    def _unanswered(self, names: ColumnNames) -> list[Conditional]:
        return [(Is(names.reference_to("segment"), "missing"), None)]

    @staticmethod
    def _is(name: str | int, names: ColumnNames) -> Compare:
        return Compare("=", names.reference_to("segment"), Id(name))

    def _known(self, names: ColumnNames) -> Compare:
        own = Case(tuple((self._is(name, names), Number(1.0)) for name in self.maps_), Number(0.0))
        return Compare(">", own, Number(0.5))

    def log_odds_tree(self, score: Node, names: ColumnNames) -> Node:
        own = [(self._is(name, names), logit_tree(self._mixed(name, score))) for name in self.maps_]
        return Case(tuple(own), self.global_.log_odds_tree(score, names))

    def _of_segment(self, name: str | int, names: ColumnNames) -> Node:
        """The map of one segment: its own, mixed with the global one by its share."""
        number = list(self.maps_).index(name)

        def probability(scores: FloatArray) -> FloatArray:
            return self.probability_of(scores, Who(len(scores), segments=np.full(len(scores), number)))

        score = names.reference_to("score")
        return self.global_._where_defined(score, lambda known: self._mixed(name, known), probability)

    def _mixed(self, name: str | int, score: Node) -> Node:
        own, share = self.maps_[name], self.shares_[name]
        both = self.global_.formula_tree(score) * (1.0 - share) + own.formula_tree(score) * share
        return clip(both, 0.0, 1.0)

    def reads(self) -> tuple[str, ...]:
        return ("score", "segment")

    # --- inside -----------------------------------------------------------------------------------------------------

    def _base(self) -> Calibrator:
        return clone(self.base) if self.base is not None else PlattCalibrator()

    def _fit_segments(
        self, data: CalibrationSet, pairs: ScoredPairs, codes: IntArray, risk: Risk, overall: Calibrator
    ) -> tuple[dict[int, Calibrator], dict[int, float]]:
        maps: dict[int, Calibrator] = {}
        positives: dict[int, float] = {}
        for code, inside in _members(codes):
            part = data.with_pairs(pairs.take(inside))
            try:
                maps[code] = self._base().fit_set(part, level=overall.applied_level_)
            except DataError:  # one class, constant scores, no minimum: the global map serves this segment
                continue
            positives[code] = part.points(risk, exact_pairs=0).effective_positives
        return maps, positives

    def _best_strength(self, data: CalibrationSet, pairs: ScoredPairs, codes: IntArray, risk: Risk) -> float:
        """The strength with the smallest out-of-fold loss."""
        folds = self._folds(pairs)
        predicted = np.zeros((len(STRENGTHS), len(pairs)))
        for fold in np.unique(folds):
            inside, outside = folds == fold, folds != fold
            kept = data.with_pairs(pairs.take(outside))
            overall = self._base().fit_set(kept)
            maps, positives = self._fit_segments(data, pairs.take(outside), codes[outside], risk, overall)
            for row, strength in enumerate(STRENGTHS):
                shares = {code: own_share(n, strength) for code, n in positives.items()}
                predicted[row, inside] = _mixed(
                    pairs.scores[inside].astype(np.float64), codes[inside], overall, maps, shares
                )
        targets, weight = data.targets(pairs, risk)
        metric = METRICS["nll"]
        losses = [metric.finish(cell_sums(metric.cells(Judged(targets, row, weight), 1), weight)) for row in predicted]
        return float(STRENGTHS[int(np.argmin(losses))])

    def _folds(self, pairs: ScoredPairs) -> IntArray:
        """The fold of each pair: by a checksum of its user, so that Spark finds the same; without users, at random."""
        if pairs.users is None:
            return fold_of_groups(None, len(pairs), self.n_folds, np.random.default_rng(self.seed))
        folds = folds_of_ids(pairs.users, self.n_folds, self.seed)
        refuse_one_fold(len(np.unique(folds)))
        return folds

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), self.get_params(deep=False)
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        segments = [[name, own, self.shares_[name]] for name, own in self.maps_.items()]  # names may be any text
        without = [name for name in self.segments_.ids.to_list() if name not in self.maps_]
        state = {"global": self.global_, "segments": segments, "strength": self.strength_}
        state |= {"without_map": without} if without else {}
        about = {"estimand": self.estimand_, "horizon": self.horizon_.plain(), "pairs": self.n_pairs_}
        return Packed(kind=kind, settings=settings, state=state, about=about)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        calibrator = cls(**packed.settings)
        if packed.state:
            state = packed.state
            calibrator.global_, calibrator.strength_ = state["global"], float(state["strength"])
            calibrator.maps_ = {name: own for name, own, _ in state["segments"]}
            shares = reals([share for _, _, share in state["segments"]], low=0.0, high=1.0)
            calibrator.shares_ = dict(zip(calibrator.maps_, shares.tolist(), strict=True))
            if not all(isinstance(map_, Calibrator) for map_ in (calibrator.global_, *calibrator.maps_.values())):
                raise packed.damaged("some of its maps are none")
            calibrator._learned(IdMap.of([*calibrator.maps_, *state.get("without_map", [])]))
        return calibrator


def _mixed(
    scores: FloatArray, codes: IntArray, overall: Calibrator, maps: dict[int, Calibrator], shares: dict[int, float]
) -> FloatArray:
    """What maps of segments would say, each mixed with the global map by its share."""
    result = overall.probability_of(scores, Who(len(scores)))
    for code, inside in _members(codes):
        if code in maps:
            own = maps[code].probability_of(scores[inside], Who(len(inside)))
            result[inside] += shares[code] * (own - result[inside])
    return np.clip(result, 0.0, 1.0)


def one_field(segments: Segments | Fields) -> Segments:
    """The segments of a map with one for each; several fields are refused."""
    if isinstance(segments, Fields):
        raise SettingError(
            f"SegmentCalibrator has a map for each value of one field, got {', '.join(segments.names)}; take "
            "MultiSegmentCalibrator, or give segments=Segments(names)"
        )
    return segments


def candidates_of(observed: Observed) -> CalibrationSet:
    """The candidates of a recommender, or a known share of them where they are many."""
    n_pairs = observed.source.n_users * observed.source.n_items
    return CalibrationSet.of_observed(observed, sampling_rate=min(1.0, _MOST_PAIRS / n_pairs))


def rows_of(segments: Segments, source: ScoreSource, pairs: ScoredPairs) -> IntArray:
    """The row of each pair's user or item, whichever the segments are of."""
    users, items = id_maps(source)
    ids = pairs.users if segments.of == "users" else pairs.items
    assert ids is not None  # pairs of a source have users and items
    return (users if segments.of == "users" else items).rows(ids)


def refuse_one_fold(n_found: int) -> None:
    """Refuse to choose a strength where all users are in one fold."""
    if n_found < 2:
        raise SettingError(
            "strength='auto' is chosen by folds of users, and there are too few users for two folds; give a strength"
        )


def own_share(positives: float, strength: float) -> float:
    """How much a segment with so many positives has of its own map."""
    return 0.0 if np.isinf(strength) else positives / (positives + strength) if positives + strength else 0.0


def _members(codes: IntArray) -> list[tuple[int, IntArray]]:
    """Every segment's number, and the positions of its pairs."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return [(int(codes[inside[0]]), inside) for inside in np.split(order, starts[1:])] if len(codes) else []
