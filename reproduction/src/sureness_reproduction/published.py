"""The numbers of the dissertation, by the names this package uses.

Slips that the tables themselves give away are mended or left out: the MinMax rows of MCE and NLL, which repeat those of
ECE; N@50 of the CDAE BD-Teacher on CiteULike (0.0558, printed 0.0588); two parameter counts of chapter 4.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from sureness.errors import DataError

TITLES = {
    "yahoo-r3": "Yahoo!R3", "coat": "Coat", "citeulike-bd": "CiteULike (leave-one-out)", "foursquare-tky": "Foursquare",
    "yelp": "Yelp", "ml-10m": "MovieLens 10M", "ml-25m": "MovieLens 25M", "amazon-books": "Amazon Books",
    "ml-100k": "MovieLens 100K", "ml-1m": "MovieLens 1M", "amazon-music": "Amazon Music", "citeulike-a": "CiteULike",
    "amazon-book-kgat": "Amazon Books (KGAT)", "amazon-crossdomain": "Amazon shops", "simulator": "the simulator",
}  # fmt: skip
"""What people call the data sets."""


def published(table: str) -> pl.DataFrame:
    """A table of the dissertation in long form: its keys, and `value`.

    Examples
    --------
    >>> published("ece").filter(data="coat", model="bpr", method="gaussian", risk="unbiased")["value"].item()
    0.0393
    """
    known = _tables()
    if table not in known:
        raise DataError(f"there is no published table {table!r}; there are {', '.join(known)}")
    found = known[table]
    return pl.DataFrame(found["rows"], schema=found["columns"], orient="row", infer_schema_length=None)


def published_tables() -> dict[str, str]:
    """The names of all tables with what they show."""
    return {name: table["title"] for name, table in _tables().items()}


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return dict(json.loads(files("sureness_reproduction").joinpath("published.json").read_text(encoding="utf-8")))
