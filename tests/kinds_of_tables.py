"""The same table as each library has it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

from sureness.tables.frames import as_frame

Make = Callable[[pl.DataFrame, Path], Any]


class Stream:
    """A table of a library that nobody has heard of; all it has is the Arrow C stream."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def _odd_index(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(pd.Index([number // 2 for number in range(len(frame))][::-1], name="user_id"))


def _nullable(frame: pl.DataFrame, _: Path) -> pd.DataFrame:
    return _odd_index(frame.to_pandas().convert_dtypes())


def _categories(frame: pl.DataFrame, _: Path) -> pd.DataFrame:
    names = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.to_pandas().astype(dict.fromkeys(names, "category"))


def _words(frame: pl.DataFrame, _: Path) -> pd.DataFrame:
    given = frame.to_pandas()
    return given.assign(label=given["label"].map({0: "no", 1: "Yes"})) if "label" in given else given


def _enums(frame: pl.DataFrame, _: Path) -> pl.DataFrame:
    names = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(pl.col(name).cast(pl.Enum(frame[name].unique().sort())) for name in names)


def _decimals(frame: pl.DataFrame, _: Path) -> pl.DataFrame:
    names = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    return frame.with_columns(pl.Series(name, [Decimal(str(each)) for each in frame[name]]) for name in names)


def _written(frame: pl.DataFrame, folder: Path, name: str) -> Path:
    path = folder / name
    frame.write_parquet(path) if name.endswith("parquet") else frame.write_csv(path)
    return path


KINDS: dict[str, Make] = {
    "pandas": lambda frame, _: frame.to_pandas(),
    "pandas with an index": lambda frame, _: _odd_index(frame.to_pandas()),
    "pandas nullable": _nullable,
    "pandas categories": _categories,
    "pandas of arrow": lambda frame, _: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas with words for labels": _words,
    "polars": lambda frame, _: frame,
    "polars lazy": lambda frame, _: frame.lazy(),
    "polars enums": _enums,
    "polars decimals": _decimals,
    "arrow": lambda frame, _: frame.to_arrow(),
    "arrow batch": lambda frame, _: frame.to_arrow().combine_chunks().to_batches()[0],
    "arrow reader": lambda frame, _: frame.to_arrow().to_reader(max_chunksize=7),
    "arrow stream": lambda frame, _: Stream(frame),
    "duckdb": lambda frame, _: duckdb.from_arrow(frame.to_arrow()),
    "parquet": lambda frame, folder: _written(frame, folder, "table.parquet"),
    "csv, by its name": lambda frame, folder: str(_written(frame, folder, "table.csv")),
}

COMES_BACK: dict[str, type] = {
    "pandas": pd.DataFrame,
    "polars lazy": pl.LazyFrame,
    "arrow stream": pl.DataFrame,
    "arrow": pa.Table,
    "duckdb": duckdb.DuckDBPyRelation,
}
"""What comes out, by how the name of a kind begins; polars for all others."""


def comes_back(kind: str) -> type:
    return next((type_ for name, type_ in COMES_BACK.items() if kind.startswith(name)), pl.DataFrame)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a table, text and numbers as they are in Python."""
    plain = as_frame(table).with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.Decimal).cast(pl.Float64)
    )
    return plain.rows()
