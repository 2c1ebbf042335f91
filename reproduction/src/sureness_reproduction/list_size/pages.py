"""Pages: personal items and then trending ones, and one page that several domains share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sureness.data import Interactions, SimulatorSettings, Split, by_ratio, simulate
from sureness.evaluation import top_blocks
from sureness.list_size import ExpectedUtility, fill_with_trending
from sureness.metrics import at_sizes, utility_at_every_size
from sureness.numerics import members
from sureness.pipeline import ConfidentRecommender
from sureness.sources import ScoreSource, fitted_to, svd_source
from sureness.workflows import DomainLists, domain_lists
from sureness_reproduction.base_models import als_is_here, als_source
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.runs import SEEDS, SMALL, judged, needs_base, opened, samples, with_recipe
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.types import AnyArray, FloatArray
from sureness_reproduction.workbench import Workbench, load_dataset, prepare

TRENDING_SLOTS, SHARED_SLOTS = 20, 40
CUT, PERSONAL, FILLED = "personal items, cut", "personal to the last slot", "cut, then trending"
EQUAL, FREE, FULL = "equal shares", "shared, slots may stay free", "shared, all filled"
_APART = 10_000_000  # more than the users of a world


def _cases(page: str, user: int, hits: AnyArray, f1: float, **keys: str) -> dict[str, Any]:
    labels = f"{len(hits)}: {''.join(str(int(hit)) for hit in hits)}" if len(hits) else "none"
    return {"user": str(user), **keys, "page": page, "labels": labels, "metric": "f1", "value": float(f1)}


# --- personal items, then trending ones -------------------------------------------------------------------------------


@work(needs=needs_base, judges=True, cost=6)
def pages_filled(bench: Workbench, *, slots: int, **run: Any) -> Tables:
    """Pages with personal sizes for F1 and trending items behind, against pages that are personal to the last slot."""
    made = opened(bench, **run)
    policy = ExpectedUtility("f1", max_size=slots)
    recommender = ConfidentRecommender(made.source, policy=policy).fit(made.split.train, made.split.validation)
    test, seen = fitted_to(made.source, made.split.test, "test"), recommender.seen_
    lists = recommender.lists(labels=test)
    items = np.concatenate([block[1] for block in top_blocks(
        made.source, np.arange(made.source.n_users), lists.width, seen
    )])  # fmt: skip
    trending = np.argsort(-seen.item_degree, kind="stable")  # the most popular items of the time before the test
    pages = fill_with_trending(items, policy.sizes(lists), trending, slots, seen=(seen.row_starts, seen.item_rows))
    full, relevant = np.asarray(lists.hits), np.asarray(lists.n_relevant)
    found = members(pages.items, np.arange(len(items)), test.row_starts, test.item_rows) & (pages.items >= 0)
    sizes, users = pages.personal.sum(axis=1), np.flatnonzero(relevant > 0)
    own, both = (utility_at_every_size(hits, relevant, "f1") for hits in (full, found))
    every = np.full(len(sizes), full.shape[1])
    f1 = {CUT: at_sizes(own, sizes), PERSONAL: at_sizes(own, every), FILLED: at_sizes(both, every)}
    got = {
        CUT: {"items": sizes}, PERSONAL: {"hits": full.sum(axis=1)},
        FILLED: {"hits": found.sum(axis=1), "trending hits": (found & ~pages.personal).sum(axis=1)},
    }  # fmt: skip
    parts = [judged(lists, {"page": page}, {"f1": f1[page]} | more) for page, more in got.items()]
    cases = []
    for user in _at(np.lexsort((users, sizes[users])), np.asarray((full | found).any(axis=1))[users], (0.1, 0.9)):
        each = users[user]
        cases += [_cases(CUT, each, full[each, : sizes[each]], f1[CUT][each]),
                  _cases(FILLED, each, found[each], f1[FILLED][each])]  # fmt: skip
    return {"samples": pl.concat(parts), "cases": pl.DataFrame(cases)}


def _at(order: AnyArray, with_hit: AnyArray, shares: Sequence[float]) -> list[int]:
    """Places in an order of users, of those with a hit where there are any."""
    met = order[with_hit[order]] if with_hit.any() else order
    return [int(met[int(share * (len(met) - 1))]) for share in shares]


# --- one page for several domains ------------------------------------------------------------------------------------

SHOPS, SIMULATED, CIAO, FOUR = "amazon-crossdomain", "simulator", "ciao", "four domains"
_DOMAINS = 4
_PAIRS = ("sport-phone", "electronic-phone", "sport-cloth", "electronic-cloth")
_WORLD: dict[Scale, dict[str, int]] = {
    "quick": {"n_users": 1_000, "n_items": 600}, "full": {"n_users": 2_000, "n_items": 1_200},
}  # fmt: skip
_ALS = {"factors": 64, "iterations": 20, "regularization": 0.1, "alpha": 10.0}  # not tuned: all pages have its lists


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
    sizes = {EQUAL: lists.equal(), FREE: lists.shared(), FULL: lists.shared(fill=True)}
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


def _simulated(world: dict[str, int], seed: int) -> tuple[ScoreSource, Split, AnyArray]:
    drawn = simulate(SimulatorSettings(**world, seed=seed))
    split = by_ratio(Interactions.from_matrix((drawn.train + drawn.held_out).tocsr()), seed=seed)
    return svd_source(split.train, n_factors=7, seed=seed), split, np.array(drawn.domains)[drawn.item_domain]


def _shops(bench: Workbench, data: str, pair: str, seed: int, source: str) -> tuple[ScoreSource, Split, AnyArray]:
    split = bench.split(data, "ratio", seed=seed, pair=pair)
    domains = split.train.item_domain
    assert domains is not None
    scores = als_source(split, _ALS, seed) if source == "als" else svd_source(split.train, n_factors=64, seed=seed)
    return scores, split, domains.to_numpy()


def _categories(bench: Workbench, seed: int) -> tuple[ScoreSource, Split, AnyArray]:
    """BPR on the four largest categories of Ciao, for users who reviewed items of all four."""
    from sureness.models import make_recommender

    log = load_dataset(CIAO, bench.shelf.place(CIAO), domains=True).interactions
    assert log.item_domain is not None
    of_pair = log.item_domain.to_numpy()[log.item_rows]
    names, counts = np.unique(of_pair, return_counts=True)
    largest = names[np.argsort(-counts, kind="stable")[:_DOMAINS]]
    log, of_pair = log.keep(np.isin(of_pair, largest)), of_pair[np.isin(of_pair, largest)]
    pairs = pl.DataFrame({"user": log.user_rows, "domain": of_pair})
    known = pairs.select(pl.col("domain").n_unique().over("user")).to_series().to_numpy()
    split = prepare(log.keep(known == _DOMAINS).compact(), "ratio", seed=seed, per_user=20, positive_above=None)
    domains = split.train.item_domain
    assert domains is not None
    model = make_recommender("bpr", popularity=0.5, seed=seed).fit(split.train, split.validation)
    return model, split, domains.to_numpy()


def _shared_cases(lists: DomainLists, sizes: dict[str, AnyArray], worth: dict[str, FloatArray]) -> list[dict[str, Any]]:
    """Two users with a hit, in the middle and at nine tenths of the order by how uneven their pages are."""
    order = np.lexsort((lists.users, sizes[FREE].max(axis=1) - sizes[FREE].min(axis=1)))
    met = (worth[EQUAL] + worth[FREE]).sum(axis=1) > 0
    return [
        _cases(page, lists.users[user], lists.hits[user, column, : sizes[page][user, column]],
               worth[page][user, column], domain=str(domain))
        for user in _at(order, met, (0.5, 0.9))
        for column, domain in enumerate(lists.domains)
        for page in (EQUAL, FREE)
    ]  # fmt: skip


def _filled_settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    return with_recipe(scale, point, slots=TRENDING_SLOTS)


def _shared_settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """Pairs of shops belong to the shops, four domains to the simulator and to Ciao."""
    if (point["data"] == SHOPS) != (point["domains"] != FOUR):
        return None
    world = _WORLD[scale] if point["data"] == SIMULATED else {}
    source = "als" if point["data"] == SHOPS and als_is_here() else "svd"
    return {"world": world, "slots": SHARED_SLOTS, "source": source}


_FILLED_GRID: dict[str, Any] = {"data": SMALL, "model": ["bpr"], "seed": SEEDS}
_SHARED_GRID: dict[str, Any] = {
    "data": {"quick": (SIMULATED, SHOPS), "full": (SIMULATED, SHOPS, CIAO)}, "seed": SEEDS,
    "domains": {"quick": (FOUR, _PAIRS[0]), "full": (FOUR, *_PAIRS)},
}  # fmt: skip
_CASE_NOTE = "Labels: how many items, and 1 for each relevant one in the order of the page. First split."

STUDIES = (
    Study(
        name="trending-filler", number="figure-4.6", title="Personal items, then trending ones", measure=pages_filled,
        settings=_filled_settings, grid=_FILLED_GRID, rows=("page",),
        claims=(Claim("F1 of the personal items rises when they are cut", "f1", {"page": CUT}, {"page": PERSONAL}),
                Claim("a filled page has more hits than a personal one", "hits", {"page": FILLED}, {"page": PERSONAL},
                      claimed=False)),
        note="Pages of 20 slots, sizes for F1. Trending: the items with most interactions before the test that the "
        "user has not seen.",
    ),
    Study(
        name="multi-domain", number="figure-4.6", title="One page for several domains", measure=pages_shared,
        settings=_shared_settings, grid=_SHARED_GRID, rows=("page",),
        claims=[Claim("a shared page is worth more than equal shares", "mean f1", {"page": page}, {"page": EQUAL}, "+",
                      ("data", "domains"), claimed=page == FREE) for page in (FREE, FULL)],
        note="Pages of 40 slots; F1 added up over domains, and averaged as in the dissertation. The four largest "
        "categories of Ciao (BPR), pairs of Amazon shops (ALS) and a simulated world (SVD) stand for the four domains "
        "of the dissertation, which cannot be had.",
    ),
    Study(
        name="trending-cases", number="figure-4.6", title="Two users, personal items and trending ones",
        measure=pages_filled, settings=_filled_settings, grid=_FILLED_GRID | {"seed": [0]}, numbers="cases",
        rows=("user", "page", "labels"), note=_CASE_NOTE,
    ),
    Study(
        name="multi-domain-cases", number="figure-4.6", title="Two users, one page for several domains",
        measure=pages_shared, settings=_shared_settings, grid=_SHARED_GRID | {"seed": [0]}, numbers="cases",
        rows=("user", "domain", "page", "labels"), note=_CASE_NOTE,
    ),
)  # fmt: skip
