"""All methods with all risks on one calibration set, fitted where test labels are sealed if the set needs none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sureness.calibration import CalibrationSet, Calibrator, make_calibrator
from sureness.data import ScoredPairs, rated_above
from sureness.errors import NoMinimumError, SurenessWarning
from sureness_reproduction.calibration.grid import recommender
from sureness_reproduction.calibration.sets import (
    anchor_rows,
    logged_ratio,
    set_of,
    test_pairs,
    threshold_of,
    training_log,
    uses_anchor,
)
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.workbench import Finished, Workbench

UNCALIBRATED = ("minmax", "sigmoid")
COUNTING = ("histogram", "isotonic", "bbq")
PARAMETRIC = ("platt", "beta", "gaussian", "gamma", "temperature", "manmatha", "kanoulas")
COMPETITORS, PROPOSED = ("platt", "beta"), ("gaussian", "gamma")
IN_TEXT = COMPETITORS + PROPOSED  # parametric methods of the dissertation's tables
RISKS = ("naive", "unbiased", "weighted")
CONSTANT = "constant"

METHODS: tuple[tuple[str, str], ...] = (
    *((method, "") for method in (*UNCALIBRATED, *COUNTING)),
    *((method, risk) for risk in RISKS for method in PARAMETRIC),
)
"""Method and risk; methods for which the dissertation names no risk are fitted to the labels as they are."""

_MOST_HELD = 2_000_000
_HISTOGRAM_BINS = {"coat": 15, "yahoo-r3": 50}


def maps_cell(base: dict[str, Any], pairs: str) -> Cell:
    """The cell that fits all methods on a calibration set."""
    return (anchored if uses_anchor(pairs) else fitted).cell(data=base["data"], base=base, pairs=pairs)


def _needs(*, base: dict[str, Any], **_: Any) -> Iterable[Cell]:
    yield recommender(base)


@work(needs=_needs, cost=1)
def fitted(bench: Workbench, *, data: str, base: dict[str, Any], pairs: str) -> Tables:
    """Fit on what the log tells alone; the test is sealed."""
    split, log = bench.split(data, "preference", seed=base["seed"]), training_log(bench, data)
    source, threshold = bench.found(recommender(base)).model, threshold_of(data)
    built = set_of(pairs, source, split, seed=base["seed"], log=log, threshold=threshold)
    return {**_written(bench, built, data), "ratio": pl.DataFrame({"negatives": [logged_ratio(log, threshold)]})}


@work(cost=1)
def logged(bench: Workbench, *, data: str) -> Tables:
    """How many ratings the training log has, and how many of them are positive."""
    positive = rated_above(training_log(bench, data), threshold_of(data))
    return {"log": pl.DataFrame({"ratings": [len(positive)], "positives": [int(positive.sum())]})}


@work(needs=_needs, judges=True, cost=1)
def anchored(bench: Workbench, *, data: str, base: dict[str, Any], pairs: str) -> Tables:
    """Fit with uniformly exposed pairs that fix the level; cells that judge leave these pairs out."""
    split, source = bench.split(data, "preference", seed=base["seed"]), bench.found(recommender(base)).model
    uniform = test_pairs(split, source, data)
    anchor = uniform.take(anchor_rows(len(uniform), base["seed"]))
    built = set_of(pairs, source, split, seed=base["seed"], anchor=anchor)
    return _written(bench, built, data, constant=float(anchor.labels.mean()))


def _written(bench: Workbench, built: CalibrationSet, data: str, constant: float | None = None) -> Tables:
    """Fit all methods, keep their maps, and say which risk has no minimum."""
    built, rows = held(built), []
    for method, risk in METHODS:
        calibrator, problem = fit(built, method, risk, data)
        if calibrator is not None:
            calibrator.save(_path(bench.place, method, risk))
        rows.append({"method": method, "risk": risk, "problem": problem})
    pairs = built.gather()
    share = float(pairs.labels.mean())
    about = {
        "pairs": [len(pairs)],
        "positives": [pairs.n_positive],
        "constant": [share if constant is None else constant],
    }
    return {"maps": pl.DataFrame(rows, schema_overrides={"problem": pl.String}), "about": pl.DataFrame(about)}


def held(built: CalibrationSet) -> CalibrationSet:
    """The same set with its pairs in memory where they are few, so that not every fit asks the recommender again."""
    chunks: list[ScoredPairs] = []
    for chunk in built.chunks():
        chunks.append(chunk)
        if sum(map(len, chunks)) > _MOST_HELD:
            return built
    return replace(built, chunks=lambda: chunks)


def fit(built: CalibrationSet, method: str, risk: str, data: str) -> tuple[Calibrator | None, str | None]:
    """A fitted calibrator, or why there is none."""
    calibrator = make_calibrator(method, risk=risk or "naive", n_bins=_HISTOGRAM_BINS.get(data, 15))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # relative propensities, few positives: the subject here
            return calibrator.fit(built), None
    except NoMinimumError as error:
        return None, _short(str(error))


def _short(message: str) -> str:
    """The reason without the advice.

    Examples
    --------
    >>> _short("the risk has no minimum: from the score 1.2 upwards the targets have a mean of 3; clip higher")
    'the risk has no minimum: from the score 1.2 upwards the targets have a mean of 3'
    """
    return message.partition(";")[0].split(", and no probability")[0]


def maps_of(found: Finished) -> dict[tuple[str, str], Calibrator]:
    """The calibrators of a finished cell by method and risk, those without a minimum left out."""
    from sureness import load

    there = found.table("maps").filter(pl.col("problem").is_null())
    return {
        (method, risk): load(_path(found.folder, method, risk))
        for method, risk in there.select("method", "risk").iter_rows()
    }


def _path(folder: Path, method: str, risk: str) -> Path:
    return folder / f"{method}-{risk or 'plain'}.json"
