"""What personal sizes are used for: trending filler, one page for several domains, common budgets; and their cost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sureness as sn
from sureness.lists import ExpectedUtility, allocate_budget, equal_budget
from sureness.metrics import at_sizes, utility_at_every_size
from sureness.numerics import members
from sureness.sources import fitted_to, id_maps, n_parameters, top_blocks
from sureness_reproduction.base_models import als_is_here, als_source
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.approximate import fill_with_trending
from sureness_reproduction.list_size.perk import DEFAULT, FORMS, fitted_forms
from sureness_reproduction.list_size.runs import MAX_SIZE, SETTINGS, base, judged, opened
from sureness_reproduction.list_size.shared_pages import DomainLists, domain_lists
from sureness_reproduction.study import Scale
from sureness_reproduction.tables import samples
from sureness_reproduction.workbench import Workbench, load_dataset, prepare

# --- personal items, then trending ones -------------------------------------------------------------------------------

CUT, PERSONAL_PAGE, FILLED = "personal items, cut", "personal to the last slot", "cut, then trending"


@work(needs=base, judges=True, cost=6)
def pages_filled(bench: Workbench, *, slots: int, **run: Any) -> Tables:
    """Pages with personal sizes for F1 and trending items behind, against pages that are personal to the last slot."""
    made, policy = opened(bench, **run), ExpectedUtility("f1", max_size=slots)
    recommender = sn.ConfidentRecommender(made.source, policy=policy).fit(made.split.train, made.split.validation)
    test, seen = fitted_to(made.source, made.split.test, "test"), recommender.seen_
    lists = recommender.lists(labels=test)
    trending = np.argsort(-seen.item_degree, kind="stable")  # the most popular items of the time before the test
    known = (seen.row_starts, seen.item_rows)
    pages = fill_with_trending(np.asarray(lists.items), policy.sizes(lists), trending, slots, known)
    full, relevant = np.asarray(lists.hits), np.asarray(lists.n_relevant)
    found = members(pages.items, lists.users, test.row_starts, test.item_rows) & (pages.items >= 0)
    own, both = (utility_at_every_size(hits, relevant, "f1") for hits in (full, found))
    sizes, every = pages.personal.sum(axis=1), np.full(len(relevant), full.shape[1])
    f1 = {CUT: at_sizes(own, sizes), PERSONAL_PAGE: at_sizes(own, every), FILLED: at_sizes(both, every)}
    got: dict[str, dict[str, Any]] = {
        CUT: {"items": sizes}, PERSONAL_PAGE: {"hits": full.sum(axis=1)},
        FILLED: {"hits": found.sum(axis=1), "trending hits": (found & ~pages.personal).sum(axis=1)},
    }  # fmt: skip
    parts = [judged(lists, {"page": page}, {"f1": f1[page]} | more) for page, more in got.items()]
    users = np.flatnonzero(relevant > 0)
    users = users[np.argsort(sizes[users], kind="stable")]
    cases = [
        _case(page, user, hits, f1[page][user])
        for user in _at(users, np.asarray((full | found).any(axis=1)), (0.1, 0.9))
        for page, hits in ((CUT, full[user, : sizes[user]]), (FILLED, found[user]))
    ]
    return {"samples": pl.concat(parts), "cases": pl.DataFrame(cases)}


def _at(order: NDArray[Any], with_hit: NDArray[Any], shares: Sequence[float]) -> list[int]:
    """Users at some places of an order, of those with a hit where there are any."""
    met = order[with_hit[order]] if with_hit[order].any() else order
    return [int(met[int(share * (len(met) - 1))]) for share in shares]


def _case(page: str, user: int, hits: NDArray[Any], f1: float, **keys: str) -> dict[str, Any]:
    labels = f"{len(hits)}: {''.join(str(int(hit)) for hit in hits)}" if len(hits) else "none"
    return {"user": str(user), **keys, "page": page, "labels": labels, "metric": "f1", "value": float(f1)}


# --- one page for several domains ------------------------------------------------------------------------------------

EQUAL_SHARES, FREE, FULL = "equal shares", "shared, slots may stay free", "shared, all filled"
SHOPS, SIMULATED, CIAO, FOUR = "amazon-crossdomain", "simulator", "ciao", "four domains"
_DOMAINS = 4
_ALS = {"factors": 64, "iterations": 20, "regularization": 0.1, "alpha": 10.0}  # not tuned: all pages have its lists
_APART = 10_000_000  # more than the users of a world


def shared_settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """Pairs of shops belong to the shops, four domains to the simulator and to Ciao."""
    if (point["data"] == SHOPS) != (point["domains"] != FOUR):
        return None
    world = SETTINGS["world"][scale] if point["data"] == SIMULATED else {}
    return {"world": world, "source": "als" if point["data"] == SHOPS and als_is_here() else "svd"}


@work(judges=True, cost=30, version=2)
def pages_shared(
    bench: Workbench, *, data: str, domains: str, world: dict[str, int], slots: int, seed: int, source: str
) -> Tables:
    """Total F1 over the domains of pages made of the same lists: equal shares, shared, and shared to the last slot."""
    if data == SIMULATED:
        made = _simulated(world, seed)
    else:
        made = _categories(bench, seed) if data == CIAO else _shops(bench, data, domains, seed, source)
    lists = domain_lists(*made, slots=slots)
    sizes = {EQUAL_SHARES: lists.equal(), FREE: lists.shared(), FULL: lists.shared(fill=True)}
    worth = {page: lists.realised(each) for page, each in sizes.items()}
    users = lists.users + (_APART * seed if data == SIMULATED else 0)  # every simulated world has users of its own
    parts = [
        samples(users, {"page": page}, {
            "total f1": worth[page].sum(axis=1), "mean f1": worth[page].mean(axis=1), "items": each.sum(axis=1),
            **{f"slots of {name}": each[:, place] for place, name in enumerate(lists.domains)},
        })
        for page, each in sizes.items()
    ]  # fmt: skip
    return {"samples": pl.concat(parts), "cases": pl.DataFrame(_shared_cases(lists, sizes, worth))}


def _simulated(world: dict[str, int], seed: int) -> tuple[sn.sources.ScoreSource, sn.data.Split, NDArray[Any]]:
    drawn = sn.simulate(sn.SimulatorSettings(**world, seed=seed))
    split = sn.by_ratio(sn.Interactions.from_matrix((drawn.train + drawn.held_out).tocsr()), seed=seed)
    return sn.svd_source(split.train, n_factors=7, seed=seed), split, np.array(drawn.domains)[drawn.item_domain]


def _shops(
    bench: Workbench, data: str, pair: str, seed: int, source: str
) -> tuple[sn.sources.ScoreSource, sn.data.Split, NDArray[Any]]:
    split = bench.split(data, "ratio", seed=seed, pair=pair)
    scores = als_source(split, _ALS, seed) if source == "als" else sn.svd_source(split.train, n_factors=64, seed=seed)
    return scores, split, np.asarray(split.train.item_domain)


def _categories(bench: Workbench, seed: int) -> tuple[sn.sources.ScoreSource, sn.data.Split, NDArray[Any]]:
    """BPR on the four largest categories of Ciao, for users who reviewed items of all four."""
    log = load_dataset(CIAO, bench.shelf.place(CIAO), domains=True).interactions
    of_pair = np.asarray(log.item_domain)[log.item_rows]
    names, counts = np.unique(of_pair, return_counts=True)
    large = np.isin(of_pair, names[np.argsort(-counts, kind="stable")[:_DOMAINS]])
    log, of_pair = log.keep(large), of_pair[large]
    pairs = pl.DataFrame({"user": log.user_rows, "domain": of_pair})
    known = pairs.select(pl.col("domain").n_unique().over("user")).to_series().to_numpy()
    split = prepare(log.keep(known == _DOMAINS).compact(), "ratio", seed=seed, per_user=20, positive_above=None)
    model = sn.models.make_recommender("bpr", popularity=0.5, seed=seed).fit(split.train, split.validation)
    return model, split, np.asarray(split.train.item_domain)


def _shared_cases(
    lists: DomainLists, sizes: dict[str, NDArray[Any]], worth: dict[str, NDArray[Any]]
) -> list[dict[str, Any]]:
    """Two users with a hit, in the middle and at nine tenths of the order by how uneven their pages are."""
    order = np.argsort(np.ptp(sizes[FREE], axis=1), kind="stable")
    met = (worth[EQUAL_SHARES] + worth[FREE]).sum(axis=1) > 0
    return [
        _case(page, lists.users[user], lists.hits[user, column, : sizes[page][user, column]],
              worth[page][user, column], domain=str(domain))
        for user in _at(order, met, (0.5, 0.9))
        for column, domain in enumerate(lists.domains)
        for page in (EQUAL_SHARES, FREE)
    ]  # fmt: skip


# --- one budget for all users: sponsored slots, and a cache of prefetched items ---------------------------------------

EQUAL, PERSONAL, ANYWHERE = "equal k", "personal k", "best items per byte"
BYTES = {"equal": 0.0, "log-normal": 1.0}  # deviation of the logarithm of an item's bytes
BUDGET_UTILITIES = ("ndcg", "f1", "tp")


@work(needs=base, judges=True, cost=10)
def slots_sold(bench: Workbench, *, each: list[int], **run: Any) -> Tables:
    """The utility of every user's list when all users share a number of slots, for budgets of some slots per user."""
    (fitted,) = fitted_forms(opened(bench, **run), [DEFAULT], MAX_SIZE)
    lists, parts = fitted.lists, []
    for utility in BUDGET_UTILITIES:
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


@work(needs=base, judges=True, cost=10)
def items_cached(bench: Workbench, *, each: list[int], bytes_of_items: str, **run: Any) -> Tables:
    """Hits and bytes of caches of some average items per user: filled equally, by list, or item by item."""
    (fitted,) = fitted_forms(opened(bench, **run), [DEFAULT], MAX_SIZE)
    lists, ranks, parts = fitted.lists, np.arange(fitted.lists.width), []
    deviation, drawn = BYTES[bytes_of_items], np.random.default_rng(0).normal(size=fitted.recommender.source.n_items)
    costs = np.exp(deviation * drawn - deviation**2 / 2)[np.maximum(np.asarray(lists.items), 0)]  # 1 on average
    chances = np.where(ranks < lists.lengths[:, None], np.asarray(lists.probabilities), 0.0)
    for slots in each:
        budget = float(slots * lists.n_users)
        equal = equal_budget(budget, lists.lengths, cost=costs, max_size=lists.width)
        personal = allocate_budget(np.cumsum(chances, axis=1), budget, cost=costs, lengths=lists.lengths).sizes
        cached = {name: ranks < some[:, None] for name, some in ((EQUAL, equal), (PERSONAL, personal))}
        for name, chosen in (cached | {ANYWHERE: densest(chances, costs, budget)}).items():
            hits = (chosen & np.asarray(lists.hits)).sum(axis=1)
            share = hits / np.maximum(np.asarray(lists.n_relevant), 1)
            got = {"hits": hits, "hit share": share, "bytes": (chosen * costs).sum(axis=1)}
            parts.append(judged(lists, {"items per user": slots, "sizes": name}, got))
    return {"samples": pl.concat(parts)}


def densest(gains: NDArray[Any], costs: NDArray[Any], budget: float) -> NDArray[Any]:
    """The entries with most gain per cost until the budget is spent."""
    order = np.argsort(-(gains / costs), axis=None, kind="stable")
    chosen = np.zeros(gains.size, dtype=bool)
    chosen[order[np.cumsum(costs.ravel()[order]) <= budget]] = True
    return chosen.reshape(gains.shape)


# --- what personal sizes cost -----------------------------------------------------------------------------------------

MORE = "more, as a share"


@work(needs=base, cost=15)
def serving_measured(bench: Workbench, **run: Any) -> Tables:
    """Lists of up to 50 items with and without personal sizes, in turns, so that a busy machine slows both alike."""
    made = opened(bench, **run)
    recommender = sn.ConfidentRecommender(made.source, policy=ExpectedUtility("ndcg", max_size=MAX_SIZE))
    recommender.fit(made.split.train, made.split.validation)
    recommender.source = source = bench.found(*base(**run)).source
    rows = np.arange(min(100, source.n_users))
    users = id_maps(source)[0].at(rows)
    sides = (lambda: deque(top_blocks(source, rows, MAX_SIZE, recommender.seen_), maxlen=0),
             lambda: recommender.sizes(users))  # fmt: skip
    rounds = [[_seconds(side) for side in sides] for _ in range(10)][1:]  # functions are compiled in the first
    times = np.array(rounds) * (1_000 / len(rows))
    learned = n_parameters(source) or 0
    numbers = np.array([learned, learned + 2 * source.n_users]) / 1e6
    found = {
        "parameters": [*numbers, numbers[1] / numbers[0] - 1],
        "time": [*np.median(times, axis=0), np.median(times[:, 1] / times[:, 0]) - 1],
    }
    wide = pl.DataFrame({"method": ("Top-k", "PerK", MORE), **found})
    return {"numbers": wide.unpivot(index="method", variable_name="metric")}


def _seconds(side: Callable[[], object]) -> float:
    started = time.process_time()  # waiting for a busy machine does not count
    side()
    return time.process_time() - started
