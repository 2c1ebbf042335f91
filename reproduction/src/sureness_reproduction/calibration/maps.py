"""Calibrators with all risks on one calibration set, fitted where test labels are sealed if the set needs none."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sureness import load, register
from sureness.calibration import CalibrationSet, Calibrator, make_calibrator
from sureness.data import ScoredPairs
from sureness.errors import NoMinimumError, SurenessWarning
from sureness_reproduction.calibration.grid import needs_recommender, opened, test_pairs, threshold_of
from sureness_reproduction.calibration.sets import anchor_rows, set_of, uses_anchor
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Finished, Workbench

PLAIN = ("minmax", "sigmoid", "histogram", "isotonic", "bbq")  # fitted to the labels as they are
COUNTING = PLAIN[2:]
COMPETITORS, PROPOSED = ("platt", "beta"), ("gaussian", "gamma")
IN_TEXT = COMPETITORS + PROPOSED  # parametric methods of the dissertation's tables
PARAMETRIC = (*IN_TEXT, "temperature", "manmatha", "kanoulas")
RISKS = ("naive", "unbiased", "weighted")
CONSTANT = "constant"  # gives every pair the same probability
ALL = [*PLAIN, *PARAMETRIC, CONSTANT]
_MOST_HELD = 2_000_000
_HISTOGRAM_BINS = {"coat": 15, "yahoo-r3": 50}


def maps_cell(*, pairs: str, **parameters: Any) -> Cell:
    """The cell that fits a group of methods on a calibration set."""
    wanted = {name: parameters[name] for name in ("data", "model", "seed", "recipe", "methods")}
    if uses_anchor(pairs):
        return anchored.cell(pairs=pairs, test=parameters.get("test", "left_out"), **wanted)
    return fitted.cell(pairs=pairs, **wanted)


@work(needs=needs_recommender, cost=1)
def fitted(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit on what the log tells alone; the test is sealed."""
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    log = None if is_own(data) else bench.training_log(data)
    built = set_of(pairs, source, split, seed=seed, log=log, threshold=threshold_of(data))
    return _kept(bench, built, methods, data)


@work(needs=needs_recommender, judges=True, cost=1)
def anchored(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit with uniformly exposed pairs that fix the level; cells that judge leave these pairs out."""
    split, source = opened(bench, **parameters)
    uniform = test_pairs(split, source, parameters["data"])
    anchor = uniform.take(anchor_rows(len(uniform), parameters["seed"]))
    built = set_of(pairs, source, split, seed=parameters["seed"], anchor=anchor)
    return _kept(bench, built, methods, parameters["data"], constant=float(anchor.labels.mean()))


def _kept(
    bench: Workbench, built: CalibrationSet, methods: Sequence[str], data: str, constant: float | None = None
) -> Tables:
    """Fit all methods, keep their maps, and say which risk has no minimum."""
    built, rows = held(built), []
    for number, (method, risk) in enumerate(with_risks(methods)):
        calibrator, problem = fit(built, method, risk, data)
        if calibrator is not None:
            calibrator.save(bench.place / f"{number}.json")
        rows.append({"method": method, "risk": risk, "problem": problem})
    pairs = built.gather()
    share = float(pairs.labels.mean())
    about = {
        "pairs": [len(pairs)],
        "positives": [pairs.n_positive],
        "constant": [share if constant is None else constant],
    }
    return {"maps": pl.DataFrame(rows, schema=_MAPS), "about": pl.DataFrame(about)}


_MAPS = {"method": pl.String, "risk": pl.String, "problem": pl.String}


def with_risks(methods: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Methods with their risks: first those that have none, then all parametric ones with each risk.

    Examples
    --------
    >>> list(with_risks(["isotonic", "platt", "constant"]))
    [('isotonic', ''), ('platt', 'naive'), ('platt', 'unbiased'), ('platt', 'weighted')]
    """
    yield from ((method, "") for method in methods if method in PLAIN or (is_own(method) and not _has_risk(method)))
    there = [name for name in methods if name not in (*PLAIN, CONSTANT) and (not is_own(name) or _has_risk(name))]
    yield from ((method, risk) for risk in RISKS for method in there)


def _own(method: str) -> Any:
    """A calibrator of one's own, with a name under which its saved maps can be opened."""
    found = load_own(method)
    register("calibrator", method, found)
    return found


def _has_risk(method: str) -> bool:
    return "risk" in inspect.signature(_own(method)).parameters


def fit(built: CalibrationSet, method: str, risk: str, data: str) -> tuple[Calibrator | None, str | None]:
    """A fitted calibrator, or why there is none."""
    if is_own(method):
        calibrator = _own(method)(**({"risk": risk} if risk else {}))
    else:
        calibrator = make_calibrator(method, risk=risk or "naive", n_bins=_HISTOGRAM_BINS.get(data, 15))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # relative propensities, few positives: the subject here
            return calibrator.fit(built), None
    except NoMinimumError as error:
        return None, str(error)


def held(built: CalibrationSet) -> CalibrationSet:
    """The same set with its pairs in memory where they are few, so that not every fit asks the recommender again."""
    chunks: list[ScoredPairs] = []
    for chunk in built.chunks():
        chunks.append(chunk)
        if sum(map(len, chunks)) > _MOST_HELD:
            return built
    return replace(built, chunks=lambda: chunks)


def maps_of(found: Finished) -> dict[tuple[str, str], Calibrator | None]:
    """The calibrators of a finished cell by method and risk; None where the risk has no minimum."""
    for method in found.about["parameters"]["methods"]:
        if is_own(method):
            _own(method)  # so that its saved maps can be opened
    return {
        (row["method"], row["risk"]): load(found.folder / f"{number}.json") if row["problem"] is None else None
        for number, row in enumerate(found.table("maps").to_dicts())
    }


def probabilities(found: Finished, scores: FloatArray) -> Iterator[tuple[str, str, FloatArray | None]]:
    """Method, risk and probabilities of every map, None where there is none; and one map that ignores the scores."""
    for (method, risk), calibrator in maps_of(found).items():
        yield method, risk, None if calibrator is None else calibrator.probability(scores)
    if CONSTANT in found.about["parameters"]["methods"]:
        yield CONSTANT, "", np.full(len(scores), found.table("about")["constant"].item())
