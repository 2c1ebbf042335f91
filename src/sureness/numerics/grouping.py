"""Pairs grouped by user: ids as numbers, ranks within a user, folds that keep users together, and a choice of ids
by a hash.
"""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.errors import SettingError
from sureness.numerics.forks import check_not_forked

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def group_codes(ids: AnyArray) -> tuple[IntArray, int]:
    """Number ids of any type from 0 in order of first appearance; also returns how many there are.

    Examples
    --------
    >>> group_codes(np.array(["b", "a", "b"]))
    (array([0, 1, 0]), 2)
    """
    if ids.dtype == object and len({type(value) for value in ids}) > 1:  # polars would treat 1 and "1" as equal
        return _numbered(ids)
    check_not_forked()
    try:
        series = pl.Series(ids)
    except (ValueError, pl.exceptions.PolarsError):  # such as durations in seconds
        return _numbered(ids)
    if series.dtype == pl.Object:
        series = pl.Series([str(value) for value in ids])
    codes = series.rank("dense").to_numpy().astype(np.int64) - 1
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    first = np.full(n_groups, len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = np.empty(n_groups, dtype=np.int64)
    order[np.argsort(first)] = np.arange(n_groups)
    return order[codes], n_groups


def _numbered(ids: AnyArray) -> tuple[IntArray, int]:
    """`group_codes` for ids of several types, or of one that polars does not have."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in ids], dtype=np.int64), len(numbers)


def ranks_within(users: AnyArray, scores: FloatArray) -> IntArray:
    """Rank of every pair among the pairs of its user, 1 for the highest score; ties are broken by position."""
    codes, _ = group_codes(users)
    order = np.lexsort((-scores, codes))
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    lengths = np.diff(np.r_[starts, len(codes)])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, lengths) + 1
    return ranks


def top_n(users: AnyArray, scores: FloatArray, n: int) -> BoolArray:
    """Which pairs are among the n highest scores of their user.

    Examples
    --------
    >>> top_n(np.array(["a", "a", "a", "b"]), np.array([0.1, 0.9, 0.5, 0.2]), 2)
    array([False,  True,  True,  True])
    """
    if n < 1:
        raise SettingError(f"n must be at least 1, got {n}")
    return ranks_within(users, scores) <= n


def fold_of_groups(groups: ArrayLike | None, n_pairs: int, n_folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of every pair; pairs of one group share a fold. Without groups, every pair is a group."""
    if n_folds < 2:
        raise SettingError(f"n_folds must be at least 2, got {n_folds}; with one fold nothing is left to fit on")
    if groups is None and n_pairs < n_folds:
        raise SettingError(f"{n_folds} folds need at least as many pairs, got {n_pairs}; use fewer folds")
    if groups is None:
        return rng.permutation(n_pairs) % n_folds
    codes, n_groups = group_codes(np.asarray(groups))
    if n_groups < n_folds:
        raise SettingError(f"{n_folds} folds need at least as many users, got {n_groups}; use fewer folds")
    return np.asarray((rng.permutation(n_groups) % n_folds)[codes])


def hash_ids(ids: pl.Series, seed: int = 0) -> NDArray[np.uint64]:
    """A number for each id, the same on every machine: whole numbers and checksums of text, well mixed (SplitMix64).

    Examples
    --------
    >>> bool((hash_ids(pl.Series([1, 2])) == hash_ids(pl.Series([1, 2], dtype=pl.Int8))).all())
    True
    """
    if ids.dtype == pl.String:
        numbers = np.array([zlib.crc32(text.encode()) for text in ids.to_list()], dtype=np.uint64)
    else:
        numbers = ids.to_numpy().astype(np.int64).view(np.uint64)
    mixed = numbers + np.uint64(_STEP * (seed + 1) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found
