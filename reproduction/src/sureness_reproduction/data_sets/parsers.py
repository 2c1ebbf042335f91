"""Parsers of publishers' formats, from bytes to tables."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness.errors import ColumnError


def lists_with_count(data: bytes) -> pl.DataFrame:
    r"""One line per user: the number of items, then the items, such as users.dat of CiteULike.

    The leading number is not an item: it is checked against the rest of the line and left out.

    Examples
    --------
    >>> lists_with_count(b"2 7 9\n1 7\n").rows()
    [(0, 7), (0, 9), (1, 7)]
    """
    lines = _lines(data).with_row_index("user_id")
    wrong = lines.filter(pl.col("ids").list.len() != pl.col("ids").list.first().fill_null(0) + 1)
    if wrong.height:
        raise ColumnError(
            f"each line must begin with the number of items that follow, line {wrong['user_id'][0] + 1} does not "
            f"({wrong.height:,} in all); check that the file is users.dat as published"
        )
    return _exploded(lines, pl.col("user_id").cast(pl.Int64))


def lists_with_user(data: bytes) -> pl.DataFrame:
    r"""One line per user: the user, then the items, such as train.txt of LightGCN.

    Examples
    --------
    >>> lists_with_user(b"0 7 9\n4 7\n5\n").rows()
    [(0, 7), (0, 9), (4, 7)]
    """
    lines = _lines(data).filter(pl.col("ids").list.len() > 0)
    return _exploded(lines, pl.col("ids").list.first())


def rating_matrix(data: bytes) -> pl.DataFrame:
    r"""One line per user and one column per item, 0 for no rating, such as train.ascii of Coat.

    Examples
    --------
    >>> rating_matrix(b"0 5\n3 0").rows()
    [(0, 1, 5.0), (1, 0, 3.0)]
    """
    matrix = numbers(data)
    users, items = np.nonzero(matrix)
    return pl.DataFrame({"user_id": users, "item_id": items, "rating": matrix[users, items]})


def numbers(data: bytes) -> NDArray[np.float64]:
    """Numbers in rows and columns."""
    try:
        return np.loadtxt(io.BytesIO(data), ndmin=2)
    except ValueError as error:
        raise ColumnError(f"expected numbers in rows of one length: {error}") from error


def json_lines(data: bytes, columns: dict[str, str]) -> pl.DataFrame:
    """One JSON object per line, such as the reviews of Yelp; agreed names to the names there.

    Examples
    --------
    >>> json_lines(b'{"who": "ann", "stars": 4.0, "text": "fine"}', {"user_id": "who", "rating": "stars"}).rows()
    [('ann', 4.0)]
    """
    kinds = {"rating": pl.Float64}
    schema = {theirs: kinds.get(ours, pl.String) for ours, theirs in columns.items()}
    try:
        table = pl.read_ndjson(io.BytesIO(data), schema=schema)
    except pl.exceptions.PolarsError as error:
        raise ColumnError(f"expected one JSON object per line with {', '.join(schema)}: {error}") from error
    return table.rename({theirs: ours for ours, theirs in columns.items()})


def _lines(data: bytes) -> pl.DataFrame:
    texts = pl.DataFrame({"ids": data.decode().splitlines()}, schema={"ids": pl.String})
    split = texts.select(pl.col("ids").str.extract_all(r"\S+"))
    try:
        return split.select(pl.col("ids").cast(pl.List(pl.Int64)))
    except pl.exceptions.PolarsError as error:
        raise ColumnError(
            "expected whole numbers between spaces, one line per user; check that the file is whole"
        ) from error


def _exploded(lines: pl.DataFrame, user: pl.Expr) -> pl.DataFrame:
    pairs = lines.select(user.alias("user_id"), pl.col("ids").list.slice(1).alias("item_id"))
    return pairs.explode("item_id").drop_nulls()
