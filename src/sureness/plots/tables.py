"""Tables that are joined on ids, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from sureness.errors import DataError


def require_columns(table: pl.DataFrame, needed: Iterable[str], name: str) -> None:
    """Refuse a table that lacks columns, naming those it has."""
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise DataError(
            f"{name} must have the columns {', '.join(needed)}, got {', '.join(table.columns) or 'none'}; "
            f"rename or add {', '.join(missing)}"
        )


def with_ids_of(table: pl.DataFrame, other: pl.DataFrame, keys: Iterable[str], name: str) -> pl.DataFrame:
    """The table with its ids in the type of the other's: any integers go together, numbers and text do not.

    Examples
    --------
    >>> small = pl.DataFrame({"user_id": [1]}, schema={"user_id": pl.Int32})
    >>> with_ids_of(small, pl.DataFrame({"user_id": [1]}), ["user_id"], "small").schema["user_id"]
    Int64
    """
    for key in keys:
        own, wanted = table.schema[key], other.schema[key]
        if own != wanted and not (own.is_integer() and wanted.is_integer()):
            raise DataError(f"{key} is {own} in {name} and {wanted} among the candidates; use the same ids in both")
    return table.with_columns(pl.col(key).cast(other.schema[key]) for key in keys)
