"""Tables of any library, in and out: pandas, polars, PyArrow, DuckDB, and all that have the Arrow C stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PosixPath
from typing import Any, Protocol, TypeAlias

import polars as pl

from sureness.errors import DataError, IdError
from sureness.numerics.checks import refuse_mixed
from sureness.numerics.conversion import is_missing


class ArrowStream(Protocol):
    """What hands over its rows by the Arrow C stream: tables of pandas, polars, PyArrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream
"""A table in memory, or a query that gives one."""

Table: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | Frame
"""The name of a file, a folder or a pattern, several of them, or a table in memory."""


class Files(PosixPath):
    """Several files that make up one table, in this order; as a path it is what messages call them.

    Examples
    --------
    >>> print(Files.of(["may.csv", "june.csv", "july.csv"]))
    may.csv and 2 more
    """

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, paths: Sequence[str | PathLike[str]]) -> Path:
        """One file as it is, or several as one table."""
        every = tuple(map(Path, paths))
        if not every:
            raise DataError("a table must be at least one file, got an empty list of names")
        if len(every) == 1:
            return every[0]
        several = cls(f"{every[0]} and {len(every) - 1:,} more")
        several.paths = every
        return several


@dataclass(frozen=True, eq=False)
class HeldTable:
    """A table in memory, where a file could be too; `str` gives what messages call it."""

    given: Any  # as it came
    frame: pl.LazyFrame

    def __str__(self) -> str:
        return f"the {type(self.given).__name__}"

    def collected(self) -> HeldTable:
        """The same table with its rows in memory, so that they are in one order however often they are read."""
        return HeldTable(self.given, self.frame.collect().lazy())

    def with_column(self, column: pl.Series) -> Any:
        """The table as it came with one more column; all it had stays, such as an index of pandas."""
        import narwhals as nw  # only for tables of other libraries

        theirs = nw.from_native(self.given, pass_through=True)
        if not isinstance(theirs, nw.DataFrame):  # it may give its rows only once, or in another order next time
            return in_kind_of(self.given, self.frame.collect().with_columns(column))
        added = nw.new_series(column.name, column.to_numpy(), nw.Float64(), backend=theirs.implementation)
        return theirs.with_columns(added).to_native()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Its rows: a held table is a table too."""
        return self.frame.collect().__arrow_c_stream__(requested_schema)


Place: TypeAlias = Path | HeldTable
"""Where a table is: in a file or in memory."""


def place_of(table: Table) -> Place:
    """Where a table is; one in memory is read, and refused if it is not a table.

    Examples
    --------
    >>> str(place_of("log.csv")), str(place_of(pl.DataFrame({"user_id": [1]})))
    ('log.csv', 'the DataFrame')
    """
    if isinstance(table, HeldTable | Files):
        return table
    if isinstance(table, list | tuple) and all(isinstance(each, str | PathLike) for each in table):
        return Files.of(table)
    return Path(table) if isinstance(table, str | PathLike) else HeldTable(table, as_lazy(table))


def name_of(table: Table, in_memory: str = "the table") -> str:
    """What messages call a table: the name of its file, or the given one.

    Examples
    --------
    >>> name_of("clicks.csv", "held_out"), name_of(pl.DataFrame(), "held_out")
    ('clicks.csv', 'held_out')
    """
    return str(table) if isinstance(table, str | PathLike) else in_memory


def as_lazy(table: object) -> pl.LazyFrame:
    """A table of any library as a lazy frame; only one that is lazy already is not in memory."""
    return table if isinstance(table, pl.LazyFrame) else as_frame(table).lazy()


def as_frame(table: object) -> pl.DataFrame:
    """A table of any library as a polars DataFrame; anything else is refused.

    Indexes of pandas are left out. A column that polars has no type for, such as one of several kinds, is kept as
    Python objects.

    Examples
    --------
    >>> as_frame({"user_id": [1]})
    Traceback (most recent call last):
    ...
    sureness.errors.DataError: a table must be a DataFrame of pandas or polars, or another table that has the Arrow \
C stream, or the name of a file, got a dict; convert it with pl.DataFrame(...)
    """
    if isinstance(table, pl.DataFrame):
        return table
    try:
        if isinstance(table, pl.LazyFrame):
            return table.collect(engine="streaming")
        found = _of_other_library(table)
    except Exception as error:  # of whatever library the table comes from
        why = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(f"cannot read the {type(table).__name__}: {why[0]}") from error
    if found is None:
        raise DataError(
            f"a table must be a DataFrame of pandas or polars, or another table that has the Arrow C stream, or the "
            f"name of a file, got a {type(table).__name__}; convert it with pl.DataFrame(...)"
        )
    return found


def in_kind_of(given: object, frame: pl.DataFrame) -> Any:
    """A table in the library of the one that was given; polars for a file and for libraries without a way back.

    Examples
    --------
    >>> type(in_kind_of(pl.LazyFrame(), pl.DataFrame({"user_id": [1]}))).__name__
    'LazyFrame'
    """
    if isinstance(given, pl.LazyFrame):
        return frame.lazy()
    if isinstance(given, pl.DataFrame | str | PathLike):
        return frame
    if type(given).__module__.startswith("pyarrow"):
        return frame.to_arrow()
    import narwhals as nw  # only for tables of other libraries

    theirs = nw.from_native(given, pass_through=True)
    if isinstance(theirs, nw.DataFrame):
        columns = {column.name: column.to_numpy() for column in frame}
        return nw.from_dict(columns, backend=theirs.implementation).to_native()
    if isinstance(theirs, nw.LazyFrame) and theirs.implementation.is_duckdb():
        return nw.from_native(frame).lazy(theirs.implementation).to_native()
    return frame


def _of_other_library(table: Any) -> pl.DataFrame | None:
    """The rows of a table; None: it is not one."""
    import narwhals as nw

    theirs = nw.from_native(table, pass_through=True)
    if isinstance(theirs, nw.LazyFrame):
        collected: pl.DataFrame = theirs.collect("polars").to_native()
        return collected
    if isinstance(theirs, nw.DataFrame) and not theirs.implementation.is_pyarrow():
        return pl.DataFrame([_column(str(name), theirs[name].to_native()) for name in theirs.columns])
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return pl.DataFrame(table)
    return None


def _column(name: str, values: Any) -> pl.Series:
    """A column of pandas, or of a library like it; its index does not count."""
    if values.dtype != object:
        try:
            return pl.Series(name, values)
        except (ImportError, TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
            pass  # polars asks pyarrow for some types, which need not be there
    return _of_objects(name, values.astype(object).tolist())


def _of_objects(name: str, values: Iterable[Any]) -> pl.Series:
    """A column of one kind; left as Python objects if there are several, which polars would make one."""
    known = [None if is_missing(value) else value for value in values]
    try:
        refuse_mixed(known, name)
        return pl.Series(name, known)
    except (IdError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, known, dtype=pl.Object)
