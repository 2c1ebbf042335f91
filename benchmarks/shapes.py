"""What shapes of maps are worth: lists of personal sizes against the best fixed size, and what became of their promise.

``python -m benchmarks.shapes --data ml-100k --model als --seeds 3`` computes the cells it finds missing, one log, model
and seed at a time, and keeps models and what came of each user in --cache; then it pools the seeds of all cells there
into benchmarks/results/shapes.csv (utilities) and benchmarks/results/promises.csv (promises), and writes the tables of
docs/list-sizes.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from benchmarks.shape_tables import RESULTS, write_tables
from sureness.calibration import PerUserCalibrator, PerUserPlatt, PlattCalibrator, ProbabilityMap, ShapeCalibrator
from sureness.data import Split, prepare
from sureness.evaluation import evaluate_ranking
from sureness.list_size import BestFixedSize, ExpectedUtility, FixedSize, Lists, compare_policies
from sureness.models import BPR, LightGCN
from sureness.pipeline import ConfidentRecommender, Run, Target, open_run
from sureness.sources import ScoreSource, from_implicit

DEVELOPMENT = ("ml-100k", "citeulike-t", "foursquare-tky-filtered", "citeulike-a")
"""Logs on which decisions were made (of the last one, ALS alone was looked at first); the others came afterwards."""

ORDERED = ("foursquare-tky-filtered",)
"""Logs that know the order of each user's interactions and no times."""

MODELS = ("als", "implicit-bpr", "bpr", "als-tuned", "lightgcn")
UTILITIES = ("ndcg", "pdcg", "f1", "tp")
FIXED = "best fixed size"
_FACTORS = 64
_TUNED = tuple(itertools.product((0.01, 0.1, 1.0), (1.0, 10.0)))  # regularisation, weight of a positive

BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
"""Ranks that are judged together."""

FloatArray = NDArray[np.floating]
Method = tuple[Callable[[], ProbabilityMap], Target, str]
METHODS: dict[str, Method] = {
    "learned": (PerUserCalibrator, "carried", "exact"),
    "line": (PerUserPlatt, "carried", "exact"),
    "one shape": (ShapeCalibrator, "carried", "exact"),
    "one line": (PlattCalibrator, "carried", "exact"),
    "as published": (
        lambda: PerUserPlatt(top=None, unlabelled_positives=False, prior_width=np.inf), "fitted", "approximate",
    ),
}  # fmt: skip


# --- models ----------------------------------------------------------------------------------------------------------


def trained(model: str, split: Split, seed: int) -> ScoreSource:
    """A recommender with 64 factors and default settings, or with the best of six on validation data."""
    if model == "bpr":
        return BPR(n_factors=_FACTORS, seed=seed).fit(split.train, split.validation)
    if model == "lightgcn":
        return LightGCN(n_factors=_FACTORS, seed=seed).fit(split.train, split.validation)
    if model != "als-tuned":
        return _implicit(model, split, seed)
    tried = [_implicit("als", split, seed, regularization=pull, alpha=weight) for pull, weight in _TUNED]
    return max(
        tried, key=lambda s: evaluate_ranking(s, split.validation, metrics=["ndcg@20"], seen=split.train)["ndcg@20"]
    )


def _implicit(model: str, split: Split, seed: int, **settings: float) -> ScoreSource:
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]
    from implicit.cpu.bpr import BayesianPersonalizedRanking  # type: ignore[import-untyped]

    kind = {"als": AlternatingLeastSquares, "implicit-bpr": BayesianPersonalizedRanking}[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its advice about the threads of BLAS
        fitted = kind(factors=_FACTORS, random_state=seed, num_threads=1, **settings)
        fitted.fit(split.train.matrix, show_progress=False)
    return from_implicit(fitted, split.train)


def run_of(data: str, model: str, seed: int, protocol: str, cache: Path) -> Run:
    """A trained recommender with its split, 60/20/20, of users with 20 interactions or more."""
    path = cache / f"{data}-{model}-{seed}{'' if protocol == 'ratio' else '-' + protocol}.sureness"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        cuts = {"validation_share": 0.2, "test_share": 0.2, "share_of": "user" if data in ORDERED else "period"}
        by_time = cuts if protocol == "time" else None
        split = prepare(data, protocol, seed=seed, per_user=20, core=1, positive_above=None, cuts=by_time)
        Run(trained(model, split, seed), split.train, split.validation, split.test).save(path)
    return open_run(path)


# --- one cell --------------------------------------------------------------------------------------------------------


def judged(run: Run, method: str) -> dict[str, FloatArray]:
    """What a method was worth to each user by each utility beside the best fixed size, and the promise of its lists."""
    calibrator, target, form = METHODS[method]
    assert run.validation is not None
    assert run.test is not None
    recommender = ConfidentRecommender(run.source, calibrator(), expected_relevant=target).fit(
        run.train, run.validation
    )
    lists, before = recommender.lists(labels=run.test), recommender.validation_lists(run.train, run.validation)
    found: dict[str, FloatArray] = {}
    for utility in UTILITIES:
        own = ExpectedUtility(utility, method=form)  # type: ignore[arg-type]
        size = int(BestFixedSize(utility).fit(before).sizes(before)[0])
        compared = compare_policies({method: own, FIXED: FixedSize(size)}, lists, utility)
        found[f"users {utility}"], found[f"size {utility}"] = compared.users, compared.sizes[method]
        found[f"own {utility}"], found[f"fixed {utility}"] = compared.values[method], compared.values[FIXED]
        if utility == "f1":
            found["promised"], found["realised"] = hits_by_user(lists, own.sizes(lists), run.source.n_users)
    return found


def hits_by_user(lists: Lists, sizes: FloatArray, n_users: int) -> tuple[FloatArray, FloatArray]:
    """Promised and realised hits of each user, in total and in the bands of ranks; shape (n_users, 1 + n_bands)."""
    ranks = np.arange(1, lists.width + 1)
    shown = ranks <= np.minimum(sizes, lists.lengths)[:, None]
    probabilities, hits = lists.needed("probabilities", "a promise"), lists.needed("hits", "a promise")
    promised, realised = np.zeros((2, n_users, 1 + len(BANDS)))
    for column, (first, last) in enumerate([(1, lists.width), *BANDS]):
        there = shown & (ranks >= first) & (ranks <= last)
        promised[lists.users, column] = np.where(there, probabilities, 0.0).sum(axis=1)
        realised[lists.users, column] = (there & hits.astype(bool)).sum(axis=1)
    return promised, realised


def compute(data: str, model: str, seed: int, protocol: str, methods: Iterable[str], cache: Path) -> None:
    """Keep what came of each user, for the methods that are missing."""
    folder = cache / "judged"
    folder.mkdir(parents=True, exist_ok=True)
    for method in methods:
        path = folder / f"{data}~{model}~{protocol}~{method}~{seed}.npz"
        if not path.exists():
            new = path.with_suffix(".new")
            with new.open("wb") as file:
                np.savez_compressed(file, **judged(run_of(data, model, seed, protocol, cache), method))
            new.rename(path)
            print(data, model, seed, protocol, method, flush=True)


# --- all cells -------------------------------------------------------------------------------------------------------


def of_users(paths: list[Path], first: str, second: str, users: str) -> tuple[FloatArray, FloatArray, int]:
    """Two values of each user, added up over seeds, and the number of seeds that a user has on average."""
    totals: dict[str, FloatArray] = {}
    for path in paths:
        with np.load(path) as cell:
            rows = cell[users]
            size = int(rows.max()) + 1
            for name in (first, second, "n"):
                new = np.bincount(rows, np.ones(len(rows)) if name == "n" else cell[name], size)
                old = totals.get(name, np.zeros(0))
                longer, shorter = (new, old) if len(new) >= len(old) else (old, new)
                totals[name] = longer + np.pad(shorter, (0, len(longer) - len(shorter)))
    there = totals["n"] > 0
    return totals[first][there], totals[second][there], int(totals["n"].sum())


def pooled_utilities(cache: Path) -> pl.DataFrame:
    """Each method against the best fixed size, seeds pooled, paired over users, with Holm's correction over all."""
    rows = []
    for (data, model, protocol, method), paths in _cells(cache):
        if protocol != "ratio":
            continue
        for utility in UTILITIES:
            own, fixed, n = of_users(paths, f"own {utility}", f"fixed {utility}", f"users {utility}")
            rows.append(_contrast(own, fixed, n) | {
                "data": data, "model": model, "utility": utility, "method": method, "against": FIXED,
                "seeds": len(paths),
            })  # fmt: skip
            line = [path.with_name(path.name.replace(f"~{method}~", "~line~")) for path in paths]
            if method == "learned" and all(path.exists() for path in line):
                other, _, _ = of_users(line, f"own {utility}", f"fixed {utility}", f"users {utility}")
                rows.append(_contrast(own, other, n) | {
                    "data": data, "model": model, "utility": utility, "method": method, "against": "line",
                    "seeds": len(paths),
                })  # fmt: skip
    table = pl.DataFrame(rows).sort("data", "model", "method", "against", "utility")
    corrected = table.with_columns(pl.col("p_value").map_batches(holm).over("method", "against").alias("p_holm"))
    keys = ["data", "model", "utility", "method", "against", "seeds"]
    return corrected.select(*keys, pl.exclude(*keys))


def _contrast(own: FloatArray, other: FloatArray, n: int) -> dict[str, float]:
    """Means, their relative difference, and a paired t-test over users."""
    mean, against = own.sum() / n, other.sum() / n
    same = np.array_equal(own, other)
    return {
        "users": len(own),
        "value": mean,
        "other": against,
        "change": 0.0 if same else (mean - against) / abs(against),
        "p_value": 1.0 if same else float(stats.ttest_rel(own, other).pvalue),
    }


def holm(p_values: pl.Series) -> pl.Series:
    """P-values corrected for as many tests by Holm's method."""
    order = np.argsort(p_values.to_numpy())
    scaled = np.maximum.accumulate(p_values.to_numpy()[order] * np.arange(len(order), 0, -1))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(scaled, 1.0)
    return pl.Series(corrected)


def pooled_promises(cache: Path) -> pl.DataFrame:
    """Realised over promised hits in F1 lists, seeds pooled, with 95% intervals clustered by users."""
    rows = []
    for (data, model, protocol, method), paths in _cells(cache):
        cells = [np.load(path) for path in paths]
        promised, realised = (sum(cell[name] for cell in cells) for name in ("promised", "realised"))
        for column, ranks in enumerate(["all", *(f"{a}-{b}" if a < b else str(a) for a, b in BANDS)]):
            own, came = promised[:, column], realised[:, column]
            there = own > 0
            ratio = came.sum() / max(own.sum(), 1e-300)
            away = (came - ratio * own)[there]
            margin = 1.96 * np.sqrt(away @ away * len(away) / max(len(away) - 1, 1)) / max(own.sum(), 1e-300)
            rows.append({
                "data": data, "model": model, "split": protocol, "method": method, "seeds": len(paths), "ranks": ranks,
                "promised": own.sum(), "realised": came.sum(), "ratio": ratio, "low": ratio - margin,
                "high": ratio + margin,
            })  # fmt: skip
    return pl.DataFrame(rows)


def _cells(cache: Path) -> Iterable[tuple[list[str], list[Path]]]:
    """Log, model, split and method of each cell, with the files of its seeds."""
    files = sorted((cache / "judged").glob("*.npz"))
    for key, paths in itertools.groupby(files, lambda path: path.stem.rpartition("~")[0]):
        yield key.split("~"), list(paths)


def main() -> None:
    """Compute what is missing, and pool all there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DEVELOPMENT))
    parser.add_argument("--model", nargs="+", default=list(MODELS[:3]), choices=MODELS)
    parser.add_argument("--method", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--protocol", default="ratio", choices=["ratio", "time"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/sureness-models").expanduser())
    asked = parser.parse_args()
    for seed, data, model in itertools.product(range(asked.seeds), asked.data, asked.model):
        compute(data, model, seed, asked.protocol, asked.method, asked.cache)
    RESULTS.mkdir(exist_ok=True)
    for name, table in (("shapes", pooled_utilities(asked.cache)), ("promises", pooled_promises(asked.cache))):
        table.with_columns(pl.col(pl.Float64).round(5)).write_csv(RESULTS / f"{name}.csv")
    write_tables()


if __name__ == "__main__":
    main()
