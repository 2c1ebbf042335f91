"""Checks of the arguments of allocations, and the cost of lists."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, SettingError
from sureness.lists.ragged import Ragged
from sureness.numerics.checks import LARGEST, as_array, brief
from sureness.numerics.ranking import NOTHING

_ROUNDING = 1e-12  # three items of 0.1 fit a budget of 0.3, although their sum is slightly more
_SMALLEST_COST = 1e-100  # dividing a gain by less could overflow


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
    first = int(kernels().first_unusable(tuple(rows), lengths))
    if first < len(lengths):
        user, domain = divmod(first, n_domains)
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


def check_room(lows: IntArray, pages: IntArray) -> None:
    needed = lows.sum(axis=1)
    if np.any(needed > pages):
        user = int(np.argmax(needed > pages))
        raise SettingError(
            f"the minimum sizes of all domains must fit the page, but they need {needed[user]} of "
            f"{counted(pages[user], 'slot')} for user number {user}; lower min_size or add slots"
        )


def check_budget(budget: float) -> float:
    if not isinstance(budget, int | float | np.integer | np.floating) or isinstance(budget, bool) or not budget >= 0:
        raise SettingError(f"budget must be a number, 0 or more, got {brief(budget)}")
    return float(budget)


def cost_rows(cost: ArrayLike | None, shape: tuple[int, int]) -> Ragged:
    """Costs that broadcast over users and ranks as one row for all users, or as a row for each."""
    costs = as_array(1 if cost is None else cost, "cost")
    sides = (1,) * (2 - costs.ndim) + costs.shape
    if len(sides) > 2 or any(own not in (1, wanted) for own, wanted in zip(sides, shape, strict=True)):
        raise SettingError(f"cost must be one number or broadcast to the shape {shape} of the lists, got {costs.shape}")
    return Ragged(costs.ravel(), NOTHING) if sides[0] == 1 else Ragged.of_matrix(costs.reshape(sides))


def check_costs(cost: Ragged, budget: float) -> tuple[Ragged, float, float]:
    """Costs as numbers of double precision, the limit, and the unit of both."""
    if cost.values.dtype.kind not in "iuf":
        raise DataError(f"cost must be numbers, got values of type {cost.values.dtype}")
    costs = np.ascontiguousarray(cost.values, dtype=np.float64)
    usable = (costs == 0) | ((costs >= _SMALLEST_COST) & (costs <= LARGEST))
    if not usable.all():
        raise DataError(f"costs must be finite and not negative, got {costs[~usable][0]}; correct them")
    limit = budget * (1 + _ROUNDING)
    if costs.size == 1 and (unit := float(costs[0])) > 0:
        return Ragged(np.ones(1), NOTHING), float(np.floor(limit / unit)), unit
    whole = cost.values.dtype.kind in "iu"
    return Ragged(costs, cost.starts), float(np.floor(limit)) if whole else limit, 1.0


def check_minimum(needed: float, limit: float, unit: float, budget: float) -> None:
    """Refuse minimum sizes that the budget does not cover; `needed` and `limit` are in units."""
    if needed > limit:
        raise SettingError(
            f"the minimum sizes of all users must fit the budget, but they cost {needed * unit:g} of {budget:g}; "
            "lower min_size or raise the budget"
        )


def check_items(items: ArrayLike) -> IntArray:
    lists = as_array(items, "items")
    if lists.ndim != 2 or (lists.size and lists.dtype.kind not in "iu"):
        raise DataError(f"items must be row numbers, one row per user, got {lists.dtype} of shape {lists.shape}")
    return np.ascontiguousarray(lists, dtype=np.int64)


def check_trending(trending: ArrayLike) -> IntArray:
    popular = as_array(trending, "trending")
    if popular.ndim != 1 or (popular.size and (popular.dtype.kind not in "iu" or popular.min() < 0)):
        raise DataError(f"trending must be row numbers of items, got {popular.dtype} of shape {popular.shape}")
    if len(np.unique(popular)) < len(popular):
        raise DataError("trending must list every item once, got duplicates; drop the later ones")
    return np.ascontiguousarray(popular, dtype=np.int64)


def check_seen(seen: tuple[IntArray, IntArray] | None, rows: IntArray) -> tuple[IntArray, IntArray]:
    if seen is None:
        return np.zeros(int(rows.max(initial=-1)) + 2, dtype=np.int64), NOTHING
    starts, values = (np.ascontiguousarray(part, dtype=np.int64) for part in seen)
    n_rows = int(rows.max(initial=-1)) + 1
    if len(starts) < n_rows + 1 or starts[0] != 0 or starts[-1] != len(values) or np.any(np.diff(starts) < 0):
        raise DataError(
            f"the starts of seen must rise from 0 to {len(values):,}, the number of values, and be one more than the "
            f"users, at least {n_rows + 1:,}; got {len(starts):,}"
        )
    inside = np.ones(max(len(values) - 1, 0), dtype=bool)
    inside[starts[(starts > 0) & (starts < len(values))] - 1] = False  # between two rows
    if np.any(np.diff(values)[inside] < 0):
        raise DataError("the values of seen must be sorted within every row; sort them first")
    return starts, values


def check_shown(sizes: ArrayLike, shape: tuple[int, ...], name: str) -> IntArray:
    shown = as_array(sizes, name)
    if shown.shape != shape[:-1] or shown.dtype.kind not in "iu":
        raise DataError(f"{name} must be whole numbers of shape {shape[:-1]}, got {shown.dtype} of shape {shown.shape}")
    if shown.min() < 0 or shown.max() > shape[-1]:
        raise DataError(f"{name} must lie in 0 to {shape[-1]}, the ranks of hits, got {shown.min()} to {shown.max()}")
    return shown.astype(np.int64)


def paid(costs: Ragged, sizes: IntArray) -> float:
    """The total cost of lists of these sizes."""
    if costs.values.size == 1:
        return float(costs.values[0]) * int(sizes.sum())
    paid = np.empty(len(sizes))
    kernels().pay(tuple(costs), sizes, paid)
    return float(paid.sum())
