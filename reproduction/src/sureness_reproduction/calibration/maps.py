"""Calibration sets, and calibrators with all risks fitted on them; test labels are sealed where a set needs none."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sureness import load, register
from sureness.calibration import CalibrationSet, Calibrator, make_calibrator
from sureness.data import Interactions, ScoredPairs, Split, hold_out, rated_above
from sureness.errors import NoMinimumError, SurenessWarning
from sureness.propensity import PopularityPropensity
from sureness.sources import ScoreSource, scores_of
from sureness_reproduction.calibration.recommenders import opened, recommender, test_pairs, threshold_of, with_recipe
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.study import Scale
from sureness_reproduction.types import BoolArray, FloatArray
from sureness_reproduction.workbench import Finished, Workbench

NEGATIVES = {count: f"{count} negative{'' if count == 1 else 's'} per positive" for count in (1, 3, 13)}
PUBLIC_CODE = "57 negatives per positive (public code)"
AS_LOGGED = "as many negatives per positive as the log has"
RATINGS = "held-out ratings, 3 and below as negatives"
CANDIDATES = "all candidates, propensities at their word"
WITH_BASE_RATE = "all candidates, level from a base rate"
WITH_ANCHOR = "all candidates, level from 1,000 uniform pairs"
_ANCHORED = (WITH_BASE_RATE, WITH_ANCHOR)  # uniformly exposed labels enter the fit, which therefore cannot be sealed

PLAIN = ("minmax", "sigmoid", "histogram", "isotonic", "bbq")  # fitted to the labels as they are
COUNTING = PLAIN[2:]
COMPETITORS, PROPOSED = ("platt", "beta"), ("gaussian", "gamma")
PRINTED = COMPETITORS + PROPOSED  # parametric methods of the dissertation's tables
PARAMETRIC = (*PRINTED, "temperature", "manmatha", "kanoulas")
RISKS = ("naive", "unbiased", "weighted")
CONSTANT = "constant"  # gives every pair the same probability
ALL = [*PLAIN, *PARAMETRIC, CONSTANT]

_HELD_OUT_SHARE = 0.1  # of the training positives, as in the dissertation
_N_ANCHOR = 1_000  # uniformly exposed pairs that fix the level, and are then left out of the test
_MOST_HELD = 2_000_000
_HISTOGRAM_BINS = {"coat": 15, "yahoo-r3": 50}
_BINNINGS = (10, 20, 50, 100)  # of BBQ in the dissertation


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """The recipe of the recommender; a log of one's own has no low ratings, and so not every calibration set."""
    can_build = not is_own(point["data"]) or point["pairs"] not in (AS_LOGGED, RATINGS)
    return with_recipe(scale, point) if can_build else None


def anchor_rows(n_test: int, seed: int) -> BoolArray:
    """Which test pairs serve as anchor; never more than a quarter of them."""
    chosen = np.zeros(n_test, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n_test)[: min(_N_ANCHOR, n_test // 4)]] = True
    return chosen


def judged_pairs(uniform: ScoredPairs, pairs: str, seed: int) -> ScoredPairs:
    """The pairs on which maps of a calibration set are judged: those of an anchor are left out."""
    return uniform.take(~anchor_rows(len(uniform), seed)) if pairs in _ANCHORED else uniform


def set_of(
    pairs: str, source: ScoreSource, split: Split, *, data: str, seed: int, log: Interactions | None = None,
    anchor: ScoredPairs | None = None, propensity: Any = None,
) -> CalibrationSet:  # fmt: skip
    """A calibration set by name, from train and validation.

    The ratings of the training part (`log`) are for `RATINGS` and `AS_LOGGED`, uniformly exposed pairs (`anchor`) for
    the sets that use them. Propensities are popularity in training, or given by row and column.
    """
    omega = PopularityPropensity().fit(items=split.train.item_rows) if propensity is None else propensity
    if pairs == RATINGS:
        assert log is not None
        return _rated(source, split.validation, log, threshold_of(data), omega, seed)
    if "per positive" in pairs:
        return CalibrationSet.from_sampled_negatives(
            source, split.validation.matrix, negatives_per_positive=_ratio(pairs, log, threshold_of(data)),
            seen=split.train.matrix, propensity=omega, as_population=True, seed=seed,
        )  # fmt: skip
    built = CalibrationSet.from_source(
        source, split.validation.matrix, seen=split.train.matrix, propensity=omega, held_out_share=_HELD_OUT_SHARE,
        estimand="preference",
    )  # fmt: skip
    if pairs == CANDIDATES:
        return built
    assert anchor is not None
    return replace(built, **({"anchor": anchor} if pairs == WITH_ANCHOR else {"base_rate": anchor.labels.mean()}))


def _ratio(pairs: str, log: Interactions | None, threshold: float) -> int:
    """Negatives per positive; as in the log: its ratings that are not positive for each that is, rounded."""
    if pairs != AS_LOGGED:
        return int(pairs.split()[0])
    assert log is not None
    positive = rated_above(log, threshold)
    n_positive = max(int(np.count_nonzero(positive)), 1)
    return max(1, round((len(positive) - n_positive) / n_positive))


def _rated(
    source: ScoreSource, positives: Interactions, log: Interactions, threshold: float, omega: Any, seed: int
) -> CalibrationSet:
    """Held-out positives, and as large a share of the low ratings."""
    _, low = hold_out(log.keep(~rated_above(log, threshold)), _HELD_OUT_SHARE, seed=seed)
    users, items = np.r_[positives.user_rows, low.user_rows], np.r_[positives.item_rows, low.item_rows]
    ratings: FloatArray = np.r_[np.full(len(positives), threshold + 1), np.asarray(low.ratings)]
    return CalibrationSet.from_ratings(
        scores_of(source, users, items), ratings, threshold=threshold, propensity=omega.propensity(users, items)
    )


# --- fitted maps ------------------------------------------------------------------------------------------------------


def maps_cell(*, pairs: str, test: str = "left_out", **parameters: Any) -> Cell:
    """The cell that fits a group of methods on a calibration set."""
    wanted = {name: parameters[name] for name in ("data", "model", "seed", "recipe", "methods")}
    return anchored.cell(pairs=pairs, test=test, **wanted) if pairs in _ANCHORED else fitted.cell(pairs=pairs, **wanted)


def needs_maps(**parameters: Any) -> Iterable[Cell]:
    """The recommender and the maps that are judged."""
    return (*recommender(**parameters), maps_cell(**parameters))


@work(needs=recommender, cost=1)
def fitted(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit on what the log tells alone; the test is sealed."""
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    log = None if is_own(data) else bench.training_log(data)
    return _kept(bench, set_of(pairs, source, split, data=data, seed=seed, log=log), methods, data)


@work(needs=recommender, judges=True, cost=1)
def anchored(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit with uniformly exposed pairs that fix the level; cells that judge leave these pairs out."""
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    uniform = test_pairs(split, source, data)
    anchor = uniform.take(anchor_rows(len(uniform), seed))
    built = set_of(pairs, source, split, data=data, seed=seed, anchor=anchor)
    return _kept(bench, built, methods, data, constant=float(anchor.labels.mean()))


def _kept(
    bench: Workbench, built: CalibrationSet, methods: Sequence[str], data: str, constant: float | None = None
) -> Tables:
    """Fit all methods, keep their maps, and say which risk has no minimum."""
    built, rows = _held(built), []
    for number, (method, risk) in enumerate(with_risks(methods)):
        calibrator, problem = fit(built, method, risk, data)
        if calibrator is not None:
            calibrator.save(bench.place / f"{number}.json")
        rows.append((method, risk, problem))
    share = float(built.gather().labels.mean()) if constant is None else constant
    schema = dict.fromkeys(("method", "risk", "problem"), pl.String)
    return {"maps": pl.DataFrame(rows, schema=schema, orient="row"), "about": pl.DataFrame({"constant": [share]})}


def with_risks(methods: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Methods with their risks: first those that have none, then all parametric ones with each risk.

    Examples
    --------
    >>> list(with_risks(["isotonic", "platt", "constant"]))
    [('isotonic', ''), ('platt', 'naive'), ('platt', 'unbiased'), ('platt', 'weighted')]
    """
    there = [name for name in methods if name != CONSTANT]
    bare = [name for name in there if (not _has_risk(name) if is_own(name) else name in PLAIN)]
    yield from ((method, "") for method in bare)
    yield from ((method, risk) for risk in RISKS for method in there if method not in bare)


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
        bins = {"n_bins": _HISTOGRAM_BINS.get(data, 15), "binnings": _BINNINGS}
        calibrator = make_calibrator(method, risk=risk or "naive", **bins)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # relative propensities, few positives: the subject here
            return calibrator.fit(built), None
    except NoMinimumError as error:
        return None, str(error)


def _held(built: CalibrationSet) -> CalibrationSet:
    """The same set with its pairs in memory where they are few, so that not every fit asks the recommender again."""
    chunks: list[ScoredPairs] = []
    for chunk in built.chunks():
        chunks.append(chunk)
        if sum(map(len, chunks)) > _MOST_HELD:
            return built
    return replace(built, chunks=lambda: chunks)


def maps_of(found: Finished) -> dict[tuple[str, str], Calibrator | None]:
    """The calibrators of a finished cell by method and risk; None where the risk has no minimum."""
    for method in filter(is_own, found.about["parameters"]["methods"]):
        _own(method)  # so that its saved maps can be opened
    return {
        (method, risk): load(found.folder / f"{number}.json") if problem is None else None
        for number, (method, risk, problem) in enumerate(found.table("maps").iter_rows())
    }


def probabilities(found: Finished, scores: FloatArray) -> Iterator[tuple[str, str, FloatArray | None]]:
    """Method, risk and probabilities of every map, None where there is none; and one map that ignores the scores."""
    for (method, risk), calibrator in maps_of(found).items():
        yield method, risk, None if calibrator is None else calibrator.probability(scores)
    if CONSTANT in found.about["parameters"]["methods"]:
        yield CONSTANT, "", np.full(len(scores), found.table("about")["constant"].item())
