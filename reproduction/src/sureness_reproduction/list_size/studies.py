"""The studies of chapter 4: the utility tables, what explains them, what personal sizes cost and are used for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sureness import plots
from sureness.workflows import REFERENCE
from sureness_reproduction.base_models import split_options, statistics
from sureness_reproduction.list_size import pages, perk, utility
from sureness_reproduction.list_size.cutting import PUBLIC_CODE, WITH_ITEMS
from sureness_reproduction.list_size.perk import DEFAULT, OURS, PUBLISHED
from sureness_reproduction.list_size.runs import DATA, MAX_SIZE, SEEDS, SMALL, UTILITIES, with_recipe
from sureness_reproduction.list_size.utility import FIXED, GROUPS, settings
from sureness_reproduction.results import Results
from sureness_reproduction.study import Axis, Claim, Scale, Study

_BEATEN: dict[str, Any] = {
    "personal sizes beat every fixed size": tuple(FIXED), "and Val-k": "Val-k", "and AttnCut": "AttnCut",
    "and MtCut": "MtCut", "and MtCut as its public code has it": PUBLIC_CODE,
    "and the best size of the past": REFERENCE,
}  # fmt: skip
_CLAIMS = [
    Claim(f"{text} ({form})", each, {"method": form}, {"method": others},
          claimed=form == PUBLISHED and others != REFERENCE)
    for form in (PUBLISHED, OURS, DEFAULT) for each in UTILITIES for text, others in _BEATEN.items()
]  # fmt: skip
_NOTE = (
    "Mean utility of test lists over users and splits ± deviation over splits / the published number. 60/20/20 of each "
    "user's interactions, lists of up to 50 items. PerK as published: a map for each user over all candidates and the "
    "dissertation's approximate utility with M = 2,000; notebook: probabilities times (sum p + sum p of the validation "
    "items) / sum p, and M = 3,000. Shrunk line: maps on the best candidates, exact utility; default: the same with a "
    "learned shape. Best fixed k: the one size that was best on validation. AttnCut and MtCut: the best of twelve "
    "settings for each utility, chosen with BPR on held-out users of the first split's validation lists."
)
_ONE: Axis = {"quick": SMALL["quick"][:1], "full": ["citeulike-a"]}


def _grid(data: Axis, *models: str, **axes: Axis) -> dict[str, Axis]:
    return {"data": data, "model": models or ("bpr",), **axes, "seed": SEEDS}


def _study(name: str, number: str, title: str, grid: dict[str, Axis], **more: Any) -> Study:
    fields: dict[str, Any] = {"settings": settings, "metrics": UTILITIES} | more
    return Study(name, number, title, grid, utility.utilities, **fields)


_UTILITY = (
    *(
        _study(f"list-size-{model}", number, f"List sizes with {title}", published="list-size", claims=_CLAIMS,
               note=_NOTE, grid=_grid(DATA[model], model, methods={"quick": GROUPS, "full": [*GROUPS, [PUBLIC_CODE]]}))
        for model, number, title in (("bpr", "table-4.4", "BPR"), ("neumf", "table-4.5", "NCF"),
                                     ("lightgcn", "table-4.6", "LightGCN"), ("als", "", "ALS"))
    ),
    _study("list-size-100", "", "Lists of up to 100 items, BPR", _grid(_ONE, methods=GROUPS[:3]),
           settings=partial(settings, max_size=100),
           note="The dissertation tried 100 and saw a similar gain, without numbers."),
    _study("cut-features", "", "Item embeddings as input of AttnCut, BPR",
           _grid(_ONE, methods=[["AttnCut"], [WITH_ITEMS]]),
           claims=[Claim("item embeddings help AttnCut", each, {"method": WITH_ITEMS}, {"method": "AttnCut"},
                         claimed=False) for each in UTILITIES],
           note="The dissertation tried item embeddings as additional input and saw no gain, without numbers."),
    _study("summation-bound", "figure-4.5", "How far to sum: the study of M",
           _grid({"quick": ["ml-100k"], "full": SMALL["full"]}, methods=[[*map(str, perk.TERMS), perk.EXACT]]),
           metrics=("ndcg", "items, ndcg", "f1", "items, f1"),
           note="Rows: M, with the dissertation's own maps; it says that M = 2,000 is enough. Items: mean size."),
    Study(
        "list-size-calibration", "table-4.2", "What calibration is worth for list sizes",
        _grid({"quick": ("ml-100k",), "full": SMALL["full"]},
              methods=[[perk.UNCALIBRATED, perk.GLOBAL, perk.USER_WISE, OURS, DEFAULT]])
        | {"model": {"quick": ("neumf", "bpr"), "full": ("neumf", "bpr", "lightgcn", "als")}},
        utility.by_calibration, partial(with_recipe, max_size=MAX_SIZE), "list-size-calibration",
        rows=("calibration",), digits=5,
        claims=[
            Claim(f"a map for each user beats {text}", each, {"calibration": perk.USER_WISE}, {"calibration": other})
            for text, other in (("one map for all", perk.GLOBAL), ("none", perk.UNCALIBRATED)) for each in UTILITIES
        ],
        note="ECE with 15 bins over all candidates, as in the dissertation, and over each user's first 50, of which "
        "lists are made. Uncalibrated, global and user-wise have one form: fitted on all candidates, exact expected "
        "utility. Uncalibrated: the sigmoid of the score. The dissertation has NCF only.",
    ),
)  # fmt: skip

# --- how long the lists are -------------------------------------------------------------------------------------------


def _draw_sizes(results: Results) -> Any:
    """The distributions of the first data set, for F1."""
    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0])
    drawn = {name: first.filter(method=name)["size"].to_numpy() for name in (OURS, "Oracle", "MtCut", PUBLISHED)}
    there = {name: some for name, some in drawn.items() if len(some)}
    return plots.draw_size_distributions(plots.prepare_size_distributions(there))


def _draw_degrees(results: Results) -> Any:
    """Degree and size of the first data set and split, for F1."""
    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0], seed=0, method=PUBLISHED)
    return plots.draw_size_by_degree(plots.prepare_size_by_degree(first["size"].to_numpy(), first["degree"].to_numpy()))


def _of_groups(groups: list[list[str]], scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    found = settings(scale, {**point, "methods": [name for group in groups for name in group]})
    return None if found is None else {"recipe": found["recipe"], "cuts": found["cuts"], "groups": groups}


_SIZES = (
    statistics("list-size-data", "table-4.1", DATA["bpr"],
               lambda data: {"protocol": "ratio", **split_options(data, "ratio")}),
    Study(
        "size-distributions", "figure-4.2", "Distribution of list sizes, BPR", _grid(SMALL), utility.sizes_described,
        partial(_of_groups, GROUPS), draw=_draw_sizes, digits=3,
        claims=(Claim("MtCut's sizes lie within 10 to 20 (MovieLens 25M, Amazon Books)", "share within 10 to 20",
                      {"method": "MtCut", "utility": "f1"}, 0.5),
                *(Claim("PerK is closer to Oracle's sizes than MtCut" + text, "distance to Oracle",
                        {"method": form, "utility": "f1"}, {"method": "MtCut", "utility": "f1"}, "-", claimed=not text)
                  for form, text in ((PUBLISHED, ""), (OURS, ", shrunk line"), (DEFAULT, ", default")))),
        note="Over the users of each split. Distance to Oracle: half the sum of the differences of the shares of all "
        "sizes. The dissertation shows MovieLens 25M (figure 4.2) and Amazon Books (figure 4.3).",
    ),
    Study(
        "degree-and-size", "figure-4.4", "User degree and personal list size, BPR", _grid(SMALL),
        utility.size_by_degree, partial(_of_groups, GROUPS[:3]), draw=_draw_degrees, rows=("utility", "method"),
        digits=3,
        claims=(Claim("list sizes grow with the degree", "Pearson r", {"utility": "f1"}, 0.0, "+",
                      ("data", "model", "method")),),
        note="Correlation over users. Degree: interactions in train and validation.",
    ),
    Study(
        "list-size-space-time", "table-4.3", "What personal list sizes cost",
        _grid({"quick": ["ml-100k"], "full": DATA["neumf"]["full"]}, "bpr", "neumf", "lightgcn") | {"seed": [0]},
        pages.serving_measured, with_recipe, "list-size-space-time", rows=("model", "method"), digits=3,
        claims=(Claim("inference takes about 10% more time (at most 15%)", "time", {"method": pages.MORE}, 0.15, "-"),),
        note="Parameters in million; milliseconds a user, the median of nine rounds on one thread. Published times are "
        "those of a GPU: compare the increase. What PerK adds does not grow with the number of items.",
    ),
)  # fmt: skip

# --- pages and budgets ------------------------------------------------------------------------------------------------

_FILLED = _grid(SMALL)
_SHOPS = ("sport-phone", "electronic-phone", "sport-cloth", "electronic-cloth")
_SHARED: dict[str, Axis] = {
    "data": {"quick": (pages.SIMULATED, pages.SHOPS), "full": (pages.SIMULATED, pages.SHOPS, pages.CIAO)},
    "seed": SEEDS, "domains": {"quick": (pages.FOUR, _SHOPS[0]), "full": (pages.FOUR, *_SHOPS)},
}  # fmt: skip
_BUDGETS = _grid({"quick": ("ml-100k",), "full": ("citeulike-a", "amazon-music", "ml-1m")})
_CASE_NOTE = "Labels: how many items, and 1 for each relevant one in the order of the page. First split."
_fill = partial(with_recipe, slots=20)
_spend = partial(with_recipe, each=[1, 2, 5, 10, 20])  # items per user that the budget pays for


def _better(text: str, metric: str, key: str, first: str, second: str, *per: str, claimed: bool = False) -> Claim:
    return Claim(text, metric, {key: first}, {key: second}, "+", per, claimed=claimed)


_PAGES = (
    Study(
        "trending-filler", "figure-4.6", "Personal items, then trending ones", _FILLED, pages.pages_filled, _fill,
        rows=("page",),
        claims=(_better("F1 of the personal items rises when they are cut", "f1", "page", pages.CUT,
                        pages.PERSONAL_PAGE, "data", "model", claimed=True),
                _better("a filled page has more hits than a personal one", "hits", "page", pages.FILLED,
                        pages.PERSONAL_PAGE, "data", "model")),
        note="Pages of 20 slots, sizes for F1. Trending: the items with most interactions before the test that the "
        "user has not seen.",
    ),
    Study(
        "multi-domain", "figure-4.6", "One page for several domains", _SHARED, pages.pages_shared,
        pages.shared_settings, rows=("page",),
        claims=[_better("a shared page is worth more than equal shares", "mean f1", "page", page, pages.EQUAL_SHARES,
                        "data", "domains", claimed=page == pages.FREE) for page in (pages.FREE, pages.FULL)],
        note="Pages of 40 slots; F1 added up over domains, and averaged as in the dissertation. The four largest "
        "categories of Ciao (BPR), pairs of Amazon shops (ALS) and a simulated world (SVD) stand for the four domains "
        "of the dissertation, which cannot be had.",
    ),
    Study(
        "trending-cases", "figure-4.6", "Two users, personal items and trending ones", _FILLED | {"seed": [0]},
        pages.pages_filled, _fill, numbers="cases", rows=("user", "page", "labels"), note=_CASE_NOTE,
    ),
    Study(
        "multi-domain-cases", "figure-4.6", "Two users, one page for several domains", _SHARED | {"seed": [0]},
        pages.pages_shared, pages.shared_settings, numbers="cases", rows=("user", "domain", "page", "labels"),
        note=_CASE_NOTE,
    ),
    Study(
        "budget", "", "Sponsored slots: one budget for all users, BPR", _BUDGETS, pages.slots_sold, _spend,
        rows=("slots per user", "sizes"), metrics=pages.BUDGET_UTILITIES,
        claims=[_better("personal sizes are worth more than equal ones", each, "sizes", pages.PERSONAL, pages.EQUAL,
                        "data", "model", "slots per user") for each in pages.BUDGET_UTILITIES],
        note="Mean utility per user where all users together have a number of slots; sizes from 0 to 50. Personal: "
        "`allocate_budget` on the expected utility of the library's default maps. The dissertation names the case "
        "(sponsored slots) without numbers.",
    ),
    Study(
        "prefetch", "", "Prefetching: one cache for all users, BPR", _BUDGETS | {"bytes_of_items": list(pages.BYTES)},
        pages.items_cached, _spend, rows=("items per user", "sizes"),
        claims=[_better(text, "hits", "sizes", name, pages.EQUAL, "data", "model", "bytes_of_items", "items per user")
                for name, text in ((pages.PERSONAL, "personal sizes hit more often than equal ones"),
                                   (pages.ANYWHERE, "the best items per byte hit more often than equal sizes"))],
        note="A cache for this many items of average bytes per user. Hit share: of a user's relevant items. Bytes: "
        "what is used per user, in those of an average item. Personal: `allocate_budget` on expected hits, with bytes "
        "as costs. Bytes of items are drawn (log-normal with deviation 1) or equal; logs do not have them.",
    ),
)  # fmt: skip

STUDIES = (*_UTILITY, *_SIZES, *_PAGES)
