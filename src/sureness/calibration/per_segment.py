"""One map for each domain, country or rank group, shrunk to the global map."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sureness._settings import clone
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray, Risk
from sureness.artefacts.packed import Form, Packed, Parts, kind_of, plain, revived, revived_settings, settings_of
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.maps import Observed, ProbabilityMap, Who, wide
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, SettingError
from sureness.metrics.cells import METRICS, Judged, cell_sums
from sureness.numerics.checks import check_ids
from sureness.numerics.grouping import fold_of_groups, group_codes
from sureness.sources.base import id_maps

_MOST_PAIRS = 5_000_000  # candidates of a recommender that are held in memory

STRENGTHS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, np.inf)
"""Positives at which a segment's own map and the global one weigh the same; the choices of ``strength="auto"``."""


class SegmentCalibrator(ProbabilityMap):
    """Any calibrator for each segment of the pairs, mixed with the global map.

    A segment with n positives gets ``share * own + (1 - share) * global`` with ``share = n / (n + strength)``, where n
    is the effective number of positives. A segment in which the calibrator cannot be fitted (one class only, say), and
    a segment never seen, gets the global map. Within a segment the ranking stays; between segments it may change.

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
    maps_ : dict of segment name to Calibrator
        Only segments that could be fitted.
    shares_ : dict of segment name to float
        How much of the own map a segment got.
    strength_ : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores, segments = rng.normal(size=4_000), np.repeat(["books", "films"], 2_000)
    >>> labels = rng.random(4_000) < 1 / (1 + np.exp(np.where(segments == "books", 3, 0) - scores))
    >>> calibrator = SegmentCalibrator().fit(scores, labels, segments=segments)
    >>> books, films, unknown = calibrator.probability([0.0, 0.0, 0.0], segments=["books", "films", "games"])
    >>> bool(books < unknown < films)
    True
    """

    answers_for: ClassVar[Literal["all", "segment", "user"]] = "segment"
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
        segments: ArrayLike,
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
            The segment of each pair, in the order of the pairs.
        """
        if not isinstance(scores, CalibrationSet):
            if labels is None:
                raise SettingError("fit needs labels beside the scores, got none; give labels of 0 and 1")
            scores = CalibrationSet.from_pairs(
                scores, labels, sample_weight=sample_weight, propensity=propensity, users=users
            )
        return self._fit_pairs(scores, lambda pairs: check_ids(segments, len(pairs), "segments"))

    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from the candidates of a recommender, or from a known share of them where they are many."""
        segments, source = observed.segments, observed.source
        if segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=Segments(names)")
        segments.check(source)
        n_pairs = source.n_users * source.n_items
        data = CalibrationSet.of_observed(observed, sampling_rate=min(1.0, _MOST_PAIRS / n_pairs))
        users, items = id_maps(source)

        def names_of(pairs: ScoredPairs) -> AnyArray:
            return segments.of_pairs(users.rows(_known(pairs.users)), items.rows(_known(pairs.items)))

        return self._fit_pairs(data, names_of)

    def _fit_pairs(self, given: CalibrationSet, names_of: Callable[[ScoredPairs], AnyArray]) -> Self:
        base = self._base()
        risk = given.resolve_risk(base.risk)
        pairs = given.gather(risk)
        data, names = given.with_pairs(pairs), names_of(pairs)
        if self.strength == "auto":
            self.strength_ = self._best_strength(data, pairs, names, risk)
        else:
            if isinstance(self.strength, str) or not self.strength >= 0:
                raise SettingError(f"strength must not be negative, got {self.strength!r}; give a number or 'auto'")
            self.strength_ = float(self.strength)
        self.global_ = base.fit_set(data)
        self.maps_, positives = self._fit_segments(data, pairs, names, risk, self.global_)
        self.shares_ = {name: _share(n, self.strength_) for name, n in positives.items()}
        return self._learned()

    def _learned(self) -> Self:
        """Take over what the global map knows about itself."""
        self.estimand_, self.horizon_ = self.global_.estimand_, self.global_.horizon_
        self.n_pairs_, self.score_range_ = self.global_.n_pairs_, self.global_.score_range_
        return self

    # --- using ------------------------------------------------------------------------------------------------------

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        if segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=, one for each score")
        return Who(n, segments=self.segment_numbers(check_ids(segments, n, "segments")))

    def segment_numbers(self, names: AnyArray) -> IntArray:
        """The number of each segment in this map, -1 where it has no map of its own."""
        known = {name: number for number, name in enumerate(self.maps_)}
        numbers = np.full(len(names), -1, dtype=np.int64)
        for name, inside in _members(names):
            numbers[inside] = known.get(name, -1)
        return numbers

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

    def knows(self, who: Who) -> BoolArray:
        return np.zeros(who.n, dtype=bool) if who.segments is None else who.segments >= 0

    # --- inside -----------------------------------------------------------------------------------------------------

    def _base(self) -> Calibrator:
        return clone(self.base) if self.base is not None else PlattCalibrator()

    def _fit_segments(
        self, data: CalibrationSet, pairs: ScoredPairs, names: AnyArray, risk: Risk, overall: Calibrator
    ) -> tuple[dict[str, Calibrator], dict[str, float]]:
        maps: dict[str, Calibrator] = {}
        positives: dict[str, float] = {}
        for name, inside in _members(names):
            part = data.with_pairs(pairs.take(inside))
            try:
                maps[name] = self._base().fit_set(part, level=overall.applied_level_)
            except DataError:  # one class, constant scores, no minimum: the global map serves this segment
                continue
            positives[name] = part.points(risk, exact_pairs=0).effective_positives
        return maps, positives

    def _best_strength(self, data: CalibrationSet, pairs: ScoredPairs, names: AnyArray, risk: Risk) -> float:
        """The strength with the smallest out-of-fold loss."""
        folds = fold_of_groups(pairs.users, len(pairs), self.n_folds, np.random.default_rng(self.seed))
        predicted = np.zeros((len(STRENGTHS), len(pairs)))
        for fold in range(self.n_folds):
            inside, outside = folds == fold, folds != fold
            kept = data.with_pairs(pairs.take(outside))
            overall = self._base().fit_set(kept)
            maps, positives = self._fit_segments(data, pairs.take(outside), names[outside], risk, overall)
            for row, strength in enumerate(STRENGTHS):
                shares = {name: _share(n, strength) for name, n in positives.items()}
                predicted[row, inside] = _mixed(
                    pairs.scores[inside].astype(np.float64), names[inside], overall, maps, shares
                )
        targets, weight = data.targets(pairs, risk)
        metric = METRICS["nll"]
        losses = [metric.finish(cell_sums(metric.cells(Judged(targets, row, weight), 1), weight)) for row in predicted]
        return float(STRENGTHS[int(np.argmin(losses))])

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), settings_of(self)
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        segments = [[name, own, self.shares_[name]] for name, own in self.maps_.items()]  # names may be any text
        state = {"global": plain(self.global_), "segments": plain(segments), "strength": plain(self.strength_)}
        about = {"estimand": self.estimand_, "horizon": self.horizon_.plain(), "pairs": self.n_pairs_}
        return Packed(kind=kind, settings=settings, state=state, about=about)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        calibrator = cls(**revived_settings(packed))
        if packed.state:
            state = {name: revived(value) for name, value in packed.state.items()}
            calibrator.global_, calibrator.strength_ = state["global"], float(state["strength"])
            calibrator.maps_ = {name: own for name, own, _ in state["segments"]}
            calibrator.shares_ = {name: float(share) for name, _, share in state["segments"]}
            calibrator._learned()
        return calibrator


def _mixed(
    scores: FloatArray, names: AnyArray, overall: Calibrator, maps: dict[str, Calibrator], shares: dict[str, float]
) -> FloatArray:
    """What maps of segments would say, each mixed with the global map by its share."""
    result = overall.probability(scores)
    for name, inside in _members(names):
        if name in maps:
            own = maps[name].probability(scores[inside])
            result[inside] += shares[name] * (own - result[inside])
    return np.clip(result, 0.0, 1.0)


def _known(ids: AnyArray | None) -> AnyArray:
    assert ids is not None  # pairs of a source have users and items
    return ids


def _share(positives: float, strength: float) -> float:
    return 0.0 if np.isinf(strength) else positives / (positives + strength) if positives + strength else 0.0


def _members(names: AnyArray) -> list[tuple[str, IntArray]]:
    """Every segment's name, as text, and the positions of its pairs."""
    codes, n_groups = group_codes(names)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(n_groups + 1))
    groups = [order[bounds[code] : bounds[code + 1]] for code in range(n_groups)]
    return [(str(names[inside[0]]), inside) for inside in groups]
