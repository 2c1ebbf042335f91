"""Checks of the arguments of pages and budgets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.errors import DataError, SettingError
from sureness.lists.ragged import Ragged
from sureness.numerics.checks import LARGEST, as_array, brief


def kernels() -> Any:
    """The compiled loops, imported when they are first used."""
    return import_module("sureness.lists._allocation_kernels")


def check_utilities(utilities: ArrayLike, shape: str, ndim: int) -> FloatArray:
    worth = as_array(utilities, "utilities")
    if worth.ndim != ndim or worth.shape[-1] == 0:
        raise DataError(f"utilities must have shape {shape} with at least one size, got {worth.shape}")
    if worth.dtype.kind not in "iufb":
        raise DataError(f"utilities must be numbers, got values of type {worth.dtype}")
    kind: Any = worth.dtype if worth.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(worth, dtype=kind)


def check_finite(rows: Ragged, lengths: IntArray, n_domains: int) -> None:
    """Refuse numbers that are missing or larger than `LARGEST` within the length of their row."""
    values = rows.values
    if not values.size or max(-float(values.min()), float(values.max())) <= LARGEST:  # NaN is not
        return
    unusable = np.flatnonzero(~(np.abs(values.astype(np.float64)) <= LARGEST))
    places = np.searchsorted(rows.starts, unusable, side="right") - 1
    inside = places[unusable - rows.starts[places] < lengths[places]]
    if len(inside):
        user, domain = divmod(int(inside[0]), n_domains)
        where = f"user number {user}" + (f" and domain number {domain}" if n_domains > 1 else "")
        raise DataError(
            f"utilities must be finite numbers for every size up to the number of candidates, those of {where} are "
            "not; correct them, or give the number of candidates as lengths"
        )


def check_whole(values: ArrayLike, name: str, count: int, each: str) -> IntArray:
    """One non-negative whole number for each of `count`; a single one applies to all."""
    array = as_array(values, name)
    if array.dtype.kind not in "iu" and array.size:
        raise SettingError(f"{name} must be whole numbers, got {brief(values)} of type {array.dtype}")
    if array.ndim > 1 or (array.ndim == 1 and len(array) != count):
        raise SettingError(f"{name} must be one number, or {count:,}, one per {each}; got shape {array.shape}")
    if array.size and array.min() < 0:
        raise SettingError(f"{name} must not be negative, got {array.min()}")
    return np.ascontiguousarray(np.broadcast_to(array, (count,)), dtype=np.int64)


def check_limits(
    min_size: ArrayLike, max_size: ArrayLike | None, count: int, width: int | None, each: str
) -> tuple[IntArray, IntArray]:
    most = np.iinfo(np.int64).max if width is None else width
    lows = check_whole(min_size, "min_size", count, each)
    highs = np.full(count, most) if max_size is None else check_whole(max_size, "max_size", count, each)
    if np.any(lows > highs) and max_size is not None:
        at = int(np.argmax(lows > highs))
        raise SettingError(f"min_size must be at most max_size, got {lows[at]} and {highs[at]} for {each} number {at}")
    if count and lows.max() > most:
        raise SettingError(f"min_size must be at most {most}, the longest list in utilities, got {lows.max()}")
    return lows, np.minimum(highs, most)


def check_lengths(lengths: ArrayLike | None, shape: tuple[int | str, ...], width: int | None = None) -> IntArray:
    """Numbers of candidates, at most `width` (the default); a side of `shape` given by name may have any length."""
    if lengths is None:
        return np.full(shape, width, dtype=np.int64)  # type: ignore[arg-type]
    counts = as_array(lengths, "lengths")
    fits = len(shape) == counts.ndim and all(
        isinstance(wanted, str) or own == wanted for own, wanted in zip(counts.shape, shape, strict=True)
    )
    if not fits or (counts.size and (counts.dtype.kind not in "iu" or counts.min() < 0)):
        expected = ", ".join(map(str, shape))
        raise DataError(
            f"lengths must be whole numbers, not negative, of shape ({expected}), got {counts.dtype} of shape "
            f"{counts.shape}"
        )
    return np.ascontiguousarray(counts if width is None else np.minimum(counts, width), dtype=np.int64)


def within(lows: IntArray, highs: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Bounds lowered to the number of candidates."""
    highs = np.minimum(highs, lengths)
    return np.minimum(lows, highs), highs
