"""Lists of made-up users whose scores betray how many relevant items there are."""

from __future__ import annotations

import numpy as np

from sureness.lists import Lists
from sureness_reproduction.truncation import AttnCut, MtCut

POLICIES = (AttnCut, MtCut)
QUICK = {"n_factors": 8, "learning_rate": 0.01, "epochs": 2}


def made_up(n_users: int, width: int = 12, seed: int = 0) -> Lists:
    """Half of the users have relevant items at nearly every rank, the others only at the first; scores are log-odds."""
    rng = np.random.default_rng(seed)
    slope = rng.choice([2.0, 0.2], size=(n_users, 1))
    scores = 3.0 - slope * np.arange(width) + rng.normal(scale=0.1, size=(n_users, 1))
    hits = rng.random((n_users, width)) < 1 / (1 + np.exp(-scores))
    return Lists.of(scores=scores, hits=hits, n_relevant=hits.sum(axis=1) + rng.integers(0, 2, n_users))
