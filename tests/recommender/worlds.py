"""Small shops whose truth is known: scores that are log-odds up to a user's own level and slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import sureness as sn


@dataclass(frozen=True, eq=False)
class Shop:
    """A source, and what users took before, in the validation period, and after it."""

    source: sn.MatrixSource
    train: sn.Interactions
    validation: sn.Interactions
    test: sn.Interactions


def shop(n_users=60, n_items=40, *, level=-1.0, spread=0.8, slope=1.3, names=False, seed=0) -> Shop:
    """Items are taken in one of the three periods at random; the higher the score, the more likely."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items)).astype(np.float32)
    taken = rng.random(scores.shape) < expit(level + rng.normal(0, spread, (n_users, 1)) + slope * scores)
    period = rng.integers(3, size=scores.shape)
    ids = {}
    if names:
        ids = {"users": sn.IdMap.of([f"user {number:03d}" for number in range(n_users)]),
               "items": sn.IdMap.of([f"item {number:03d}" for number in range(n_items)])}  # fmt: skip
    logs = [sn.Interactions.from_matrix(taken & (period == number), **ids) for number in range(3)]
    return Shop(sn.MatrixSource(scores, **ids), *logs)
