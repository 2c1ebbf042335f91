"""A choice of ids that depends on nothing but the ids."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness.numerics.grouping import hash_ids


def first_by_hash(ids, count, seed=0):
    return np.argsort(hash_ids(ids, seed), kind="stable")[:count]


@pytest.mark.parametrize(
    "ids", [pl.Series(range(-500, 500)), pl.Series([f"é{n}" for n in range(1_000)])], ids=["numbers", "text"]
)
def test_the_same_ids_are_chosen_in_any_order_and_any_company(ids):
    chosen = set(ids.gather(first_by_hash(ids, 100)))
    shuffled = ids.shuffle(seed=1)
    assert set(shuffled.gather(first_by_hash(shuffled, 100))) == chosen
    fewer = ids.filter(pl.Series(np.isin(ids.to_numpy(), list(chosen)) | (np.arange(1_000) % 2 == 0)))
    assert set(fewer.gather(first_by_hash(fewer, 100))) == chosen


def test_numbers_do_not_depend_on_their_type():
    ids = pl.Series([3, 100, 7])
    assert hash_ids(ids).tolist() == hash_ids(ids.cast(pl.Int8)).tolist()


def test_hashes_are_spread_evenly_and_seeds_choose_others():
    ids = pl.Series(range(10_000))
    shares = np.bincount((hash_ids(ids) >> np.uint64(60)).astype(int), minlength=16) / 10_000
    assert np.abs(shares - 1 / 16).max() < 0.01
    assert len(set(first_by_hash(ids, 100, 0)) & set(first_by_hash(ids, 100, 1))) < 20


def test_the_hash_of_an_id_is_the_same_for_ever():
    """The first is the first number of SplitMix64, as its authors publish it."""
    assert hash_ids(pl.Series([0, 1])).tolist() == [0xE220A8397B1DCDAF, 10451216379200822465]
    assert hash_ids(pl.Series(["ann", "bob"])).tolist() == [16671475741577407222, 15098435093934826454]
