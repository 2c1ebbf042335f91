"""Calibrate a recommender on a real log. Real data has no ground truth, so a held-out test part judges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.choosing import Choice, choose_calibrator
from sureness.data.interactions import Interactions
from sureness.data.preparing import prepare
from sureness.data.recipes import Dataset
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.splitting import Split
from sureness.demo.judging import ALL_METHODS, judge, try_fit
from sureness.demo.list_study import ListStudy
from sureness.errors import EmptyError
from sureness.metrics.calibration import expected_calibration_error
from sureness.metrics.intervals import Interval
from sureness.numerics.grouping import group_codes, top_n
from sureness.numerics.logistic import sigmoid
from sureness.report.distillation import mean_interval
from sureness.sources.aligned import Aligned
from sureness.sources.base import ScoreSource

TOP = 10

_MOST_PAIRS = 40_000_000  # users x items; larger logs are sampled
_MOST_INTERACTIONS = 250_000
_MOST_JUDGED = 2_000_000  # test pairs to judge on
_CHOOSING_PAIRS = 400_000  # pairs to choose the calibrator on
_CANDIDATES = ("platt", "beta", "gaussian", "gamma", "shape")


@dataclass(frozen=True, eq=False)
class LogStudy:
    """A recommender trained on a log, calibrators fitted on the validation part, and the test pairs."""

    split: Split
    source: ScoreSource
    choice: Choice[Calibrator]  # made on the validation part
    main: str
    fitted: dict[str, Calibrator]  # by method
    table: pl.DataFrame  # method, ece, ece@10, nll, brier, problem
    test: ScoredPairs  # candidates outside the training log, with the test items as positives
    n_judged: int  # users whose pairs these are

    __repr__ = fields_repr


def small_split(dataset: Dataset, *, seed: int = 0) -> Split:
    """Filter a log as its data set asks for and split it 60/20/20 by user; large logs are sampled by user first.

    Examples
    --------
    >>> log = Interactions.of(np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30))
    >>> small_split(Dataset("interactions", log))
    Split(30 users, 10 items; train 180, validation 60, test 60)
    """
    split = prepare(replace(dataset, interactions=_fewer(dataset.interactions, seed)), "ratio", seed=seed)
    for name, part in split.parts.items():
        if not len(part):
            raise EmptyError(
                f"the demo needs users with at least three interactions each, and the {name} part of {dataset.name} is "
                "empty; give a larger log"
            )
    return split


def study_log(split: Split, source: ScoreSource, *, seed: int = 0, progress: Progress = silent) -> LogStudy:
    """Fit all calibrators on the validation part and judge them on the test part.

    Validation and test items were drawn from the same distribution, so both are searched for among the same candidates:
    all items outside the training log. The main calibrator is chosen by cross-fitting on the validation part.

    Parameters
    ----------
    split : Split
    source : ScoreSource
        Trained on the training part.
    seed : int
    progress : Progress

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=200, n_items=80)).train))
    >>> found = study_log(split, svd_source(split.train))
    >>> found.table["method"].to_list() == list(ALL_METHODS), found.main in found.fitted
    (True, True)
    """
    data = CalibrationSet.from_source(source, split.validation, seen=split.train)
    test, n_judged = _test_pairs(split, source, seed)
    choice = choose_on_validation(split, source, seed=seed, progress=progress)
    fitted, rows = _fit_all(data, test, progress)
    main = next(name for name in _CANDIDATES if type(make_calibrator(name)) is type(choice.best))
    return LogStudy(split, source, choice, main, fitted, pl.DataFrame(rows, infer_schema_length=None), test, n_judged)


def choose_on_validation(
    split: Split, source: ScoreSource, *, seed: int = 0, progress: Progress = silent
) -> Choice[Calibrator]:
    """The smooth calibrator with the best out-of-fold predictions on the validation part."""
    n_pairs = source.n_users * source.n_items
    rate = min(1.0, _CHOOSING_PAIRS / n_pairs)
    data = CalibrationSet.from_source(source, split.validation, seen=split.train, sampling_rate=rate, seed=seed)
    return choose_calibrator([make_calibrator(name) for name in _CANDIDATES], data, seed=seed, progress=progress)


def first_items(lists: ListStudy, n: int = TOP) -> tuple[float, float, Interval]:
    """Mean probability of each user's first items by the sigmoid and by the maps, and the share in the test part.

    The interval of that share is over users.
    """
    found = lists.recommender.lists(labels=lists.split.test)
    known = np.arange(found.width) < np.minimum(found.lengths, n)[:, None]
    scores, probabilities, hits = (np.asarray(each) for each in (found.scores, found.promises("the demo"), found.hits))
    shares = np.where(known, hits, False).sum(axis=1) / np.maximum(1, known.sum(axis=1))
    observed = mean_interval(shares[known.any(axis=1)])
    return float(sigmoid(scores[known]).mean()), float(probabilities[known].mean()), observed


def _fit_all(
    data: CalibrationSet, test: ScoredPairs, progress: Progress
) -> tuple[dict[str, Calibrator], list[dict[str, object]]]:
    top = top_n(group_codes(np.asarray(test.users))[0], test.scores, TOP)
    fitted: dict[str, Calibrator] = {}
    rows: list[dict[str, object]] = []
    for number, method in enumerate(ALL_METHODS):
        progress(method, number, len(ALL_METHODS))
        calibrator, problem = try_fit(method, data)
        errors = judge(calibrator, test)
        shown = None
        if calibrator is not None:
            fitted[method] = calibrator
            shown = expected_calibration_error(test.labels[top], calibrator.probability(test.scores[top]))
        row: dict[str, object] = {"method": method, "ece": errors["ece"], f"ece@{TOP}": shown, "nll": errors["nll"]}
        rows.append(row | {"brier": errors["brier"], "problem": problem})
    return fitted, rows


def _test_pairs(split: Split, source: ScoreSource, seed: int) -> tuple[ScoredPairs, int]:
    """All candidates of all users, or of a sample of users when there are too many."""
    labelled = Aligned.of(source, split.test, split.train)
    most = max(1, _MOST_JUDGED // source.n_items)
    rng = np.random.default_rng(seed)
    users = np.arange(source.n_users)
    if len(users) > most:
        users = np.sort(rng.choice(users, most, replace=False))
    return labelled.pairs(users), len(users)


def _fewer(log: Interactions, seed: int) -> Interactions:
    """The log of a random sample of users if all would take too long."""
    share = min(1.0, _MOST_INTERACTIONS / max(1, len(log)), _MOST_PAIRS / max(1, log.n_users * log.n_items))
    if share == 1.0:
        return log
    chosen = np.random.default_rng(seed).random(log.n_users) < share
    kept = log.keep(chosen[log.user_rows]).compact()
    return kept.noting(
        f"{kept.n_users:,} of {counted(log.n_users, 'user')} were sampled to keep the demo to a few minutes"
    )
