"""A choice of ids that does not depend on where or in which order they are looked at."""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness._types import AnyArray, IntArray

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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


def folds_of_ids(ids: AnyArray, n_folds: int, seed: int = 0) -> IntArray:
    """A fold for each id by a checksum of its text, the same on every machine and in SQL: crc32 modulo the folds.

    Examples
    --------
    >>> folds_of_ids(np.array([7, 8, 9]), 5).tolist() == folds_of_ids(np.array(["7", "8", "9"]), 5).tolist()
    True
    """
    known, places = np.unique(ids, return_inverse=True)
    folds = [zlib.crc32(salted(text, seed).encode()) % n_folds for text in known.tolist()]
    return np.asarray(folds, dtype=np.int64)[places]


def salted(text: object, seed: int) -> str:
    """What the checksum is taken of."""
    return f"{seed} {text}"


def first_by_hash(ids: pl.Series, count: int, seed: int = 0) -> IntArray:
    """The places, ascending, of the ids with the smallest hashes; of equal ones, smaller ids.

    Examples
    --------
    >>> ids = pl.Series(["ann", "bob", "cid", "dan"])
    >>> chosen, again = first_by_hash(ids, 2), first_by_hash(ids.reverse(), 2)
    >>> set(ids.gather(chosen)) == set(ids.reverse().gather(again))
    True
    """
    order = pl.DataFrame({"hash": hash_ids(ids, seed), "id": ids, "place": np.arange(len(ids))}).sort("hash", "id")
    return np.sort(order["place"].to_numpy()[:count])
