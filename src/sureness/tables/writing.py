"""Write tables as Parquet, CSV or TSV: whole or not at all."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path

import polars as pl

from sureness.errors import OutputError
from sureness.numerics.forks import check_not_forked
from sureness.saving.files import replacing, writable_file
from sureness.tables.columns import TextFormat
from sureness.tables.frames import Frame, HeldTable, as_lazy
from sureness.tables.reading import readable

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_NUMBER = r"^[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?$"  # a spreadsheet shows it as it is
_WITHOUT_MARK = ("utf-8", "ascii")


def write_table(
    table: Frame,
    path: str | PathLike[str],
    *,
    source: str | PathLike[str] | HeldTable | None = None,
    escape_formulas: bool = False,
    text: TextFormat | None = None,
) -> None:
    """Write Parquet, CSV or TSV (by the ending of the path) atomically, in batches.

    A lazy table is read while it is written; `source` names its file for error messages. Spreadsheets run a text that
    begins with =, +, - or @ as a formula: with `escape_formulas` such texts in CSV and TSV get a leading apostrophe.
    Pass it for files with ids or titles from strangers that people will open, not for files that programs read.

    `text` gives the separator and the decimal comma of CSV (``TextFormat(separator="semicolon", decimal="comma")``).
    It is always UTF-8, with a byte order mark if another encoding or ``"utf-8-sig"`` is given.
    """
    check_not_forked()
    place = Path(path)
    named = place if source is None else f"{place} from {source}"
    with replacing(_named_table(place)) as temporary, readable(named, doing="write", source=source):
        frame, ending = as_lazy(table), place.suffix.lower()
        escape_formulas |= text is not None and text.formulas == "escaped"
        _sink(_escaped(frame) if escape_formulas and ending in _SEPARATORS else frame, temporary, ending, text)


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
    runs = text.str.contains(r"^[=+\-@\t\r]") & ~text.str.contains(_NUMBER)
    return frame.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())


def _named_table(place: Path) -> Path:
    if place.suffix.lower() not in (".parquet", *_SEPARATORS) and not place.is_dir():
        raise OutputError(f"cannot write {place}: the name must end in .parquet, .csv or .tsv")
    return place


def _sink(frame: pl.LazyFrame, place: Path, ending: str, text: TextFormat | None = None) -> None:
    with place.open("wb") as opened:  # a name would be made again by threads of polars that outlive an error
        if ending == ".parquet":
            frame.sink_parquet(opened, compression="snappy")  # fast, and read everywhere
        elif text is None or ending != ".csv":
            frame.sink_csv(opened, separator=_SEPARATORS[ending])
        else:
            frame.sink_csv(
                opened, separator=text.separator_character or _SEPARATORS[ending],
                decimal_comma=text.decimal == "comma",
                include_bom=codecs.lookup(text.encoding or "utf-8").name not in _WITHOUT_MARK,
            )  # fmt: skip
