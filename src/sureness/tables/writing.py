"""Write tables as Parquet, CSV or TSV: whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path

import polars as pl

from sureness.errors import OutputError
from sureness.numerics.forks import check_not_forked
from sureness.saving.files import replacing, writable_file
from sureness.tables.frames import Frame, HeldTable, as_lazy
from sureness.tables.reading import readable

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def write_table(
    table: Frame,
    path: str | PathLike[str],
    *,
    source: str | PathLike[str] | HeldTable | None = None,
    escape_formulas: bool = False,
) -> None:
    """Write Parquet, CSV or TSV (by the ending of the path) atomically, in batches.

    A lazy table is read while it is written; `source` names its file for error messages. Spreadsheets run a text that
    begins with =, +, - or @ as a formula: with `escape_formulas` such texts in CSV and TSV get a leading apostrophe.
    Pass it for files with ids or titles from strangers that people will open, not for files that programs read.
    """
    check_not_forked()
    place = Path(path)
    named = place if source is None else f"{place} from {source}"
    with replacing(_named_table(place)) as temporary, readable(named, doing="write", source=source):
        frame, ending = as_lazy(table), place.suffix.lower()
        _sink(_escaped(frame) if escape_formulas and ending in _SEPARATORS else frame, temporary, ending)


def write_tables(tables: Mapping[Path, pl.DataFrame]) -> None:
    """Write tables that belong together; a reader never meets a mixture of an older set and the new one.

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


def _escaped(frame: pl.LazyFrame) -> pl.LazyFrame:
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


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
