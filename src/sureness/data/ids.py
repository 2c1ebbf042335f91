"""External ids and the row of each; ids are kept as they come and mapped once."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias, cast, overload

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, IntArray
from sureness._wording import counted
from sureness.errors import IdError
from sureness.numerics.checks import as_array
from sureness.saving.packed import Packed, Parts, Savable, kind_of
from sureness.tables.id_values import first_of, id_series, kind_of_ids, of_other_kind


class IdMap(Savable):
    """Distinct ids; the row of an id is its position. `of` takes them from a column and sorts them.

    Ids are found by binary search where they lie, so a map that was opened from a file builds nothing, and finding one
    of a million ids costs as much as finding one of a hundred.

    Examples
    --------
    >>> ids = IdMap.of(["zoë", "ann", "ann", "bob"])
    >>> len(ids), ids.rows(["bob", "nobody"]).tolist(), ids.at([2, 0]).to_list()
    (3, [1, -1], ['zoë', 'ann'])
    """

    def __init__(self, ids: ArrayLike | pl.Series) -> None:
        ids = id_series(ids)
        ordered = ids.sort()
        if ordered.null_count():
            raise IdError("ids must not be missing; give each row an id")
        if len(twice := ordered.filter(ordered.is_duplicated())):
            raise IdError(
                f"ids must be distinct, got {first_of(twice)} more than once; give each row its own id, or take the "
                "distinct ids of a column with IdMap.of"
            )
        self._sorted = _Texts.of(ordered.to_list()) if ordered.dtype == pl.String else _Numbers(ordered.to_numpy())
        self._rows: IntArray | None = None if ids.equals(ordered) else ids.arg_sort().to_numpy().astype(np.int64)
        self.__dict__["ids"] = ids

    @classmethod
    def _of_sorted(cls, found: _Texts | _Numbers, rows: IntArray | None = None) -> Self:
        new = cls.__new__(cls)
        new._sorted, new._rows = found, rows
        return new

    @classmethod
    def of(cls, values: ArrayLike | pl.Series) -> Self:
        """All distinct values; none may be missing."""
        series = id_series(values)
        if series.null_count():
            raise IdError("ids must not be missing; drop the rows without an id")
        return cls(series.unique().sort())

    @classmethod
    def counting(cls, n: int) -> Self:
        """The ids 0 to n - 1: rows that have no other name."""
        return cls._of_sorted(_Counted(n))

    @cached_property
    def ids(self) -> pl.Series:
        """All ids in the order of their rows: whole numbers or text."""
        every = self._sorted.every()
        return every if self._rows is None else every.gather(np.argsort(self._rows))

    def __len__(self) -> int:
        return len(self._sorted)

    def __repr__(self) -> str:
        return f"IdMap({counted(len(self), 'id')}, {self._sorted.what})"

    def rows(self, values: ArrayLike | pl.Series, *, of_text: bool = False) -> IntArray:
        """The row of each value, -1 where it is unknown.

        With `of_text` the values are the words of a text file, which may be numbers or names: they take the kind of
        the known ids. Otherwise values of another kind are refused.

        Examples
        --------
        >>> names, numbers = IdMap.of(["007", "7"]), IdMap.of([7])
        >>> names.rows([7], of_text=True).tolist(), numbers.rows(["007", "7"], of_text=True).tolist()
        ([1], [-1, 0])
        """
        held, numbers = self._sorted, _plain_numbers(values)
        if numbers is not None and isinstance(held, _Numbers) and held.dtype == np.int64:  # the usual case
            return self._in_order(held.find_numbers(numbers))
        asked = self.read_from_text(values) if of_text else id_series(values)
        if asked.null_count() == len(asked):  # nothing has no kind, and what is missing has none either
            return np.full(len(asked), -1)
        is_text = self._sorted.what == _TEXT
        if (asked.dtype == pl.String) != is_text:
            known = self.at([0]) if len(self) else pl.Series(dtype=pl.String)
            raise IdError(
                f"ids must be of the kind that is known, {self._sorted.what} such as {first_of(known)}, "
                f"got {kind_of_ids(asked)} such as {first_of(asked)}; convert one of them"
            )
        return self._in_order(self._sorted.find(asked))

    def _in_order(self, places: IntArray) -> IntArray:
        """The rows of sorted places."""
        return places if self._rows is None else np.where(places < 0, -1, self._rows[places])

    def read_from_text(self, values: ArrayLike | pl.Series) -> pl.Series:
        """The words of a text file as ids of the known kind; missing where they cannot be any of these.

        Examples
        --------
        >>> IdMap.of(["7", "ann"]).read_from_text([7, 8]).to_list()
        ['7', '8']
        >>> IdMap.of([7]).read_from_text(["7", "ann"]).to_list()
        [7, None]
        """
        words = id_series(values)
        return words if (words.dtype == pl.String) == (self._sorted.what == _TEXT) else of_other_kind(words)

    def known_rows(self, values: ArrayLike | pl.Series, name: str) -> IntArray:
        """The row of each value; unknown ones are refused, under this name."""
        rows = self.rows(values)
        if len(rows) and rows.min() < 0:
            unknown = id_series(values).filter(pl.Series(rows < 0))
            raise IdError(
                f"{name} must be among the {counted(len(self), 'known one')}, got {counted(len(unknown), 'other')}, "
                f"the first is {unknown[0]!r}; check that both come from the same data"
            )
        return rows

    def at(self, rows: ArrayLike) -> pl.Series:
        """The ids of rows."""
        wanted = as_array(rows, "rows")
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise IdError(f"rows must be whole numbers in one dimension, got {wanted.dtype} of shape {wanted.shape}")
        wanted = wanted.astype(np.int64, copy=False)
        if wanted.size and not (-len(self) <= wanted.min() and wanted.max() < len(self)):
            raise IdError(f"rows must lie below {len(self):,}, got {wanted.min()} to {wanted.max()}")
        if self._rows is not None or "ids" in self.__dict__ or len(wanted) > len(self):
            return self.ids.gather(wanted)
        return self._sorted.at(wanted)

    def same_as(self, other: IdMap) -> bool:
        """Whether both name the same rows."""
        if self is other:
            return True
        if self._sorted.what != other._sorted.what or len(self) != len(other):
            return False
        return bool((self.ids == other.ids).all())  # numbers of another width are the same ids

    # --- saving -----------------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        state, arrays = self._sorted.packed()
        if self._rows is not None:
            arrays = {**arrays, "rows": self._rows}
        return Packed(kind=kind_of("saved", type(self)), state=state, arrays=arrays)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        found: _Texts | _Numbers
        if packed.state["of"] == _COUNTED:
            n = packed.state["n"]
            if not isinstance(n, int) or not 0 <= n < 2**31:
                raise packed.damaged(f"it counts {n!r} ids")
            found = _Counted(n)
        elif packed.state["of"] == _TEXT:
            content = packed.array("content", "u", None)
            found = _Texts(content, packed.starts("offsets", None, len(content)))
        else:
            found = _Numbers(packed.array("numbers", "iu", None))
        if not (packed.trusted or found.is_sorted()):
            raise packed.damaged("its ids are not sorted, or repeat")
        if "rows" not in packed.arrays:
            return cls._of_sorted(found)
        rows = packed.rows("rows", len(found), len(found))
        if not packed.trusted and len(np.unique(rows)) < len(rows):
            raise packed.damaged("two ids have the same row")
        return cls._of_sorted(found, rows)


Ids: TypeAlias = IdMap | ArrayLike | pl.Series
"""An id for each row, in their order."""


@overload
def as_id_map(ids: Ids) -> IdMap: ...
@overload
def as_id_map(ids: None) -> None: ...
def as_id_map(ids: Ids | None) -> IdMap | None:
    """The ids of rows in the order in which they are given.

    Examples
    --------
    >>> as_id_map(["zoe", "ann"]).rows(["ann"]).tolist()
    [1]
    """
    return ids if ids is None or isinstance(ids, IdMap) else IdMap(ids)


def ids_of_frame(matrix: Any) -> tuple[IdMap | None, IdMap | None]:
    """The ids of rows and columns that a pandas table with an index, such as a pivot, has of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> users, items = ids_of_frame(pd.DataFrame([[5.0, 1.0]], index=["zoe"], columns=[7, 3]))
    >>> users.ids.to_list(), items.ids.to_list(), ids_of_frame([[5.0, 1.0]])
    (['zoe'], [7, 3], (None, None))
    """
    if not (hasattr(matrix, "columns") and type(matrix).__module__.partition(".")[0] == "pandas"):
        return None, None
    return IdMap(matrix.index), IdMap(matrix.columns)


# --- sorted ids of each kind ----------------------------------------------------------------------------------------

_TEXT, _NUMBERS, _COUNTED = "text", "whole numbers", "counted"
_MANY = 1_000  # texts asked for at once, at least, before a join is worth it


class _Texts:
    """Distinct texts in the order of their UTF-8 bytes, searched where they lie: nothing is built."""

    what: ClassVar[str] = _TEXT

    def __init__(self, content: AnyArray, offsets: IntArray) -> None:
        self.content, self.offsets = content, offsets  # the bytes of all texts, and where each starts

    @classmethod
    def of(cls, texts: list[str]) -> _Texts:
        """From texts that are sorted and distinct."""
        parts = [text.encode() for text in texts]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int) -> bytes:
        return self.content[self.offsets[place] : self.offsets[place + 1]].tobytes()

    @cached_property
    def _table(self) -> pl.DataFrame:
        return pl.DataFrame({"id": self.every(), "row": np.arange(len(self))})

    def find(self, values: pl.Series) -> IntArray:
        if len(values) > max(_MANY, len(self) // 20):  # then one pass over all known ids costs less than the searches
            rows = pl.DataFrame({"id": values}).join(self._table, on="id", how="left", maintain_order="left")["row"]
            return rows.fill_null(-1).to_numpy().astype(np.int64)
        return np.array([-1 if text is None else self._place(text.encode()) for text in values], dtype=np.int64)

    def _place(self, text: bytes) -> int:
        place = bisect_left(self, text)  # it has len() and [], which is all that is asked
        return place if place < len(self) and self[place] == text else -1

    def at(self, places: IntArray) -> pl.Series:
        return pl.Series([self[place % len(self)].decode() for place in places.tolist()], dtype=pl.String)

    def every(self) -> pl.Series:
        whole, bounds = self.content.tobytes(), self.offsets.tolist()
        return pl.Series([whole[start:stop].decode() for start, stop in pairwise(bounds)], dtype=pl.String)

    def packed(self) -> tuple[dict[str, str | int], dict[str, AnyArray]]:
        return {"of": _TEXT}, {"content": self.content, "offsets": self.offsets}

    def is_sorted(self) -> bool:
        return all(first < second for first, second in pairwise(self.every()))


class _Numbers:
    """Distinct whole numbers in ascending order."""

    what: ClassVar[str] = _NUMBERS

    def __init__(self, numbers: IntArray) -> None:
        self.numbers, self.dtype = numbers, numbers.dtype

    def __len__(self) -> int:
        return len(self.numbers)

    def find(self, values: pl.Series) -> IntArray:
        missing, asked = _numbers_of(values, pl.Series(np.empty(0, self.dtype)).dtype)
        return np.where(missing, -1, self.find_numbers(asked))

    def find_numbers(self, asked: IntArray) -> IntArray:
        if not len(self.numbers):
            return np.full(len(asked), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.numbers, asked), len(self.numbers) - 1)
        return np.where(self.numbers[places] != asked, -1, places).astype(np.int64)

    def at(self, places: IntArray) -> pl.Series:
        return pl.Series(self.numbers[places])

    def every(self) -> pl.Series:
        return pl.Series(np.asarray(self.numbers))

    def packed(self) -> tuple[dict[str, str | int], dict[str, AnyArray]]:
        return {"of": _NUMBERS}, {"numbers": self.numbers}

    def is_sorted(self) -> bool:
        return bool(np.all(self.numbers[1:] > self.numbers[:-1]))


class _Counted(_Numbers):
    """The numbers from 0 on, which need no array."""

    def __init__(self, n: int) -> None:
        self.n, self.dtype = n, np.dtype(np.int64)

    def __len__(self) -> int:
        return self.n

    def find_numbers(self, asked: IntArray) -> IntArray:
        return np.where((asked >= 0) & (asked < self.n), asked, -1)

    def at(self, places: IntArray) -> pl.Series:
        return pl.Series(np.where(places < 0, places + self.n, places))

    def every(self) -> pl.Series:
        return pl.int_range(self.n, dtype=pl.Int64, eager=True)

    def packed(self) -> tuple[dict[str, str | int], dict[str, AnyArray]]:
        return {"of": _COUNTED, "n": self.n}, {}

    def is_sorted(self) -> bool:
        return True


def _plain_numbers(values: object) -> IntArray | None:
    """A column of 64-bit whole numbers as it is, or one of them; None: something else."""
    if type(values) is int and abs(values) < 2**63:
        return np.array([values])
    plain = type(values) is np.ndarray and values.dtype == np.int64 and values.ndim == 1 and len(values) > 0
    return cast(IntArray, values) if plain else None


def _numbers_of(values: pl.Series, dtype: pl.DataType) -> tuple[BoolArray, IntArray]:
    """Which values are missing or do not fit the type, and all of them as numbers of that type."""
    if values.dtype == dtype and not values.null_count():  # the usual case, without a query each
        return np.zeros(len(values), dtype=bool), values.to_numpy()
    if values.dtype == dtype == pl.Int64 and len(values) <= _MANY:  # for few values a query costs more than it saves
        listed = values.to_list()
        missing = np.array([each is None for each in listed])
        return missing, np.array([0 if each is None else each for each in listed], dtype=np.int64)
    wanted = values.cast(dtype, strict=False)
    return wanted.is_null().to_numpy(), wanted.fill_null(0).to_numpy()
