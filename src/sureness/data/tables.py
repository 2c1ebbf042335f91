"""Tables on disk: Parquet, CSV and TSV, read in batches and written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import polars as pl

from sureness._files import replacing
from sureness._types import FloatArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, FileError

BATCH_ROWS = 500_000

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_NUMBERS = ("score", "label", "weight", "propensity", "probability")


def scan_table(path: str | PathLike[str], columns: dict[str, str] | None = None) -> pl.LazyFrame:
    """A table as a lazy frame with the agreed column names.

    Parameters
    ----------
    path : path
        Ends in .parquet, .csv or .tsv; the last two also with .gz.
    columns : dict, optional
        Agreed name to the name in the file, where they differ.
    """
    place = Path(path)
    renamed = {theirs: ours for ours, theirs in (columns or {}).items() if theirs != ours}
    with readable(place):
        if not place.exists():
            raise FileError(f"cannot read {place}: there is no such file")
        frame = _scan(place, [*_NUMBERS, *(theirs for ours, theirs in (columns or {}).items() if ours in _NUMBERS)])
        names = frame.collect_schema().names()
    for theirs, ours in renamed.items():
        if theirs not in names:
            raise DataError(f"{place} has no column {theirs!r} for {ours}; it has {', '.join(names)}")
        if ours in names:
            frame = frame.drop(ours)
    return frame.rename(renamed)


def require_columns(frame: pl.LazyFrame, names: Sequence[str], path: str | PathLike[str]) -> None:
    """Refuse a table without the needed columns."""
    there = frame.collect_schema().names()
    missing = [name for name in names if name not in there]
    if missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(missing)}; it has {', '.join(there)}; "
            f"name it with --{missing[0].removesuffix('_id')}-column"
        )


def count_rows(frame: pl.LazyFrame, path: str | PathLike[str]) -> int:
    """How many rows a table has; an empty one is refused."""
    with readable(path):
        n_rows = int(frame.select(pl.len()).collect().item())
    if n_rows == 0:
        raise DataError(f"{path} has no rows; expected at least one pair")
    return n_rows


def stream_pairs(
    frame: pl.LazyFrame, path: str | PathLike[str], on_rows: Callable[[int], None] | None = None
) -> Iterator[ScoredPairs]:
    """Checked pairs of a table in batches that keep the order of the file."""
    names = frame.collect_schema().names()
    wanted = [name for name in ("score", "label", "user_id", "weight", "propensity") if name in names]
    start = 0
    with readable(path):
        for batch in frame.select(wanted).collect_batches(chunk_size=BATCH_ROWS):
            try:
                yield pairs_of_table(batch)
            except DataError as error:
                raise DataError(f"{path}, rows {start + 1:,} to {start + batch.height:,}: {error}") from error
            start += batch.height
            if on_rows is not None:
                on_rows(batch.height)


def pairs_of_table(table: pl.DataFrame) -> ScoredPairs:
    """Checked pairs of a table with the agreed column names: score and label, and others where they exist."""
    missing = [name for name in ("score", "label") if name not in table.columns]
    if missing:
        raise DataError(
            f"a table must have the columns score and label, missing {' and '.join(missing)}; "
            f"it has {', '.join(table.columns)}"
        )
    known = ("score", "label", "user_id", "item_id", "weight", "propensity")
    for name in known:
        if name in table.columns and (n_empty := table[name].null_count()):
            raise DataError(f"column {name} has {n_empty:,} empty values; fill or drop those rows")
    column = {name: table[name].to_numpy() for name in known if name in table.columns}
    return ScoredPairs.of(
        column["score"], column["label"], users=column.get("user_id"), items=column.get("item_id"),
        sample_weight=column.get("weight"), propensity=column.get("propensity"),
    )  # fmt: skip


def write_table(table: pl.DataFrame | pl.LazyFrame, path: str | PathLike[str]) -> None:
    """Write Parquet, CSV or TSV by the ending of the path, in batches, whole or not at all."""
    frame = table.lazy()
    place = Path(path)
    with replacing(place) as temporary, readable(place, doing="write"):
        if place.suffix == ".parquet":
            frame.sink_parquet(temporary)
        elif place.suffix in _SEPARATORS:
            frame.sink_csv(temporary, separator=_SEPARATORS[place.suffix])
        else:
            raise FileError(f"cannot write {place}: the name must end in .parquet, .csv or .tsv")


def add_column(
    frame: pl.LazyFrame,
    name: str,
    inputs: Sequence[str],
    function: Callable[..., FloatArray],
    on_rows: Callable[[int], None] | None = None,
) -> tuple[pl.LazyFrame, list[Exception]]:
    """The table with a column computed batch by batch, and a list that receives what goes wrong on the way."""
    problems: list[Exception] = []

    def compute(batch: pl.Series) -> pl.Series:
        try:
            parts = batch.struct.unnest()
            for column in parts.columns:
                if n_empty := parts[column].null_count():
                    raise DataError(f"column {column} has {n_empty:,} empty values; fill or drop those rows")
            values = function(*(parts[column].to_numpy() for column in inputs))
        except Exception as error:
            problems.append(error)  # polars wraps it; the caller wants the original
            raise
        if on_rows is not None:
            on_rows(len(batch))
        return pl.Series(values)

    column = pl.struct(inputs).map_batches(compute, return_dtype=pl.Float64, is_elementwise=True)
    return frame.with_columns(column.alias(name)), problems


@contextmanager
def readable(path: str | PathLike[str], doing: str = "read") -> Iterator[None]:
    """Turn what polars says of a file into one sentence."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise FileError(f"cannot {doing} {path}: {str(error).strip().splitlines()[0]}") from error
    except (FileError, DataError):
        raise
    except OSError as error:
        raise FileError(f"cannot {doing} {path}: {error.strerror or error}") from error


def _scan(place: Path, numbers: Sequence[str]) -> pl.LazyFrame:
    suffixes = [suffix for suffix in place.suffixes if suffix != ".gz"]
    ending = suffixes[-1] if suffixes else ""
    if ending == ".parquet":
        return pl.scan_parquet(place)
    if ending in _SEPARATORS:
        overrides = dict.fromkeys(numbers, pl.Float64)
        header = pl.scan_csv(place, separator=_SEPARATORS[ending], infer_schema=False).collect_schema().names()
        return pl.scan_csv(
            place,
            separator=_SEPARATORS[ending],
            schema_overrides={name: kind for name, kind in overrides.items() if name in header},
            infer_schema_length=10_000,
        )
    raise FileError(f"cannot read {place}: the name must end in .parquet, .csv or .tsv")
