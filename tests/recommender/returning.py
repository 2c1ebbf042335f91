"""A small shop to which users return: who comes, and how much they take, is another matter in each window."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import sureness as sn

WINDOW = 10.0  # days


def returning_log(n_users=1_200, n_items=80, *, n_windows=7, again=0.0, seed=0) -> sn.Interactions:
    """A log of users who come in some windows; `again`: how likely they take each item that they took before."""
    rng = np.random.default_rng(seed)
    tastes = rng.normal(size=(n_users, 3)) @ rng.normal(size=(3, n_items)) + rng.normal(size=n_items)
    often = rng.normal(-0.8, 2.0, n_users)  # a user's own level, from which each window departs
    taken = np.zeros((n_users, n_items), dtype=bool)
    rows = []
    for window in range(n_windows):
        came = rng.random(n_users) < expit(often + rng.normal(0, 0.5, n_users))
        appetite = rng.normal(-3.2, 1.2, n_users)  # of this window alone
        new = rng.random(taken.shape) < expit(appetite[:, None] + 1.2 * tastes)
        some = np.where(taken, rng.random(taken.shape) < again, new) & came[:, None]
        users, items = np.nonzero(some)
        rows.append(np.stack([users, items, WINDOW * (window + rng.random(len(users)))], axis=1))
        taken |= some
    user, item, time = np.concatenate(rows).T
    return sn.Interactions.of(user.astype(int), item.astype(int), times=time)
