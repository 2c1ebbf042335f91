"""Judge calibrators on users they were not fitted on, and choose among them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl

from sureness._printing import card, fields_repr
from sureness._progress import Progress, silent
from sureness._settings import clone, written
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import Who
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.usable import usable_pairs
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, SettingError, SurenessWarning
from sureness.metrics.cells import Cells, Judged, Metric, cells_of_parts, named_metric, top_mask
from sureness.metrics.gaps import debiased_gaps, mean_total_gap_bounds, total_gap_bounds
from sureness.metrics.intervals import Interval, interval_of_cells, resampled_metric
from sureness.metrics.resampling import confidence_in_gains
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
    return {
        name: interval_of_cells(*folds.judged(name, predicted, n_bins), n_resamples=_N_RESAMPLES, seed=seed)
        for name in metrics
    }


@dataclass(frozen=True, eq=False)
class Folds:
    """All pairs in memory, and a fold for each; a user's pairs share one."""

    data: CalibrationSet
    pairs: ScoredPairs
    fold: IntArray  # (n_pairs,)
    targets: AnyArray  # (n_pairs,) what probabilities are compared with, by the risk of the data
    weight: FloatArray | None
    before: CalibrationSet | None = None  # what everything is fitted on, if the pairs are those of a later window

    @classmethod
    def of(cls, data: CalibrationSet, n_folds: int, seed: int) -> Folds:
        risk = data.resolve_risk(None)
        pairs = usable_pairs(data.gather(risk))
        fold = fold_of_groups(pairs.users, len(pairs), n_folds, np.random.default_rng(seed))
        data = data.with_pairs(pairs)
        return cls(data, pairs, fold, *data.targets(pairs, risk))

    @classmethod
    def of_later(cls, data: CalibrationSet, later: CalibrationSet) -> Folds:
        """The pairs of a later window, judged by fits on the data before it."""
        if (later.estimand, later.resolve_risk(None)) != (data.estimand, data.resolve_risk(None)):
            raise SettingError(
                f"later must have the estimand and the risk of the data, {data.estimand}, got {later.estimand}; make "
                "both in the same way"
            )
        whole = cls.of(later, 2, 0)
        return replace(whole, fold=np.zeros_like(whole.fold), before=data)

    def probability(self, calibrator: Judgeable) -> FloatArray | str:
        """Probabilities of every pair from a fit that did not see its fold, or why that fit failed."""
        result = np.empty(len(self.pairs))
        for fold in range(self.fold.max() + 1):
            inside = self.fold == fold
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SurenessWarning)  # the final fit warns once
                    fitted: Judgeable = clone(calibrator)
                    fitted.fit(self.before or self.data.with_pairs(self.pairs.take(~inside)))
            except DataError as error:
                return str(error)
            scores = self.pairs.scores[inside].astype(np.float64)
            result[inside] = fitted.probability_of(scores, self._who(fitted, scores, inside))
        return result

    def judged(
        self, name: str, predicted: FloatArray, n_bins: int
    ) -> tuple[Metric, Cells, FloatArray | None, AnyArray | None]:
        """A metric, and the pairs that it is taken over: their cells, weights and users.

        Calibration errors are taken fold by fold, because those of different folds could cancel.
        """
        metric, top = named_metric(name)
        shown = top_mask(self.pairs.users, self.pairs.scores, top)
        weight, users = (None if each is None else each[shown] for each in (self.weight, self.pairs.users))
        judged = Judged(self.targets[shown], predicted[shown], weight)
        if metric.is_mean:
            return metric, metric.cells(judged, n_bins), weight, users
        cells = cells_of_parts(metric, judged, self.fold[shown], n_bins)
        if metric.bounds is total_gap_bounds:
            bounds = partial(mean_total_gap_bounds, n_parts=cells.n_cells // n_bins)
            metric = metric._replace(finish=debiased_gaps, bounds=bounds)
        return metric, cells, weight, users

    def _who(self, fitted: Judgeable, scores: FloatArray, inside: BoolArray) -> Who:
        if not isinstance(fitted, ListCalibrator):
            return Who(len(scores))
        assert self.pairs.users is not None  # a map for lists cannot be fitted without
        return fitted.grouped(scores, self.pairs.users[inside], None, None)


T = TypeVar("T")
J = TypeVar("J", bound=Judgeable)


@dataclass(frozen=True, eq=False)
class Choice(Generic[T]):
    """What to use, fitted on everything, and why."""

    best: T
    table: pl.DataFrame  # each candidate: the metric, its difference to the simple one with interval, how sure that is
    by: str
    fell_back: bool  # whether the simple one was kept although another had the better number
    reason: str

    __repr__ = fields_repr

    def __str__(self) -> str:
        return f"{written(self.best)}: {self.reason}"

    def _repr_html_(self) -> str:
        return card(written(self.best), note=self.reason, columns=self.table.columns, rows=self.table.rows())


def choose_calibrator(
    calibrators: Sequence[J],
    data: CalibrationSet,
    *,
    by: str = "nll",
    later: CalibrationSet | None = None,
    simple: J | None = None,
    sure: float = 0.9,
    n_folds: int = 5,
    n_bins: int = 15,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice[J]:
    """Compare calibrators by cross-fitting and take the best, or the simple one unless another is surely better.

    Every calibrator is fitted on all folds of users but one and judged on that one, as in `cross_validate`. The risk of
    the calibration set is the yardstick: with propensities, the comparison is about preference as well. Folds share the
    window of the data, so where there are times, give the pairs of a window that came after it.

    Parameters
    ----------
    calibrators : sequence of Calibrator or ListCalibrator
        A map for lists takes part without histories and traits, and needs a set with users.
    data : CalibrationSet
        Plain arrays become one by ``CalibrationSet.from_pairs(scores, labels, users=users)``.
    by : str
        "nll", "brier", "ece", "adaptive_ece", or "ece@10" for each user's top 10 (any number).
    later : CalibrationSet, optional
        The pairs of a later window: everything is fitted on `data` and judged on these, and the winner is fitted on
        these for the window that comes next.
    simple : Calibrator or ListCalibrator, optional
        What to fall back to; by default Platt, or the first calibrator if Platt is not among them.
    sure : float
        The confidence with which the best one must be better than the simple one. It accounts for their number: the
        best of many looks better by chance more often than any one of them.
    n_folds, n_bins, seed : int
    progress : Progress

    Examples
    --------
    >>> from sureness.calibration.parametric import GaussianCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=5_000)
    >>> labels = rng.random(5_000) < 1 / (1 + np.exp(2 - scores - scores**2 * 0.5))
    >>> data = CalibrationSet.from_pairs(scores, labels)
    >>> choice = choose_calibrator([PlattCalibrator(), GaussianCalibrator()], data)
    >>> print(choice)
    GaussianCalibrator(): lower nll out of fold than PlattCalibrator(), 100% sure as the best of 1
    """
    calibrators = list(calibrators)
    if not calibrators:
        raise SettingError("choose_calibrator needs at least one calibrator, got none")
    for calibrator in calibrators:
        if not isinstance(calibrator, Calibrator | ListCalibrator):
            raise SettingError(
                f"expected calibrators to compare, got {calibrator!r}; make_calibrator gives one by name"
            )
    named_metric(by)
    fallback = _fallback(calibrators, simple)
    entries = list(calibrators) if any(c is fallback for c in calibrators) else [fallback, *calibrators]
    folds = Folds.of(data, n_folds, seed) if later is None else Folds.of_later(data, later)
    predicted: list[FloatArray | str] = []
    for done, calibrator in enumerate(entries):
        progress(type(calibrator).__name__, done, len(entries))
        predicted.append(folds.probability(calibrator))
    judged = [
        None if isinstance(found, str) else resampled_metric(*folds.judged(by, found, n_bins), _N_RESAMPLES, seed)
        for found in predicted
    ]
    return _decide(entries, fallback, predicted, judged, by, sure, folds)


def _fallback(calibrators: Sequence[J], simple: J | None) -> J:
    if simple is not None:
        return simple
    return next((c for c in calibrators if type(c) is PlattCalibrator), calibrators[0])


def _decide(
    entries: list[J],
    fallback: J,
    predicted: list[FloatArray | str],
    judged: list[tuple[float, FloatArray] | None],
    by: str,
    sure: float,
    folds: Folds,
) -> Choice[J]:
    simple_at = next(i for i, c in enumerate(entries) if c is fallback)
    simple = judged[simple_at]
    if simple is None:
        raise DataError(f"the simple calibrator {written(fallback)} cannot be fitted: {predicted[simple_at]}")
    table = _compared(entries, predicted, judged, simple, by)
    confidence = table["sure_better"].to_list()
    values = [np.inf if found is None else found[0] for found in judged]
    better = [at for at, value in enumerate(values) if value < simple[0]]
    certain = [at for at in better if confidence[at] >= sure]
    best_at = min(certain or better or [simple_at], key=values.__getitem__)
    fell_back, others = bool(better) and not certain, len(entries) - 1
    name, simple_name = written(entries[best_at]), written(fallback)
    where = "out of fold" if folds.before is None else "in the later window"
    if folds.before is None and folds.data.period is not None:
        where = "out of fold in the window of the data (judge a later one with later=)"
    if not better:
        reason = f"no other calibrator has a lower {by} {where} than {simple_name}"
    elif fell_back:
        reason = (f"{name} has a lower {by}, but that is only {confidence[best_at]:.0%} sure as the best "
                  f"of {others} ({sure:.0%} are asked for), so the simple one stays")  # fmt: skip
    else:
        reason = f"lower {by} {where} than {simple_name}, {confidence[best_at]:.0%} sure as the best of {others}"
    winner = clone(entries[simple_at if fell_back else best_at])
    winner.fit(folds.data)
    return Choice(winner, table, by, fell_back, reason)


def _compared(
    entries: Sequence[Judgeable],
    predicted: list[FloatArray | str],
    judged: list[tuple[float, FloatArray] | None],
    simple: tuple[float, FloatArray],
    by: str,
) -> pl.DataFrame:
    """One row per calibrator: its metric, the difference to that of the simple one, and how sure it is to be lower."""
    missing = (np.nan, np.full(len(simple[1]), np.nan))  # could not be fitted
    values = np.array([value for value, _ in (found or missing for found in judged)])
    differences = np.stack([resampled - simple[1] for _, resampled in (found or missing for found in judged)], axis=1)
    low, high = values - simple[0] + np.quantile(differences - differences.mean(axis=0), [0.025, 0.975], axis=0)
    confidence = np.where(np.isnan(values), np.nan, confidence_in_gains(simple[0] - values, -differences))
    columns = {by: values, "difference": values - simple[0], "low": low, "high": high, "sure_better": confidence}
    names = pl.Series("calibrator", [written(entry) for entry in entries])
    problems = pl.Series("problem", [found if isinstance(found, str) else None for found in predicted], pl.String)
    return pl.DataFrame(columns).fill_nan(None).insert_column(0, names).with_columns(problems)
