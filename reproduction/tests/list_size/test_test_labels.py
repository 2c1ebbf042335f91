"""What is fitted inside cells that judge does not depend on the test labels."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness.data import Interactions, SimulatorSettings, by_ratio, simulate
from sureness.pipeline import Run
from sureness.sources import svd_source
from sureness_reproduction.list_size.policy_study import study


@pytest.fixture(scope="module")
def runs():
    world = simulate(SimulatorSettings(n_users=150, n_items=80))
    split = by_ratio(Interactions.from_matrix((world.train + world.held_out).tocsr()))
    source = svd_source(split.train, n_factors=4)
    return [Run(source, split.train, split.validation, test) for test in (split.test, _others(split))]


def _others(split):
    """For every test pair another item that the user has nowhere, so that lists have other hits."""
    rng = np.random.default_rng(0)
    users, items = [], []
    for user in np.unique(split.test.user_rows):
        known = np.concatenate([part.items_of(user) for part in split.parts.values()])
        free = np.setdiff1d(np.arange(split.test.n_items), known)
        n_pairs = min(len(split.test.items_of(user)), len(free))
        items += rng.choice(free, n_pairs, replace=False).tolist()
        users += [user] * n_pairs
    ids = pl.DataFrame(
        {"user_id": split.test.users.at(np.array(users)), "item_id": split.test.items.at(np.array(items))}
    )
    return Interactions.from_table(ids, users=split.test.users, items=split.test.items)


def test_sizes_are_the_same_whatever_the_test_says(runs):
    first, second = (study(run, max_size=20, utilities=["f1", "ndcg"], with_errors=False)[0] for run in runs)
    both = first.join(second, on=["utility", "policy", "user"], suffix="_other")
    assert both.height > 1_000
    assert (both["value"] != both["value_other"]).any()  # the labels do differ
    chosen = both.filter(pl.col("policy") != "Oracle")
    assert chosen["size"].equals(chosen["size_other"].alias("size"))
    oracle = both.filter(pl.col("policy") == "Oracle")
    assert not oracle["size"].equals(oracle["size_other"].alias("size"))
