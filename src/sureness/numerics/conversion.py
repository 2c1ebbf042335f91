"""Columns of any library, and values that came as Python objects, as plain arrays."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray
from sureness._wording import counted
from sureness.errors import DataError

LABEL_WORDS = {"0": False, "0.0": False, "false": False, "no": False, "1": True, "1.0": True, "true": True, "yes": True}
"""How labels are written in text, in any case of the letters."""
_LABELS: dict[Any, bool] = {0: False, 1: True, **LABEL_WORDS}  # 1 equals True, 1.0 and Decimal(1), hash and all
_MOST_SEEN = 5  # values that a message names


def plain_column(values: Any) -> ArrayLike:
    """A column as numpy reads it fast: Arrow arrays and decimals through polars, tensors detached from their graph.

    Everything else is returned as it is.

    Examples
    --------
    >>> plain_column(pl.Series([Decimal("0.5")])).to_list()
    [0.5]
    """
    if hasattr(values, "detach"):  # a tensor of torch, perhaps on a GPU
        values = values.detach().cpu()
        return values.float() if "bfloat16" in str(values.dtype) else values  # type: ignore[no-any-return]
    if not isinstance(values, pl.Series) and _is_arrow_array(values):
        values = pl.Series(values)
    if isinstance(values, pl.Series) and values.dtype.is_decimal():
        return values.cast(pl.Float64)
    return values  # type: ignore[no-any-return]


def _is_arrow_array(values: object) -> bool:
    """Whether it is a column, not a table, that has the Arrow C interface; pandas has it only with pyarrow."""
    has_arrow = hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")
    return has_arrow and not hasattr(values, "columns") and not hasattr(values, "iloc")


def numbers_of_objects(array: AnyArray, name: str) -> AnyArray:
    """Python numbers and decimals as floats; other objects as they are, and missing ones are refused.

    Examples
    --------
    >>> numbers_of_objects(np.array([Decimal("0.5"), 2], dtype=object), "scores")
    array([0.5, 2. ])
    """
    refuse_missing(array, name)
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in set(map(type, array.flat))):
        return array
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise DataError(f"{name} must fit in 64 bits, got larger whole numbers; rescale them") from error


def labels_of_words(array: AnyArray, name: str) -> BoolArray:
    """Labels that came as text or as Python objects: 0 and 1, true and false, yes and no, in any case of the letters.

    Examples
    --------
    >>> labels_of_words(np.array(["yes", "No", "1"]), "labels")
    array([ True, False,  True])
    """
    refuse_missing(array, name)
    values = array.tolist()
    try:
        meaning = {value: _LABELS.get(_word(value)) for value in set(values)}
    except TypeError as error:
        raise DataError(f"{name} must be 0 or 1, got {type(values[0]).__name__} values; map them to 0 and 1") from error
    if strange := [value for value, label in meaning.items() if label is None]:
        raise strange_labels(strange, name)
    return np.fromiter((meaning[value] for value in values), dtype=bool, count=len(values))


def strange_labels(values: list[Any], name: str) -> DataError:
    """The error for labels of another kind; names some of them."""
    seen = ", ".join(sorted({f"{value!r:.40}" for value in values})[:_MOST_SEEN])
    return DataError(
        f"{name} must be 0 or 1, true or false, or yes or no, got {counted(len(values), 'other value')} such as "
        f"{seen}; map them to 0 and 1 first, for example label = rating > 3"
    )


def refuse_missing(array: AnyArray, name: str) -> None:
    """Refuse an array of objects in which some are missing."""
    if array.dtype != object:
        return
    places = [place for place, value in enumerate(array.flat) if is_missing(value)]
    if places:
        raise DataError(
            f"{name} must not be missing, got {counted(len(places), 'missing value')} of {array.size:,}, the first at "
            f"position {places[0]:,}; drop those pairs, or fill them"
        )


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing one: None, NaN, NaT, or NA of pandas."""
    return value is None or type(value).__name__ in MISSING or (isinstance(value, float) and value != value)


MISSING = ("NoneType", "NAType", "NaTType")
"""Names of the types of missing values."""


def _word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value
