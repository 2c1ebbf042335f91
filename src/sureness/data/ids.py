"""External ids and the row of each; ids are kept as they come and mapped once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import IntArray
from sureness.errors import DataError


@dataclass(frozen=True, eq=False)
class IdMap:
    """Distinct ids in sorted order; the row of an id is its position. Build it with `of`.

    Examples
    --------
    >>> ids = IdMap.of(["zoë", "ann", "ann", "bob"])
    >>> len(ids), ids.rows(["bob", "nobody"]).tolist(), ids.at([2, 0]).to_list()
    (3, [1, -1], ['zoë', 'ann'])
    """

    ids: pl.Series  # whole numbers or text, sorted, distinct

    @classmethod
    def of(cls, values: ArrayLike | pl.Series) -> Self:
        """All distinct values; none may be missing."""
        series = id_series(values)
        if series.null_count():
            raise DataError("ids must not be missing; drop the rows without an id")
        return cls(series.unique().sort())

    @classmethod
    def counting(cls, n: int) -> Self:
        """The ids 0 to n - 1: rows that have no other name."""
        return cls(pl.int_range(n, dtype=pl.Int64, eager=True))

    def __len__(self) -> int:
        return len(self.ids)

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
        wanted = id_series(values)
        if (wanted.dtype == pl.String) != (self.ids.dtype == pl.String):
            wanted = _of_other_kind(wanted) if of_text else wanted
        if (wanted.dtype == pl.String) != (self.ids.dtype == pl.String):
            raise DataError(
                f"ids must be of the kind that is known, {_kind(self.ids)} such as {_first(self.ids)}, "
                f"got {_kind(wanted)} such as {_first(wanted)}; convert one of them"
            )
        known = pl.DataFrame({"id": self.ids, "row": np.arange(len(self.ids))})
        asked = pl.DataFrame({"id": wanted.cast(self.ids.dtype, strict=False)})
        found = asked.join(known, on="id", how="left", maintain_order="left")["row"]
        return found.fill_null(-1).to_numpy().astype(np.int64)

    def known_rows(self, values: ArrayLike | pl.Series, name: str) -> IntArray:
        """The row of each value; unknown ones are refused, `name` says what they are."""
        rows = self.rows(values)
        if len(rows) and rows.min() < 0:
            unknown = id_series(values).filter(pl.Series(rows < 0))
            raise DataError(
                f"{name} must be among the {len(self):,} known ones, got {len(unknown):,} others, the first is "
                f"{unknown[0]!r}; check that both come from the same data"
            )
        return rows

    def at(self, rows: ArrayLike) -> pl.Series:
        """The ids of rows."""
        return self.ids.gather(np.asarray(rows, dtype=np.int64))

    def same_as(self, other: IdMap) -> bool:
        """Whether both name the same rows."""
        return self is other or (self.ids.dtype == other.ids.dtype and self.ids.equals(other.ids))


def id_series(values: Any) -> pl.Series:
    """Ids as whole numbers or text: categories become text, floats without a fraction whole numbers."""
    series = as_series(values)
    if series.dtype.is_integer() or series.dtype == pl.String:
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Null or not len(series):
        return series.cast(pl.Int64)
    if series.dtype.is_float():
        whole = series.fill_nan(None)
        if whole.drop_nulls().is_finite().all() and (whole.drop_nulls() % 1 == 0).all():
            return whole.cast(pl.Int64)
    raise DataError(
        f"ids must be whole numbers or text, got {series.dtype} such as {_first(series)}; convert them first"
    )


def as_series(values: Any) -> pl.Series:
    """A polars series of anything that is a column: a list, an array, a series of another library, or one value."""
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, str):  # which polars would take for the name of an empty series
        return pl.Series([values])
    try:
        return pl.Series(values)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return pl.Series(np.asarray(values))


def _of_other_kind(series: pl.Series) -> pl.Series:
    """Numbers as text, or text as numbers where it is how a number is written; missing elsewhere (007 is not 7)."""
    if series.dtype != pl.String:
        return series.cast(pl.String)
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String) != series, None)


def _kind(series: pl.Series) -> str:
    return "text" if series.dtype == pl.String else "whole numbers"


def _first(series: pl.Series) -> str:
    return repr(series[0]) if len(series) else "nothing"
