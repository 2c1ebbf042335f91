"""Pages that show personal items first and trending items in the remaining slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, IntArray
from sureness._wording import counted
from sureness.errors import SettingError
from sureness.lists._allocation_checks import (
    check_items,
    check_seen,
    check_trending,
    check_whole,
    kernels,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pages:
    """Pages of personal items followed by trending ones."""

    items: IntArray  # (n_users, slots) -1 if there is nothing left to show
    personal: BoolArray  # (n_users, slots) whether the item is from the user's own list

    __repr__ = fields_repr


def fill_with_trending(
    items: ArrayLike,
    sizes: ArrayLike,
    trending: ArrayLike,
    slots: int,
    *,
    seen: tuple[IntArray, IntArray] | None = None,
    users: ArrayLike | None = None,
) -> Pages:
    """Fill the slots that personal lists leave free with unseen trending items, each at most once.

    Parameters
    ----------
    items : array-like of shape (n_users, max_size)
        Row numbers of each user's own items, best first; -1 if there are no more.
    sizes : array-like of shape (n_users,)
        How many of them are shown.
    trending : array-like of shape (n_trending,)
        Row numbers of trending items, best first.
    slots : int
        How many items a page holds.
    seen : (starts, values), optional
        Items that are not shown again, as sparse rows: those of user u are the sorted
        ``values[starts[u] : starts[u + 1]]``.
    users : array-like of shape (n_users,), optional
        The row of `seen` for each list; by default the first rows, in order.

    Returns
    -------
    Pages

    Examples
    --------
    >>> pages = fill_with_trending([[7, 3, 5], [2, 4, 6]], sizes=[2, 1], trending=[3, 2, 9], slots=4)
    >>> pages.items
    array([[ 7,  3,  2,  9],
           [ 2,  3,  9, -1]])
    >>> pages.personal.sum(axis=1)
    array([2, 1])
    """
    lists = check_items(items)
    chosen = check_whole(sizes, "sizes", len(lists), "user")
    n_slots = int(check_whole(slots, "slots", 1, "page")[0])
    if len(chosen) and chosen.max() > min(n_slots, lists.shape[1]):
        raise SettingError(
            f"sizes must be at most the {counted(n_slots, 'slot')} of a page and the {counted(lists.shape[1], 'item')} "
            f"of a row, got {chosen.max()}"
        )
    popular = check_trending(trending)
    rows = np.arange(len(lists)) if users is None else check_whole(users, "users", len(lists), "list")
    starts, values = check_seen(seen, rows)
    pages = np.empty((len(lists), n_slots), dtype=np.int64)
    personal = np.empty((len(lists), n_slots), dtype=bool)
    kernels().fill_pages(lists, chosen, popular, rows, starts, values, pages, personal)
    return Pages(items=pages, personal=personal)
