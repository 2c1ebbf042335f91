"""Interactions of users with items as one immutable object with its ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, IntArray
from sureness._wording import agreeing, counted
from sureness.data.cleaning import ID_COLUMNS, LOG_COLUMNS, clean_rows, code_rows, distinct_pairs, refuse_mixed_zones
from sureness.data.events import Events, Older
from sureness.data.ids import IdMap, Ids, as_id_map, ids_of_frame
from sureness.errors import ColumnError, DataError, EmptyError, IdError
from sureness.numerics.checks import number_array
from sureness.saving.packed import JSON, Packed, Parts, Savable, check_text, kind_of
from sureness.tables.columns import Columns
from sureness.tables.frames import Frame, HeldTable, Table, as_frame, place_of
from sureness.tables.id_values import as_series, id_series
from sureness.tables.reading import read_table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Part(NamedTuple):
    """What held-out pairs remember of their split."""

    share: float  # of all pairs of the split
    n_training: int  # pairs of its training part


@dataclass(frozen=True, eq=False)
class Interactions(Savable):
    """Distinct pairs of users and items, as sparse rows with id maps. Build it with `of`, `from_table` or `read`.

    Pairs are sorted by user, then item; `ratings` and `times` follow that order. A pair that repeats has the rating and
    the time of its latest row. With times no row is lost: `events` has all of them, and a split by time cuts these.

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
    user_features: pl.DataFrame | None = None  # one row per user, in the order of `users`
    item_features: pl.DataFrame | None = None  # one row per item, in the order of `items`
    notes: tuple[str, ...] = field(default=())  # what was dropped, one sentence each
    period: tuple[float, float] | None = None  # all that happened between these times, if the log was cut by time
    part: Part | None = None  # of a split, if these pairs were held out by one
    older: Older | None = None  # rows that repeat a pair, but for its latest one; None: no times, or nothing repeats

    def __post_init__(self) -> None:
        for name in ("user_rows", "item_rows", "ratings", "times"):
            if (column := getattr(self, name)) is not None:
                object.__setattr__(self, name, _read_only(column))

    # -- building ---------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls, users: ArrayLike, items: ArrayLike, *, ratings: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> Self:
        """From columns of equal length."""
        refuse_mixed_zones(times)
        columns = {"user_id": id_series(users), "item_id": id_series(items)}
        columns |= {name: as_series(v) for name, v in (("rating", ratings), ("time", times)) if v is not None}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"all columns must have the same length, got {lengths}; give one value for each pair")
        return cls._of_rows(pl.DataFrame(columns))

    @classmethod
    def from_table(
        cls,
        table: Table,
        columns: Columns | None = None,
        *,
        users: IdMap | None = None,
        items: IdMap | None = None,
    ) -> Self:
        """From a table with user_id and item_id, and optionally rating, time and domain.

        Rows without an id are dropped. Of rows that repeat a pair, the latest one gives the pair its rating and time,
        and `events` keeps the others; without times only the last one is kept. `notes` counts these rows. With a
        domain column, an item is identified by domain and id, because catalogues may use the same numbers.

        Times may be numbers, dates, or text such as 2024-05-31T18:00:00. Missing times and ratings become NaN.

        Parameters
        ----------
        table : table of any kind, or path
            Of pandas, polars, PyArrow, DuckDB or anything with the Arrow C stream; or a .parquet, .csv or .tsv file,
            the last two also with .gz.
        columns : Columns, optional
            Names of these columns in the table, where they differ.
        users, items : IdMap, optional
            Fix the ids; rows with other ids are dropped. This gives a test set the rows of its training set.
        """
        place = place_of(table)
        optional = [name for name in LOG_COLUMNS if name not in ID_COLUMNS]
        rows = read_table(place, columns, ID_COLUMNS, optional, numbers=["rating"])  # times may also be dates
        try:
            return cls._of_rows(rows, users, items)
        except DataError as error:
            if isinstance(place, HeldTable):
                raise
            raise type(error)(f"{place}: {error}") from error

    @classmethod
    def _of_rows(cls, table: pl.DataFrame, users: IdMap | None = None, items: IdMap | None = None) -> Self:
        notes: list[str] = []
        rows = clean_rows(table, notes)
        users, items = users or IdMap.of(rows["user_id"]), items or IdMap.of(rows["item_id"])
        coded = code_rows(rows, users, items, notes)
        domain = _domain_of_items(coded, len(items)) if "domain" in coded.columns else None
        pairs, older = distinct_pairs(coded, len(items), notes)
        ratings, times = (pairs[name].to_numpy() if name in pairs.columns else None for name in ("rating", "time"))
        return cls(
            users, items, pairs["user"].to_numpy(), pairs["item"].to_numpy(), ratings, times, domain,
            notes=tuple(notes), older=older,
        )  # fmt: skip

    @classmethod
    def read(cls, path: str | PathLike[str], columns: Columns | None = None) -> Self:
        """From a file; see `from_table`."""
        return cls.from_table(path, columns=columns)

    @classmethod
    def from_matrix(cls, matrix: csr_matrix | ArrayLike, users: Ids | None = None, items: Ids | None = None) -> Self:
        """From a matrix, with a pair for every entry that is neither zero nor missing (NaN).

        Ids that are not given are those of the index and the columns of a pandas table, or the numbers of rows.

        Examples
        --------
        >>> ratings = [[5.0, np.nan], [0.0, 3.0]]
        >>> log = Interactions.from_matrix(ratings, users=["zoe", "ann"])
        >>> log.table().rows(), log.notes
        ([('zoe', 0), ('ann', 1)], ('1 of 4 entries is missing (NaN) and was left out',))
        """
        from scipy.sparse import csr_matrix, issparse  # slow to import, and not needed to apply a map

        own_users, own_items = ids_of_frame(matrix)
        if not issparse(matrix):
            matrix = number_array(matrix, "the matrix")
            if matrix.ndim != 2:
                raise DataError(f"the matrix must have one row per user and one column per item, got {matrix.shape}")
            matrix = matrix.astype(np.float64) if matrix.dtype.kind == "f" else matrix != 0  # types that scipy has
        rows = csr_matrix(matrix, copy=True)
        rows.sum_duplicates()
        n_entries, missing = rows.nnz if issparse(matrix) else matrix.size, np.isnan(rows.data)
        rows.data[missing] = 0
        rows.eliminate_zeros()
        n_missing = int(np.count_nonzero(missing))
        are = agreeing(n_missing, "is missing (NaN) and was", "are missing (NaN) and were")
        note = f"{n_missing:,} of {counted(n_entries, 'entry', 'entries')} {are} left out"
        users, items = as_id_map(users) or own_users, as_id_map(items) or own_items
        users, items = users or IdMap.counting(rows.shape[0]), items or IdMap.counting(rows.shape[1])
        if rows.shape != (len(users), len(items)):
            raise IdError(
                f"the matrix must have one row per user and one column per item, {len(users):,} x {len(items):,}, "
                f"got {rows.shape[0]:,} x {rows.shape[1]:,}; check that the ids belong to it"
            )
        pairs = rows.tocoo()
        return cls(
            users, items, pairs.row.astype(np.int64), pairs.col.astype(np.int64), notes=(note,) if n_missing else ()
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.user_rows)

    def __repr__(self) -> str:
        return (
            f"Interactions({counted(self.n_users, 'user')}, {counted(self.n_items, 'item')}, "
            f"{counted(len(self), 'pair')})"
        )

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
        return _read_only(np.concatenate([[0], np.cumsum(self.user_degree)]))

    @cached_property
    def user_degree(self) -> IntArray:
        """How many pairs each user has; shape (n_users,)."""
        return _read_only(np.bincount(self.user_rows, minlength=self.n_users))

    @cached_property
    def item_degree(self) -> IntArray:
        """How many pairs each item has; shape (n_items,)."""
        return _read_only(np.bincount(self.item_rows, minlength=self.n_items))

    @cached_property
    def matrix(self) -> csr_matrix:
        """1 for every pair; shape (n_users, n_items)."""
        from scipy.sparse import csr_matrix  # slow to import, and not needed to apply a map

        ones = np.ones(len(self), dtype=np.float32)
        return csr_matrix((ones, self.item_rows, self.row_starts), shape=self.shape)

    @cached_property
    def events(self) -> Events | None:
        """Every row of a log with times, the oldest first, with those that repeat a pair; None without times.

        Examples
        --------
        >>> log = Interactions.of(["ann", "ann", "ann"], [7, 3, 7], times=[1, 2, 3])
        >>> len(log), log.events.times.tolist(), log.events.item_rows.tolist()
        (2, [1, 2, 3], [1, 0, 1])
        """
        return None if self.times is None else self.every_row().in_order()

    def every_row(self) -> Events:
        """The older rows of pairs that repeat, then the pairs in their order; times are NaN where there are none."""
        times = np.full(len(self), np.nan) if self.times is None else self.times
        latest = Events(self.user_rows, self.item_rows, times, self.ratings)
        if (older := self.older) is None:
            return latest
        ratings = None if self.ratings is None or older.ratings is None else np.r_[older.ratings, self.ratings]
        users, items = (np.r_[rows[older.pairs], rows] for rows in (self.user_rows, self.item_rows))
        return Events(users, items, np.r_[older.times, times], ratings)

    def items_of(self, user: int) -> IntArray:
        """Items of one user, ascending."""
        return self.item_rows[self.row_starts[user] : self.row_starts[user + 1]]

    def table(self) -> pl.DataFrame:
        """The pairs as a table: user_id, item_id, and rating, time and domain if there are any."""
        table = pl.DataFrame({"user_id": self.users.at(self.user_rows), "item_id": self.items.at(self.item_rows)})
        values = {"rating": self.ratings, "time": self.times}
        table = table.with_columns(pl.Series(name, column) for name, column in values.items() if column is not None)
        if self.item_domain is not None:
            table = table.with_columns(self.item_domain.gather(self.item_rows).alias("domain"))
        return table

    def statistics(self) -> dict[str, float]:
        """Counts, density and medians; users and items without a pair do not count."""
        per_user, per_item = (degree[degree > 0] for degree in (self.user_degree, self.item_degree))
        return {
            "users": len(per_user),
            "items": len(per_item),
            "interactions": len(self),
            "density": len(self) / max(1, len(per_user) * len(per_item)),
            "median_per_user": float(np.median(per_user)) if len(self) else 0.0,
            "median_per_item": float(np.median(per_item)) if len(self) else 0.0,
        }

    # -- derived interactions --------------------------------------------------------------------------------------

    def keep(self, chosen: BoolArray | IntArray) -> Self:
        """The chosen pairs (a mask, or positions in ascending order) with all their rows, and the same id maps."""
        return replace(
            self, user_rows=self.user_rows[chosen], item_rows=self.item_rows[chosen],
            ratings=_at(self.ratings, chosen), times=_at(self.times, chosen), older=self._older_of(chosen),
        )  # fmt: skip

    def keep_rows(self, chosen: BoolArray) -> Self:
        """The chosen rows (a mask of `every_row`), with pairs that are distinct among them and the same id maps.

        Examples
        --------
        >>> log = Interactions.of(["ann", "ann", "ann"], [7, 3, 7], times=[1, 2, 3])
        >>> log.keep_rows(log.every_row().times < 3).times.tolist()
        [2, 1]
        """
        if self.older is None:
            return self.keep(chosen)
        latest, older = self.every_row().keep(chosen).in_order().distinct(self.n_items)
        return replace(
            self, user_rows=latest.user_rows, item_rows=latest.item_rows, ratings=latest.ratings, times=latest.times,
            older=older,
        )  # fmt: skip

    def _older_of(self, chosen: BoolArray | IntArray) -> Older | None:
        """The older rows of some pairs, whose positions are those among them."""
        if self.older is None:
            return None
        places = np.full(len(self), -1)
        places[chosen] = np.arange(len(self.user_rows[chosen]))
        return self.older.moved(places)

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

    def aligned(self, users: IdMap, items: IdMap, *, of_text: bool = False) -> Self:
        """The same pairs with the rows of other id maps; pairs unknown to them are dropped, with a note.

        With `of_text` the ids come from a text file; they are converted to the type of those maps, see
        `IdMap.rows`.
        """
        if self.users.same_as(users) and self.items.same_as(items):
            return self
        user_of = users.rows(self.users.ids, of_text=of_text)
        item_of = items.rows(self.items.ids, of_text=of_text)
        user_rows, item_rows = user_of[self.user_rows], item_of[self.item_rows]
        known = np.flatnonzero((user_rows >= 0) & (item_rows >= 0))
        lost = len(self) - len(known)
        note = f"{lost:,} of {counted(len(self), 'pair')} had an unknown user or item and were dropped"
        order = known[np.lexsort((item_rows[known], user_rows[known]))]
        return replace(
            self, users=users, items=items, user_rows=user_rows[order], item_rows=item_rows[order],
            ratings=_at(self.ratings, order), times=_at(self.times, order), older=self._older_of(order),
            item_domain=None if self.item_domain is None else _moved(self.item_domain, self.items, items),
            user_features=None if self.user_features is None else _features(self.user_features, "user_id", users),
            item_features=None if self.item_features is None else _features(self.item_features, "item_id", items),
            notes=(*self.notes, note) if lost else self.notes,
        )  # fmt: skip

    def with_features(self, users: Frame | None = None, items: Frame | None = None) -> Self:
        """The same pairs with tables of features, matched by their user_id and item_id columns."""
        return replace(
            self,
            user_features=self.user_features if users is None else _features(users, "user_id", self.users),
            item_features=self.item_features if items is None else _features(items, "item_id", self.items),
        )

    def noting(self, *notes: str) -> Self:
        """The same pairs with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    # -- saving -----------------------------------------------------------------------------------------------------

    def pack(self, *, with_ids: bool = True) -> Packed:
        """What it is made of, but for the tables of features.

        Without ids it can only be opened as a part of something that has them.
        """
        arrays = {"user_rows": self.user_rows, "item_rows": self.item_rows, "row_starts": self.row_starts}
        arrays |= {name: column for name in ("ratings", "times") if (column := getattr(self, name)) is not None}
        if self.older is not None:
            found = zip(self.older._fields, self.older, strict=True)
            arrays |= {f"older_{name}": column for name, column in found if column is not None}
        parts = {"users": self.users.pack(), "items": self.items.pack()} if with_ids else {}
        if self.item_domain is not None:
            domains = IdMap.of(self.item_domain.drop_nulls())
            arrays["item_domain"] = domains.rows(self.item_domain)
            parts["domains"] = domains.pack()
        state: dict[str, JSON] = {"notes": list(self.notes)} if self.notes else {}
        state |= {"period": list(self.period)} if self.period is not None else {}
        state |= {"part": list(self.part)} if self.part is not None else {}
        return Packed(kind=kind_of("saved", type(self)), state=state, arrays=arrays, parts=parts)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        users, items, domain = parts.opened("users", IdMap), parts.opened("items", IdMap), None
        user_rows = packed.rows("user_rows", None, len(users))
        n = len(user_rows)
        item_rows, row_starts = packed.rows("item_rows", n, len(items)), packed.starts("row_starts", len(users), n)
        expected = user_rows if packed.trusted else np.repeat(np.arange(len(users)), np.diff(row_starts))
        if not np.array_equal(user_rows, expected):
            raise packed.damaged("its users are not in the order that row_starts gives")
        packed.rising_in_rows("item_rows", row_starts)
        ratings, times = (
            packed.array(name, "iuf", n) if name in packed.arrays else None for name in ("ratings", "times")
        )
        if "item_domain" in packed.arrays:
            domains = parts.opened("domains", IdMap)
            codes = packed.rows("item_domain", len(items), len(domains), lowest=-1)
            domain = domains.ids.gather(pl.Series(codes).replace(-1, None))
        older = None
        if "older_pairs" in packed.arrays and times is not None:
            pairs = packed.rows("older_pairs", None, n)
            m, rated = len(pairs), "older_ratings" in packed.arrays
            older = Older(
                pairs,
                packed.array("older_times", "iuf", m),
                packed.array("older_ratings", "iuf", m) if rated else None,
            )
        period = cast(list[float] | None, packed.state.get("period"))
        part = cast(tuple[float, int] | None, packed.state.get("part"))
        found = cls(
            users,
            items,
            user_rows,
            item_rows,
            ratings,
            times,
            domain,
            notes=tuple(map(check_text, cast(list[object], packed.state.get("notes", [])))),
            period=None if period is None else (float(period[0]), float(period[1])),
            part=None if part is None else Part(*part),
            older=older,
        )
        found.__dict__["row_starts"] = row_starts  # so that nothing is counted at load
        return found


def union(parts: Sequence[Interactions]) -> Interactions:
    """The pairs of all parts, which must share their ids; of a repeated pair, the latest row is kept.

    If not all parts have times, it is that of the first part. `events` has the rows of all parts.
    """
    if not parts:
        raise EmptyError("expected at least one part to unite, got none")
    first = parts[0]
    for part in parts[1:]:
        if not (part.users.same_as(first.users) and part.items.same_as(first.items)):
            raise IdError("parts must have the same users and items; align them first with .aligned(users, items)")
    users, items = (np.concatenate([getattr(p, name) for p in parts]) for name in ("user_rows", "item_rows"))
    keys, place = np.unique(users * first.n_items + items, return_index=True)
    ratings, times = (_joined([getattr(p, name) for p in parts]) for name in ("ratings", "times"))
    user_rows, item_rows = keys // max(1, first.n_items), keys % max(1, first.n_items)
    found: dict[str, Any] = {"ratings": _at(ratings, place), "times": _at(times, place), "older": None}
    if times is not None and (len(keys) < len(users) or any(part.older is not None for part in parts)):
        columns = [_joined(column) for column in zip(*(part.every_row() for part in parts), strict=True)]
        latest, older = Events(*columns).in_order().distinct(first.n_items)  # type: ignore[arg-type]
        found = {"ratings": latest.ratings, "times": latest.times, "older": older}
    return replace(
        first, user_rows=user_rows, item_rows=item_rows, **found,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        period=_spanned([part.period for part in parts]), part=_together([part.part for part in parts]),
    )  # fmt: skip


def _spanned(periods: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """From the start of the first period to the end of the last, if together they leave no gap."""
    known = sorted(period for period in periods if period is not None)
    if len(known) < len(periods) or any(later[0] > earlier[1] for earlier, later in pairwise(known)):
        return None
    return known[0][0], known[-1][1]


def _together(parts: Sequence[Part | None]) -> Part | None:
    """Several held-out parts as one."""
    known = [part for part in parts if part is not None]
    return Part(sum(part.share for part in known), known[0].n_training) if len(known) == len(parts) else None


def _joined(columns: Sequence[AnyArray | None]) -> AnyArray | None:
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if len(there) == len(columns) else None


def _at(column: AnyArray | None, chosen: BoolArray | IntArray) -> AnyArray | None:
    return None if column is None else column[chosen]


def _read_only(column: AnyArray) -> AnyArray:
    """A read-only view; the array itself stays writeable."""
    view = column.view()
    view.flags.writeable = False
    return view


def _domain_of_items(coded: pl.DataFrame, n_items: int) -> pl.Series:
    first = coded.select("item", "domain").unique("item", keep="first")
    every = pl.DataFrame({"item": pl.int_range(n_items, dtype=pl.Int64, eager=True)})
    return every.join(first, on="item", how="left", maintain_order="left")["domain"]


def _moved(domain: pl.Series, before: IdMap, after: IdMap) -> pl.Series:
    """The domain of each item of another id map; null if the item had none."""
    rows = before.rows(after.ids)
    return domain.gather(pl.Series(rows).replace(-1, None))


def _features(given: Frame, key: str, ids: IdMap) -> pl.DataFrame:
    """One row per id, in the order of the ids; nulls for ids that the table lacks."""
    table = as_frame(given)
    if key not in table.columns:
        raise ColumnError(f"features must have the column {key}, got {', '.join(table.columns)}; rename one")
    keyed = table.with_columns(ids.read_from_text(table[key]).cast(ids.ids.dtype, strict=False).alias(key))
    keyed = keyed.unique(key, keep="first")
    return pl.DataFrame({key: ids.ids}).join(keyed, on=key, how="left", maintain_order="left")


def check_log(log: object, name: str = "log") -> Interactions:
    """Interactions as they are; anything else is refused with the way to make them.

    Examples
    --------
    >>> check_log([(1, 2)])
    Traceback (most recent call last):
    ...
    sureness.errors.DataError: log must be Interactions, got a list; make them with Interactions.of or .from_table
    """
    if isinstance(log, Interactions):
        return log
    raise DataError(
        f"{name} must be Interactions, got a {type(log).__name__}; make them with Interactions.of or .from_table"
    )
