"""The findings that open the demo's page: what calibrated probabilities are worth, each with its measured number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._types import BoolArray
from sureness._wording import counted
from sureness.lists.lists import Lists
from sureness.report.formatting import Finding, chance, count, ratio, spoken_percent
from sureness.report.list_sizes import ListSizes
from sureness.report.methods import MOST_BROKEN

TOP = 10  # items that everybody would get without probabilities
KEPT = 0.95  # share of the expected hits that shorter lists keep

_FEWEST_USERS = 20  # for a comparison of tenths


class Shortened(NamedTuple):
    """Ten items for everybody, without the least likely ones of all users together."""

    left_out: float  # share of the items
    kept: float  # share of the hits
    equal_lists: float  # share of the hits that a list of equal length for everybody keeps, with as many items


def shortened(lists: Lists) -> Shortened:
    """Leave out the least likely of all users' ten items, as long as 95% of the expected hits stay.

    Parameters
    ----------
    lists : Lists
        With probabilities and hits.

    Examples
    --------
    >>> lists = Lists.of(probabilities=[[0.9, 0.9], [0.5, 0.02]], hits=[[1, 1], [0, 0]])
    >>> shortened(lists)
    Shortened(left_out=0.25, kept=1.0, equal_lists=0.75)
    """
    top = first_items(lists)
    probabilities = lists.promises("the demo")
    hits = np.where(top, lists.needed("hits", "the demo"), False)
    falling = np.sort(probabilities[top])[::-1]
    least = falling[np.searchsorted(np.cumsum(falling), KEPT * falling.sum())]
    shown = top & (probabilities >= least)
    by_rank = np.append(hits.sum(axis=0), 0)
    whole, part = divmod(shown.sum() / lists.n_users, 1)
    equal = by_rank[: int(whole)].sum() + part * by_rank[int(whole)]
    total = max(1, int(hits.sum()))
    return Shortened(float(1 - shown.sum() / top.sum()), float(hits[shown].sum() / total), float(equal / total))


def first_items(lists: Lists) -> BoolArray:
    """Which entries of the lists are among each user's first ten."""
    return np.arange(lists.width) < np.minimum(lists.lengths, TOP)[:, None]


def items_not_shown(lists: Lists) -> Finding:
    """How many items need not be shown, and how many of the hits stay."""
    found = shortened(lists)
    return Finding(
        "Items that need not be shown",
        f"{spoken_percent(found.left_out)} fewer items, {spoken_percent(found.kept)} of the hits",
        f"leaving out the least likely items of every top {TOP}, until {KEPT:.0%} of the expected hits are left",
        f"Of the {TOP} best items of every user, the least likely of all are left out until {KEPT:.0%} of the expected "
        f"hits are left. {spoken_percent(found.kept)} of the hits are kept. One shorter length for everybody, with as "
        f"many items in all, keeps {spoken_percent(found.equal_lists)}.",
        "list-sizes",
        holds=found.kept > found.equal_lists,
    )


def promise_kept(sizes: ListSizes) -> Finding | None:
    """Promised and realised hits of the shown items; None if nothing is shown."""
    if sizes.promise is None:
        return None
    total, *bands = sizes.promise.by_probability.iter_rows(named=True)
    kept = [row["low"] <= 1 <= row["high"] for row in bands if row["low"] is not None]
    return Finding(
        "Probabilities that keep their promise",
        f"{count(total['promised'])} hits promised, {count(total['realised'])} came",
        f"by the items of all lists, realised over promised {ratio(total)}",
        f"The sum of the probabilities of all shown items, and how many of these items are in the test part. Realised "
        f"over promised is {ratio(total)}, 95% interval over users in brackets.",
        "list-promise",
        holds=bool(kept) and total["low"] <= 1 <= total["high"] and sum(kept) > (1 - MOST_BROKEN) * len(kept),
    )


def personal_sizes(sizes: ListSizes) -> Finding | None:
    """Utility of personal list sizes compared with the best fixed one; None without a comparison."""
    main, fixed = sizes.policy(sizes.main), sizes.policy(sizes.reference)
    if main is None or fixed is None or main.difference is None or main.p_value is None:
        return None
    gain = f"{main.difference / fixed.value:+.1%}" if fixed.value > 0 else f"{main.difference:+.4f}"
    return Finding(
        "Lists of the right length",
        f"{gain} {sizes.utility}",
        f"personal list sizes against {fixed.name}, p {chance(main.p_value)}"
        + ("" if main.is_clear else ", no clear difference"),
        f"{sizes.utility} {main.value:.3f} with {main.mean_size:.1f} items on average, against {fixed.value:.3f} with "
        f"{fixed.mean_size:.0f} for everybody, the best size on the validation part (p {chance(main.p_value)}).",
        "list-policies",
        holds=main.is_clear and main.difference > 0,
    )


def unsure_users(lists: Lists) -> Finding | None:
    """Hits of the tenths of users with the fewest and the most expected hits; None with too few users."""
    if lists.n_users < _FEWEST_USERS:
        return None
    top = first_items(lists)
    expected = np.where(top, lists.promises("the demo"), 0.0).sum(axis=1)
    came = np.where(top, lists.needed("hits", "the demo"), False).sum(axis=1)
    order, tenth = np.argsort(expected, kind="stable"), lists.n_users // 10
    few, many = order[:tenth], order[-tenth:]
    numbers = [float(values[group].mean()) for group in (few, many) for values in (expected, came)]
    return Finding(
        "Users to ask first",
        f"{numbers[1]:.2f} hits against {numbers[3]:.2f}",
        f"among {TOP} items of the least and the most sure tenth; {numbers[0]:.2f} and {numbers[2]:.2f} promised",
        f"Hits in the top {TOP} of {counted(tenth, 'user')} with the lowest expected number of hits, and of as many "
        f"with the highest; {numbers[0]:.2f} and {numbers[2]:.2f} were promised. Ask the former what they like.",
        "list-cases",
        holds=numbers[1] < numbers[3],
    )
