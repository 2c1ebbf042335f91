"""Turn array-likes into checked contiguous arrays; called once, where data enters the library."""

from __future__ import annotations

import os
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, EmptyError, IdError, SettingError
from sureness.numerics.conversion import (
    MISSING,
    is_missing,
    labels_of_words,
    numbers_of_objects,
    plain_column,
    strange_labels,
)

LARGEST = 1e100
"""Larger scores cannot be squared and summed, and are taken for a mistake."""
_SMALLEST_SHARE = 1e-12


def as_array(values: ArrayLike, name: str) -> AnyArray:
    """Any array-like as an array; what numpy would lose or does not know is refused."""
    if isinstance(values, np.ma.MaskedArray):
        if n_masked := int(np.count_nonzero(np.ma.getmaskarray(values))):
            raise DataError(
                f"{name} must not be masked, got {counted(n_masked, 'masked value')} of {values.size:,}; "
                "drop them with .compressed(), or fill them with .filled(value)"
            )
        return np.asarray(values.data)
    if hasattr(values, "tocsr"):  # numpy would wrap it as one object
        raise DataError(f"{name} must be a dense array, got a sparse one; convert it with .toarray()")
    try:
        return np.asarray(plain_column(values))
    except pl.exceptions.InvalidOperationError as error:
        raise DataError(f"{name} must be of a type that numpy knows: {error}; cast them to 64 bits") from error
    except ValueError as error:
        raise DataError(f"{name} must be an array, got rows of different lengths; make them equally long") from error


def brief(value: object, most: int = 40) -> str:
    """What came, on one line, for a message.

    Examples
    --------
    >>> brief(np.zeros((3, 2)))
    'array([[0., 0.], [0., 0.], [0., 0.]])'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}..."


def number_array(values: ArrayLike, name: str) -> AnyArray:
    """An array of any shape that holds real numbers; their values are not looked at."""
    array = as_array(values, name)
    return _as_numbers(array, name) if array.size else array


def check_scores(scores: ArrayLike, name: str = "scores") -> FloatArray:
    """Finite real numbers in one dimension; float32 stays float32, everything else becomes float64."""
    array = _numbers(scores, name)
    _check_finite(array, name)
    return array


def check_labels(labels: ArrayLike, name: str = "labels") -> BoolArray:
    """Zeros and ones, booleans, or the words true and false, yes and no; as booleans."""
    array = one_dimension(labels, name)
    if array.dtype == bool:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "OUT":
        return labels_of_words(array, name)
    if array.dtype.kind not in "iuf":
        raise DataError(f"{name} must be 0 or 1, got values of type {array.dtype}; map them to 0 and 1 first")
    positive: BoolArray = array == 1
    strange = array[~(positive | (array == 0))]
    if strange.size:
        raise strange_labels(strange.tolist(), name)
    return positive


def check_weight(
    weight: ArrayLike | None, n_pairs: int, name: str = "sample_weight", *, may_vanish: bool = False
) -> FloatArray | None:
    """Finite non-negative numbers; not all zero, unless `may_vanish` (one batch of many). None: equal weights."""
    if weight is None:
        return None
    array = check_scores(weight, name)
    same_length(array, n_pairs, name)
    if array.size and array.min() < 0:
        raise DataError(f"{name} must not be negative, got {array.min():.6g}; drop those pairs or correct the weights")
    if array.size and 0 < array.max() < 1 / LARGEST:
        raise DataError(f"{name} must not all be below {1 / LARGEST:g}, got at most {array.max():.6g}; rescale them")
    if not may_vanish and not array.any():
        raise DataError(f"{name} must not be zero for every pair; give at least one pair a positive weight")
    return array


def check_propensity(propensity: ArrayLike | None, n_pairs: int) -> FloatArray | None:
    """Numbers in (0, 1] that have an inverse. None: every pair was seen."""
    if propensity is None:
        return None
    array = check_scores(propensity, "propensity")
    same_length(array, n_pairs, "propensity")
    if array.size and (array.min() <= 0 or array.max() > 1):
        raise DataError(
            f"propensities must lie in (0, 1], got {array.min():.6g} to {array.max():.6g}; "
            "clip them from below, for example at 0.1"
        )
    if array.size and array.min() < 1 / LARGEST:
        raise DataError(
            f"propensities must be at least {1 / LARGEST:g}, got {array.min():.6g}, whose inverse no fit can weigh; "
            "clip them from below, for example at 0.1"
        )
    return array


def check_targets(targets: ArrayLike, n_pairs: int, name: str = "targets") -> AnyArray:
    """Labels, or labels over propensities: finite numbers that are not negative, one for each pair."""
    array = one_dimension(targets, name)
    same_length(array, n_pairs, name)
    if array.dtype == bool:
        return np.ascontiguousarray(array)
    numbers = check_scores(array, name)
    if numbers.min() < 0:
        raise DataError(f"{name} must not be negative, got {numbers.min():.6g}; give labels, or labels / propensity")
    return numbers


def check_probabilities(probabilities: ArrayLike, name: str = "probabilities") -> FloatArray:
    """Numbers in [0, 1] in one dimension."""
    array = check_scores(probabilities, name)
    if array.size and (array.min() < 0 or array.max() > 1):
        raise DataError(
            f"{name} must lie in [0, 1], got {array.min():.6g} to {array.max():.6g}; calibrate the scores first"
        )
    return array


def check_probability_rows(
    probabilities: ArrayLike, name: str = "probabilities", *, in_range: bool = True
) -> tuple[FloatArray, bool]:
    """Numbers in [0, 1] as a matrix with one row per user, and whether a single row was given.

    With ``in_range=False`` the caller checks the range.
    """
    array = as_array(probabilities, name)
    single = array.ndim == 1
    rows: AnyArray = array[None] if single else array
    if rows.ndim != 2:
        raise DataError(f"{name} must have one row per user and one column per item, got shape {array.shape}")
    rows = np.ascontiguousarray(_as_numbers(rows, name), dtype=np.float64)
    if in_range and rows.size and not (rows.min() >= 0 and rows.max() <= 1):  # NaN makes both false
        if np.isnan(rows).any():
            raise DataError(f"{name} must not be missing, got {np.isnan(rows).sum():,} NaN; drop or fill them")
        raise DataError(
            f"{name} must lie in [0, 1], got {rows.min():.6g} to {rows.max():.6g}; calibrate the scores first"
        )
    return rows, single


def check_whole(value: object, name: str, least: int = 0, most: int | None = None) -> int:
    """A setting that is a whole number of at least `least`; numpy's numbers become Python's.

    Examples
    --------
    >>> check_whole(np.int8(3), "k", 1)
    3
    >>> check_whole(2.5, "k", 1)
    Traceback (most recent call last):
    ...
    sureness.errors.SettingError: k must be a whole number of at least 1, got 2.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise SettingError(f"{name} must be a whole number of at least {least}, got {brief(value)}")
    if most is not None and int(value) > most:
        raise SettingError(f"{name} must be at most {most:,}, got {int(value):,}")
    return int(value)


def check_number(value: object, name: str, least: float, most: float) -> float:
    """A setting that is a number in this range; numpy's numbers become Python's."""
    if not isinstance(value, Real) or isinstance(value, bool) or not least <= float(value) <= most:
        raise SettingError(f"{name} must be a number from {least:g} to {most:g}, got {brief(value)}")
    return float(value)


def check_flag(value: object, name: str) -> bool:
    """A setting that is True or False."""
    if not isinstance(value, bool):
        raise SettingError(f"{name} must be True or False, got {brief(value)}")
    return value


def check_share(value: float, name: str) -> float:
    """A number in (0, 1], not so small that weights of pairs divided by it overflow when they are summed."""
    if not isinstance(value, Real) or not _SMALLEST_SHARE <= value <= 1:
        raise SettingError(f"{name} must lie in (0, 1] and be at least {_SMALLEST_SHARE:g}, got {brief(value)}")
    return float(value)


def check_rate(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < value < 1:
        raise SettingError(f"{name} must lie strictly between 0 and 1, got {brief(value)}")
    return float(value)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """One of the allowed words."""
    if value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def check_ids(ids: ArrayLike, n_pairs: int, name: str) -> AnyArray:
    """Ids (numbers or strings), one for each pair, none missing; refused where an array would make two of them one."""
    refuse_mixed(ids, name)
    n_masked = int(np.ma.getmaskarray(ids).sum()) if isinstance(ids, np.ma.MaskedArray) else 0
    if n_masked:
        raise IdError(f"{name} must not be missing, got {n_masked:,} masked ones; drop those pairs, or give them an id")
    array = one_dimension(ids, name)
    same_length(array, n_pairs, name)
    missing = any(is_missing(value) for value in array) if array.dtype == object else (array != array).any()
    if missing:  # NaN and NaT differ from themselves
        raise IdError(f"{name} must not be missing; drop the pairs without an id, or give them one")
    if array.dtype.kind == "f":
        _check_exact(array, name)
    return array


def refuse_mixed(values: object, name: str) -> None:
    """Refuse a list, a tuple or an array of objects that holds several kinds of ids; other arrays hold one.

    A column made of 1 and "1" holds "1" twice, so the check comes before.

    Examples
    --------
    >>> refuse_mixed([1, 2.0, None], "users")
    >>> refuse_mixed([1, 2, "1"], "users")
    Traceback (most recent call last):
    ...
    sureness.errors.IdError: users must be of one kind, got numbers such as 1 and text such as '1'; convert them to one
    """
    if not isinstance(values, list | tuple):
        if getattr(values, "dtype", None) != np.dtype(object):
            return
        values = np.asarray(values)
    kinds = {kind for each in set(map(type, values)) if (kind := _kind_of(each)) is not None}
    if len(kinds) < 2:
        return
    first: dict[str | None, object] = {}
    for value in values:
        if not is_missing(value):  # NaN among text is a missing value
            first.setdefault(_kind_of(type(value)), value)
    if len(first) > 1:
        found = " and ".join(f"{kind} such as {value!r}" for kind, value in first.items())
        raise IdError(f"{name} must be of one kind, got {found}; convert them to one")


_KINDS: dict[str, tuple[type, ...]] = {  # in this order, because a bool is an int
    "true or false": (bool, np.bool_),
    "numbers": (int, float, np.integer, np.floating),
    "text": (str,),
}


def _kind_of(kind: type) -> str | None:
    if kind.__name__ in MISSING:
        return None
    return next((name for name, types in _KINDS.items() if issubclass(kind, types)), kind.__name__)


def _check_exact(ids: FloatArray, name: str) -> None:
    """Refuse floats so large that neighbours are rounded to each other."""
    bits = np.finfo(ids.dtype).nmant + 1
    rounded = ids[np.abs(ids) >= 2.0**bits]
    if rounded.size:
        raise IdError(
            f"{name} must be exact, got {counted(rounded.size, 'floating-point number')} of 2^{bits} and more such as "
            f"{rounded[0]:.0f}, where neighbours are rounded to one number; read them as whole numbers or text"
        )


def check_rows(ids: ArrayLike, n_rows: int, name: str, of: str) -> IntArray:
    """Row numbers below `n_rows`; may be empty. `of` completes the message, with {} for the allowed range."""
    rows = as_array(ids, name)
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    expected = f"{name} {of.format(f'0 to {n_rows - 1:,}')}"
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise IdError(f"{expected}, got values of type {rows.dtype} and shape {rows.shape}")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise IdError(f"{expected}, got {rows.min()} to {rows.max()}")
    return rows.astype(np.int64)


def one_dimension(values: ArrayLike, name: str) -> AnyArray:
    """Any array-like as a non-empty one-dimensional array."""
    array = as_array(values, name)
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional, got shape {array.shape}; use .ravel() on a matrix")
    if array.size == 0:
        raise EmptyError(f"{name} must not be empty; give at least one pair")
    return array


def same_length(array: AnyArray, n_pairs: int, name: str) -> None:
    """Refuse an array without exactly one value per pair."""
    if len(array) != n_pairs:
        raise DataError(f"{name} must have one value for each of the {counted(n_pairs, 'pair')}, got {len(array):,}")


def _numbers(values: ArrayLike, name: str) -> FloatArray:
    array = _as_numbers(one_dimension(values, name), name)
    dtype: Any = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(array, dtype=dtype)


def _as_numbers(array: AnyArray, name: str) -> AnyArray:
    """The array if it holds real numbers, also as Python objects."""
    if array.dtype == object:
        array = numbers_of_objects(array, name)
    if array.dtype.kind not in "iufb":
        raise DataError(f"{name} must be numbers, got values of type {array.dtype}; convert them first")
    return array


def _check_finite(array: FloatArray, name: str) -> None:
    if float(array.min()) >= -LARGEST and float(array.max()) <= LARGEST:  # NaN makes both false
        return
    first_bad = int(np.argmin(np.abs(array.astype(np.float64)) <= LARGEST))
    count = int(np.count_nonzero(~np.isfinite(array)))
    where = f"the first ({array[first_bad]}) at position {first_bad:,}"
    if count == 0:
        raise DataError(f"{name} must lie within ±{LARGEST:g}, {where} does not; rescale them")
    raise DataError(
        f"{name} must be finite numbers, got {count:,} missing or infinite values, {where}; drop those pairs"
    )


@cache
def physical_memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse what needs more memory than the machine has; `what` names the sizes.

    Examples
    --------
    >>> check_memory(8 * 1_000, "1,000 numbers")
    >>> check_memory(8 * 10**18, "10**18 numbers")
    Traceback (most recent call last):
    ...
    sureness.errors.SettingError: 10**18 numbers would need 8,000,000,000 GB of memory, more than this machine has; \
choose smaller sizes
    """
    if n_bytes > physical_memory():
        raise SettingError(
            f"{what} would need {n_bytes / 1e9:,.0f} GB of memory, more than this machine has; choose smaller sizes"
        )
