"""Scores and labels like those of a recommender, seeded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """Scored, labelled pairs."""

    scores: np.ndarray  # (n,) float64
    labels: np.ndarray  # (n,) bool


def gaussian_pairs(n_pairs: int, seed: int = 0) -> Pairs:
    """One pair in twenty is positive; both classes Gaussian, of different width.

    The log-odds rise from 14 standard deviations below the mean of the negatives on, so the monotone fit of a large
    sample is the unconstrained one.
    """
    rng = np.random.default_rng(seed)
    labels = rng.random(n_pairs) < 0.05
    scores = rng.standard_normal(n_pairs)
    scores *= np.where(labels, 1.1, 1.0)
    scores += np.where(labels, 1.5, -1.5)
    return Pairs(scores, labels)


def heavy_tailed_pairs(n_pairs: int, seed: int = 0) -> Pairs:
    """Student's t with two degrees of freedom: some scores lie hundreds of times farther out than most."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n_pairs) < 0.05
    return Pairs(rng.standard_t(2, n_pairs) + np.where(labels, 1.5, -0.5), labels)


def pairs_with_outlier(n_pairs: int, seed: int = 0) -> Pairs:
    """Gaussian classes and one score of 10,000."""
    scores, labels = gaussian_pairs(n_pairs, seed)
    scores[n_pairs // 2] = 10_000.0
    return Pairs(scores, labels)


def probabilities_and_labels(n_pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities crowded near 0, and labels that do not quite follow them."""
    rng = np.random.default_rng(seed)
    probabilities = rng.beta(0.5, 4.0, n_pairs)
    return probabilities, rng.random(n_pairs) < probabilities**1.1
