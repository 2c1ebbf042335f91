"""Judge calibrators on users they were not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from sureness._settings import clone
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import Who
from sureness.calibration.usable import usable_pairs
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, SurenessWarning
from sureness.metrics.bounds import mean_total_gap_bounds, total_gap_bounds
from sureness.metrics.cells import Cells, Judged, Metric, cells_of_parts, named_metric, top_mask
from sureness.metrics.gaps import debiased_gaps
from sureness.metrics.intervals import Interval, interval_of_cells, resampled_metric
from sureness.numerics.grouping import fold_of_groups

_N_RESAMPLES = 1_000


Judgeable: TypeAlias = Calibrator | ListCalibrator
"""What can be fitted to the pairs of some users and judged on those of others."""


def cross_validate(
    calibrator: Judgeable,
    data: CalibrationSet,
    *,
    metrics: Sequence[str] = ("ece", "nll", "brier"),
    n_folds: int = 5,
    n_bins: int = 15,
    seed: int = 0,
) -> dict[str, Interval]:
    """Honest error figures from the calibration data alone: each user is judged by a fit that did not see them.

    A `ListCalibrator` is fitted and judged without histories and traits, which a calibration set does not have; the set
    must have users.

    Calibration errors are taken fold by fold, because over all folds they cancel: where one fold has more positives
    than the others, its map is too low and the other maps are too high. They are debiased, because bins of one fold
    hold few pairs. So "ece" is the mean error of the maps of all folds; of what noise adds, some remains in the value,
    while the interval allows for all of it.

    Examples
    --------
    >>> from sureness.calibration.parametric import PlattCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=3_000)
    >>> data = CalibrationSet.from_pairs(scores, rng.random(3_000) < 1 / (1 + np.exp(-scores)))
    >>> cross_validate(PlattCalibrator(), data)["ece"].value < 0.05
    True
    """
    folds = Folds.of(data, n_folds, seed)
    predicted = folds.probability(calibrator)
    if isinstance(predicted, str):
        raise DataError(predicted)
    return {name: Judge.of(name, folds, n_bins).interval(predicted, seed) for name in metrics}


@dataclass(frozen=True, eq=False)
class Folds:
    """All pairs in memory, and a fold for each; a user's pairs share one."""

    data: CalibrationSet
    pairs: ScoredPairs
    fold: IntArray  # (n_pairs,)
    targets: AnyArray  # (n_pairs,) what probabilities are compared with, by the risk of the data
    weight: FloatArray | None

    @classmethod
    def of(cls, data: CalibrationSet, n_folds: int, seed: int) -> Folds:
        risk = data.resolve_risk(None)
        pairs = usable_pairs(data.gather(risk))
        fold = fold_of_groups(pairs.users, len(pairs), n_folds, np.random.default_rng(seed))
        data = data.with_pairs(pairs)
        return cls(data, pairs, fold, *data.targets(pairs, risk))

    def probability(self, calibrator: Judgeable) -> FloatArray | str:
        """Probabilities of every pair from a fit that did not see its fold, or why there are none."""
        result = np.empty(len(self.pairs))
        for fold in range(self.fold.max() + 1):
            inside = self.fold == fold
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SurenessWarning)  # the final fit says it once
                    fitted: Judgeable = clone(calibrator)
                    fitted.fit(self.data.with_pairs(self.pairs.take(~inside)))
            except DataError as error:
                return str(error)
            scores = self.pairs.scores[inside].astype(np.float64)
            result[inside] = fitted.probability_of(scores, self._who(fitted, scores, inside))
        return result

    def _who(self, fitted: Judgeable, scores: FloatArray, inside: BoolArray) -> Who:
        if not isinstance(fitted, ListCalibrator):
            return Who(len(scores))
        assert self.pairs.users is not None  # a map for lists cannot be fitted without
        return fitted.grouped(scores, self.pairs.users[inside], None, None)


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges out-of-fold probabilities by one metric, fold by fold where the errors of folds could cancel."""

    metric: Metric
    folds: Folds
    shown: BoolArray | slice  # the pairs that the metric is taken over
    n_bins: int

    @classmethod
    def of(cls, name: str, folds: Folds, n_bins: int) -> Judge:
        metric, top = named_metric(name)
        return cls(metric, folds, top_mask(folds.pairs.users, folds.pairs.scores, top), n_bins)

    def interval(self, predicted: FloatArray, seed: int) -> Interval:
        """The metric with its interval."""
        metric, cells = self._cells(predicted)
        weight = self._shown(self.folds.weight)
        return interval_of_cells(metric, cells, weight, self._users, n_resamples=_N_RESAMPLES, seed=seed)

    def resampled(self, predicted: FloatArray, seed: int) -> tuple[float, FloatArray]:
        """The metric and its values on resampled users, the same ones for the same seed."""
        metric, cells = self._cells(predicted)
        weight = self._shown(self.folds.weight)
        return resampled_metric(metric, cells, weight, self._users, _N_RESAMPLES, seed)

    def _cells(self, predicted: FloatArray) -> tuple[Metric, Cells]:
        folds, metric = self.folds, self.metric
        judged = Judged(folds.targets[self.shown], predicted[self.shown], self._shown(folds.weight))
        if metric.is_mean:
            return metric, metric.cells(judged, self.n_bins)
        cells = cells_of_parts(metric, judged, folds.fold[self.shown], self.n_bins)
        if metric.bounds is not total_gap_bounds:
            return metric, cells
        bounds = partial(mean_total_gap_bounds, n_parts=cells.n_cells // self.n_bins)
        return metric._replace(finish=debiased_gaps, bounds=bounds), cells

    def _shown(self, weight: FloatArray | None) -> FloatArray | None:
        return None if weight is None else weight[self.shown]

    @property
    def _users(self) -> AnyArray | None:
        return None if self.folds.pairs.users is None else self.folds.pairs.users[self.shown]
