"""Expected utility as the dissertation approximates it, and trending items after personal ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import poisson

from sureness.lists import ExpectedUtility, Lists
from sureness.metrics import Utility, named_utility
from sureness.numerics import poisson_binomial_pmf


class ApproximateUtility(ExpectedUtility):
    """PerK with the expected gain times the expected inverse normaliser, as if both were independent.

    Parameters
    ----------
    utility : str or Utility
    min_size, max_size : int
        As for `ExpectedUtility`.
    terms : int
        The M of the dissertation: numbers of relevant items that are added up.
    """

    def __init__(
        self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50, terms: int = 2_000
    ) -> None:
        super().__init__(utility, min_size=min_size, max_size=max_size)
        self.terms = terms

    def expected(self, lists: Lists) -> NDArray[Any]:
        probabilities, width = lists.needed("probabilities", self), max(1, min(self.max_size, lists.width))
        tails = np.empty((len(probabilities), 0)) if lists.tail is None else lists.tail
        lengths = np.minimum(lists.lengths, lists.width)
        return approximate_utility(probabilities, lengths, tails, named_utility(self.utility), width, self.terms)


def approximate_utility(
    rows: NDArray[Any], lengths: NDArray[Any], tails: NDArray[Any], utility: Utility, max_size: int, terms: int
) -> NDArray[Any]:
    """The approximate utility of the first k items of each user, for every k up to `max_size`."""
    n_items = min(max_size, rows.shape[1])
    known = np.where(np.arange(rows.shape[1]) < lengths[:, None], rows, 0.0)
    last = np.maximum(np.minimum(lengths, max_size), 1)[:, None] - 1
    at = np.minimum(np.arange(max_size), last)
    top = known[:, :n_items]
    worth = np.cumsum(utility.discounts(max_size)[:n_items] * (utility.gain * top - utility.loss * (1 - top)), axis=1)
    if utility.normaliser == "none":
        return np.take_along_axis(worth, at, axis=1) * (lengths[:, None] > 0)
    pmf = _pmf_with_tails(known, tails, terms)
    relevant = np.arange(1, pmf.shape[1] + 1)
    sizes = np.arange(1, n_items + 1)[:, None]
    inverse = utility.inverse_scale(max_size, len(relevant))
    scale = inverse[sizes + relevant if utility.normaliser == "mean" else np.minimum(sizes, relevant)]  # (k, m)
    return np.take_along_axis(worth * (pmf @ scale.T), at, axis=1) * (lengths[:, None] > 0)


def _pmf_with_tails(known: NDArray[Any], tails: NDArray[Any], terms: int) -> NDArray[Any]:
    """P(S = 0), ..., P(S = terms - 1), with a Poisson number of relevant items in the tail."""
    n_counts = terms if tails.shape[1] else min(terms, known.shape[1] + 1)
    pmf = poisson_binomial_pmf(known, max_count=n_counts - 1)
    if not tails.shape[1]:
        return pmf
    others = np.asarray(poisson.pmf(np.arange(n_counts), tails[:, :1]))
    return np.stack([np.convolve(own, other)[:n_counts] for own, other in zip(pmf, others, strict=True)])


class Pages(NamedTuple):
    """Pages of personal items followed by trending ones."""

    items: NDArray[Any]  # (n_users, slots) -1 if there is nothing left to show
    personal: NDArray[Any]  # (n_users, slots) whether the item is from the user's own list


def fill_with_trending(
    items: ArrayLike, sizes: ArrayLike, trending: ArrayLike, slots: int, seen: tuple[ArrayLike, ArrayLike]
) -> Pages:
    """Fill the slots that personal lists leave free with unseen trending items, each at most once.

    Parameters
    ----------
    items : array-like of shape (n_users, n_candidates)
        Rows of the items, the best first, -1 where there is none.
    sizes : array-like of shape (n_users,)
        How many of them are shown, at most `slots`.
    trending : array-like
        Rows of items in falling order of popularity.
    slots : int
    seen : starts and items
        Sparse rows of what each user has seen.

    Examples
    --------
    >>> fill_with_trending([[7, 3, 5], [2, 4, 6]], [2, 1], [3, 2, 9], 4, ([0, 0, 1], [9])).items
    array([[ 7,  3,  2,  9],
           [ 2,  3, -1, -1]])
    """
    lists, popular, (starts, values) = np.asarray(items), np.asarray(trending), map(np.asarray, seen)
    pages = Pages(np.full((len(lists), slots), -1), np.zeros((len(lists), slots), dtype=bool))
    for user, size in enumerate(np.asarray(sizes)):
        own = lists[user, :size][lists[user, :size] >= 0]
        known = np.concatenate([own, values[starts[user] : starts[user + 1]]])
        page = np.concatenate([own, popular[~np.isin(popular, known)]])[:slots]
        pages.items[user, : len(page)], pages.personal[user, : len(own)] = page, True
    return pages
