"""Metrics of a ranked list: hit ratio, NDCG, recall and precision at K."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import SettingError

Measure = Callable[[BoolArray, IntArray], FloatArray]


def hit_ratio(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """1 for each user with at least one relevant item in the list."""
    return np.asarray(hits.any(axis=1), dtype=np.float64)


def ndcg(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Discounted cumulative gain of each list, divided by that of the best list of the same length.

    Examples
    --------
    >>> ndcg(np.array([[False, True]]), np.array([1])).round(3)
    array([0.631])
    """
    discount = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    best = np.concatenate([[0.0], np.cumsum(discount)])[np.minimum(n_relevant, hits.shape[1])]
    return np.asarray(hits @ discount / np.maximum(best, discount[0]))


def recall(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Share of each user's relevant items that are in the list."""
    return np.asarray(hits.sum(axis=1) / np.maximum(n_relevant, 1))


def precision(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Share of each list that is relevant."""
    return np.asarray(hits.mean(axis=1))


_LONGEST = 1_000_000  # items of a list

MEASURES: dict[str, Measure] = {"hit": hit_ratio, "ndcg": ndcg, "recall": recall, "precision": precision}


def parse_measure(name: str) -> tuple[Measure, int]:
    """The function and the list length behind a name such as "ndcg@50"."""
    word, _, length = name.lower().partition("@")
    if word not in MEASURES or not length.isdecimal() or not length.strip("0"):
        known = ", ".join(f"{measure}@50" for measure in MEASURES)
        raise SettingError(f"a ranking metric is a name and a length such as {known}, got {name!r}")
    if len(length) > 9 or int(length) > _LONGEST:
        raise SettingError(f"a ranking metric looks at {_LONGEST:,} items at most, got {name!r:.60}")
    return MEASURES[word], int(length)


def judge_lists(hits: BoolArray, n_relevant: IntArray, names: Sequence[str]) -> dict[str, FloatArray]:
    """Every named metric for every user.

    Parameters
    ----------
    hits : boolean array of shape (n_users, longest length)
        Whether the item at each rank is relevant.
    n_relevant : array of shape (n_users,)
        How many relevant items there are, in the list or not.
    names : sequence of str
        Such as "ndcg@50".

    Examples
    --------
    >>> judge_lists(np.array([[True, False, True]]), np.array([4]), ["hit@1", "recall@3"])
    {'hit@1': array([1.]), 'recall@3': array([0.5])}
    """
    results = {}
    for name in names:
        measure, length = parse_measure(name)
        results[name] = measure(hits[:, :length], n_relevant)
    return results


def longest(names: Sequence[str]) -> int:
    """The longest list that any of the metrics needs."""
    if not names:
        raise SettingError("expected at least one ranking metric such as ndcg@50, got none")
    return max(parse_measure(name)[1] for name in names)
