"""Fit a map for each user: what users have in common from a sample, then every user where the candidates lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._settings import clone
from sureness._types import IntArray
from sureness.calibration.candidates import CandidateBlock, RankedBlock
from sureness.calibration.horizon import Horizon
from sureness.calibration.per_user import PerUserCalibrator
from sureness.calibration.user_model import Learner, UserModel
from sureness.errors import EmptyError, SettingError
from sureness.list_size.ragged import row_starts
from sureness.numerics.hashing import hash_ids
from sureness.numerics.row_logistic import bin_scores
from sureness.numerics.shrinkage import CountPrior
from sureness.sources.base import SENTINEL
from sureness.spark.frames import Kind, arrow_types, check_columns, check_frame, column, fetched, is_text, renamed
from sureness.spark.listing import by_user
from sureness.spark.shipping import check_executors
from sureness.spark.tasks import batches_of, tables, user_tables
from sureness.spark.user_maps import UserMaps, mean_user

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LEARNED = ("location", "scale", "intercept", "last", "expected_relevant", "within")
_BINS_BEHIND = 64


def fit_per_user(
    df: DataFrame,
    calibrator: PerUserCalibrator | None = None,
    *,
    held_out: DataFrame | None = None,
    seen: DataFrame | None = None,
    user: str = "user_id",
    item: str = "item_id",
    score: str = "score",
    label: str = "label",
) -> UserMaps:
    """Learn a map for each user from candidates, as `PerUserCalibrator` does from a table of candidates.

    What users have in common is learned on the driver, from the candidates of at most ``prior_users`` users, who are
    chosen by a hash of their ids. The maps are then fitted where the candidates are, in blocks of whole users.

    Parameters
    ----------
    df : DataFrame
        The candidates of each user with their scores, best if more of them than ``calibrator.top``. Rows without a
        finite score are left out; of rows that repeat a pair, the one with the highest score is kept.
    calibrator : PerUserCalibrator, optional
        Its settings; it stays as it is.
    held_out : DataFrame, optional
        Users and items that came later: the positives. Without it, the candidates must have a column of labels.
    seen : DataFrame, optional
        Users and items that are no candidates.
    user, item, score, label : str
        Columns; those of users and items are called the same in all DataFrames.

    Returns
    -------
    UserMaps
        For `apply` and `lists`; `save` writes one file for all machines.
    """
    unfitted = _checked(calibrator)
    rows = _rows(df, held_out, seen, (user, item, score, label))
    check_executors(rows)
    counts = _counts(rows)
    prior = CountPrior.of(counts["n_held_out"].to_numpy(), counts["n_users"].to_numpy())
    n_held_out = int((counts["n_held_out"] * counts["n_users"]).sum())
    if not n_held_out:
        raise EmptyError("held_out must hold at least one positive that is known as a user and an item, got none")
    model = _learn(rows, unfitted, prior)
    share = None if seen is None else n_held_out / max(1, n_held_out + seen.count())
    horizon = Horizon(share, population="all" if seen is None else "unseen")
    horizon = horizon.following() if unfitted.unlabelled_positives else horizon
    table, means = _fitted(rows, unfitted, model, prior)
    ids = pl.String() if is_text(rows, "user_id") else pl.Int64()
    return UserMaps(table, mean_user(unfitted, model, horizon, means, ids), model, horizon)


def _checked(given: PerUserCalibrator | None) -> PerUserCalibrator:
    calibrator = PerUserCalibrator() if given is None else given
    if not isinstance(calibrator, PerUserCalibrator):
        raise SettingError(f"fit_per_user takes a PerUserCalibrator, got {given!r}; for one map use fit")
    calibrator.check_settings()
    if calibrator.top is None:
        raise SettingError("fit_per_user looks at the best candidates of each user, got top=None; say how many")
    return clone(calibrator)


def _rows(df: DataFrame, held_out: DataFrame | None, seen: DataFrame | None, names: tuple[str, ...]) -> DataFrame:
    """Candidates with their scores, and behind them what was held out, without scores."""
    from pyspark.sql import functions as sf

    user, item, score, label = names
    frame = check_frame(df)
    needed: dict[str, Kind] = {user: "id", item: "id", score: "number"}
    check_columns(frame, needed | ({label: "label"} if held_out is None else {}))
    pair = {"user_id": user, "item_id": item}
    candidates = renamed(frame, pair | {"score": score}, ["score"]).withColumn("score", sf.col("score").cast("float"))
    candidates = candidates.dropna().filter(sf.abs("score") < SENTINEL)
    if held_out is None:
        positives = renamed(frame.filter(column(label).cast("boolean")), pair)
    else:
        check_columns(check_frame(held_out, "held_out"), {user: "id", item: "id"}, "held_out")
        positives = renamed(held_out, pair).dropna()
        positives = positives.join(candidates.select("item_id").distinct(), "item_id", "left_semi")
    if seen is not None:
        check_columns(check_frame(seen, "seen"), {user: "id", item: "id"}, "seen")
        known = renamed(seen, pair)
        candidates, positives = (
            each.join(known, ["user_id", "item_id"], "left_anti") for each in (candidates, positives)
        )
    positives = positives.select("user_id", "item_id").distinct().withColumn("score", sf.lit(None).cast("float"))
    return candidates.unionByName(positives)


def _counts(rows: DataFrame) -> pl.DataFrame:
    """How many users with candidates have how many held-out items."""
    from pyspark.sql import functions as sf

    per_user = _per_user(rows)
    found = fetched(per_user.groupBy("n_held_out").agg(sf.count(sf.lit(1)).alias("n_users")))
    return found if found.height else pl.DataFrame({"n_held_out": [0], "n_users": [1]})


def _per_user(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    n_candidates, n_held_out = sf.count("score"), sf.count(sf.lit(1)) - sf.count("score")
    found = rows.groupBy("user_id").agg(n_candidates.alias("n_candidates"), n_held_out.alias("n_held_out"))
    return found.filter("n_candidates > 0").select("user_id", "n_held_out")


def _learn(rows: DataFrame, calibrator: PerUserCalibrator, prior: CountPrior) -> UserModel:
    """What users have in common, from a sample of those with held-out items."""
    from pyspark.sql import functions as sf

    learners = _per_user(rows).filter("n_held_out > 0").select("user_id")
    hashed = learners.mapInArrow(_Hash(calibrator.seed), arrow_types(learners, {"hash": "bigint"})[0])
    chosen = hashed.orderBy("hash", "user_id").limit(calibrator.prior_users).select("user_id")
    found = fetched(rows.join(sf.broadcast(chosen), "user_id", "left_semi"))
    users = _users_in(found.sort("user_id", maintain_order=True), calibrator)
    if not len(users.block.positive_scores):
        raise EmptyError(
            f"no held-out item is among the top {calibrator.top} candidates of any user, so there is nothing to fit; "
            "raise top, or check that the scores are higher for better items"
        )
    learner = Learner(
        users.block, prior.expected(users.n_held_out), users.behind if users.has_more else None,
        calibrator.shape or calibrator.usual_shape, calibrator.prior_width, calibrator.unlabelled_positives,
        calibrator.seed,
    )  # fmt: skip
    return learner.model()


def _fitted(
    rows: DataFrame, calibrator: PerUserCalibrator, model: UserModel, prior: CountPrior
) -> tuple[DataFrame, dict[str, Any]]:
    """The maps of all users, cached, and the means of what was learned about them."""
    from pyspark.sql import functions as sf

    coefs = [f"coef_{number}" for number in range(len(model.overall) - 1)]
    kinds = dict.fromkeys((*_LEARNED, *coefs), "double") | {"n_positive": "bigint", "n_held_out": "bigint"}
    schema, arrow = arrow_types(rows.select("user_id"), kinds)
    fitted = by_user(rows, "user_id").mapInArrow(_FitUsers(calibrator, model, prior, arrow), schema).persist()
    sums = fitted.agg(*(sf.avg(name).alias(name) for name in kinds)).collect()[0].asDict()
    share = max(sums["expected_relevant"] / max(sums["within"], 1e-300) - 1.0, 0.0)
    personal = sf.col("n_held_out") > (0 if calibrator.prior_width != 0 else sf.lit(2**62))
    left = sf.greatest(sf.col("expected_relevant") - sf.col("within"), sf.lit(0.0))
    beyond = sf.when(personal, left).otherwise(sf.col("within") * share)
    names = [each for name in PerUserCalibrator.LEARNED.values() for each in (coefs if name == "coef" else [name])]
    table = fitted.withColumn("expected_beyond", beyond).select("user_id", *names)
    return table, sums | {"expected_beyond": 0.0}


@dataclass(frozen=True)
class _Hash:
    """Adds the hash by which users are chosen."""

    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                (table,) = tables(iter([batch]))
                signed = (hash_ids(table["user_id"], self.seed) ^ np.uint64(2**63)).view(np.int64)  # in the same order
                yield batch.append_column("hash", pa.array(signed))


@dataclass(frozen=True, eq=False)
class _FitUsers:
    """Fits the maps of the users of a partition."""

    calibrator: PerUserCalibrator
    model: UserModel
    prior: CountPrior
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in user_tables(batches, "user_id"):
            users = _users_in(table, self.calibrator)
            if len(users.n_held_out):
                yield from batches_of(self._table(users), self.schema)

    def _table(self, users: _Users) -> pl.DataFrame:
        expected = self.prior.expected(users.n_held_out)
        fits = self.model.users(users.block, expected, users.n_held_out > 0)
        intercept, coef = self.model.natural(fits.theta)
        learned = {name: getattr(fits, name) for name in ("location", "scale", "n_positive", "last", "within")}
        learned |= {"intercept": intercept, "expected_relevant": expected, "n_held_out": users.n_held_out}
        return pl.DataFrame({"user_id": users.ids, **learned}).with_columns(
            pl.Series(f"coef_{number}", coef[:, number]) for number in range(coef.shape[1])
        )


@dataclass(frozen=True, eq=False)
class _Users:
    """The candidates of some users, sorted by score."""

    ids: pl.Series  # (n,)
    lengths: IntArray  # (n,) candidates of each
    n_held_out: IntArray  # (n,)
    scores: np.ndarray  # all candidates, user after user, best first
    hits: np.ndarray
    top: int

    @property
    def has_more(self) -> bool:
        """Whether any of them has candidates behind the best ones."""
        return bool(self.lengths.max(initial=0) > self.top)

    @property
    def ranked(self) -> RankedBlock:
        """The best candidates of each."""
        width = max(1, min(self.top, int(self.lengths.max(initial=0))))
        places, there = self._places(0, width)
        return RankedBlock(
            np.arange(len(self.lengths)), np.where(there, places, -1),
            np.where(there, self.scores[places], 0.0).astype(np.float64), there & self.hits[places],
        )  # fmt: skip

    @property
    def block(self) -> CandidateBlock:
        """The best candidates as weighted points."""
        return self.ranked.candidates

    def behind(self, users: IntArray) -> CandidateBlock:
        """What lies behind the best candidates of users, in bins."""
        width = max(1, int(self.lengths.max(initial=0)) - self.top)
        places, there = self._places(self.top, width)
        places, there = places[users], there[users]
        scores = np.where(there, self.scores[places], -np.inf).astype(np.float32)
        nothing = np.zeros(len(self.lengths) + 1, dtype=np.int64)
        means, weights = bin_scores(scores, _BINS_BEHIND, rows=users, starts=nothing, seen=nothing[:0])
        rows, columns = np.nonzero(there & self.hits[places])
        return CandidateBlock(users, means, weights, rows, self.scores[places[rows, columns]].astype(np.float64))

    def _places(self, first: int, width: int) -> tuple[IntArray, Any]:
        """Where the candidates from a rank on stand, and whether there are as many; shape (n, width)."""
        ranks = first + np.arange(width)
        there = ranks < self.lengths[:, None]
        places = row_starts(self.lengths)[:-1, None] + ranks
        return np.where(there, places, 0), there


def _users_in(table: pl.DataFrame, calibrator: PerUserCalibrator) -> _Users:
    """The users of a table who have candidates; rows without a score are held-out pairs."""
    pairs = table.group_by("user_id", "item_id").agg(score=pl.max("score"), hit=pl.col("score").is_null().any())
    counts = pairs.group_by("user_id").agg(n=pl.count("score"), n_held_out=pl.sum("hit")).filter(pl.col("n") > 0)
    counts = counts.sort("user_id")
    known = pairs.drop_nulls("score").sort("user_id", "score", "item_id", descending=[False, True, False])
    assert calibrator.top is not None  # refused on the driver
    return _Users(
        counts["user_id"], counts["n"].to_numpy().astype(np.int64), counts["n_held_out"].to_numpy().astype(np.int64),
        known["score"].to_numpy(), known["hit"].to_numpy(), calibrator.top,
    )  # fmt: skip
