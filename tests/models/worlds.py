"""Small logs that models learn from in a moment."""

from __future__ import annotations

from functools import cache

import numpy as np

from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import Split, by_ratio
from sureness.models.catalogue import make_recommender

QUICK = {"n_factors": 6, "batch_size": 512, "learning_rate": 0.01, "epochs": 3, "metric": "ndcg@10"}
LEARNED = QUICK | {"batch_size": 256, "epochs": 30, "validate_every": 10, "learning_rate": 0.02, "l2": 0.001}
SLOW_STARTERS = {"cdae": {"epochs": 50, "dropout": 0.3}}


@cache
def simulated(n_users: int = 150, n_items: int = 100, seed: int = 0) -> Split:
    """A simulated world with about fifteen interactions per user, 60/20/20."""
    settings = SimulatorSettings(
        n_users=n_users, n_items=n_items, preference_rate=0.2, exposure_rate=0.6, taste_strength=3.0,
        popularity_bias=0.5, seed=seed,
    )  # fmt: skip
    return by_ratio(Interactions.from_matrix(simulate(settings).train))


@cache
def grouped(n_groups: int = 4, per_group: int = 30, n_items: int = 60, seed: int = 0) -> Split:
    """Users who see half of the items of their own group and no others: all items are about equally popular."""
    rng = np.random.default_rng(seed)
    same = np.arange(n_groups * per_group)[:, None] % n_groups == np.arange(n_items) % n_groups
    return by_ratio(Interactions.from_matrix(same & (rng.random(same.shape) < 0.5)))


def learner(name: str):
    """A recommender with settings that learn a small world well."""
    return make_recommender(name, **(LEARNED | SLOW_STARTERS.get(name, {})))


@cache
def fitted(name: str):
    """A recommender that has learned the simulated world; not to be changed."""
    split = simulated()
    return learner(name).fit(split.train, split.validation)


def everyone(model):
    """All scores of a fitted recommender."""
    return model.score_block(np.arange(model.n_users))
