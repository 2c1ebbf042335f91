"""Fields of pairs, such as market, device or popularity, as small whole numbers: the codes of their values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import ColumnError, DataError, IdError, SettingError
from sureness.numerics.checks import same_length
from sureness.numerics.conversion import is_missing
from sureness.saving.packed import check_text, reals
from sureness.tables.frames import Frame, as_frame
from sureness.tables.id_values import as_series, first_of, segment_series

FINE, COARSE = 60, 10
"""Groups of a numeric field with equally many pairs: for its own effect, and for what it does together with others."""

UNNAMED = "segment"
"""What a field is called that was given without a name."""

FieldTable: TypeAlias = Mapping[str, ArrayLike | pl.Series] | Frame
"""Columns by name, or a table of any library."""


@dataclass(frozen=True, eq=False)
class Field:
    """A field and its values. Code 0 is a value that was never seen, the last one a missing value if that was seen."""

    name: str
    values: IdMap | None  # None: a numeric field
    edges: FloatArray  # of a numeric field, ascending: where one group ends and the next begins
    coarse_edges: FloatArray  # some of them
    has_missing: bool  # whether pairs of the fit lacked it

    @classmethod
    def learned(cls, name: str, column: ArrayLike | pl.Series, weight: FloatArray | None, *, numeric: bool) -> Field:
        """The values of a column, or groups of its numbers that have equally much weight."""
        names = None if numeric else _names(name, column)
        if names is not None:
            return cls(name, IdMap.of(names.drop_nulls()), np.empty(0), np.empty(0), names.null_count() > 0)
        numbers = _numbers(name, column)
        there = np.isfinite(numbers)
        weight = np.ones(len(numbers)) if weight is None else weight
        edges, coarse = (_quantiles(numbers[there], weight[there], groups) for groups in (FINE, COARSE))
        return cls(name, None, edges, coarse, not there.all())

    @property
    def n_codes(self) -> int:
        """How many codes there are, with that of unknown values."""
        return 1 + (len(self.edges) + 1 if self.values is None else len(self.values)) + self.has_missing

    @cached_property
    def coarse(self) -> IntArray:
        """The coarse code of each code, for what the field does together with others; shape (n_codes,)."""
        if self.values is not None:
            return np.arange(self.n_codes)
        lowest = np.concatenate([[-np.inf], self.edges])
        groups = 1 + np.searchsorted(self.coarse_edges, lowest, side="right")
        return np.concatenate([[0], groups, [len(self.coarse_edges) + 2] * self.has_missing]).astype(np.int64)

    @property
    def has_two_sizes(self) -> bool:
        """Whether groups are joined for what the field does together with others."""
        return len(self.coarse_edges) < len(self.edges)

    def codes(self, column: ArrayLike | pl.Series, *, of_text: bool = False) -> IntArray:
        """The code of each value; with `of_text` "7" and 7 are the same, as in files."""
        missing = self.n_codes - 1 if self.has_missing else 0
        if self.values is None:
            numbers = _numbers(self.name, column, of_text=of_text)
            return np.where(np.isfinite(numbers), 1 + np.searchsorted(self.edges, numbers, side="right"), missing)
        names = _names(self.name, column)
        if names is None:
            raise IdError(f"the field {self.name!r} has whole numbers or text for values, got fractions; convert them")
        absent = names.is_null().to_numpy()
        if absent.all():  # a column without values has no kind
            return np.full(len(names), missing)
        try:
            rows = self.values.rows(names, of_text=of_text)
        except IdError as error:
            raise IdError(f"the field {self.name!r}: {error}") from error
        return np.where(absent, missing, rows + 1)

    def code_of(self, value: object) -> int | None:
        """The code of one plain value that was seen in the fit; None where `codes` has to look closer."""
        if self.values is None:
            if (type(value) is float or type(value) is int) and abs(value) < inf:
                return 1 + bisect_right(self._edges, value)
            return None
        return self._places.get(value) if type(value) in (int, str) else None

    @cached_property
    def _edges(self) -> list[float]:
        return self.edges.tolist()  # type: ignore[no-any-return]

    @cached_property
    def _places(self) -> dict[object, int]:
        assert self.values is not None
        return {value: place + 1 for place, value in enumerate(self.values.ids.to_list())}

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        if self.values is not None:
            return {"name": self.name, "values": self.values.ids.to_list(), "missing": self.has_missing}
        edges, coarse = self.edges.tolist(), self.coarse_edges.tolist()
        return {"name": self.name, "edges": edges, "coarse_edges": coarse, "missing": self.has_missing}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Field:
        """Out of `plain`."""
        values = IdMap.of(plain["values"]) if "values" in plain else None
        edges, coarse = (reals(plain.get(each, []), rising=True) for each in ("edges", "coarse_edges"))
        return cls(check_text(plain["name"]), values, edges, coarse, bool(plain["missing"]))


def columns_of(table: FieldTable | ArrayLike | None, wanted: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of a table by name, or one column without a name.

    Examples
    --------
    >>> columns_of({"market": ["de", "fr"], "device": "phone"})
    {'market': ['de', 'fr'], 'device': 'phone'}
    >>> columns_of(["de", "fr"])
    {'segment': ['de', 'fr']}
    """
    if table is None:
        raise SettingError(
            "a map of segments needs to know them; give segments=, one for each score, or a table of fields"
        )
    found = _named(table)
    if found is None:
        found = {UNNAMED if wanted is None or len(wanted) != 1 else wanted[0]: table}
    if not found:
        raise ColumnError("segments must have at least one field, got a table without columns")
    absent = [name for name in wanted or () if name not in found]
    if absent:
        raise ColumnError(
            f"segments must have the fields {', '.join(wanted or ())}; {' and '.join(absent)} is missing among "
            f"{', '.join(map(str, found))}"
        )
    return found if wanted is None else {name: found[name] for name in wanted}


def full_column(name: str, column: ArrayLike | pl.Series, n: int) -> ArrayLike | pl.Series:
    """A column with an entry for each of n pairs; one plain value stands for all of them."""
    if is_missing(column):
        return pl.Series([None]).new_from_index(0, n)
    if isinstance(column, str | Real):
        return pl.Series([column]).new_from_index(0, n)
    same_length(column, n, name)  # type: ignore[arg-type]
    return column


def _named(table: Any) -> dict[str, Any] | None:
    """Columns by name; None for what has no names."""
    if isinstance(table, Mapping):
        return dict(table)
    return {column.name: column for column in as_frame(table)} if hasattr(table, "columns") else None


def _names(name: str, column: ArrayLike | pl.Series) -> pl.Series | None:
    """Values that are ids; None for numbers with fractions."""
    try:
        return segment_series(column)
    except IdError as error:
        if _is_float(column):
            return None
        raise IdError(f"the field {name!r}: {error}") from error


def _is_float(column: ArrayLike | pl.Series) -> bool:
    try:
        return as_series(column).dtype.is_float()
    except DataError:
        return False


def _numbers(name: str, column: ArrayLike | pl.Series, *, of_text: bool = False) -> FloatArray:
    """Numbers, NaN where one is missing."""
    given = as_series(column)
    series = given.cast(pl.Float64, strict=False) if of_text and given.dtype == pl.String else given
    if not (series.dtype.is_numeric() or series.dtype == pl.Null) or series.null_count() > given.null_count():
        raise DataError(
            f"the field {name!r} must hold numbers, got {given.dtype} such as {first_of(given.drop_nulls())}; convert "
            "them, or leave it out of numeric= and fit again"
        )
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _quantiles(numbers: FloatArray, weight: FloatArray, groups: int) -> FloatArray:
    """The different numbers at which equal shares of the weight are reached."""
    if not len(numbers):
        return np.empty(0)
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(weight[order])
    wanted = np.arange(1, groups) / groups * reached[-1]
    places = np.searchsorted(reached, wanted * (1 - 1e-12))
    return np.unique(numbers[order][places])
