"""Check the tables that callers give, and join them on ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from sureness.errors import ColumnError, IdError
from sureness.tables.frames import Frame, as_frame
from sureness.tables.id_values import id_series


def given_table(table: Frame, needed: Sequence[str], name: str) -> pl.DataFrame:
    """A table of any library with the columns that are needed, its ids as whole numbers or text.

    Examples
    --------
    >>> named = pl.DataFrame({"user_id": ["ann"], "degree": [3]}, schema_overrides={"user_id": pl.Categorical})
    >>> given_table(named, ["user_id", "degree"], "the degree table").schema["user_id"]
    String
    """
    frame = as_frame(table)
    require_columns(frame, needed, name)
    return frame.with_columns(id_series(frame[key]) for key in ("user_id", "item_id") if key in needed)


def require_columns(table: pl.DataFrame, needed: Iterable[str], name: str) -> None:
    """Refuse a table that lacks columns, naming those it has."""
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise ColumnError(
            f"{name} must have the columns {', '.join(needed)}, got {', '.join(table.columns) or 'none'}; "
            f"rename or add {', '.join(missing)}"
        )


def with_ids_of(table: pl.DataFrame, other: pl.DataFrame, keys: Iterable[str], name: str) -> pl.DataFrame:
    """The table with its ids cast to the other's type; any integer types match, numbers and text do not.

    Examples
    --------
    >>> small = pl.DataFrame({"user_id": [1]}, schema={"user_id": pl.Int32})
    >>> with_ids_of(small, pl.DataFrame({"user_id": [1]}), ["user_id"], "small").schema["user_id"]
    Int64
    """
    for key in keys:
        own, wanted = table.schema[key], other.schema[key]
        if own != wanted and not (own.is_integer() and wanted.is_integer()):
            raise IdError(f"{key} is {own} in {name} and {wanted} among the candidates; use the same ids in both")
    return table.with_columns(pl.col(key).cast(other.schema[key]) for key in keys)
