"""A table of each user's best items as a source; scores of other items are unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.data.cleaning import drop, name_items_by_domain
from sureness.data.ids import IdMap
from sureness.errors import ColumnError, EmptyError
from sureness.numerics.checks import number_array, same_length
from sureness.saving.packed import Packed, Parts
from sureness.sources.base import SENTINEL, KnownScores, SavableSource, check_names, check_sparse_precision, check_users
from sureness.tables.columns import Columns
from sureness.tables.frames import Table
from sureness.tables.id_values import id_series
from sureness.tables.reading import read_table

_COLUMNS = ("user_id", "item_id", "score")


@dataclass(frozen=True, eq=False)
class CandidateSource(SavableSource):
    """Scores of each user's candidates, from a table user_id, item_id, score. Build it with `of`, `from_table`, `read`.

    The scores of all other items are unknown: in a table of the best N they are lower, and nothing else is known.
    `known_block` gives the known scores; only these are used for calibration and turned into probabilities.
    `score_block` must have a number for every item, so it gives the others the largest number below the user's last
    candidate: they are tied below it. A user without candidates has 0 throughout. Scores are stored as sparse rows of
    float32.

    Examples
    --------
    >>> source = CandidateSource.of(["ann", "ann", "bob"], ["film", "song", "book"], [2.0, 1.0, 5.0])
    >>> source
    CandidateSource(2 users, 3 items, 3 scores)
    >>> source.items.ids.to_list(), source.score_block(np.array([0]))
    (['book', 'film', 'song'], array([[0.99999994, 2.        , 1.        ]], dtype=float32))
    >>> source.known_block(np.array([0])).scores
    array([2., 1.], dtype=float32)
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ("starts", "item_rows", "scores")

    starts: IntArray  # (n_users + 1,) where each user's candidates start
    item_rows: IntArray  # (n,) ascending for each user
    scores: FloatArray  # (n,) float32
    users: IdMap
    items: IdMap
    notes: tuple[str, ...] = field(default=())  # what was dropped, one sentence each

    def __post_init__(self) -> None:
        check_names(self)

    @classmethod
    def of(cls, users: ArrayLike, items: ArrayLike, scores: ArrayLike) -> Self:
        """From columns of equal length."""
        columns = {
            "user_id": id_series(users),
            "item_id": id_series(items),
            "score": pl.Series(number_array(scores, "scores")),
        }
        for name, column in columns.items():
            same_length(np.asarray(column), len(columns["user_id"]), name)
        return cls._of_rows(pl.DataFrame(columns))

    @classmethod
    def from_table(
        cls,
        table: Table,
        columns: Columns | None = None,
        *,
        users: IdMap | None = None,
        items: IdMap | None = None,
        by_domain: bool = False,
    ) -> Self:
        """From a table with user_id, item_id and score.

        Rows without an id or a finite score are dropped, also those with the largest float (other libraries write it
        where they have no score). Of rows that repeat a pair, the last one is kept. `notes` tells how many rows this
        concerned.

        Parameters
        ----------
        table : table of any kind, or path
            Of pandas, polars, PyArrow, DuckDB or anything with the Arrow C stream; or a file, as of `read`.
        columns : Columns, optional
            Names of the three columns in the table, where they differ.
        users, items : IdMap, optional
            Fix the ids of the source; rows with other ids are dropped.
        by_domain : bool
            An item is identified by domain and item_id, as in a log with a column domain.
        """
        needed = (*_COLUMNS, "domain") if by_domain else _COLUMNS
        return cls._of_rows(read_table(table, columns, needed), users, items)

    @classmethod
    def _of_rows(cls, table: pl.DataFrame, users: IdMap | None = None, items: IdMap | None = None) -> Self:
        notes: list[str] = []
        rows = _usable(table, notes)
        users = IdMap.of(rows["user_id"]) if users is None else users
        items = IdMap.of(rows["item_id"]) if items is None else items
        rows = rows.select("score", user=users.rows(rows["user_id"]), item=items.rows(rows["item_id"]))
        rows = drop(
            rows,
            rows.filter(pl.col("user") >= 0, pl.col("item") >= 0),
            notes,
            "had an unknown user or item and were dropped",
        )
        keys = rows["user"].to_numpy() * len(items) + rows["item"].to_numpy()
        distinct = drop(rows, rows[_last_of_each(keys)], notes, "repeated a pair; the last one was kept")
        if not distinct.height:
            raise EmptyError(f"expected at least one candidate, got none that can be used; {'; '.join(notes)}")
        starts = np.concatenate([[0], np.cumsum(np.bincount(distinct["user"], minlength=len(users)))])
        scores = distinct["score"].to_numpy()
        check_sparse_precision(scores, starts)
        return cls(starts, distinct["item"].to_numpy(), scores.astype(np.float32), users, items, tuple(notes))

    @classmethod
    def read(cls, path: str | PathLike[str], columns: Columns | None = None) -> Self:
        """From a Parquet, CSV or TSV file; `columns` names its columns where they differ from the agreed names."""
        return cls.from_table(path, columns=columns)

    def __repr__(self) -> str:
        return (
            f"CandidateSource({counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}, "
            f"{counted(len(self.scores), 'score')})"
        )

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        users, items = parts.opened("users", IdMap), parts.opened("items", IdMap)
        scores = packed.array("scores", "f", None)
        starts = packed.starts("starts", len(users), len(scores))
        item_rows = packed.rows("item_rows", len(scores), len(items))
        packed.rising_in_rows("item_rows", starts)
        if not (packed.trusted or np.isfinite(scores).all()):
            raise packed.damaged("some of its scores are not numbers")
        return cls(starts, item_rows, scores, users, items)

    @property
    def n_users(self) -> int:
        return len(self.starts) - 1

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def scores_per_user(self) -> int:
        return len(self.scores) // max(self.n_users, 1)

    def score_block(self, users: IntArray) -> FloatArray:
        return self.known_block(users).dense(self.n_items)

    def known_block(self, users: IntArray) -> KnownScores:
        rows = check_users(users, self.n_users)
        lengths = np.diff(self.starts)[rows] if len(rows) else rows
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return KnownScores(starts, self.item_rows[places], self.scores[places])

    def table(self) -> pl.DataFrame:
        """user_id, item_id, score, the best first for each user."""
        rows = np.repeat(np.arange(self.n_users), np.diff(self.starts))
        order = np.lexsort((-self.scores, rows))
        return pl.DataFrame(
            {
                "user_id": self.users.at(rows[order]),
                "item_id": self.items.at(self.item_rows[order]),
                "score": self.scores[order],
            }
        )


def _last_of_each(keys: IntArray) -> IntArray:
    """The position of the last occurrence of every distinct key, in ascending order of keys."""
    order = np.argsort(keys, kind="stable")
    last = np.ones(len(keys), dtype=bool)
    last[:-1] = np.diff(keys[order]) != 0
    return np.asarray(order[last])


def _usable(table: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Rows with ids and a finite score."""
    if not table["score"].dtype.is_numeric():
        raise ColumnError(f"column score must hold numbers, got {table['score'].dtype}; convert it first")
    kind = pl.Float32 if table["score"].dtype == pl.Float32 else pl.Float64
    rows = table.with_columns(id_series(table["user_id"]), id_series(table["item_id"]), pl.col("score").cast(kind))
    rows = drop(rows, rows.drop_nulls(["user_id", "item_id"]), notes, "had no user or item and were dropped")
    if "domain" in rows.columns:
        rows = name_items_by_domain(rows, notes)
    scored = rows.filter(pl.col("score").abs() < SENTINEL)  # false where missing or not a number
    return drop(rows, scored, notes, "had no finite score and were dropped")
