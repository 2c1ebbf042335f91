"""What counts as a table."""

from __future__ import annotations

import polars as pl

from sureness.errors import DataError


def check_frame(table: object) -> pl.DataFrame:
    """A polars DataFrame as it is; anything else is refused with the way to make one.

    Examples
    --------
    >>> check_frame({"user_id": [1]})
    Traceback (most recent call last):
    ...
    sureness.errors.DataError: a table must be a polars DataFrame, got a dict; convert it with pl.DataFrame(...)
    """
    if isinstance(table, pl.DataFrame):
        return table
    how = "collect it with .collect()" if isinstance(table, pl.LazyFrame) else "convert it with pl.DataFrame(...)"
    raise DataError(f"a table must be a polars DataFrame, got a {type(table).__name__}; {how}")
