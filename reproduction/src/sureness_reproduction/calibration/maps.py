"""Trained recommenders, calibration sets of their scores, and maps fitted on them; the test is sealed where it can."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sureness as sn
from sureness.data import Interactions, ScoredPairs, Split, hold_out, rated_above, recipe
from sureness.errors import DataError, NoMinimumError, SurenessWarning
from sureness.sources import ScoreSource, scores_of
from sureness_reproduction.base_models import needs_recommender
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.declarations import read
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.study import Scale
from sureness_reproduction.workbench import Finished, Workbench

# --- recommenders -----------------------------------------------------------------------------------------------------

SETTINGS = read("calibration")["settings"]


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """How the recommender of a point is trained."""
    model, pairs = point["model"], point.get("pairs", CANDIDATES)
    if pairs not in _SETS and not re.match(r"\d+ negatives? per positive", pairs):
        raise DataError(
            f"there is no calibration set {pairs!r}; there are {'; '.join(_SETS)}; N negatives per positive"
        )
    if is_own(model):
        return {"recipe": {"trials": 1, "fixed": {}, "start": {}}}
    search = SETTINGS["search"][scale]
    fixed = {"n_factors": 64 if model == "neumf" else 128, "validate_every": 1, **search}
    start = SETTINGS["printed"] | SETTINGS["printed_for"][model]
    return {"recipe": {"trials": fixed.pop("trials"), "fixed": fixed, "start": start}}


recommender = partial(needs_recommender, "preference")


@dataclass(frozen=True)
class Opened:
    """A trained recommender with its data, as a cell may see them."""

    bench: Workbench
    data: str
    seed: int
    split: Split
    source: ScoreSource

    @property
    def threshold(self) -> float:
        """Ratings above it are positive."""
        found = recipe(self.data).positive_above
        return -np.inf if found is None else found

    @cached_property
    def log(self) -> Interactions:
        """All ratings of the training part."""
        return self.bench.training_log(self.data)

    def uniform_pairs(self) -> ScoredPairs:
        """The uniformly exposed pairs of the test with score and label; only for work that judges."""
        test = self.split.test
        users, items, labels = test.user_rows, test.item_rows, rated_above(test, self.threshold)
        return ScoredPairs(scores=scores_of(self.source, users, items), labels=labels, users=users, items=items)


def opened(bench: Workbench, *, data: str, seed: int, test: str = "left_out", **parameters: Any) -> Opened:
    """The recommender of a cell with the split that it was trained on."""
    (cell,) = recommender(data=data, seed=seed, **parameters)
    split = bench.split(data, "preference", seed=seed, training_pairs=test)
    return Opened(bench, data, seed, split, bench.found(cell).source)


# --- calibration sets -------------------------------------------------------------------------------------------------

THREE_NEGATIVES = "3 negatives per positive"  # or another number
AS_LOGGED = "as many negatives per positive as the log has"
RATINGS = "held-out ratings, 3 and below as negatives"
CANDIDATES = "all candidates, propensities at their word"
WITH_BASE_RATE = "all candidates, level from a base rate"
WITH_ANCHOR = "all candidates, level from 1,000 uniform pairs"
_SETS = (AS_LOGGED, RATINGS, CANDIDATES, WITH_BASE_RATE, WITH_ANCHOR)
_ANCHORED = (WITH_BASE_RATE, WITH_ANCHOR)  # uniformly exposed labels enter the fit, which therefore cannot be sealed

_HELD_OUT_SHARE = 0.1  # of the training positives, as in the dissertation
_N_ANCHOR = 1_000  # uniformly exposed pairs that fix the level, and are then left out of the test


def anchor_rows(n_test: int, seed: int) -> NDArray[Any]:
    """Which test pairs serve as anchor; never more than a quarter of them."""
    chosen = np.zeros(n_test, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n_test)[: min(_N_ANCHOR, n_test // 4)]] = True
    return chosen


def set_of(pairs: str, made: Opened, anchor: ScoredPairs | None = None, propensity: Any = None) -> sn.CalibrationSet:
    """A calibration set by name; propensities are popularity in training, or given by row and column."""
    train, held_out = made.split.train, made.split.validation
    omega = sn.propensity.PopularityPropensity().fit(items=train.item_rows) if propensity is None else propensity
    known: dict[str, Any] = {"seen": train.matrix, "propensity": omega}
    if pairs == RATINGS:
        return _rated(made, omega)
    if "per positive" in pairs:
        known |= {"negatives_per_positive": _ratio(pairs, made), "as_population": True, "seed": made.seed}
        return sn.CalibrationSet.from_sampled_negatives(made.source, held_out.matrix, **known)
    known |= {"held_out_share": _HELD_OUT_SHARE, "estimand": "preference"}
    built = sn.CalibrationSet.from_source(made.source, held_out.matrix, **known)
    if pairs == CANDIDATES or anchor is None:
        return built
    return replace(built, **({"anchor": anchor} if pairs == WITH_ANCHOR else {"base_rate": anchor.labels.mean()}))


def _ratio(pairs: str, made: Opened) -> int:
    """Negatives per positive; as in the log: its ratings that are not positive for each that is, rounded."""
    if pairs != AS_LOGGED:
        return int(pairs.split()[0])
    positive = rated_above(made.log, made.threshold)
    n_positive = max(int(np.count_nonzero(positive)), 1)
    return max(1, round((len(positive) - n_positive) / n_positive))


def _rated(made: Opened, omega: Any) -> sn.CalibrationSet:
    """Held-out positives, and as large a share of the low ratings."""
    positives, above = made.split.validation, made.threshold
    _, low = hold_out(made.log.keep(~rated_above(made.log, above)), _HELD_OUT_SHARE, seed=made.seed)
    users, items = np.r_[positives.user_rows, low.user_rows], np.r_[positives.item_rows, low.item_rows]
    ratings: NDArray[Any] = np.r_[np.full(len(positives), above + 1), np.asarray(low.ratings)]
    scores, propensity = scores_of(made.source, users, items), omega.propensity(users, items)
    return sn.CalibrationSet.from_ratings(scores, ratings, threshold=above, propensity=propensity)


# --- fitted maps ------------------------------------------------------------------------------------------------------

PLAIN = ("minmax", "sigmoid", "histogram", "isotonic", "bbq")  # fitted to the labels as they are
RISKS = ("naive", "unbiased", "weighted")  # of all others
CONSTANT = "constant"  # gives every pair the same probability
_HISTOGRAM_BINS = {"coat": 15, "yahoo-r3": 50}
_BINNINGS = (10, 20, 50, 100)  # of BBQ in the dissertation


def maps_cell(*, pairs: str, test: str = "left_out", **parameters: Any) -> Cell:
    """The cell that fits a group of methods on a calibration set."""
    wanted = {name: parameters[name] for name in ("data", "model", "seed", "recipe", "methods")}
    return anchored.cell(pairs=pairs, test=test, **wanted) if pairs in _ANCHORED else fitted.cell(pairs=pairs, **wanted)


def needs_maps(**parameters: Any) -> list[Cell]:
    """The recommender and the maps that are judged."""
    return [*recommender(**parameters), maps_cell(**parameters)]


@work(needs=recommender, cost=1)
def fitted(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit on what the log tells alone; the test is sealed."""
    made = opened(bench, **parameters)
    return _kept(made, set_of(pairs, made), methods)


@work(needs=recommender, judges=True, cost=1)
def anchored(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Fit with uniformly exposed pairs that fix the level; cells that judge leave these pairs out."""
    made = opened(bench, **parameters)
    uniform = made.uniform_pairs()
    anchor = uniform.take(anchor_rows(len(uniform), made.seed))
    return _kept(made, set_of(pairs, made, anchor), methods, constant=float(anchor.labels.mean()))


def _kept(made: Opened, built: sn.CalibrationSet, methods: Sequence[str], constant: float | None = None) -> Tables:
    """Fit all methods and keep their maps; a risk without a minimum leaves none."""
    built = built.in_memory()  # so that not every fit asks the recommender again
    for number, (method, risk) in enumerate(with_risks(methods)):
        if (calibrator := fit(built, method, risk, made.data)) is not None:
            calibrator.save(made.bench.place / f"{number}.json")
    share = float(built.gather().labels.mean()) if constant is None else constant
    return {"about": pl.DataFrame({"constant": [share]})}


def with_risks(methods: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Methods with their risks: first those that have none, then all parametric ones with each risk."""
    there = [name for name in methods if name != CONSTANT]
    risky = [n for n in there if n not in PLAIN and (not is_own(n) or "risk" in inspect.signature(_own(n)).parameters)]
    yield from ((method, "") for method in there if method not in risky)
    yield from ((method, risk) for risk in RISKS for method in risky)


def _own(method: str) -> Any:
    """A user's own calibrator, with a name under which its saved maps can be opened."""
    found = load_own(method)
    sn.register("calibrator", method, found)
    return found


def fit(built: sn.CalibrationSet, method: str, risk: str, data: str) -> sn.calibration.Calibrator | None:
    """A fitted calibrator; None where the risk has no minimum."""
    if is_own(method):
        calibrator: sn.calibration.Calibrator = _own(method)(**({"risk": risk} if risk else {}))
    else:
        bins = {"n_bins": _HISTOGRAM_BINS.get(data, 15), "binnings": _BINNINGS}
        calibrator = sn.calibration.make_calibrator(method, risk=risk or "naive", scores_are="scores", **bins)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)  # relative propensities, few positives: the subject here
        try:
            calibrator.fit(built)
        except NoMinimumError:
            return None
    return calibrator


def maps_of(found: Finished) -> dict[tuple[str, str], sn.calibration.Calibrator | None]:
    """The calibrators of a finished cell by method and risk; None where the risk has no minimum."""
    keys = enumerate(with_risks(found.about["parameters"]["methods"]))
    files = {key: found.folder / f"{number}.json" for number, key in keys}
    return {key: sn.load(file) if file.exists() else None for key, file in files.items()}


def probabilities(calibrator: sn.calibration.Calibrator | None, scores: NDArray[Any]) -> NDArray[Any] | None:
    """Those of a map where there is one."""
    return None if calibrator is None else calibrator.probability(scores)


def judged_maps(bench: Workbench, *, pairs: str, **parameters: Any) -> tuple[Opened, ScoredPairs, list[Any]]:
    """Test pairs that no anchor holds, and method, risk and probabilities of every map; one map ignores the scores."""
    made, found = opened(bench, **parameters), bench.found(maps_cell(pairs=pairs, **parameters))
    test = made.uniform_pairs()
    test = test.take(~anchor_rows(len(test), made.seed)) if pairs in _ANCHORED else test
    given = [(*key, probabilities(each, test.scores)) for key, each in maps_of(found).items()]
    if CONSTANT in parameters["methods"]:
        given.append((CONSTANT, "", np.full(len(test), found.table("about")["constant"].item())))
    return made, test, given
