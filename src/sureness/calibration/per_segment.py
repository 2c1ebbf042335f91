"""One map for each domain, country or rank group, shrunk to the map of all."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sureness._settings import Configurable, clone
from sureness._types import AnyArray, Estimand, FloatArray, IntArray, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, NotFittedError
from sureness.metrics.calibration import METRICS, Judged, cell_sums
from sureness.numerics.checks import check_ids, check_scores
from sureness.numerics.grouping import fold_of_groups, group_codes

STRENGTHS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, np.inf)
"""Positives at which a segment's own map and the global one weigh the same; the choices of ``strength="auto"``."""


class SegmentCalibrator(Configurable):
    """Any calibrator for each segment of the pairs, mixed with the map of all pairs.

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
    >>> books, films, unknown = calibrator.probability([0.0, 0.0, 0.0], ["books", "films", "games"])
    >>> bool(books < unknown < films)
    True
    """

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
                raise DataError("fit needs labels beside the scores, got none; give labels of 0 and 1")
            scores = CalibrationSet.from_pairs(
                scores, labels, sample_weight=sample_weight, propensity=propensity, users=users
            )
        base = self._base()
        risk = scores.resolve_risk(base.risk)
        pairs = scores.gather(risk)
        data = scores.with_pairs(pairs)
        names = check_ids(segments, len(pairs), "segments")
        if self.strength == "auto":
            self.strength_ = self._best_strength(data, pairs, names, risk)
        else:
            if isinstance(self.strength, str) or not self.strength >= 0:
                raise DataError(f"strength must not be negative, got {self.strength!r}; give a number or 'auto'")
            self.strength_ = float(self.strength)
        self.global_ = base.fit_set(data)
        self.maps_, positives = self._fit_segments(data, pairs, names, risk, self.global_)
        self.shares_ = {name: _share(n, self.strength_) for name, n in positives.items()}
        self.estimand_: Estimand = self.global_.estimand_
        self.n_pairs_, self.score_range_ = self.global_.n_pairs_, self.global_.score_range_
        return self

    def probability(self, scores: ArrayLike, segments: ArrayLike) -> FloatArray:
        """Probabilities of scores in their segments; unknown segments get the global map."""
        if not hasattr(self, "global_"):
            raise NotFittedError("SegmentCalibrator is not fitted yet; call fit(scores, labels, segments=...) first")
        checked = check_scores(scores).astype(np.float64)
        return self._mixed(
            checked, check_ids(segments, len(checked), "segments"), self.global_, self.maps_, self.shares_
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted calibrator to a JSON file; `sureness.load` reads it back."""
        from sureness.calibration.saving import save_calibrator

        save_calibrator(self, path)

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
                predicted[row, inside] = self._mixed(
                    pairs.scores[inside].astype(np.float64), names[inside], overall, maps, shares
                )
        targets, weight = data.targets(pairs, risk)
        metric = METRICS["nll"]
        losses = [metric.finish(cell_sums(metric.cells(Judged(targets, row, weight), 1), weight)) for row in predicted]
        return float(STRENGTHS[int(np.argmin(losses))])

    @staticmethod
    def _mixed(
        scores: FloatArray, names: AnyArray, overall: Calibrator, maps: dict[str, Calibrator], shares: dict[str, float]
    ) -> FloatArray:
        result = overall.probability(scores)
        for name, inside in _members(names):
            if name in maps:
                own = maps[name].probability(scores[inside])
                result[inside] += shares[name] * (own - result[inside])
        return np.clip(result, 0.0, 1.0)

    def _state(self) -> dict[str, Any]:
        segments = [[name, own, self.shares_[name]] for name, own in self.maps_.items()]  # names may be any text
        return {"global": self.global_, "segments": segments, "strength": self.strength_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.global_ = state["global"]
        self.maps_ = {name: own for name, own, _ in state["segments"]}
        self.shares_ = {name: float(share) for name, _, share in state["segments"]}
        self.strength_ = float(state["strength"])


def _share(positives: float, strength: float) -> float:
    return 0.0 if np.isinf(strength) else positives / (positives + strength) if positives + strength else 0.0


def _members(names: AnyArray) -> list[tuple[str, IntArray]]:
    """Every segment's name, as text, and the positions of its pairs."""
    codes, n_groups = group_codes(names)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(n_groups + 1))
    groups = [order[bounds[code] : bounds[code + 1]] for code in range(n_groups)]
    return [(str(names[inside[0]]), inside) for inside in groups]
