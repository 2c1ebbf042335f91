"""Ids as they come become whole numbers or text; what would merge two ids or lose digits is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._wording import counted
from sureness.errors import DataError, IdError
from sureness.numerics.checks import refuse_mixed
from sureness.numerics.conversion import is_missing
from sureness.numerics.forks import check_not_forked

_EXACT_BITS = {"Float16": 11, "Float32": 24, "Float64": 53}  # by name, since older versions of polars lack some
_WIDE = ("Int128", "UInt128")


def id_series(values: ArrayLike | pl.Series) -> pl.Series:
    """Ids as whole numbers of at most 64 bits, or as text; missing values stay missing.

    Categories become text; floats and decimals without a fraction become whole numbers. Refused is what would make two
    ids one: several kinds in one column (1 and "1"), floats so large that neighbours are rounded to each other, whole
    numbers of more than 64 bits, and everything that is neither a whole number nor text.

    Examples
    --------
    >>> id_series([7.0, 3.0]).to_list(), id_series(["7", None]).to_list()
    ([7, 3], ['7', None])
    >>> id_series([1, "1"])
    Traceback (most recent call last):
    ...
    sureness.errors.IdError: ids must be of one kind, got numbers such as 1 and text such as '1'; convert them to one
    """
    check_not_forked()
    series = _column(values)
    if str(series.dtype) in _WIDE:
        return _in_64_bits(series)
    if series.dtype.is_integer() or series.dtype == pl.String:
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Null or not len(series):
        return series.cast(pl.Int64)
    if series.dtype.is_float():
        return _whole_floats(series)
    if series.dtype.is_decimal():
        return _whole_decimals(series)
    raise _refused(series)


def segment_series(values: ArrayLike | pl.Series) -> pl.Series:
    """Names of segments, which are ids, or true and false (as text).

    Examples
    --------
    >>> segment_series([True, False]).to_list(), segment_series([2.0]).to_list()
    (['true', 'false'], [2])
    """
    series = _column(values)
    return series.cast(pl.String) if series.dtype == pl.Boolean else id_series(series)


def as_series(values: ArrayLike | pl.Series) -> pl.Series:
    """A polars series of anything that is a column: a list, an array, a series of another library, or one value."""
    if isinstance(values, pl.Series):
        return values
    if hasattr(values, "tocsr"):
        raise DataError("a column must have one dimension, got a sparse matrix; give its row or column numbers")
    if isinstance(values, str):  # which polars would take for the name of an empty series
        return pl.Series([values])
    try:
        return pl.Series(values)  # type: ignore[arg-type]  # what polars does not take becomes an array below
    except ImportError:  # for the text of pandas polars asks pyarrow, which need not be there
        return pl.Series(_without_missing(np.asarray(values, dtype=object).tolist()))
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        pass
    try:
        return pl.Series(np.asarray(values))
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"a column must hold numbers, text or dates of one kind, got {type(values).__name__} such as "
            f"{str(values)[:40]!r}; convert it first"
        ) from error


def of_other_kind(series: pl.Series) -> pl.Series:
    """Numbers as text, or text as numbers where it is how a number is written; missing elsewhere (007 is not 7)."""
    if series.dtype != pl.String:
        return series.cast(pl.String)
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String) != series, None)


def kind_of_ids(series: pl.Series) -> str:
    """What ids are called in messages."""
    return "text" if series.dtype == pl.String else "whole numbers"


def first_of(series: pl.Series) -> str:
    """The first value as it is written in messages."""
    return repr(series.head(1).to_list()[0]) if len(series) else "nothing"


def _column(values: ArrayLike | pl.Series) -> pl.Series:
    """A series; of Python objects only if they are of one kind, because polars would make text of 1 and "1"."""
    given: Any = list(values) if isinstance(values, Iterator) else values  # an iterator can be looked at once
    if isinstance(given, pl.Series) and given.dtype == pl.Object:
        given = given.to_list()
    refuse_mixed(given, "ids")
    if isinstance(given, list | tuple) or getattr(given, "dtype", None) == np.dtype(object):
        given = _without_missing(list(given) if isinstance(given, list | tuple) else np.asarray(given).tolist())
    try:
        return as_series(given)
    except DataError as error:
        raise IdError(f"ids must be whole numbers or text, got {str(given)[:40]!r}; convert them first") from error


def _without_missing(objects: list[Any]) -> list[Any]:
    """The same objects with None for every missing one; those of one plain kind need no look at each."""
    kinds = set(map(type, objects)) - {type(None)}
    if len(kinds) <= 1 and kinds <= {str, int, float}:
        return objects
    return [None if is_missing(value) else value for value in objects]


def _whole_floats(series: pl.Series) -> pl.Series:
    whole = series.fill_nan(None)
    known = whole.drop_nulls()
    if not known.is_finite().all() or not (known % 1 == 0).all():
        raise _refused(series)
    bits = _EXACT_BITS[str(series.dtype)]
    rounded = known.filter(known.abs() >= 2.0**bits)
    if len(rounded):
        raise IdError(
            f"ids must be exact, got {counted(len(rounded), 'floating-point number')} of 2^{bits} and more such as "
            f"{rounded[0]:.0f}, where neighbours are rounded to one number; read them as whole numbers or text"
        )
    return whole.cast(pl.Int64)


def _whole_decimals(series: pl.Series) -> pl.Series:
    """Whole numbers of databases, which often come as decimals without a fraction."""
    whole = series.cast(pl.Int128)
    if not (whole.cast(series.dtype) == series).all():
        raise _refused(series)
    return _in_64_bits(whole)


def _in_64_bits(series: pl.Series) -> pl.Series:
    for narrow in (pl.Int64, pl.UInt64):
        found = series.cast(narrow, strict=False)
        if found.null_count() == series.null_count():
            return found
    wide = series.filter(series.is_not_null() & series.cast(pl.Int64, strict=False).is_null())
    raise IdError(f"ids must fit in 64 bits, got {series.dtype} such as {first_of(wide)}; convert them to text")


def _refused(series: pl.Series) -> IdError:
    return IdError(
        f"ids must be whole numbers or text, got {series.dtype} such as {first_of(series)}; convert them first"
    )
