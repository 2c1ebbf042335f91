"""Do propensities and an anchor help on real data? Chapter 2's comparison on Coat.

People chose which coats to rate, and also rated coats drawn at random. The chosen ratings train a recommender and its
calibrators; the random ones judge them, because they show what people think of coats they would not have picked.

Run it with the folder that holds coat/, or set SURENESS_DATA:

    python examples/coat.py path/to/data --seeds 5
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

import sureness as sn
from sureness.propensity import GivenPropensity

THRESHOLD = 3  # ratings above are positive
HELD_OUT_SHARE = 0.1  # of the chosen positives, to calibrate on

KNOWLEDGE = (
    "naive", "given propensities", "popularity", "popularity + base rate", "naive + anchor", "popularity + anchor",
    "given + anchor", "anchor alone",
)  # fmt: skip
"""What a fit may use: the log alone, propensities (published with the data, or estimated from popularity), and the base
rate or an anchor, both from randomly drawn ratings that are then left out of the test."""


@dataclass(frozen=True, eq=False)
class Coat:
    """Positive chosen ratings, split into train and held out, and the randomly drawn ratings."""

    train: csr_matrix
    held_out: csr_matrix
    propensity: np.ndarray  # (n_users, n_items) as published with the data
    uniform: pl.DataFrame  # user_id, item_id, label of random pairs that are not in `train`


def read_coat(folder: Path, *, seed: int = 0) -> Coat:
    """Read interactions.tsv.gz and propensities.tsv.gz; a tenth of the chosen positives is held out."""
    ratings = pl.read_csv(folder / "interactions.tsv.gz", separator="\t")
    propensity = pl.read_csv(folder / "propensities.tsv.gz", separator="\t")
    matrix = propensity.select(pl.selectors.matches(r"^i\d+$")).to_numpy()
    ratings = ratings.with_columns(
        user_id=pl.col("user") - pl.col("user").min(),
        item_id=pl.col("item") - pl.col("item").min(),
        label=pl.col("rating") > THRESHOLD,
    )
    chosen = ratings.filter(split="train", label=True)
    held_out = np.random.default_rng(seed).random(chosen.height) < HELD_OUT_SHARE
    train = matrix_of(chosen.filter(~pl.Series(held_out)), matrix.shape)
    test = ratings.filter(split="test").select("user_id", "item_id", "label")
    in_training = np.asarray(train[test["user_id"].to_numpy(), test["item_id"].to_numpy()]).ravel() > 0
    return Coat(
        train, matrix_of(chosen.filter(pl.Series(held_out)), matrix.shape), matrix, test.filter(~pl.Series(in_training))
    )


def matrix_of(pairs: pl.DataFrame, shape: tuple[int, ...]) -> csr_matrix:
    """The pairs of a table as ones in a sparse matrix."""
    rows, columns = pairs["user_id"].to_numpy(), pairs["item_id"].to_numpy()
    return csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)


def compare(
    coat: Coat,
    methods: Sequence[str] = ("platt", "beta", "gaussian", "gamma", "isotonic"),
    *,
    n_factors: int = 8,
    n_anchor: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Judge every method with every kind of knowledge on the random pairs that are not in the anchor.

    Returns a table with method, knowledge, ece, low, high (95% interval, users resampled), nll and problem.
    """
    source = sn.svd_source(coat.train, n_factors=n_factors, seed=seed)
    users, items = coat.uniform["user_id"].to_numpy(), coat.uniform["item_id"].to_numpy()
    scores = source.score_block(np.arange(source.n_users))[users, items]
    pairs = sn.data.ScoredPairs.of(scores, coat.uniform["label"].to_numpy(), users=users, items=items)
    order = np.random.default_rng(seed).permutation(len(pairs))
    anchor, test = pairs.take(order[:n_anchor]), pairs.take(order[n_anchor:])
    rows = []
    for known in KNOWLEDGE:
        data = calibration_set(coat, source, known, anchor)
        risk = "naive" if known.startswith("naive") else None
        for method in methods:
            found = judge(sn.calibration.make_calibrator(method, risk=risk), data, test)
            rows.append({"method": method, "knowledge": known, **found})
    return pl.DataFrame(rows, infer_schema_length=None)


def calibration_set(
    coat: Coat, source: sn.sources.ScoreSource, known: str, anchor: sn.data.ScoredPairs
) -> sn.CalibrationSet:
    """The pairs that a fit with this knowledge may use."""
    if known == "anchor alone":
        return sn.CalibrationSet.from_chunks([anchor], estimand="preference")
    popular = "popularity" in known
    propensity = (
        sn.propensity.PopularityPropensity().fit(items=coat.train.nonzero()[1])
        if popular
        else GivenPropensity(coat.propensity)
    )
    data = sn.CalibrationSet.from_source(
        source, coat.held_out, seen=coat.train, propensity=propensity, held_out_share=HELD_OUT_SHARE
    )
    if known.endswith("anchor"):
        return replace(data, anchor=anchor)
    return replace(data, base_rate=float(anchor.labels.mean())) if known.endswith("base rate") else data


def judge(
    calibrator: sn.calibration.Calibrator, data: sn.CalibrationSet, test: sn.data.ScoredPairs
) -> dict[str, object]:
    """ECE with its interval, and NLL; or why there is no fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sn.errors.SurenessWarning)  # naive fits warn, and this compares with them
            probabilities = calibrator.fit(data).probability(test.scores)
    except sn.errors.NoMinimumError as error:
        return {"ece": None, "low": None, "high": None, "nll": None, "problem": str(error)}
    ece = sn.metrics.interval("ece", test.labels, probabilities, users=test.users)
    nll = sn.metrics.negative_log_likelihood(test.labels, probabilities)
    return {"ece": ece.value, "low": ece.low, "high": ece.high, "nll": nll, "problem": None}


def print_markdown(results: pl.DataFrame, value: str, n_seeds: int) -> None:
    """One row per method, with the mean over seeds; for the ECE also of its interval."""
    print(f"\n{value.upper()} on randomly drawn coats, mean over {n_seeds} seeds\n")
    print("| method | " + " | ".join(KNOWLEDGE) + " |")
    print("|---" * (len(KNOWLEDGE) + 1) + "|")
    for method in results["method"].unique(maintain_order=True):
        cells = []
        for known in KNOWLEDGE:
            rows = results.filter(method=method, knowledge=known)
            cell = f"{rows[value].mean():.4f}"
            if value == "ece":
                cell += f" [{rows['low'].mean():.3f}, {rows['high'].mean():.3f}]"
            cells.append(cell)
        print(f"| {method} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=os.environ.get("SURENESS_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--factors", type=int, default=4)
    arguments = parser.parse_args()
    folder = Path(arguments.data) / "coat"
    if not (folder / "interactions.tsv.gz").exists():
        parser.error(f"there is no {folder}/interactions.tsv.gz; give the folder that holds coat/")
    results = pl.concat(
        compare(read_coat(folder, seed=seed), seed=seed, n_factors=arguments.factors).with_columns(seed=pl.lit(seed))
        for seed in range(arguments.seeds)
    )
    print_markdown(results, "ece", arguments.seeds)
    print_markdown(results, "nll", arguments.seeds)


if __name__ == "__main__":
    main()
