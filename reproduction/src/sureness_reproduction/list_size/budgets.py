"""What a common budget buys: sponsored slots over all users, and a cache of prefetched items with their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sureness.evaluation import top_blocks
from sureness.list_size import allocate_budget, equal_budget
from sureness.metrics import at_sizes, utility_at_every_size
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.perk import DEFAULT, FORMS, fitted_forms
from sureness_reproduction.list_size.runs import SEEDS, judged, needs_base, opened, with_recipe
from sureness_reproduction.study import Claim, Study
from sureness_reproduction.types import BoolArray, FloatArray
from sureness_reproduction.workbench import Workbench

EQUAL, PERSONAL, ANYWHERE = "equal k", "personal k", "best items per byte"
EACH = (1, 2, 5, 10, 20)  # items per user that the budget pays for
MAX_SIZE = 50
BYTES = {"equal": 0.0, "log-normal": 1.0}  # deviation of the logarithm of an item's bytes
_UTILITIES = ("ndcg", "f1", "tp")


@work(needs=needs_base, judges=True, cost=10)
def slots_sold(bench: Workbench, *, each: list[int], **run: Any) -> Tables:
    """The utility of every user's list when all users share a number of slots, for budgets of some slots per user."""
    (fitted,) = fitted_forms(opened(bench, **run), [DEFAULT], MAX_SIZE)
    lists, parts = fitted.lists, []
    for utility in _UTILITIES:
        expected = FORMS[DEFAULT].policy(utility, MAX_SIZE).expected(lists)
        worth = utility_at_every_size(np.asarray(lists.hits), np.asarray(lists.n_relevant), utility)
        for slots in each:
            budget = slots * lists.n_users
            equal = equal_budget(budget, lists.lengths, max_size=MAX_SIZE)
            personal = allocate_budget(expected, budget, lengths=lists.lengths).sizes
            for name, sizes in ((EQUAL, equal), (PERSONAL, personal)):
                got = {utility: at_sizes(worth, sizes), f"items, {utility}": sizes}
                parts.append(judged(lists, {"slots per user": slots, "sizes": name}, got))
    return {"samples": pl.concat(parts)}


@work(needs=needs_base, judges=True, cost=10)
def items_cached(bench: Workbench, *, each: list[int], bytes_of_items: str, **run: Any) -> Tables:
    """Hits and bytes of caches of some average items per user: filled equally, by list, or item by item."""
    (fitted,) = fitted_forms(opened(bench, **run), [DEFAULT], MAX_SIZE)
    lists, source = fitted.lists, fitted.recommender.source
    items = np.concatenate([block[1] for block in top_blocks(
        source, np.arange(source.n_users), lists.width, fitted.recommender.seen_
    )])  # fmt: skip
    deviation, drawn = BYTES[bytes_of_items], np.random.default_rng(0).normal(size=source.n_items)
    costs = np.exp(deviation * drawn - deviation**2 / 2)[np.maximum(items, 0)]  # 1 on average over items
    there = np.arange(lists.width) < lists.lengths[:, None]
    expected = np.cumsum(np.where(there, np.asarray(lists.probabilities), 0.0), axis=1)
    parts = []
    for slots in each:
        budget = float(slots * lists.n_users)
        equal = equal_budget(budget, lists.lengths, cost=costs, max_size=lists.width)
        personal = allocate_budget(expected, budget, cost=costs, lengths=lists.lengths).sizes
        cached = {name: np.arange(lists.width) < some[:, None] for name, some in ((EQUAL, equal), (PERSONAL, personal))}
        cached[ANYWHERE] = densest(np.where(there, np.asarray(lists.probabilities), 0.0), costs, budget)
        for name, chosen in cached.items():
            hits = (chosen & np.asarray(lists.hits)).sum(axis=1)
            share = hits / np.maximum(np.asarray(lists.n_relevant), 1)
            got = {"hits": hits, "hit share": share, "bytes": (chosen * costs).sum(axis=1)}
            parts.append(judged(lists, {"items per user": slots, "sizes": name}, got))
    return {"samples": pl.concat(parts)}


def densest(gains: FloatArray, costs: FloatArray, budget: float) -> BoolArray:
    """The entries with most gain per cost until the budget is spent.

    Examples
    --------
    >>> densest(np.array([[0.9, 0.2], [0.5, 0.4]]), np.array([[3.0, 1.0], [1.0, 1.0]]), budget=2.0).tolist()
    [[False, False], [True, True]]
    """
    order = np.argsort(-(gains / costs), axis=None, kind="stable")
    chosen = np.zeros(gains.size, dtype=bool)
    chosen[order[np.cumsum(costs.ravel()[order]) <= budget]] = True
    return chosen.reshape(gains.shape)


_GRID: dict[str, Any] = {
    "data": {"quick": ("ml-100k",), "full": ("citeulike-a", "amazon-music", "ml-1m")}, "model": ["bpr"], "seed": SEEDS,
}  # fmt: skip


STUDIES = (
    Study(
        name="budget", number="", title="Sponsored slots: one budget for all users, BPR", measure=slots_sold,
        settings=lambda scale, point: with_recipe(scale, point, each=list(EACH)), grid=_GRID,
        rows=("slots per user", "sizes"), metrics=_UTILITIES,
        claims=[Claim("personal sizes are worth more than equal ones", utility, {"sizes": PERSONAL}, {"sizes": EQUAL},
                      "+", ("data", "model", "slots per user"), claimed=False) for utility in _UTILITIES],
        note="Mean utility per user where all users together have a number of slots; sizes from 0 to 50. Personal: "
        "`allocate_budget` on the expected utility of the library's default maps. The dissertation names the case "
        "(sponsored slots) without numbers.",
    ),
    Study(
        name="prefetch", number="", title="Prefetching: one cache for all users, BPR", measure=items_cached,
        settings=lambda scale, point: with_recipe(scale, point, each=list(EACH)),
        grid=_GRID | {"bytes_of_items": list(BYTES)}, rows=("items per user", "sizes"),
        claims=[Claim(text, "hits", {"sizes": name}, {"sizes": EQUAL}, "+",
                      ("data", "model", "bytes_of_items", "items per user"), claimed=False)
                for name, text in ((PERSONAL, "personal sizes hit more often than equal ones"),
                                   (ANYWHERE, "the best items per byte hit more often than equal sizes"))],
        note="A cache for this many items of average bytes per user. Hit share: of a user's relevant items. Bytes: "
        "what is used per user, in those of an average item. Personal: `allocate_budget` on expected hits, with bytes "
        "as costs. Bytes of items are drawn (log-normal with deviation 1) or equal; logs do not have them.",
    ),
)  # fmt: skip
