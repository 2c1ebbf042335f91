"""Tables in Parquet and text files, read in batches and written atomically."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path

import polars as pl

from sureness._types import AnyArray, FloatArray
from sureness._wording import counted
from sureness.data.columns import Columns
from sureness.data.dates import in_iso_order
from sureness.data.frames import Frame, HeldTable, Table, as_frame, as_lazy, place_of
from sureness.data.scanning import bad_line, scan_files, text_rows, why_unreadable
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.table_files import is_text
from sureness.data.text_numbers import is_number
from sureness.errors import ColumnError, DataError, EmptyError, FileError, OutputError, SurenessError
from sureness.numerics.checks import as_array
from sureness.numerics.forks import check_not_forked
from sureness.saving.files import replacing, writable_file

BATCH_ROWS = 500_000
"""Rows read at a time."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
OF_PAIRS = ("score", "label", "user_id", "item_id", "weight", "propensity")
"""Columns of a table of scored, labelled pairs; the first two are needed."""
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
    frame = scan_table(place, columns, numbers=numbers)
    require_columns(frame, needed, place)
    there = frame.collect_schema().names()
    with readable(place):
        return frame.select(name for name in (*needed, *optional) if name in there).collect()


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
            f"{_how_to_name(missing, path)}{_how_to_head(there, path)}"
        )


def _how_to_name(missing: Sequence[str], path: str | PathLike[str] | HeldTable) -> str:
    named = [column for column in missing if column in (*_IDS, *NUMBERS)]
    if not named:
        return ""
    if isinstance(path, HeldTable):
        return f"; rename columns, or name them with columns=Columns({'=..., '.join(named)}=...)"
    options = [f"--{column.removesuffix('_id')}-column" for column in named]
    return f"; say which it is with {' and '.join(options)}"


def _how_to_head(names: Sequence[str], path: str | PathLike[str] | HeldTable) -> str:
    """What to do if the names look like a row."""
    is_row = not isinstance(path, HeldTable) and is_text(path) and any(map(is_number, names))
    return ", or say --header if the first line is no header" if is_row else ""


def count_rows(frame: pl.LazyFrame, path: str | PathLike[str] | HeldTable) -> int:
    """The number of rows of a table, of which `frame` has all; an empty table is refused."""
    n_rows = text_rows(path)
    if n_rows is None:
        with readable(path):
            n_rows = int(frame.select(pl.len()).collect().item())
    if n_rows == 0:
        raise EmptyError(f"{path} has no rows; expected at least one pair")
    return n_rows


def stream_pairs(
    frame: pl.LazyFrame, path: str | PathLike[str] | HeldTable, on_rows: Callable[[int], None] | None = None
) -> Iterator[ScoredPairs]:
    """The checked pairs of a table, in batches and in the order of the file."""
    names = frame.collect_schema().names()
    wanted = [name for name in ("score", "label", "user_id", "weight", "propensity") if name in names]
    if not {"score", "label"} <= set(names):
        pairs_of_table(pl.DataFrame(schema=frame.collect_schema()))  # raises, naming the missing columns
    start = 0
    with readable(path):
        for batch in frame.select(wanted).collect_batches(chunk_size=BATCH_ROWS):
            try:
                yield pairs_of_table(batch, part=True)
            except DataError as error:
                named = next((name for name in wanted if name in str(error)), "")
                where = bad_line(path, named) or f"rows {start + 1:,} to {start + batch.height:,}"
                raise type(error)(f"{path}, {where}: {error}") from error
            start += batch.height
            if on_rows is not None:
                on_rows(batch.height)


def pairs_of_table(given: Frame, *, part: bool = False) -> ScoredPairs:
    """The checked pairs of a table with the agreed column names: score and label, and optional others."""
    table = as_frame(given)
    missing = [name for name in ("score", "label") if name not in table.columns]
    if missing:
        raise ColumnError(
            f"a table must have the columns score and label, missing {' and '.join(missing)}; "
            f"it has {', '.join(table.columns)}"
        )
    for name in OF_PAIRS:
        if name in table.columns and (n_empty := table[name].null_count()):
            raise ColumnError(f"column {name} has {counted(n_empty, 'empty value')}; fill or drop those rows")
    column = {name: as_array(table[name], f"column {name}") for name in OF_PAIRS if name in table.columns}
    return ScoredPairs.of(
        column["score"], column["label"], users=column.get("user_id"), items=column.get("item_id"),
        sample_weight=column.get("weight"), propensity=column.get("propensity"), part=part,
    )  # fmt: skip


def write_table(
    table: Frame, path: str | PathLike[str], *, source: str | PathLike[str] | HeldTable | None = None
) -> None:
    """Write Parquet, CSV or TSV (by the ending of the path) atomically, in batches.

    A lazy table is read while it is written; `source` names its file for error messages.
    """
    check_not_forked()
    place = Path(path)
    named = place if source is None else f"{place} from {source}"
    with replacing(_named_table(place)) as temporary, readable(named, doing="write", source=source):
        _sink(as_lazy(table), temporary, place.suffix.lower())


def write_tables(tables: Mapping[Path, pl.DataFrame]) -> None:
    """Write tables that belong together; a reader never meets some of an older set beside some of the new one.

    All of them are complete before the first gets its name. In the moment in which they get their names some may be
    missing, as after a kill then.
    """
    with ExitStack() as written:
        for place, table in tables.items():
            temporary = written.enter_context(replacing(_named_table(place)))
            with readable(place, doing="write"):
                _sink(table.lazy(), temporary, place.suffix.lower())
        for place in tables:
            writable_file(place).unlink(missing_ok=True)  # where a link leads to, not the link


def _named_table(place: Path) -> Path:
    if place.suffix.lower() not in (".parquet", *_SEPARATORS) and not place.is_dir():
        raise OutputError(f"cannot write {place}: the name must end in .parquet, .csv or .tsv")
    return place


def _sink(frame: pl.LazyFrame, place: Path, ending: str) -> None:
    with place.open("wb") as opened:  # a name would be made again by threads of polars that outlive an error
        if ending == ".parquet":
            frame.sink_parquet(opened, compression="snappy")  # fast, and read everywhere
        else:
            frame.sink_csv(opened, separator=_SEPARATORS[ending])


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
