"""The metrics again, slowly: plain Python loops that share nothing with the package, and how to draw pairs for them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.stats import foldnorm


class Bin(NamedTuple):
    weight: float
    squared_weight: float
    predicted: float
    observed: float

    @property
    def gap(self):
        return abs(self.observed - self.predicted) / self.weight


def bins_of(labels, probabilities, weights, n_bins):
    """Occupied bins of equal width, one pair at a time."""
    found = {}
    for label, probability, weight in zip(labels, probabilities, weights, strict=True):
        if weight == 0:
            continue
        place = n_bins - 1 if probability == 1 else math.floor(probability * n_bins)
        old = found.get(place, Bin(0.0, 0.0, 0.0, 0.0))
        found[place] = Bin(
            old.weight + weight,
            old.squared_weight + weight**2,
            old.predicted + weight * probability,
            old.observed + weight * label,
        )
    return found


def slow_ece(labels, probabilities, weights, n_bins):
    bins = bins_of(labels, probabilities, weights, n_bins).values()
    return sum(b.weight * b.gap for b in bins) / sum(b.weight for b in bins)


def slow_mce(labels, probabilities, weights, n_bins):
    return max(b.gap for b in bins_of(labels, probabilities, weights, n_bins).values())


def slow_debiased(labels, probabilities, weights, n_bins):
    """Each gap less what the folded normal of scipy says chance adds to it."""
    bins = bins_of(labels, probabilities, weights, n_bins).values()
    return max(0.0, sum(b.weight * _without_chance(b) for b in bins) / sum(b.weight for b in bins))


def _without_chance(b):
    frequency = b.observed / b.weight
    effective = max(b.weight**2 / b.squared_weight, 1.0)
    error = math.sqrt(max(frequency * (1 - frequency), 0.0) / max(effective - 1, 1.0))
    if error == 0:
        return b.gap
    return 2 * b.gap - foldnorm.mean(b.gap / error, scale=error)


def slow_nll(labels, probabilities, weights):
    clipped = [min(max(p, 1e-15), 1 - 1e-15) for p in probabilities]
    losses = [-math.log(p) if label else -math.log1p(-p) for label, p in zip(labels, clipped, strict=True)]
    return _mean(losses, weights)


def slow_brier(labels, probabilities, weights):
    return _mean([(p - label) ** 2 for label, p in zip(labels, probabilities, strict=True)], weights)


def _mean(values, weights):
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


class Drawn(NamedTuple):
    """Labels, probabilities and weights as lists."""

    labels: list[int]
    probabilities: list[float]
    weights: list[float]

    @property
    def all(self):
        return self.labels, self.probabilities, self.weights


EDGES = sorted({k / n for n in (2, 3, 10, 15) for k in range(n + 1)})
PROBABILITIES = st.one_of(st.floats(0, 1), st.sampled_from(EDGES), st.sampled_from([0.0, 1.0, 1e-320, 1 - 2**-53]))
WEIGHTS = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([0.0, 1.0, 2.0]))


@st.composite
def drawn_pairs(draw, probabilities=PROBABILITIES, weights=WEIGHTS):
    """At least one pair, at least one of them with a positive weight."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 1), probabilities, weights), min_size=1, max_size=40))
    first_label, first_probability, _ = pairs[0]
    if not any(weight for _, _, weight in pairs):
        pairs[0] = (first_label, first_probability, 1.0)
    return Drawn(*(list(column) for column in zip(*pairs, strict=True)))


def calibrated_users(n_users, n_each, rng, *, alike):
    """Perfectly calibrated pairs; within a share `alike` of the users, one draw decides all labels."""
    users = np.repeat(np.arange(n_users), n_each)
    p = rng.random(len(users))
    own, shared = rng.random(len(users)), np.repeat(rng.random(n_users), n_each)
    chance = np.where(np.repeat(rng.random(n_users) < alike, n_each), shared, own)
    return users, p, chance
