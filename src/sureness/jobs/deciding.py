"""Cut the lists of a table where the policy says: leave out what was seen, check, sort, cut and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError, DataError
from sureness.jobs.inputs import read_columns
from sureness.lists.lists import Lists
from sureness.lists.policies import ListSizePolicy
from sureness.lists.ragged import Ragged, row_starts, similar_lengths
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

_PAIR = ("user_id", "item_id")


def read_seen(tables: Sequence[Table], columns: Columns, frame: pl.LazyFrame) -> pl.DataFrame:
    """The pairs of logs whose columns have the names of the table's, with ids of its kind."""
    kinds = frame.collect_schema()
    ids = [pl.col(name).cast(kinds[name], strict=False) for name in _PAIR]  # an id that cannot be one is no match
    logs = [read_columns(table, columns.only(*_PAIR), _PAIR).select(ids) for table in tables]
    return pl.concat(logs).unique()


def without_seen(block: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """The rows of other pairs, in their order."""
    return block.join(seen, on=_PAIR, how="anti", maintain_order="left")


_CELLS = 1_000_000  # probabilities in the matrix of some users


@dataclass
class Tally:
    """Counts of what was decided, block by block."""

    sizes: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))  # users with each list size
    expected: float = 0.0  # sum over users with a list
    is_worth_known: bool = True  # False: the policy computes no expected utility
    hits: float = 0.0  # expected relevant items of all lists
    unsure: int = 0
    raised: int = 0  # users whose listed probabilities add up to more than their expected_relevant
    unsorted: int = 0  # users whose rows were not in the order of their probabilities
    left_out: int = 0  # rows of pairs that were seen before

    def add(self, sizes: IntArray, expected: FloatArray, unsure: BoolArray, hits: FloatArray) -> None:
        """Count the users of a block; the expected utility is NaN where the policy does not compute it."""
        counts = np.bincount(sizes, minlength=len(self.sizes))
        counts[: len(self.sizes)] += self.sizes
        self.sizes = counts
        self.is_worth_known &= not np.isnan(expected).any()
        self.expected += float(np.nansum(expected))
        self.hits += float(hits.sum())
        self.unsure += int(np.count_nonzero(unsure))

    def summary(self) -> dict[str, Any]:
        """Users, list sizes and expected utility, as the fields of a result."""
        n_users, every = int(self.sizes.sum()), np.repeat(np.arange(len(self.sizes)), self.sizes)
        shares = {"smallest": 0, "median": 50, "largest": 100}
        quantiles = {name: float(np.percentile(every, share)) if n_users else 0.0 for name, share in shares.items()}
        return {
            "n_users": n_users, "n_rows": int(every.sum()), "without_list": int(self.sizes[0]), "unsure": self.unsure,
            "list_size": {"mean": float(every.mean()) if n_users else 0.0, **quantiles},
            "expected_utility": self.expected / max(n_users, 1) if self.is_worth_known else None,
            "expected_hits": self.hits,
        }  # fmt: skip


def decide_block(
    table: pl.DataFrame, policy: ListSizePolicy, expected_relevant: float | None, tally: Tally, *, sizes_only: bool
) -> pl.DataFrame:
    """Cut the lists of a block of whole users: the kept rows with rank, size and worth, or one row per user."""
    users = table["user_id"].rle_id().to_numpy().astype(np.int64)
    probability = _checked(table)
    order = np.lexsort((-probability, users))  # stable: equal probabilities stay as they were
    starts = np.flatnonzero(np.diff(users, prepend=-1))
    lengths = np.diff(starts, append=len(users))
    tally.unsorted += len(np.unique(users[order != np.arange(len(order))]))
    table, probability = table[order], probability[order]
    ranks = np.arange(len(users)) - starts[users]
    totals = _totals(table, expected_relevant, starts)
    sizes, unsure = np.zeros(len(starts), np.int64), np.zeros(len(starts), bool)
    expected, hits = np.zeros(len(starts)), np.zeros(len(starts))
    candidates = Ragged(probability, row_starts(lengths))
    for some in similar_lengths(lengths, _CELLS):
        matrix = candidates.take(some).padded(int(lengths[some].max()))
        lists = _lists(matrix, lengths[some], None if totals is None else totals[some], tally)
        decided = policy.decide(lists)
        sizes[some], expected[some], unsure[some] = (
            decided.needed(name, policy) for name in ("sizes", "expected", "unsure")
        )
        hits[some] = lists.expected_hits(sizes[some])
    tally.add(sizes, expected, unsure, hits)
    worth = {"expected_utility": pl.Series(expected).fill_nan(None), "expected_hits": pl.Series(hits)}
    if sizes_only:
        return pl.DataFrame({"user_id": table["user_id"].gather(starts), "list_size": sizes, **worth, "unsure": unsure})
    added = {"rank": ranks + 1, "list_size": sizes[users], **{name: each.gather(users) for name, each in worth.items()}}
    return table.with_columns(pl.Series(name, values) for name, values in added.items()).filter(ranks < sizes[users])


def _lists(matrix: FloatArray, lengths: IntArray, totals: FloatArray | None, tally: Tally) -> Lists:
    """Candidates of some users; what is expected beyond them is the tail, nothing if they add up to more than that."""
    tail = None
    if totals is not None:
        listed = matrix.sum(axis=1)
        missing = totals - listed
        tally.raised += int(np.count_nonzero(missing < -1e-9 * np.maximum(listed, 1.0)))
        tail = np.maximum(missing, 0.0)[:, None]
    return Lists.of(probabilities=matrix, lengths=lengths, tail=tail)


def _checked(table: pl.DataFrame) -> FloatArray:
    for name in ("item_id", "probability"):
        if n_empty := table[name].null_count():
            raise ColumnError(
                f"column {name} has {counted(n_empty, 'empty value')}; drop those rows: a user without candidates has "
                "no rows"
            )
    if not table["probability"].dtype.is_numeric():
        raise ColumnError(f"probabilities must be numbers, got values of type {table['probability'].dtype}")
    probability = table["probability"].cast(pl.Float64).to_numpy()
    bad = ~((probability >= 0) & (probability <= 1))  # NaN is bad too
    if bad.any():
        user, item, value = table.select("user_id", "item_id", "probability").row(int(np.argmax(bad)))
        raise DataError(
            f"probabilities must lie in [0, 1], got {counted(int(np.count_nonzero(bad)), 'other')}, the first "
            f"({value:g}) for user {user} and item {item}; calibrate the scores first"
        )
    twice = table.select("user_id", "item_id").is_duplicated()
    if twice.any():
        user, item = table.select("user_id", "item_id").row(int(twice.arg_true()[0]))
        raise DataError(
            f"an item may stand once in a list, got item {item} several times for user {user}; drop the others"
        )
    return probability


def _totals(table: pl.DataFrame, given: float | None, starts: IntArray) -> FloatArray | None:
    """How many relevant items are expected of each user; None where it is not given."""
    if given is not None:
        return np.full(len(starts), given)
    if "expected_relevant" not in table.columns:
        return None
    column = table["expected_relevant"]
    if not column.dtype.is_numeric() or column.null_count():
        raise ColumnError("column expected_relevant must hold a number in every row; fill it, or drop it")
    values = column.cast(pl.Float64).to_numpy()
    totals: FloatArray = values[starts]
    differ = values != np.repeat(totals, np.diff(starts, append=len(values)))  # NaN differs from itself
    bad = differ | ~np.isfinite(values) | (values < 0)
    if bad.any():
        user = table["user_id"][int(np.argmax(bad))]
        raise ColumnError(f"expected_relevant must be one finite number >= 0 for each user, got others for user {user}")
    return totals
