"""The batches of an epoch: what one step of training learns from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.data.sampling import NegativeSampler
from sureness.models.settings import Settings


class Batch(NamedTuple):
    """Positives of users, and items drawn against each."""

    users: IntArray  # (B,)
    positives: IntArray  # (B,)
    negatives: IntArray  # (B, n)
    places: IntArray  # (B,) where each positive stands in the log

    def __repr__(self) -> str:
        return fields_repr(self)


class SoftItems(NamedTuple):
    """Items with the soft labels of another model; the learner predicts sigmoid(slope * score + shift)."""

    items: IntArray  # (B, n), -1 where there is none
    labels: FloatArray  # (B, n) float32, between 0 and 1
    weights: FloatArray  # (B, n) float32, weight of each item in the loss of its pair
    slope: float = 1.0
    shift: float = 0.0

    def __repr__(self) -> str:
        return fields_repr(self)


class PairBatches:
    """Every positive once per epoch, in random order, each with new negatives.

    Users who have seen every item have no negatives and are left out.
    """

    def __init__(self, log: Interactions, settings: Settings, *, include_seen: bool = False) -> None:
        self.log, self.batch_size, self.n_negatives = log, settings.batch_size, settings.negatives
        self.sampler = NegativeSampler(log, settings.popularity, include_seen=include_seen)
        has_unseen = log.user_degree < log.n_items
        self.pairs = np.flatnonzero(has_unseen[log.user_rows])

    @property
    def n_batches(self) -> int:
        return -(-len(self.pairs) // self.batch_size)

    def epoch(self, rng: np.random.Generator) -> Iterator[Batch]:
        """The batches of one epoch, drawn in bulk."""
        users = self.log.user_rows[self.pairs]  # in the order of the log, where draws for a user share the cache
        drawn = np.stack([self.sampler.draw(users, rng) for _ in range(self.n_negatives)], axis=1)
        order = rng.permutation(len(self.pairs))
        places, negatives = self.pairs[order], drawn[order]
        users, positives = self.log.user_rows[places], self.log.item_rows[places]
        for start in range(0, len(order), self.batch_size):
            part = slice(start, start + self.batch_size)
            yield Batch(users[part], positives[part], negatives[part], places[part])


class UserBatches:
    """Every user once per epoch, in random order: all positives of each, with negatives for every positive."""

    def __init__(self, log: Interactions, settings: Settings) -> None:
        self.log, self.n_negatives = log, settings.negatives
        self.sampler = NegativeSampler(log, settings.popularity)
        self.users = np.flatnonzero((log.user_degree > 0) & (log.user_degree < log.n_items))
        mean_degree = max(1.0, log.user_degree[self.users].mean() if len(self.users) else 1.0)
        self.users_per_batch = max(1, round(settings.batch_size / mean_degree))

    @property
    def n_batches(self) -> int:
        return -(-len(self.users) // self.users_per_batch)

    def epoch(self, rng: np.random.Generator) -> Iterator[Batch]:
        """The batches of one epoch; positives and negatives of a user stand together."""
        order = rng.permutation(self.users)
        starts, degree = self.log.row_starts, self.log.user_degree
        for start in range(0, len(order), self.users_per_batch):
            some = order[start : start + self.users_per_batch]
            lengths = degree[some]
            ends = np.cumsum(lengths)
            places = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths) + np.repeat(starts[some], lengths)
            users = np.repeat(some, lengths)
            negatives = self.sampler.draw(np.repeat(users, self.n_negatives), rng).reshape(-1, self.n_negatives)
            yield Batch(users, self.log.item_rows[places], negatives, places)


Batches = PairBatches | UserBatches
