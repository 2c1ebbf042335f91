"""Values that no one should give, and odd forms of good ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

N = 48
"""Length of all good vectors."""

Make = Callable[[np.ndarray], Any]


def _with(place: int, value: Any) -> Make:
    """The good values with another one at a place; the type gives way if it must."""

    def make(good: np.ndarray) -> Any:
        changed = good.astype(np.result_type(good, type(value)) if isinstance(value, float | bool) else object)
        changed[place] = value
        return changed

    return make


SAME_FORMS: dict[str, Make] = {
    "list": lambda good: good.tolist(),
    "tuple": lambda good: tuple(good.tolist()),
    "not contiguous": lambda good: np.repeat(good, 2, axis=0)[::2],
    "backwards view": lambda good: good[::-1].copy()[::-1],
    "read-only": lambda good: _frozen(good),
    "big-endian": lambda good: good.astype(good.dtype.newbyteorder(">")) if good.dtype.kind in "iuf" else good,
    "polars Series": lambda good: pl.Series(good) if good.ndim == 1 else good,
    "pandas Series": lambda good: pd.Series(good) if good.ndim == 1 else good,
    "subclass of ndarray": lambda good: good.view(type("Named", (np.ndarray,), {})),
    "memoryview": lambda good: memoryview(good) if good.dtype.kind in "iuf" else good,
}
"""Other forms of the same values: they must give the same answer, or be refused."""

WRONG_KINDS: dict[str, Make] = {
    "None": lambda _: None,
    "a word": lambda _: "word",
    "bytes": lambda _: b"word",
    "a number": lambda _: 0.5,
    "an object": lambda _: object(),
    "a dictionary": lambda good: dict(enumerate(good.tolist())),
    "a set": lambda _: {1, 2},
    "a generator": lambda good: (each for each in good),
    "a function": lambda _: len,
    "a type": lambda _: int,
    "Ellipsis": lambda _: ...,
    "a date": lambda _: datetime.date(2024, 1, 1),
}
"""Not even a sequence of values: Python's own TypeError is fine too."""

HOSTILE: dict[str, Make] = {
    "empty list": lambda _: [],
    "empty array": lambda good: good[:0],
    "0-d": lambda good: np.array(good.ravel()[0]),
    "one value": lambda good: good[:1],
    "one too few": lambda good: good[:-1],
    "one too many": lambda good: np.concatenate([good, good[:1]]),
    "one more dimension": lambda good: good[..., None],
    "two more dimensions": lambda good: good[None, ..., None],
    "ragged": lambda good: [[1.0], [1.0, 2.0], *good.tolist()[2:]],
    "lists of lists": lambda good: [[each] for each in good.tolist()],
    "NaN": _with(3, float("nan")),
    "all NaN": lambda good: np.full(good.shape, np.nan),
    "infinity": _with(3, float("inf")),
    "minus infinity": _with(3, float("-inf")),
    "None inside": _with(3, None),
    "all None": lambda good: np.full(good.shape, None),
    "a word inside": _with(3, "word"),
    "words": lambda good: np.full(good.shape, "word"),
    "numbers as words": lambda good: good.astype(str),
    "empty words": lambda good: np.full(good.shape, ""),
    "bytes inside": lambda good: np.full(good.shape, b"x"),
    "objects": lambda good: np.array([object() for _ in range(good.size)]).reshape(good.shape),
    "numbers as objects": lambda good: good.astype(object),
    "decimals": lambda good: np.array([Decimal(1)] * good.size).reshape(good.shape),
    "a list inside": _with(3, [1, 2]),
    "huge": lambda good: np.full(good.shape, 1e308),
    "one huge": _with(3, 1e308),
    "one minus huge": _with(3, -1e308),
    "subnormal": lambda good: np.full(good.shape, 5e-324),
    "tiny and large": lambda good: np.where(np.arange(good.size).reshape(good.shape) % 2, 1e-300, 1e99),
    "negative": lambda good: -np.abs(good.astype(float)) - 1,
    "constant": lambda good: np.full_like(good, good.ravel()[0]),
    "zeros": lambda good: np.zeros(good.shape),
    "ones": lambda good: np.ones(good.shape),
    "minus zero": lambda good: np.full(good.shape, -0.0),
    "smallest int64": lambda good: np.full(good.shape, np.iinfo(np.int64).min),
    "largest int64": lambda good: np.full(good.shape, np.iinfo(np.int64).max),
    "largest uint64": lambda good: np.full(good.shape, np.iinfo(np.uint64).max),
    "beyond int64": lambda good: [2**70] * len(good),
    "small ints": lambda good: (np.arange(good.size) % 2).reshape(good.shape).astype(np.int8),
    "booleans": lambda good: (np.arange(good.size) % 2 == 0).reshape(good.shape),
    "complex": lambda good: np.full(good.shape, 1j),
    "dates": lambda good: np.full(good.shape, np.datetime64("2024-01-01")),
    "durations": lambda good: np.full(good.shape, np.timedelta64(1, "s")),
    "no date": lambda good: np.full(good.shape, np.datetime64("NaT")),
    "structured": lambda good: np.zeros(good.shape, dtype=[("a", int), ("b", float)]),
    "void": lambda good: np.zeros(good.shape, dtype="V8"),
    "float16": lambda good: np.full(good.shape, 0.25, np.float16),
    "float16 overflow": lambda good: np.full(good.shape, np.inf, np.float16),
    "long double": lambda good: np.full(good.shape, 0.25, np.longdouble),
    "masked": lambda good: np.ma.masked_array(good, mask=np.arange(good.size).reshape(good.shape) == 3),
    "sparse": lambda good: scipy.sparse.csr_matrix(np.ones((3, 3))),
    "polars with nulls": lambda good: pl.Series([None, *([1.0] * (len(good) - 1))]),
    "polars all null": lambda good: pl.Series([None] * len(good)),
    "polars words": lambda good: pl.Series(["word"] * len(good)),
    "polars lists": lambda good: pl.Series([[1, 2]] * len(good)),
    "polars dates": lambda good: pl.Series([datetime.date(2024, 1, 1)] * len(good)),
    "polars decimals": lambda good: pl.Series([Decimal("1.5")] * len(good)),
    "polars categories": lambda good: pl.Series(["word"] * len(good), dtype=pl.Categorical),
    "polars Int128": lambda good: pl.Series([2**100] * len(good), dtype=pl.Int128),
    "polars structs": lambda good: pl.Series([{"a": 1}] * len(good)),
    "polars binary": lambda good: pl.Series([b"\xff"] * len(good)),
    "pandas with NA": lambda good: pd.Series([pd.NA, *([1] * (len(good) - 1))], dtype="Int64"),
    "pandas categories": lambda good: pd.Series(["word"] * len(good), dtype="category"),
    "pandas with zones": lambda good: pd.Series(pd.date_range("2024", periods=len(good), tz="UTC")),
    "pandas frame": lambda good: pd.DataFrame({"a": [1] * len(good)}),
    "polars frame": lambda good: pl.DataFrame({"a": [1] * len(good)}),
    "unicode": lambda good: np.array([f"ü{number}𝄞\u200b" for number in range(good.size)]).reshape(good.shape),
    "zero bytes": lambda good: np.array([f"a\0{number}" for number in range(good.size)], object).reshape(good.shape),
    "half a character": lambda good: np.array(["\ud800"] * good.size, object).reshape(good.shape),
    "long words": lambda good: np.array(["x" * 100_000] * good.size, object).reshape(good.shape),
    "1 and '1'": lambda good: np.array([1, "1"] * (good.size // 2), object).reshape(good.shape),
    "tuples": lambda good: [(1, 2)] * len(good),
    "a scalar index": lambda good: range(len(good)),
}
"""Sequences with something wrong, or at the edge of what makes sense."""


def _frozen(good: np.ndarray) -> np.ndarray:
    copy = good.copy()
    copy.flags.writeable = False
    return copy


_ROWS = {"user_id": list(range(N)), "item_id": [number % 7 for number in range(N)]}
_SCORED = _ROWS | {"score": [number / 10 for number in range(N)], "label": [number % 2 for number in range(N)]}

TABLES: dict[str, Callable[[], Any]] = {
    **{f"value {name}": (lambda make=make: make(np.arange(3.0))) for name, make in WRONG_KINDS.items()},
    "a matrix": lambda: np.ones((3, 2)),
    "no columns": lambda: pl.DataFrame(),
    "no rows": lambda: pl.DataFrame(schema=dict.fromkeys(_SCORED, pl.Int64)),
    "one row": lambda: pl.DataFrame(_SCORED).head(1),
    "one column": lambda: pl.DataFrame({"user_id": [1]}),
    "good": lambda: pl.DataFrame(_SCORED),
    "lazy": lambda: pl.LazyFrame(_SCORED),
    "pandas": lambda: pd.DataFrame(_SCORED),
    "pandas with two columns of a name": lambda: pd.concat([pd.DataFrame(_SCORED)] * 2, axis=1),
    "a dictionary of lists": lambda: _SCORED,
    "duplicate rows": lambda: pl.concat([pl.DataFrame(_SCORED)] * 2),
    **{
        f"{column} {name}": (lambda column=column, values=values: pl.DataFrame(_SCORED).with_columns(
            pl.Series(column, values * N if len(values) == 1 else values, strict=False)))
        for column in ("user_id", "item_id", "score", "label", "rating", "time", "domain", "weight", "propensity")
        for name, values in {
            "null": [None], "one null": [None, *range(1, N)], "NaN": [float("nan")], "words": ["word"],
            "empty words": [""], "unicode": [f"ü{number}𝄞" for number in range(N)], "huge": [1e308],
            "infinite": [float("inf")], "lists": [[1]], "structs": [{"a": 1}], "binary": [b"\xff"],
            "booleans": [True], "dates": [datetime.date(2024, 1, 1)], "times": [datetime.datetime(2024, 1, 1)],
            "durations": [datetime.timedelta(1)], "decimals": [Decimal("1.5")], "negative": [-1],
            "largest": [2**63 - 1], "fractions": [0.5 + number for number in range(N)],
        }.items()
    },
}  # fmt: skip
"""Tables with something wrong."""
