"""What shapes of maps are worth: lists of personal sizes against the best fixed size, and what became of their promise.

``python -m benchmarks.shapes --data ml-100k --model als --seeds 3`` adds the cells it finds missing to
benchmarks/results/shapes.csv, one row for each log, model, seed, utility and method; models are kept in --cache.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from sureness.calibration import PerUserCalibrator, PerUserPlatt, PlattCalibrator, ProbabilityMap
from sureness.data import Split, prepare
from sureness.list_size import BestFixedSize, ExpectedUtility, FixedSize, compare_policies, promise
from sureness.models import BPR
from sureness.pipeline import ConfidentRecommender, Run, Target, open_run
from sureness.sources import ScoreSource, from_implicit

DEVELOPMENT = ("ml-100k", "citeulike-t", "foursquare-tky-filtered", "citeulike-a")
"""Logs on which decisions were made; the others were looked at afterwards."""

MODELS = ("als", "implicit-bpr", "bpr")
UTILITIES = ("ndcg", "pdcg", "f1", "tp")
RESULTS = Path(__file__).parent / "results" / "shapes.csv"
FIXED = "best fixed size"
_FACTORS = 64

Method = tuple[Callable[[], ProbabilityMap], Target, str]
METHODS: dict[str, Method] = {
    "learned": (PerUserCalibrator, "carried", "exact"),
    "line": (PerUserPlatt, "carried", "exact"),
    "one map": (lambda: PerUserCalibrator(prior_width=0.0), "carried", "exact"),
    "one calibrator": (PlattCalibrator, "carried", "exact"),
    "as published": (
        lambda: PerUserPlatt(top=None, unlabelled_positives=False, prior_width=np.inf), "fitted", "approximate",
    ),
}  # fmt: skip


def trained(model: str, split: Split, seed: int) -> ScoreSource:
    """A recommender with default settings and 64 factors."""
    if model == "bpr":
        return BPR(n_factors=_FACTORS, seed=seed).fit(split.train, split.validation)
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]
    from implicit.cpu.bpr import BayesianPersonalizedRanking  # type: ignore[import-untyped]

    kind = {"als": AlternatingLeastSquares, "implicit-bpr": BayesianPersonalizedRanking}[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its advice about the threads of BLAS
        fitted = kind(factors=_FACTORS, random_state=seed, num_threads=1)
        fitted.fit(split.train.matrix, show_progress=False)
    return from_implicit(fitted, split.train)


def run_of(data: str, model: str, seed: int, cache: Path) -> Run:
    """A trained recommender with its 60/20/20 split of users with 20 interactions or more."""
    path = cache / f"{data}-{model}-{seed}.sureness"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        split = prepare(data, "ratio", seed=seed, per_user=20, core=1, positive_above=None)
        Run(trained(model, split, seed), split.train, split.validation, split.test).save(path)
    return open_run(path)


def cell(run: Run, method: str) -> Iterator[dict[str, object]]:
    """What a method was worth by each utility beside the best fixed size, and the promise of its lists."""
    calibrator, target, form = METHODS[method]
    assert run.validation is not None
    assert run.test is not None
    recommender = ConfidentRecommender(run.source, calibrator(), expected_relevant=target).fit(
        run.train, run.validation
    )
    lists, before = recommender.lists(labels=run.test), recommender.validation_lists(run.train, run.validation)
    for utility in UTILITIES:
        own = ExpectedUtility(utility, method=form)  # type: ignore[arg-type]
        size = int(BestFixedSize(utility).fit(before).sizes(before)[0])
        compared = compare_policies({method: own, FIXED: FixedSize(size)}, lists, utility, reference=FIXED)
        difference = compared.values[method] - compared.values[FIXED]
        kept = {row["ranks"]: row["ratio"] for row in promise(lists, own).iter_rows(named=True)}
        yield {
            "utility": utility, "method": method, "users": len(difference), "value": compared.values[method].mean(),
            "fixed": compared.values[FIXED].mean(), "fixed_size": size, "mean_size": compared.sizes[method].mean(),
            "difference": difference.mean(), "error": difference.std(ddof=1) / np.sqrt(len(difference)),
            **{f"promise_{ranks}": ratio for ranks, ratio in kept.items()},
        }  # fmt: skip


def main() -> None:
    """Add the missing cells, one at a time, so that a stopped study goes on where it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(DEVELOPMENT))
    parser.add_argument("--model", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--method", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/sureness-models").expanduser())
    asked = parser.parse_args()
    wanted = [(d, m, s, t) for s in range(asked.seeds) for d in asked.data for m in asked.model for t in asked.method]
    for data, model, seed, method in wanted:
        known = pl.read_csv(RESULTS) if RESULTS.exists() else None
        if known is not None and known.filter(data=data, model=model, seed=seed, method=method).height:
            continue
        found = pl.DataFrame(list(cell(run_of(data, model, seed, asked.cache), method)))
        rows = found.select(pl.lit(data).alias("data"), pl.lit(model).alias("model"), pl.lit(seed).alias("seed"), "*")
        rows = rows.with_columns(pl.col(pl.Float64).round(5))
        RESULTS.parent.mkdir(exist_ok=True)
        pl.concat([rows] if known is None else [known, rows], how="vertical_relaxed").write_csv(RESULTS)
        print(data, model, seed, method, rows["value"].to_list(), flush=True)


if __name__ == "__main__":
    main()
