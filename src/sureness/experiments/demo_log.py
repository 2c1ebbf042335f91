"""The story of the demo on a real log: nobody knows the truth here, so the test part judges everything."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sureness._types import FloatArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.catalogue import make_calibrator
from sureness.calibration.choosing import Choice, choose
from sureness.data.interactions import Interactions
from sureness.data.recipes.base import Dataset
from sureness.data.recipes.preparing import prepare
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.splitting import Split
from sureness.errors import DataError, NoMinimumError, SurenessWarning
from sureness.experiments.demo_progress import Progress
from sureness.experiments.simulated import ALL_METHODS, judged
from sureness.experiments.simulated_lists import ListStudy
from sureness.metrics.calibration import expected_calibration_error
from sureness.metrics.intervals import Interval
from sureness.numerics.grouping import group_codes, top_n
from sureness.numerics.logistic import sigmoid
from sureness.sources.base import ScoreSource
from sureness.sources.labelled import LabelledSource

TOP = 10

_MOST_PAIRS = 40_000_000  # users x items that the demo looks at
_MOST_INTERACTIONS = 250_000
_MOST_JUDGED = 2_000_000  # test pairs that calibrators are judged on
_CHOOSING_PAIRS = 400_000  # candidates that calibrators are compared on before one is chosen
_CANDIDATES = ("platt", "beta", "gaussian", "gamma")
_Z = 1.96


@dataclass(frozen=True, eq=False)
class LogStudy:
    """A recommender of a log, its calibrators fitted on the validation part, and the pairs of the test part."""

    split: Split
    source: ScoreSource
    choice: Choice  # made on the validation part
    main: str
    fitted: dict[str, Calibrator]  # by method
    table: pl.DataFrame  # method, ece, ece@10, nll, brier, problem
    test: ScoredPairs  # candidates outside the training log, with the test items as positives
    n_judged: int  # users whose pairs these are


def small_split(dataset: Dataset, *, seed: int = 0) -> Split:
    """Split a log 60/20/20 by user, after its own filters; of a large one, so many users that minutes are enough.

    Examples
    --------
    >>> log = Interactions.of(np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30))
    >>> small_split(Dataset("interactions", log))
    Split(30 users, 10 items; train 180, validation 60, test 60)
    """
    split = prepare(replace(dataset, interactions=_fewer(dataset.interactions, seed)), "ratio", seed=seed)
    for name, part in split.parts.items():
        if not len(part):
            raise DataError(
                f"the demo needs users with at least three interactions each, and the {name} part of {dataset.name} is "
                "empty; give a larger log"
            )
    return split


def study_log(split: Split, source: ScoreSource, *, seed: int = 0, progress: Progress | None = None) -> LogStudy:
    """Calibrate a recommender with all methods on the validation part, and judge them by the test part.

    Validation and test items were drawn alike, so both are looked for among the same candidates: all items outside the
    training log. Which calibrator is spoken of is chosen by cross-fitting on the validation part.

    Parameters
    ----------
    split : Split
    source : ScoreSource
        Learned from the training part.
    seed : int
    progress : callable, optional

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
    data = CalibrationSet.from_source(source, split.validation, train=split.train)
    test, n_judged = _test_pairs(split, source, seed)
    choice = choose_on_validation(split, source, seed=seed, progress=progress)
    fitted, rows = _fit_all(data, test, ALL_METHODS, progress)
    main = next(name for name in _CANDIDATES if type(make_calibrator(name)) is type(choice.best))
    return LogStudy(split, source, choice, main, fitted, pl.DataFrame(rows, infer_schema_length=None), test, n_judged)


def choose_on_validation(
    split: Split, source: ScoreSource, *, seed: int = 0, progress: Progress | None = None
) -> Choice:
    """The smooth method that predicts users it was not fitted on best, by the validation part alone."""
    n_pairs = source.n_users * source.n_items
    rate = min(1.0, _CHOOSING_PAIRS / n_pairs)
    data = CalibrationSet.from_source(source, split.validation, train=split.train, sampling_rate=rate, seed=seed)
    return choose([make_calibrator(name) for name in _CANDIDATES], data, seed=seed, progress=progress)


def first_items(lists: ListStudy, n: int = TOP) -> tuple[float, float, Interval]:
    """The mean chance of each user's first items, by the sigmoid of the scores and by the maps, and the share kept.

    Kept are those in the test part; the interval is over users.
    """
    found = lists.recommender.lists(labels=lists.split.test)
    known = np.arange(found.width) < np.minimum(found.lengths, n)[:, None]
    scores, probabilities, hits = (np.asarray(each) for each in (found.scores, found.probabilities, found.hits))
    shares = np.where(known, hits, False).sum(axis=1) / np.maximum(1, known.sum(axis=1))
    kept = _mean(shares[known.any(axis=1)])
    return float(sigmoid(scores[known]).mean()), float(probabilities[known].mean()), kept


def _fit_all(
    data: CalibrationSet, test: ScoredPairs, methods: Sequence[str], progress: Progress | None
) -> tuple[dict[str, Calibrator], list[dict[str, Any]]]:
    top = top_n(group_codes(np.asarray(test.users))[0], test.scores, TOP)
    fitted: dict[str, Calibrator] = {}
    rows: list[dict[str, Any]] = []
    for number, method in enumerate(methods):
        if progress is not None:
            progress(method, number, len(methods))
        empty = {"method": method, "ece": None, f"ece@{TOP}": None, "nll": None, "brier": None}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SurenessWarning)  # the table shows what came of it
                calibrator = make_calibrator(method).fit(data)
        except NoMinimumError as error:
            rows.append(empty | {"problem": str(error)})
            continue
        fitted[method] = calibrator
        shown = expected_calibration_error(test.labels[top], calibrator.probability(test.scores[top]))
        rows.append(empty | judged(test, calibrator) | {f"ece@{TOP}": shown, "problem": None})
    return fitted, rows


def _test_pairs(split: Split, source: ScoreSource, seed: int) -> tuple[ScoredPairs, int]:
    """All candidates of all users, or of as many users as there is room for."""
    labelled = LabelledSource.of(source, split.test, split.train)
    most = max(1, _MOST_JUDGED // source.n_items)
    rng = np.random.default_rng(seed)
    users = np.arange(source.n_users)
    if len(users) > most:
        users = np.sort(rng.choice(users, most, replace=False))
    return labelled.pairs(users), len(users)


def _fewer(log: Interactions, seed: int) -> Interactions:
    """The log of some users drawn at random, where all would take too long."""
    share = min(1.0, _MOST_INTERACTIONS / max(1, len(log)), _MOST_PAIRS / max(1, log.n_users * log.n_items))
    if share == 1.0:
        return log
    chosen = np.random.default_rng(seed).random(log.n_users) < share
    kept = log.keep(chosen[log.user_rows]).compact()
    return kept.noting(f"{kept.n_users:,} of {log.n_users:,} users were drawn at random, so that minutes are enough")


def _mean(values: FloatArray) -> Interval:
    mean = float(values.mean())
    side = _Z * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return Interval(mean, max(0.0, mean - side), min(1.0, mean + side))
