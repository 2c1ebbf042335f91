"""The single-domain case: as many personal items as are worth showing, and trending ones in the slots that remain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sureness.data import Interactions
from sureness.evaluation import top_blocks
from sureness.list_size import ExpectedUtility, Pages, fill_with_trending
from sureness.metrics import at_sizes, utility_at_every_size
from sureness.numerics import members
from sureness.pipeline import ConfidentRecommender
from sureness.sources import fitted_to
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import paired, spread
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.grid import DATA as _BASE_DATA
from sureness_reproduction.list_size.grid import has_cuts, title
from sureness_reproduction.list_size.runs import SEEDS, Recipe, needs_base, opened, recipe_of
from sureness_reproduction.list_size.showing import put_first, where_data
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.types import BoolArray, FloatArray, IntArray
from sureness_reproduction.workbench import Workbench

SLOTS = 20
_MODEL = "bpr"
_DATA: dict[Scale, Sequence[str]] = {
    scale: [name for name in names if has_cuts(name)] for scale, names in _BASE_DATA[_MODEL].items()
}
_COLUMNS = {
    "size": "personal items", "f1_cut": "F1 of the personal items", "f1_full": "F1 of a personal page",
    "f1_page": "F1 of the filled page", "hits_page": "hits of the filled page", "hits_full": "hits of a personal page",
    "hits_trending": "of which trending",
}  # fmt: skip


@work(needs=needs_base, judges=True, cost=6, version=2)
def pages_filled(bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int, slots: int) -> Tables:
    """Pages with personal sizes for F1 and trending items behind, against pages that are personal to the last slot."""
    run = opened(bench, data, model, recipe, seed)
    assert run.validation is not None
    assert run.test is not None
    policy = ExpectedUtility("f1", max_size=slots)
    recommender = ConfidentRecommender(run.source, policy=policy).fit(run.train, run.validation)
    test = fitted_to(run.source, run.test, "test")
    lists = recommender.lists(labels=test)
    blocks = top_blocks(run.source, np.arange(run.source.n_users), lists.width, recommender.seen_)
    items = np.concatenate([items for _, items, _ in blocks])
    pages = _filled(items, policy.sizes(lists), recommender.seen_, slots)
    values = judged(pages, np.asarray(lists.hits), _labels(pages.items, test), np.asarray(lists.n_relevant))
    cases = _cases(values, pages, np.asarray(lists.probabilities), test, _titles(run.train))
    return {"values": values, "cases": cases}


def _filled(items: IntArray, sizes: IntArray, seen: Interactions, slots: int) -> Pages:
    """The most popular items of the time before the test trend."""
    trending = np.argsort(-seen.item_degree, kind="stable")
    return fill_with_trending(items, sizes, trending, slots, seen=(seen.row_starts, seen.item_rows))


def _labels(items: IntArray, test: Interactions) -> BoolArray:
    return np.asarray(members(items, np.arange(len(items)), test.row_starts, test.item_rows) & (items >= 0))


def judged(pages: Pages, full: BoolArray, found: BoolArray, n_relevant: IntArray) -> pl.DataFrame:
    """What both pages were worth to each user with a relevant item.

    Parameters
    ----------
    pages : Pages
    full : array of shape (n_users, slots)
        Hits of the page that is personal to the last slot.
    found : array of shape (n_users, slots)
        Hits of the filled page.
    n_relevant : array of shape (n_users,)
    """
    sizes = pages.personal.sum(axis=1)
    own, both = (utility_at_every_size(hits, n_relevant, "f1") for hits in (full, found))
    every = np.full(len(sizes), full.shape[1])
    table = pl.DataFrame({
        "user": np.arange(len(sizes)), "size": sizes, "f1_cut": at_sizes(own, sizes), "f1_full": at_sizes(own, every),
        "f1_page": at_sizes(both, every), "hits_full": full.sum(axis=1), "hits_page": found.sum(axis=1),
        "hits_trending": (found & ~pages.personal).sum(axis=1),
    })  # fmt: skip
    return table.filter(n_relevant > 0)


def _titles(train: Interactions | None) -> list[str]:
    """What each item is called, where that is known."""
    assert train is not None
    names = train.items.at(np.arange(train.n_items))
    features = train.item_features
    if features is not None and "title" in features.columns:
        return [str(title) if title else f"item {name}" for title, name in zip(features["title"], names, strict=True)]
    return [f"item {name}" for name in names]


def _cases(
    values: pl.DataFrame, pages: Pages, probabilities: FloatArray, test: Interactions, titles: Sequence[str]
) -> pl.DataFrame:
    """The pages of two users with a hit: one with few personal items, one with many."""
    met = values.filter((pl.col("hits_full") > 0) | (pl.col("hits_page") > 0))
    ordered = (met if met.height else values).sort("size", "user")
    rows: list[dict[str, Any]] = []
    for share in (0.1, 0.9):
        case = ordered.row(int(share * (ordered.height - 1)), named=True)
        user, page = case["user"], pages.items[case["user"]]
        relevant = np.isin(page, test.items_of(user))
        for rank, item in enumerate(page):
            personal = bool(pages.personal[user, rank])
            rows.append({
                "user": user, "f1_cut": case["f1_cut"], "f1_full": case["f1_full"], "rank": rank + 1,
                "item": titles[item] if item >= 0 else "", "personal": personal, "relevant": bool(relevant[rank]),
                "probability": float(probabilities[user, rank]) if personal else None,
            })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("item") != "")


# --- the experiment -------------------------------------------------------------------------------------------------


def _cell(plan: Plan, data: str, seed: int) -> Cell:
    recipe = recipe_of(data, _MODEL, plan.scale)
    return pages_filled.cell(data=data, model=_MODEL, recipe=recipe, seed=seed, slots=SLOTS)


def _cells(plan: Plan) -> Sequence[Cell]:
    return [_cell(plan, data, seed) for data in plan.data for seed in plan.seeds]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    rows, tidy, cases, findings = [], [], [], []
    for data in plan.data:
        cells = [_cell(plan, data, seed) for seed in plan.seeds]
        parts = [find(cell).table("values").with_columns(seed=pl.lit(cell["seed"])) for cell in cells]
        values = pl.concat(parts)
        means = values.group_by("seed", maintain_order=True).agg(pl.col(*_COLUMNS).mean())
        rows.append({"data": title(data), **{told: spread(means[name], 3) for name, told in _COLUMNS.items()}})
        tidy.append(put_first(means.unpivot(index="seed", variable_name="measure"), "data", data))
        cases.append(put_first(find(cells[0]).table("cases"), "data", title(data)))
        findings += told(data, values)
    caption = (f"Pages of {SLOTS} slots, BPR, sizes for F1; mean ± deviation over splits. A personal page shows the "
               "user's own items in every slot.")  # fmt: skip
    return Outcome(
        tables=[
            ResultTable("pages", "Personal items and trending ones on one page", pl.DataFrame(rows), caption,
                        tidy=pl.concat(tidy)),
            ResultTable("cases", "Two users", _shown(pl.concat(cases)),
                        "First split. Of the users with a hit, those at a tenth and at nine tenths of the order by "
                        "size. 1: relevant, 0: not, in the order of the page; none: no slot is left. The file has the "
                        "items with their probabilities.", tidy=pl.concat(cases)),
        ],
        findings=findings,
        notes=["Trending: the items with most interactions in train and validation that the user has not seen."],
    )  # fmt: skip


def told(data: str, values: pl.DataFrame) -> list[str]:
    """Sentences: what cutting gains in F1 of the personal items, and what filling costs in hits."""

    def gain(first: str, second: str) -> tuple[float, float]:
        of = [values.select("user", "seed", pl.col(name).cast(pl.Float64).alias("value")) for name in (first, second)]
        return paired(*of)

    cut, p_cut = gain("f1_cut", "f1_full")
    hits, p_hits = gain("hits_page", "hits_full")
    free = SLOTS - float(values["size"].mean() or 0.0)  # type: ignore[arg-type]
    verdict = "rises" if cut > 0 and p_cut < 0.05 else "falls" if cut < 0 and p_cut < 0.05 else "stays level"
    return [
        f"{title(data)}: F1 of the personal items {verdict} when they are cut ({cut:+.4f}, p {p_cut:.1g}), and "
        f"{free:.1f} of {SLOTS} slots go to trending items. The filled page has {hits:+.3f} hits against a page that "
        f"is personal throughout (p {p_hits:.1g}).",
    ]


def _shown(cases: pl.DataFrame) -> pl.DataFrame:
    """The labels of both parts of the page, and how the personal part begins; one row per user."""
    rows = []
    for (data, user), page in cases.group_by("data", "user", maintain_order=True):
        own, rest = page.filter("personal"), page.filter(~pl.col("personal"))
        rows.append({
            "data": data, "user": str(user), "personal": _marks(own), "trending": _marks(rest),
            "F1 of the personal items": f"{abs(page['f1_cut'][0]):.3f}",
            "F1 of a personal page": f"{abs(page['f1_full'][0]):.3f}",
            "the page begins with": "; ".join(page["item"].head(3)),
        })  # fmt: skip
    return pl.DataFrame(rows)


def _marks(part: pl.DataFrame) -> str:
    """How many items, and which of them are relevant."""
    return f"{part.height}: {''.join(str(int(hit)) for hit in part['relevant'])}" if part.height else "none"


EXPERIMENTS = (
    Experiment(
        name="trending-filler", chapter=4, title="Personal items, then trending ones",
        shows="the case study of one domain", data=_DATA, cells=_cells, outcome=where_data(_outcome), seeds=SEEDS,
    ),
)  # fmt: skip
