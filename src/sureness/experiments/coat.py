"""Chapter 2's comparison on Coat: ratings people chose to give against ratings of coats drawn at random."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

from sureness._types import FloatArray, IntArray
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.catalogue import make_calibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.tables import readable
from sureness.errors import FileError, NoMinimumError, SurenessWarning
from sureness.metrics.intervals import interval
from sureness.propensity.models import GivenPropensity, PopularityPropensity
from sureness.sources.base import FactorSource
from sureness.sources.svd import svd_source
from sureness.sources.tables import scores_of

THRESHOLD = 3  # ratings above are positive
HELD_OUT_SHARE = 0.1

KNOWLEDGE = (
    "naive", "given propensities", "popularity", "popularity + base rate", "naive + anchor", "popularity + anchor",
    "given + anchor", "anchor alone",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Coat:
    """Positives of the chosen ratings, split into train and held out, and the randomly drawn ratings."""

    train: csr_matrix
    held_out: csr_matrix
    propensity: FloatArray  # (n_users, n_items) as published with the data
    uniform: pl.DataFrame  # user_id, item_id, label; pairs of the training log left out


def read_coat(folder: Path, *, seed: int = 0) -> Coat:
    """Read Coat from a folder with its interactions and propensities; a tenth of the positives is held out."""
    path = folder / "interactions.tsv.gz"
    if not path.exists():
        raise FileError(f"cannot read {path}: there is no such file; give the folder that holds Coat")
    with readable(path):
        ratings = pl.read_csv(path, separator="\t")
        propensity = pl.read_csv(folder / "propensities.tsv.gz", separator="\t")
    matrix = propensity.select(pl.selectors.matches(r"^i\d+$")).to_numpy()
    ratings = ratings.with_columns(
        user_id=pl.col("user") - ratings["user"].min(), item_id=pl.col("item") - ratings["item"].min(),
        label=pl.col("rating") > THRESHOLD,
    )  # fmt: skip
    chosen = ratings.filter(split="train", label=True)
    held_out = np.random.default_rng(seed).random(chosen.height) < HELD_OUT_SHARE
    shape = (matrix.shape[0], matrix.shape[1])
    train = _matrix(chosen.filter(~pl.Series(held_out)), shape)
    test = ratings.filter(split="test").select("user_id", "item_id", "label")
    in_training = np.asarray(train[test["user_id"].to_numpy(), test["item_id"].to_numpy()]).ravel() > 0
    return Coat(train, _matrix(chosen.filter(pl.Series(held_out)), shape), matrix, test.filter(~pl.Series(in_training)))


def compare(
    coat: Coat,
    methods: Sequence[str] = ("platt", "beta", "gaussian", "gamma", "isotonic"),
    *,
    n_factors: int = 8,
    n_anchor: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    """ECE of every method under every kind of knowledge on the randomly drawn pairs, those of the anchor left out.

    Returns
    -------
    polars.DataFrame
        method, knowledge, ece, low, high (95%, users resampled), nll, problem.
    """
    source = svd_source(coat.train, n_factors=n_factors, seed=seed)
    users, items = coat.uniform["user_id"].to_numpy(), coat.uniform["item_id"].to_numpy()
    pairs = ScoredPairs(
        scores=scores_of(source, users, items), labels=coat.uniform["label"].to_numpy(), users=users, items=items
    )
    order = np.random.default_rng(seed).permutation(len(pairs))
    anchor, test = pairs.take(order[:n_anchor]), pairs.take(order[n_anchor:])
    rows = [
        {"method": method, "knowledge": known} | _judged(make_calibrator(method, risk=_risk(known)), data, test)
        for known in KNOWLEDGE
        for data in [_calibration_set(coat, source, known, anchor)]
        for method in methods
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _calibration_set(coat: Coat, source: FactorSource, known: str, anchor: ScoredPairs) -> CalibrationSet:
    if known == "anchor alone":
        return CalibrationSet.from_chunks([anchor], estimand="preference")
    if "popularity" in known:
        model: Any = PopularityPropensity().fit(items=coat.train.nonzero()[1])
    else:
        model = GivenPropensity(coat.propensity)
    data = CalibrationSet.from_source(
        source, coat.held_out, train=coat.train, propensity=model, held_out_share=HELD_OUT_SHARE
    )
    if known.endswith("anchor"):
        return replace(data, anchor=anchor)
    return replace(data, base_rate=float(anchor.labels.mean())) if known.endswith("base rate") else data


def _risk(known: str) -> str | None:
    return "naive" if known.startswith("naive") else None


def _judged(calibrator: Any, data: CalibrationSet, test: ScoredPairs) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # the comparison is about exactly that
            probabilities = calibrator.fit(data).probability(test.scores)
    except NoMinimumError as error:
        return {"ece": None, "low": None, "high": None, "nll": None, "problem": str(error)}
    ece = interval("ece", test.labels, probabilities, users=test.users)
    nll = interval("nll", test.labels, probabilities, users=test.users)
    return {"ece": ece.value, "low": ece.low, "high": ece.high, "nll": nll.value, "problem": None}


def _matrix(pairs: pl.DataFrame, shape: tuple[int, int]) -> csr_matrix:
    rows: IntArray = pairs["user_id"].to_numpy()
    columns: IntArray = pairs["item_id"].to_numpy()
    return csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
