"""Who interacted with what: one immutable object, checked once, with its id maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, IntArray
from sureness.data.ids import IdMap, id_series
from sureness.data.tables import count_rows, readable, require_columns, scan_table
from sureness.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_VALUES = ("rating", "time")


@dataclass(frozen=True, eq=False)
class Interactions:
    """Distinct pairs of users and items, as sparse rows with id maps. Build it with `of`, `from_table` or `read`.

    Pairs are sorted by user, then item; `ratings` and `times` follow that order.

    Examples
    --------
    >>> log = Interactions.of(["ann", "bob", "ann", "ann"], [7, 7, 3, 3])
    >>> log.n_users, log.n_items, len(log), log.notes
    (2, 2, 3, ('1 of 4 rows repeated a pair; the last one was kept',))
    >>> log.matrix.toarray().tolist()  # rows ann and bob, columns 3 and 7
    [[1.0, 1.0], [0.0, 1.0]]
    """

    users: IdMap
    items: IdMap
    user_rows: IntArray  # (n,) row of each pair's user
    item_rows: IntArray  # (n,) row of each pair's item
    ratings: AnyArray | None = None  # (n,)
    times: AnyArray | None = None  # (n,) any numbers that order the pairs
    item_domain: pl.Series | None = None  # (n_items,) name of each item's domain
    user_features: pl.DataFrame | None = None  # one row a user, in the order of `users`
    item_features: pl.DataFrame | None = None  # one row an item, in the order of `items`
    notes: tuple[str, ...] = field(default=())  # what was dropped on the way, one sentence each

    # -- building ---------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls, users: ArrayLike, items: ArrayLike, *, ratings: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> Self:
        """From columns of one length."""
        columns: dict[str, Any] = {"user_id": id_series(users), "item_id": id_series(items)}
        columns |= {"rating": ratings} if ratings is not None else {}
        columns |= {"time": times} if times is not None else {}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"all columns must have one length, got {lengths}")
        return cls.from_table(pl.DataFrame(columns))

    @classmethod
    def from_table(
        cls,
        table: pl.DataFrame,
        *,
        users: IdMap | None = None,
        items: IdMap | None = None,
    ) -> Self:
        """From a table with user_id and item_id, and rating, time and domain where they exist.

        Rows without an id are dropped, and of rows that repeat a pair the latest is kept (the last one, where there is
        no time); `notes` says how many. With `users` or `items` given, the rows of those maps are used and other ids
        are dropped; this is how a test set gets the rows of its training set. Where there is a domain, an item is known by its
        domain and its id together, since catalogues of different shops number their items alike.
        """
        missing = [name for name in ("user_id", "item_id") if name not in table.columns]
        if missing:
            raise DataError(
                f"a log must have the columns user_id and item_id, missing {' and '.join(missing)}; "
                f"it has {', '.join(table.columns)}"
            )
        wanted = [name for name in ("user_id", "item_id", *_VALUES, "domain") if name in table.columns]
        rows = table.select(wanted).with_columns(id_series(table["user_id"]), id_series(table["item_id"]))
        notes: list[str] = []
        rows = _drop(rows, rows.drop_nulls(["user_id", "item_id"]), notes, "had no user or item and were dropped")
        if not rows.height:
            raise DataError("expected at least one interaction, got none; check the file or the filter")
        if "domain" in rows.columns:
            rows = rows.with_columns(item_id=pl.format("{}/{}", "domain", "item_id"))
        users, items = users or IdMap.of(rows["user_id"]), items or IdMap.of(rows["item_id"])
        coded = rows.with_columns(user=users.rows(rows["user_id"]), item=items.rows(rows["item_id"]))
        coded = _drop(coded, coded.filter(pl.col("user") >= 0, pl.col("item") >= 0), notes,
                      "had a user or an item that is not known and were dropped")  # fmt: skip
        domain = None
        if "domain" in coded.columns:
            first = coded.group_by("item").agg(pl.col("domain").first())
            known = pl.DataFrame({"item": np.arange(len(items))}).join(
                first, on="item", how="left", maintain_order="left"
            )
            domain = known["domain"]
        distinct = _distinct(coded, notes)
        ratings, times = (distinct[name].to_numpy() if name in distinct.columns else None for name in _VALUES)
        return cls(
            users, items, distinct["user"].to_numpy(), distinct["item"].to_numpy(), ratings, times, domain,
            notes=tuple(notes),
        )  # fmt: skip

    @classmethod
    def read(cls, path: str | PathLike[str], columns: dict[str, str] | None = None) -> Self:
        """From a Parquet, CSV or TSV file.

        Parameters
        ----------
        path : path
            Ends in .parquet, .csv or .tsv; the last two also with .gz.
        columns : dict, optional
            Agreed name (user_id, item_id, rating, time, domain) to the name in the file, where they differ.
        """
        frame = scan_table(path, columns, numbers=_VALUES)
        require_columns(frame, ["user_id", "item_id"], path)
        count_rows(frame, path)
        there = frame.collect_schema().names()
        wanted = [name for name in ("user_id", "item_id", *_VALUES, "domain") if name in there]
        with readable(path):
            table = frame.select(wanted).collect()
        return cls.from_table(_comparable_times(table))

    @classmethod
    def from_matrix(cls, matrix: csr_matrix, users: IdMap | None = None, items: IdMap | None = None) -> Self:
        """From a sparse matrix: a pair wherever it is not zero."""
        from scipy.sparse import csr_matrix  # slow to import, and not needed to apply a map

        rows = csr_matrix(matrix)
        rows.eliminate_zeros()
        rows.sum_duplicates()
        pairs = rows.tocoo()
        return cls(
            users or IdMap.counting(rows.shape[0]), items or IdMap.counting(rows.shape[1]),
            pairs.row.astype(np.int64), pairs.col.astype(np.int64),
        )  # fmt: skip

    # -- reading ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.user_rows)

    def __repr__(self) -> str:
        return f"Interactions({self.n_users:,} users, {self.n_items:,} items, {len(self):,} pairs)"

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_users, self.n_items

    @cached_property
    def row_starts(self) -> IntArray:
        """Where each user's pairs start; shape (n_users + 1,)."""
        return np.concatenate([[0], np.cumsum(self.user_degree)])

    @cached_property
    def user_degree(self) -> IntArray:
        """How many pairs each user has; shape (n_users,)."""
        return np.bincount(self.user_rows, minlength=self.n_users)

    @cached_property
    def item_degree(self) -> IntArray:
        """How many pairs each item has; shape (n_items,)."""
        return np.bincount(self.item_rows, minlength=self.n_items)

    @cached_property
    def matrix(self) -> csr_matrix:
        """One where there is a pair; shape (n_users, n_items)."""
        from scipy.sparse import csr_matrix  # slow to import, and not needed to apply a map

        ones = np.ones(len(self), dtype=np.float32)
        return csr_matrix((ones, self.item_rows, self.row_starts), shape=self.shape)

    def items_of(self, user: int) -> IntArray:
        """Items of one user, ascending."""
        return self.item_rows[self.row_starts[user] : self.row_starts[user + 1]]

    def table(self) -> pl.DataFrame:
        """user_id, item_id, and rating, time and domain where they exist."""
        table = pl.DataFrame({"user_id": self.users.at(self.user_rows), "item_id": self.items.at(self.item_rows)})
        values = {"rating": self.ratings, "time": self.times}
        table = table.with_columns(pl.Series(name, column) for name, column in values.items() if column is not None)
        if self.item_domain is not None:
            table = table.with_columns(self.item_domain.gather(self.item_rows).alias("domain"))
        return table

    def statistics(self) -> dict[str, float]:
        """Numbers that data sets are known by."""
        return {
            "users": int(np.count_nonzero(self.user_degree)),
            "items": int(np.count_nonzero(self.item_degree)),
            "interactions": len(self),
            "density": len(self) / max(1, np.count_nonzero(self.user_degree) * np.count_nonzero(self.item_degree)),
            "median_per_user": float(np.median(self.user_degree[self.user_degree > 0])) if len(self) else 0.0,
            "median_per_item": float(np.median(self.item_degree[self.item_degree > 0])) if len(self) else 0.0,
        }

    # -- other interactions out of these ----------------------------------------------------------------------------

    def keep(self, chosen: BoolArray | IntArray) -> Self:
        """The chosen pairs (a mask, or positions in ascending order), with the same id maps."""
        parts = {"ratings": self.ratings, "times": self.times}
        return replace(
            self, user_rows=self.user_rows[chosen], item_rows=self.item_rows[chosen],
            **{name: None if column is None else column[chosen] for name, column in parts.items()},
        )  # fmt: skip

    def compact(self) -> Self:
        """The same pairs without the users and items that have none."""
        users, items = np.flatnonzero(self.user_degree), np.flatnonzero(self.item_degree)
        if len(users) == self.n_users and len(items) == self.n_items:
            return self
        return replace(
            self, users=IdMap(self.users.at(users)), items=IdMap(self.items.at(items)),
            user_rows=np.searchsorted(users, self.user_rows), item_rows=np.searchsorted(items, self.item_rows),
            item_domain=None if self.item_domain is None else self.item_domain.gather(items),
            user_features=None if self.user_features is None else self.user_features[users],
            item_features=None if self.item_features is None else self.item_features[items],
        )  # fmt: skip

    def aligned(self, users: IdMap, items: IdMap) -> Self:
        """The same pairs with the rows of other id maps; pairs unknown to them are dropped, and `notes` says so."""
        if self.users.same_as(users) and self.items.same_as(items):
            return self
        user_rows, item_rows = users.rows(self.users.ids)[self.user_rows], items.rows(self.items.ids)[self.item_rows]
        known = (user_rows >= 0) & (item_rows >= 0)
        notes = list(self.notes)
        if n_lost := int(np.count_nonzero(~known)):
            notes.append(f"{n_lost:,} of {len(self):,} pairs had a user or an item that is not known and were dropped")
        order = np.flatnonzero(known)
        order = order[np.lexsort((item_rows[order], user_rows[order]))]
        parts = {"ratings": self.ratings, "times": self.times}
        return replace(
            self, users=users, items=items, user_rows=user_rows[order], item_rows=item_rows[order],
            **{name: None if column is None else column[order] for name, column in parts.items()},
            item_domain=None, user_features=None, item_features=None, notes=tuple(notes),
        )  # fmt: skip

    def with_features(self, users: pl.DataFrame | None = None, items: pl.DataFrame | None = None) -> Self:
        """The same pairs with tables of features, found by their user_id and item_id columns."""
        return replace(
            self,
            user_features=self.user_features if users is None else _features(users, "user_id", self.users),
            item_features=self.item_features if items is None else _features(items, "item_id", self.items),
        )

    def noting(self, *notes: str) -> Self:
        """The same pairs, with more to say about what was dropped."""
        return replace(self, notes=(*self.notes, *notes))


def union(parts: Sequence[Interactions]) -> Interactions:
    """Pairs of all parts, which share their id maps; of a repeated pair the first part's is kept."""
    first = parts[0]
    for part in parts[1:]:
        if not (part.users.same_as(first.users) and part.items.same_as(first.items)):
            raise DataError("parts must have the same users and items; align them first with .aligned(users, items)")
    users, items = (np.concatenate([getattr(p, name) for p in parts]) for name in ("user_rows", "item_rows"))
    keys, place = np.unique(users * first.n_items + items, return_index=True)
    values = {}
    for name in ("ratings", "times"):
        columns = [getattr(part, name) for part in parts]
        values[name] = None if any(c is None for c in columns) else np.concatenate(columns)[place]
    return replace(first, user_rows=keys // first.n_items, item_rows=keys % first.n_items, **values)


def _drop(before: pl.DataFrame, after: pl.DataFrame, notes: list[str], what: str) -> pl.DataFrame:
    if n_lost := before.height - after.height:
        notes.append(f"{n_lost:,} of {before.height:,} rows {what}")
    return after


def _distinct(coded: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """One row a pair, sorted by user and item; the latest, or the last where there is no time."""
    by = ["user", "item", "time"] if "time" in coded.columns else ["user", "item"]
    ordered = coded.drop("user_id", "item_id").sort(by, maintain_order=True)
    distinct = ordered.unique(["user", "item"], keep="last", maintain_order=True)
    kept = "latest" if "time" in coded.columns else "last"
    if n_lost := coded.height - distinct.height:
        notes.append(f"{n_lost:,} of {coded.height:,} rows repeated a pair; the {kept} one was kept")
    return distinct


def _comparable_times(table: pl.DataFrame) -> pl.DataFrame:
    """Dates and times as numbers."""
    if "time" in table.columns and table["time"].dtype.is_temporal():
        return table.with_columns(pl.col("time").cast(pl.Datetime("us")).to_physical())
    return table


def _features(table: pl.DataFrame, key: str, ids: IdMap) -> pl.DataFrame:
    if key not in table.columns:
        raise DataError(f"features must have the column {key}, got {', '.join(table.columns)}")
    keyed = table.with_columns(id_series(table[key]).cast(ids.ids.dtype)).unique(key, keep="first")
    return pl.DataFrame({key: ids.ids}).join(keyed, on=key, how="left", maintain_order="left")
