"""A choice of ids that does not depend on where or in which order they are looked at."""

from __future__ import annotations

import zlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness._types import IntArray

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
