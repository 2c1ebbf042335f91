"""Real logs to train on, whole or with fewer users."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from sureness.data import Split, prepare

FOLDER = Path(os.environ.get("SURENESS_DATA", Path(__file__).parents[2] / "shared" / "data"))


def absent(*names: str) -> str | None:
    """Why data sets cannot be used, None if they can."""
    missing = [name for name in names if not (FOLDER / name).exists()]
    if not missing:
        return None
    return f"skipped: {', '.join(missing)} not found in {FOLDER}; set SURENESS_DATA to the folder of the data sets"


def split_of(name: str) -> Split:
    """Train, validation and test as the recipe of the data set says, seed 0."""
    return prepare(name, folder=FOLDER / name)


def fewer_users(split: Split, share: float) -> Split:
    """A share of the users with all their pairs, and the items that these have in training."""
    if share == 1:
        return split
    n_users = split.train.n_users
    chosen = np.zeros(n_users, dtype=bool)
    chosen[np.random.default_rng(0).choice(n_users, round(share * n_users), replace=False)] = True
    train, *others = (part.keep(chosen[part.user_rows]) for part in split.parts.values())
    train = train.compact()
    validation, test = (part.aligned(train.users, train.items) for part in others)
    return replace(split, train=train, validation=validation, test=test)
