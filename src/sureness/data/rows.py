"""Rows of tables of pairs: what is dropped is noted, and items of several catalogues have names of their own."""

from __future__ import annotations

import polars as pl

from sureness._wording import counted
from sureness.errors import ColumnError


def drop(before: pl.DataFrame, after: pl.DataFrame, notes: list[str], what: str) -> pl.DataFrame:
    """`after`, with a note on how many rows of `before` are gone."""
    if n_lost := before.height - after.height:
        notes.append(f"{n_lost:,} of {counted(before.height, 'row')} {what}")
    return after


def name_items_by_domain(rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Name items domain/item, because catalogues may use the same numbers; ids of that form are kept."""
    try:
        rows = rows.with_columns(pl.col("domain").cast(pl.String))
    except pl.exceptions.PolarsError as error:
        kind = rows["domain"].dtype
        raise ColumnError(f"domains must be text or numbers, got {kind}; convert them first") from error
    rows = drop(rows, rows.drop_nulls("domain"), notes, "had no domain and were dropped")
    named = pl.col("item_id").cast(pl.String)
    done = named.str.starts_with(pl.col("domain") + "/")
    if rows.height and rows.select(done.all()).item():
        return rows.with_columns(named)
    return rows.with_columns(item_id=pl.format("{}/{}", "domain", "item_id"))
