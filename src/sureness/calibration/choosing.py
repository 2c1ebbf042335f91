"""Choose among calibrators by how well each predicts users it was not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._settings import clone
from sureness._types import AnyArray, FloatArray, IntArray, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, SettingError, SurenessWarning
from sureness.metrics.cells import Judged, Metric, chosen, named_metric, top_mask
from sureness.metrics.intervals import Interval, basic_interval, resampled_metric
from sureness.numerics.grouping import fold_of_groups

T = TypeVar("T")

_N_RESAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class Choice(Generic[T]):
    """What to use, fitted on everything, and why."""

    best: T
    table: pl.DataFrame  # each candidate: the metric, its difference to the simple one with interval, how sure that is
    by: str
    fell_back: bool  # whether the simple one was kept although another had the better number
    reason: str

    def __str__(self) -> str:
        return f"{self.best!r}: {self.reason}"


def choose_calibrator(
    calibrators: Sequence[Calibrator],
    data: CalibrationSet,
    *,
    by: str = "nll",
    simple: Calibrator | None = None,
    sure: float = 0.9,
    n_folds: int = 5,
    n_bins: int = 15,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice[Calibrator]:
    """Compare calibrators by cross-fitting and take the best, or the simple one unless another is surely better.

    Every calibrator is fitted on all folds of users but one and judged on that one. The risk of the calibration set is
    the yardstick: with propensities, the comparison is about preference as well.

    Parameters
    ----------
    calibrators : sequence of Calibrator
    data : CalibrationSet
        Plain arrays become one by ``CalibrationSet.from_pairs(scores, labels, users=users)``.
    by : str
        "nll", "brier", "ece", "adaptive_ece", or "ece@10" for each user's top 10 (any number).
    simple : Calibrator, optional
        What to fall back to; by default Platt, or the first calibrator if Platt is not among them.
    sure : float
        How often a resample of the users must favour the best one over the simple one.
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
    >>> choice.best, choice.fell_back
    (GaussianCalibrator(), False)
    """
    calibrators = list(calibrators)
    if not calibrators:
        raise SettingError("choose_calibrator needs at least one calibrator, got none")
    for calibrator in calibrators:
        if not isinstance(calibrator, Calibrator):
            raise SettingError(
                f"expected calibrators to compare, got {calibrator!r}; make_calibrator gives one by name"
            )
    metric, top = named_metric(by)
    fallback = _fallback(calibrators, simple)
    entries = list(calibrators) if any(c is fallback for c in calibrators) else [fallback, *calibrators]
    data, pairs, risk, folds = _in_folds(data, n_folds, seed)
    predicted: list[FloatArray | str] = []
    for done, calibrator in enumerate(entries):
        progress(type(calibrator).__name__, done, len(entries))
        predicted.append(_out_of_fold(calibrator, data, pairs, folds))
    judged = _judge_all(metric, top, data, pairs, predicted, risk, n_bins, seed)
    return _decide(entries, fallback, predicted, judged, by, sure, data)


def cross_validate(
    calibrator: Calibrator,
    data: CalibrationSet,
    *,
    metrics: Sequence[str] = ("ece", "nll", "brier"),
    n_folds: int = 5,
    n_bins: int = 15,
    seed: int = 0,
) -> dict[str, Interval]:
    """Honest error figures from the calibration data alone: each user is judged by a fit that did not see them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=3_000)
    >>> data = CalibrationSet.from_pairs(scores, rng.random(3_000) < 1 / (1 + np.exp(-scores)))
    >>> cross_validate(PlattCalibrator(), data)["ece"].value < 0.05
    True
    """
    data, pairs, risk, folds = _in_folds(data, n_folds, seed)
    predicted = _out_of_fold(calibrator, data, pairs, folds)
    if isinstance(predicted, str):
        raise DataError(predicted)
    found: dict[str, Interval] = {}
    for name in metrics:
        metric, top = named_metric(name)
        ((value, resampled),) = _judge_all(metric, top, data, pairs, [predicted], risk, n_bins, seed)  # type: ignore[misc]
        found[name] = basic_interval(value, resampled, 0.95)
    return found


def _in_folds(data: CalibrationSet, n_folds: int, seed: int) -> tuple[CalibrationSet, ScoredPairs, Risk, IntArray]:
    """All pairs in memory, the risk that judges them, and a fold for each; a user's pairs share one."""
    risk = data.resolve_risk(None)
    pairs = data.gather(risk)
    folds = fold_of_groups(pairs.users, len(pairs), n_folds, np.random.default_rng(seed))
    return data.with_pairs(pairs), pairs, risk, folds


def _fallback(calibrators: Sequence[Calibrator], simple: Calibrator | None) -> Calibrator:
    if simple is not None:
        return simple
    return next((c for c in calibrators if type(c) is PlattCalibrator), calibrators[0])


def _out_of_fold(calibrator: Calibrator, data: CalibrationSet, pairs: ScoredPairs, folds: AnyArray) -> FloatArray | str:
    """Probabilities of every pair from a fit that did not see its fold, or why there are none."""
    result = np.empty(len(pairs))
    for fold in range(folds.max() + 1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SurenessWarning)  # the final fit says it once
                fitted = clone(calibrator).fit_set(data.with_pairs(pairs.take(folds != fold)))
        except DataError as error:
            return str(error)
        result[folds == fold] = fitted.probability(pairs.scores[folds == fold])
    return result


def _judge_all(
    metric: Metric,
    top: int | None,
    data: CalibrationSet,
    pairs: ScoredPairs,
    predicted: list[FloatArray | str],
    risk: Risk,
    n_bins: int,
    seed: int,
) -> list[tuple[float, FloatArray] | None]:
    """The metric of every calibrator and its resamples, all with the same users drawn."""
    targets, weight = data.targets(pairs, risk)
    shown = top_mask(pairs.users, pairs.scores, top)
    users = None if pairs.users is None else pairs.users[shown]
    return [
        None
        if isinstance(outcome, str)
        else resampled_metric(
            metric, chosen(Judged(targets, outcome, weight), shown), users, n_bins, _N_RESAMPLES, seed
        )
        for outcome in predicted
    ]


def _decide(
    entries: list[Calibrator],
    fallback: Calibrator,
    predicted: list[FloatArray | str],
    judged: list[tuple[float, FloatArray] | None],
    by: str,
    sure: float,
    data: CalibrationSet,
) -> Choice[Calibrator]:
    simple_at = next(i for i, c in enumerate(entries) if c is fallback)
    simple = judged[simple_at]
    if simple is None:
        raise DataError(f"the simple calibrator {fallback!r} cannot be fitted: {predicted[simple_at]}")
    rows: list[dict[str, Any]] = []
    for calibrator, found, outcome in zip(entries, judged, predicted, strict=True):
        row: dict[str, Any] = dict.fromkeys(["calibrator", by, "difference", "low", "high", "sure_better", "problem"])
        row["calibrator"] = repr(calibrator)
        row["problem"] = outcome if isinstance(outcome, str) else None
        if found is not None:
            difference = found[1] - simple[1]
            low, high = np.quantile(difference, [0.025, 0.975])
            row |= {by: found[0], "difference": found[0] - simple[0], "low": float(low), "high": float(high),
                    "sure_better": float(np.mean(difference < 0))}  # fmt: skip
        rows.append(row)
    table = pl.DataFrame(rows, schema_overrides={"problem": pl.String}, infer_schema_length=None)
    best_at = int(np.argmin([np.inf if found is None else found[0] for found in judged]))
    confidence = rows[best_at]["sure_better"]
    fell_back = best_at != simple_at and confidence < sure
    if best_at == simple_at:
        reason = f"no other calibrator has a lower {by} out of fold than {fallback!r}"
    elif fell_back:
        reason = (f"{entries[best_at]!r} has a lower {by}, but only {confidence:.0%} of the resamples agree "
                  f"({sure:.0%} are asked for), so the simple one stays")  # fmt: skip
    else:
        reason = f"lower {by} out of fold than {fallback!r} in {confidence:.0%} of the resamples"
    winner: Calibrator = clone(entries[simple_at if fell_back else best_at])
    return Choice(winner.fit_set(data), table, by, fell_back, reason)
