"""Read tables of any kind, with the agreed names of columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import polars as pl

from sureness._types import AnyArray, FloatArray
from sureness._wording import counted
from sureness.errors import ColumnError, DataError, EmptyError, FileError, SurenessError, warn
from sureness.numerics.checks import as_array
from sureness.numerics.forks import check_not_forked
from sureness.tables.columns import Columns
from sureness.tables.files import is_text, scan_files, text_rows, why_unreadable
from sureness.tables.frames import HeldTable, Table, place_of
from sureness.tables.text.values import in_iso_order, is_number

BATCH_ROWS = 500_000
"""Rows read at a time."""

_IDS = ("user_id", "item_id")
NUMBERS = ("score", "label", "weight", "propensity", "probability")
"""Columns that hold numbers, also in text files."""


def scan_table(
    path: Table,
    columns: Columns | None = None,
    *,
    numbers: Sequence[str] = NUMBERS,
    segment: str | None = None,
) -> pl.LazyFrame:
    """A table as a lazy frame with the agreed column names.

    A column that has an agreed name, but holds something else, is kept under another name: see `names_aside`.

    Parameters
    ----------
    path : path, or table in memory
        A file that ends in .parquet, .csv, .tsv or .txt, text also with .gz or .zst; a pattern such as
        ``parts/*.parquet``; or a folder of such files.
    columns : Columns, optional
        Names in the table, where they differ from the agreed ones, and how text is written.
    numbers : sequence of str
        Columns of a text file that hold numbers; other columns except ids are read as text, unchanged.
    segment : str, optional
        One more column with ids.
    """
    check_not_forked()
    place, columns = place_of(path), columns or Columns()
    renamed = columns.renamed()
    frame = place.frame if isinstance(place, HeldTable) else _scan_file(place, columns, numbers, segment)
    with readable(place):
        frame = in_iso_order(frame, columns.time, columns.dates)
        names = frame.collect_schema().names()
    for ours, theirs in renamed.items():
        if theirs not in names:
            raise ColumnError(f"{place} has no column {theirs!r} for {ours}; it has {', '.join(names)}")
    chosen = {theirs: [ours for ours, other in renamed.items() if other == theirs] for theirs in renamed.values()}
    aside = names_aside([name for name in names if name in renamed and name not in chosen], names)
    return frame.select(
        pl.col(name).alias(called) for name in names for called in chosen.get(name, [aside.get(name, name)])
    )


def _scan_file(place: Path, columns: Columns, numbers: Sequence[str], segment: str | None) -> pl.LazyFrame:
    renamed = columns.renamed()
    numeric, ids = ([renamed.get(name, name) for name in known] for known in (numbers, _IDS))
    ids += [segment] if segment is not None and segment not in ids else []
    with readable(place):
        return scan_files(place, columns, numbers=numeric, ids=ids)


def read_table(
    table: Table,
    columns: Columns | None,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    *,
    numbers: Sequence[str] = NUMBERS,
) -> pl.DataFrame:
    """The columns of a table that are needed, and the optional ones that it has.

    Examples
    --------
    >>> table = pl.DataFrame({"who": ["ann"], "item_id": [1], "price": [9.5]})
    >>> read_table(table, Columns(user_id="who"), ["user_id", "item_id"], ["rating"]).columns
    ['user_id', 'item_id']
    """
    place = place_of(table)
    frame = scan_table(place, recognised(place, columns, *needed, *optional), numbers=numbers)
    require_columns(frame, needed, place)
    there = frame.collect_schema().names()
    with readable(place):
        return frame.select(name for name in (*needed, *optional) if name in there).collect()


def recognised(path: Table, columns: Columns | None, *wanted: str, but: Collection[str] = ()) -> Columns:
    """The columns of a table, where the wanted ones may have the names of other libraries; a warning lists those.

    Columns whose names are in `but` hold something else.
    """
    columns, place = columns or Columns(), place_of(path)
    found = columns.recognised([name for name in column_names(place, columns) if name not in but], *wanted)
    if read := [
        f"{theirs!r} as {ours}" for ours, theirs in found.renamed().items() if theirs != getattr(columns, ours)
    ]:
        warn(f"{place} is read with {' and '.join(read)}")
    return found


def column_names(path: Table, columns: Columns | None = None) -> list[str]:
    """The columns of a table as they are called there."""
    place = place_of(path)
    with readable(place):
        frame = place.frame if isinstance(place, HeldTable) else scan_files(place, columns or Columns())
        return frame.collect_schema().names()


def names_aside(names: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Other names for columns that stand in the way of new ones; none of them is taken.

    Examples
    --------
    >>> names_aside(["rank"], ["rank", "rank_before"])
    {'rank': 'rank_before_2'}
    """
    found: dict[str, str] = {}
    for name in names:
        numbered = (f"{name}_before_{number}" for number in itertools.count(2))
        found[name] = next(each for each in itertools.chain([f"{name}_before"], numbered) if each not in taken)
    return found


def require_columns(frame: pl.LazyFrame, names: Sequence[str], path: str | PathLike[str] | HeldTable) -> None:
    """Refuse a table that lacks one of the columns."""
    there = frame.collect_schema().names()
    missing = [name for name in names if name not in there]
    if missing:
        raise ColumnError(
            f"{path} has no column {' and no column '.join(missing)}; it has {', '.join(there)}"
            f"{_how_to_name(missing)}{_how_to_head(there, path)}"
        )


def _how_to_name(missing: Sequence[str]) -> str:
    named = [column for column in missing if column in (*_IDS, *NUMBERS)]
    if not named:
        return ""
    return f"; name {'it' if len(named) == 1 else 'them'} with columns=Columns({'=..., '.join(named)}=...)"


def _how_to_head(names: Sequence[str], path: str | PathLike[str] | HeldTable) -> str:
    """What to do if the names look like a row."""
    is_row = not isinstance(path, HeldTable) and is_text(path) and any(map(is_number, names))
    return ", or give Columns(header=...) if the first line is not a header" if is_row else ""


def count_rows(frame: pl.LazyFrame, path: str | PathLike[str] | HeldTable) -> int:
    """The number of rows of a table, of which `frame` has all; an empty table is refused."""
    n_rows = text_rows(path)
    if n_rows is None:
        with readable(path):
            n_rows = int(frame.select(pl.len()).collect().item())
    if n_rows == 0:
        raise EmptyError(f"{path} has no rows; expected at least one pair")
    return n_rows


def add_column(
    frame: pl.LazyFrame,
    name: str,
    inputs: Sequence[str],
    function: Callable[..., FloatArray],
    on_rows: Callable[[int], None] | None = None,
    *,
    may_lack: Sequence[str] = (),
) -> tuple[pl.LazyFrame, list[Exception]]:
    """Add a column computed batch by batch; also returns a list that collects the exceptions of `function`.

    Inputs named in `may_lack` may have empty values; they come as series, the others as arrays.
    """
    problems: list[Exception] = []

    def compute(batch: pl.Series) -> pl.Series:
        try:
            parts = batch.struct.unnest()
            given = [parts[column] if column in may_lack else filled(parts[column]) for column in inputs]
            values = function(*given)
        except Exception as error:
            problems.append(error)  # polars wraps it, but callers need the original
            raise
        if on_rows is not None:
            on_rows(len(batch))
        return pl.Series(values, dtype=pl.Float64)

    column = pl.struct(inputs).map_batches(compute, return_dtype=pl.Float64, is_elementwise=True)
    return frame.with_columns(column.alias(name)), problems


def filled(column: pl.Series) -> AnyArray:
    """A column as an array; empty values are refused."""
    if n_empty := column.null_count():
        raise ColumnError(f"column {column.name} has {counted(n_empty, 'empty value')}; fill or drop those rows")
    return as_array(column, f"column {column.name}")


@contextmanager
def readable(
    path: str | PathLike[str] | HeldTable, doing: str = "read", source: str | PathLike[str] | HeldTable | None = None
) -> Iterator[None]:
    """Turn errors of polars and of the file system into a `FileError` of one sentence.

    Rows may be read from another place, `source`; the line of it that cannot be read is named.
    """
    try:
        yield
    except pl.exceptions.PolarsError as error:
        why = why_unreadable(path if source is None else source) or str(error).strip().splitlines()[0]
        raise FileError(f"cannot {doing} {path}: {why}") from error
    except (SurenessError, MemoryError):
        raise
    except OSError as error:
        raise FileError(f"cannot {doing} {path}: {error.strerror or error}") from error
    except Exception as error:  # of a function that a lazy frame calls
        if not isinstance(path if source is None else source, HeldTable):
            raise
        raise DataError(f"cannot {doing} {path}: {type(error).__name__}, {error}".splitlines()[0]) from error
