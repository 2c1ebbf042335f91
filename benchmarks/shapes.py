"""What the map for lists is worth: list sizes against the best fixed size, and what became of their promise.

``python -m benchmarks.shapes --data ml-100k --model als --seeds 0 1 2`` computes the cells it finds missing, one log,
model, split and seed at a time, and keeps models in --cache. All users are in, without a minimum. What came is
kept as sums over 20 groups of users in benchmarks/results/lists.csv, so that it can be compared with the default before
(results/lists-before.csv, the learned map for each user) without that code. Then it writes the tables of
docs/measured/list-sizes.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.shape_tables import BANDS, FIXED, RESULTS, UTILITIES, write_tables
from sureness.calibration import (
    ListCalibrator,
    ListSample,
    Observed,
    PerUserPlatt,
    PlattCalibrator,
    ProbabilityMap,
    sample_lists,
)
from sureness.data import Interactions, Split, load_dataset, parted, prepare
from sureness.lists import BestFixedSize, ExpectedUtility, FixedSize, Lists, compare_policies
from sureness.metrics import evaluate_ranking
from sureness.models import BPR, LightGCN
from sureness.recommender import ConfidentRecommender, Run, open_run
from sureness.sources import ScoreSource, from_implicit

DEVELOPMENT = ("ml-100k", "citeulike-a", "amazon-music")
"""Logs on which choices were made; the others came afterwards."""

LOGS = (*DEVELOPMENT, "citeulike-t", "foursquare-tky-filtered", "ciao", "ml-1m", "gowalla", "amazon-book-kgat")
TUNED_LOGS = ("ml-100k", "citeulike-t", "foursquare-tky-filtered", "citeulike-a")
MODELS = ("als", "implicit-bpr", "bpr", "als-tuned", "lightgcn")
N_BUCKETS = 20
_FACTORS = 64
_TUNED = tuple(itertools.product((0.01, 0.1, 1.0), (1.0, 10.0)))  # regularisation, weight of a positive

FloatArray = NDArray[np.floating]
METHODS: dict[str, Callable[[], ProbabilityMap]] = {
    "lists": ListCalibrator,
    "lists, users never seen": ListCalibrator,
    "a line for each user": lambda: PerUserPlatt(top=200),
    "one line": PlattCalibrator,
}
NEVER_SEEN = "lists, users never seen"
KEYS = ("data", "model", "split", "seed", "method")


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


def split_of(data: str, protocol: str, seed: int) -> Split:
    """60/20/20 of each user's pairs, or of all pairs at random, whoever's they are."""
    if protocol == "ratio":
        return prepare(data, "ratio", seed=seed, per_user=1, core=1, positive_above=None)
    log: Interactions = load_dataset(data).interactions
    draw = np.random.default_rng(1000 + seed).random(len(log))
    return Split(*parted(log.keep(draw < 0.6), log.keep((draw >= 0.6) & (draw < 0.8)), log.keep(draw >= 0.8)))


def run_of(data: str, model: str, protocol: str, seed: int, cache: Path) -> Run:
    """A trained recommender with its split."""
    path = cache / f"{data}~{model}~{protocol}~{seed}.sureness"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        split = split_of(data, protocol, seed)
        Run(trained(model, split, seed), split.train, split.validation, split.test).save(path)
    return open_run(path)


# --- one cell --------------------------------------------------------------------------------------------------------


def fitted(run: Run, method: str) -> tuple[ConfidentRecommender, NDArray[np.bool_]]:
    """A recommender, and the users that it is judged on."""
    assert run.validation is not None
    everybody = np.ones(run.source.n_users, dtype=bool)
    if method != NEVER_SEEN:
        return ConfidentRecommender(run.source, METHODS[method]()).fit(run.train, run.validation), everybody
    observed = Observed(run.source, run.validation, run.train)
    sample = sample_lists(observed, 50, 6_000)
    known = sample.users % 2 == 0
    half = ListCalibrator().fit_sample(observed, ListSample(*(column[known] for column in sample)))
    recommender = ConfidentRecommender(run.source, half).fit(run.train, run.validation, refit=False)
    return recommender, np.arange(run.source.n_users) % 2 == 1


def judged(run: Run, method: str) -> pl.DataFrame:
    """Utilities and promises as sums over groups of users."""
    assert run.validation is not None
    assert run.test is not None
    assert run.train is not None
    recommender, users = fitted(run, method)
    lists = recommender.lists(labels=run.test)
    before = recommender.validation_lists(run.train, run.validation)
    bucket = np.arange(run.source.n_users) % N_BUCKETS
    columns: dict[str, FloatArray] = {"bucket": np.arange(N_BUCKETS)}
    for utility in UTILITIES:
        own = ExpectedUtility(utility)
        size = int(BestFixedSize(utility).fit(before).sizes(before)[0])
        compared = compare_policies({"own": own, FIXED: FixedSize(size)}, lists, utility)
        there = users[compared.users]
        place = bucket[compared.users[there]]
        columns["users"] = np.bincount(place, minlength=N_BUCKETS)
        columns[utility] = np.bincount(place, compared.values["own"][there], N_BUCKETS)
        columns[f"{utility} fixed"] = np.bincount(place, compared.values[FIXED][there], N_BUCKETS)
        if utility == "f1":
            sizes = np.minimum(own.sizes(lists), lists.lengths)
            columns |= promises(lists, np.where(users[lists.users], sizes, 0), run.train.user_degree, bucket)
    return pl.DataFrame(columns)


def promises(lists: Lists, sizes: FloatArray, history: FloatArray, bucket: FloatArray) -> dict[str, FloatArray]:
    """Promised and realised hits in total, by bands of ranks and by size of the history, as sums over groups."""
    ranks = np.arange(1, lists.width + 1)
    shown = ranks <= sizes[:, None]
    probabilities, hits = lists.needed("probabilities", "a promise"), lists.needed("hits", "a promise").astype(bool)
    quarter = np.searchsorted(np.quantile(history, [0.25, 0.5, 0.75]), history)[lists.users]
    inside = {"all": shown} | {f"ranks {a}-{b}": shown & (ranks >= a) & (ranks <= b) for a, b in BANDS}
    inside |= {f"history {number + 1}": shown & (quarter == number)[:, None] for number in range(4)}
    found: dict[str, FloatArray] = {}
    place = bucket[lists.users]
    for name, where in inside.items():
        found[f"{name} promised"] = np.bincount(place, np.where(where, probabilities, 0.0).sum(axis=1), N_BUCKETS)
        found[f"{name} realised"] = np.bincount(place, (where & hits).sum(axis=1), N_BUCKETS)
    return found


def main() -> None:
    """Compute what is missing, and write all there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DEVELOPMENT))
    parser.add_argument("--model", nargs="+", default=list(MODELS[:3]), choices=MODELS)
    parser.add_argument("--method", nargs="+", default=["lists"], choices=list(METHODS))
    parser.add_argument("--split", nargs="+", default=["ratio"], choices=["ratio", "random"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/sureness-models").expanduser())
    parser.add_argument("--again", action="store_true", help="also compute cells that are there")
    asked = parser.parse_args()
    path = RESULTS / "lists.csv"
    every = {} if not path.exists() else pl.read_csv(path).partition_by(*KEYS, as_dict=True)
    for cell in itertools.product(asked.data, asked.model, asked.split, asked.seeds, asked.method):
        if cell in every and not asked.again:
            continue
        named = [pl.lit(value).alias(name) for name, value in zip(KEYS, cell, strict=True)]
        found = judged(run_of(*cell[:4], asked.cache), cell[4]).with_columns(pl.col(pl.Float64).round(4))
        every[cell] = found.select(*named, pl.all())
        pl.concat([every[each] for each in sorted(every)], how="vertical_relaxed").write_csv(path)
        print(*cell, flush=True)
    write_tables()


if __name__ == "__main__":
    main()
