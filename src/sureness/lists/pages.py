"""Pages: slots shared between domains.

Expected utilities of every list size are as `expected_utility` returns them. They may fall, rise again or be negative;
a list of 0 items is worth 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import SettingError
from sureness.lists._allocation_checks import (
    check_finite,
    check_lengths,
    check_limits,
    check_utilities,
    check_whole,
    kernels,
    within,
)
from sureness.lists.ragged import Ragged
from sureness.metrics.utility import at_sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class DomainAllocation:
    """How many items of each domain are on each user's page."""

    sizes: IntArray  # (n_users, n_domains)
    values: FloatArray  # (n_users, n_domains) expected utility of each part

    __repr__ = fields_repr

    @property
    def value(self) -> FloatArray:
        """Expected utility of each page; shape (n_users,)."""
        return np.asarray(self.values.sum(axis=1))


def allocate_domains(
    utilities: ArrayLike,
    slots: ArrayLike,
    *,
    min_size: ArrayLike = 0,
    max_size: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> DomainAllocation:
    """Share the slots of each user's page between domains so that the total expected utility is maximal.

    The result is exact. Of equally good pages the one with the fewest items is taken, so slots that add nothing stay
    free.

    Parameters
    ----------
    utilities : array-like of shape (n_users, n_domains, max_size)
        Entry [u, x, k - 1] is the expected utility of k items of domain x.
    slots : int or array-like of shape (n_users,)
        How many items a page holds.
    min_size, max_size : int or array-like of shape (n_domains,)
        Bounds for the items of a domain; by default all sizes that `utilities` has. A domain with fewer candidates
        than `min_size` shows all of them.
    lengths : array-like of shape (n_users, n_domains), optional
        Number of candidates; utilities of longer lists are ignored.

    Returns
    -------
    DomainAllocation

    Examples
    --------
    >>> books, films = [0.5, 0.7, 0.8], [0.4, 0.3, 0.9]
    >>> page = allocate_domains([[books, films]], slots=4)
    >>> page.sizes, page.value
    (array([[1, 3]]), array([1.4]))
    >>> allocate_domains([[books, films]], slots=4, max_size=[3, 2]).sizes
    array([[3, 1]])
    """
    worth = check_utilities(utilities, "(n_users, n_domains, max_size)", 3)
    n_users, n_domains, width = worth.shape
    pages = check_whole(slots, "slots", n_users, "user")
    lows, highs = check_limits(min_size, max_size, n_domains, width, "domain")
    known = check_lengths(lengths, (n_users, n_domains), width)
    check_room(within(lows, highs, known)[0], pages)
    check_finite(Ragged.of_matrix(worth.reshape(-1, width)), known.ravel(), n_domains)
    sizes = np.zeros((n_users, n_domains), dtype=np.int64)
    kernels().share_slots(worth, pages, lows, highs, known, sizes)
    values = at_sizes(worth.reshape(-1, width), sizes.ravel()).astype(np.float64)
    return DomainAllocation(sizes=sizes, values=values.reshape(sizes.shape))


def equal_shares(
    slots: ArrayLike, lengths: ArrayLike, *, min_size: ArrayLike = 0, max_size: ArrayLike | None = None
) -> IntArray:
    """Give all domains equally many items and leave no slot free, as a baseline.

    Slots that a domain with few candidates cannot use go to the others; earlier domains get the remainder.

    Parameters
    ----------
    slots : int or array-like of shape (n_users,)
    lengths : array-like of shape (n_users, n_domains)
        Number of candidates.
    min_size, max_size : int or array-like of shape (n_domains,)

    Returns
    -------
    array of shape (n_users, n_domains)

    Examples
    --------
    >>> equal_shares(10, [[50, 50, 50], [50, 2, 50]])
    array([[4, 3, 3],
           [4, 2, 4]])
    """
    known = check_lengths(lengths, ("n_users", "n_domains"))
    n_users, n_domains = known.shape
    pages = check_whole(slots, "slots", n_users, "user")
    lows, highs = within(*check_limits(min_size, max_size, n_domains, None, "domain"), known)
    check_room(lows, pages)
    level, beyond = np.zeros(n_users, dtype=np.int64), np.full(n_users, int(highs.max(initial=0)) + 1)
    while np.any(beyond - level > 1):  # the largest level that fits lies in [level, beyond)
        middle = (level + beyond) // 2
        fits = np.clip(middle[:, None], lows, highs).sum(axis=1) <= pages
        level, beyond = np.where(fits, middle, level), np.where(fits, beyond, middle)
    sizes = np.clip(level[:, None], lows, highs)
    growing = (highs > level[:, None]) & (lows <= level[:, None])
    odd = growing & (np.cumsum(growing, axis=1) <= (pages - sizes.sum(axis=1))[:, None])
    return np.asarray(sizes + odd, dtype=np.int64)


def check_room(lows: IntArray, pages: IntArray) -> None:
    needed = lows.sum(axis=1)
    if np.any(needed > pages):
        user = int(np.argmax(needed > pages))
        raise SettingError(
            f"the minimum sizes of all domains must fit the page, but they need {needed[user]} of "
            f"{counted(pages[user], 'slot')} for user number {user}; lower min_size or add slots"
        )
