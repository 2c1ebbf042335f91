"""Expected utilities the way of the public code: one user after the other, counts from the refined normal."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

_M = 2_000  # relevant items that are thought of


def expected_utilities(probabilities: np.ndarray, max_size: int = 50) -> np.ndarray:
    """NDCG, PDCG, F1 and TP of every list size, in Kweon's (2024) approximate form; shape (4, n_users, max_size)."""
    result = np.empty((4, len(probabilities), max_size))
    discount = 1.0 / np.log2(np.arange(2, max_size + 2))
    ideal = np.cumsum(discount)
    relevant = np.arange(1, _M + 1)
    for user, p in enumerate(probabilities):
        pmf = np.diff(_cdf(p, np.arange(-1, _M)))
        top = p[:max_size]
        flat, discounted = np.cumsum(top), np.cumsum(top * discount)
        result[1, user] = np.cumsum((2 * top - 1) * discount)
        for k in range(1, max_size + 1):
            smaller = np.minimum(k, relevant)
            result[0, user, k - 1] = discounted[k - 1] * np.sum(pmf / ideal[smaller - 1])
            result[2, user, k - 1] = flat[k - 1] * np.sum(2 * pmf / (relevant + k))
            result[3, user, k - 1] = flat[k - 1] * np.sum(pmf / smaller)
    return result


def _cdf(p: np.ndarray, counts: np.ndarray) -> np.ndarray:
    mean, variance = p.sum(), np.sum(p * (1 - p))
    skewness = np.sum(p * (1 - p) * (1 - 2 * p)) / variance**1.5
    x = (counts + 0.5 - mean) / np.sqrt(variance)
    return np.clip(ndtr(x) + skewness * (1 - x * x) * np.exp(-x * x / 2) / np.sqrt(2 * np.pi) / 6, 0, 1)
