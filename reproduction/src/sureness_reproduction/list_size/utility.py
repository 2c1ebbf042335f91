"""What every method that chooses list sizes is worth on each recommender: the utility tables and what explains them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sureness.list_size import Lists, ListSizePolicy
from sureness.metrics import at_sizes, utility_at_every_size
from sureness.workflows import REFERENCE, baselines
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size import perk, runs
from sureness_reproduction.list_size.cutting import CUTS, PUBLIC_CODE, WITH_ITEMS, cut_cells, cuts_of
from sureness_reproduction.list_size.perk import DEFAULT, NOTEBOOK, OURS, PUBLISHED
from sureness_reproduction.list_size.runs import DATA, MAX_SIZE, SEEDS, SMALL, UTILITIES
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.types import IntArray
from sureness_reproduction.workbench import Workbench

FIXED = [f"Top-{size}" for size in (1, 5, 10, 20, 50)]
PLAIN = ["Oracle", *FIXED, "Rand", REFERENCE, "Val-k"]  # need no training
GROUPS = [[*PLAIN, OURS], [DEFAULT], [PUBLISHED, NOTEBOOK], ["AttnCut", "MtCut"]]
"""What one cell judges together."""


def needs_cuts(*, methods: list[str], cuts: dict[str, Any], **run: Any) -> Iterable[Cell]:
    """The recommender, and the sizes that learned methods choose on it."""
    yield runs.base(**run)
    yield from cut_cells(methods=methods, cuts=cuts, utilities=UTILITIES, **run).values()


@work(needs=needs_cuts, judges=True, cost=15, version=2)
def utilities(bench: Workbench, *, methods: list[str], cuts: dict[str, Any], max_size: int, **run: Any) -> Tables:
    """The utility and the number of items of every user's list by a group of methods."""
    made, parts = runs.opened(bench, **run), []
    if cells := cut_cells(methods=methods, cuts=cuts, utilities=UTILITIES, max_size=max_size, **run):
        lists = runs.ranked(made.source, made.seen, max_size, made.split.test)
        for utility in UTILITIES:
            found = {name: bench.found(cell).table("sizes") for (by, name), cell in cells.items() if by == utility}
            parts.append(_long({name: each["size"].to_numpy() for name, each in found.items()}, lists, utility))
    plain = [name for name in methods if name in PLAIN]
    forms = [name for name in methods if name not in PLAIN and name not in CUTS]
    for fitted in perk.fitted_forms(made, forms, max_size):
        own, before = perk.own_policy(fitted.method), None
        if plain or own:
            before = fitted.recommender.validation_lists(made.split.train, made.split.validation)
        for utility in UTILITIES:
            there = baselines(utility, max_size, before) if before is not None else {}
            chosen = _own(own, utility, max_size, before) if own else fitted.form.policy(utility, max_size)
            policies = {name: there[name] for name in plain} | {fitted.method: chosen}
            sizes = {name: policy.sizes(fitted.lists) for name, policy in policies.items()}
            parts.append(_long(sizes, fitted.lists, utility))
    return {"samples": pl.concat(parts)}


def _own(own: type[ListSizePolicy], utility: str, max_size: int, before: Lists | None) -> ListSizePolicy:
    """A policy of one's own with as much as it takes of utility and longest list, fitted to past lists."""
    takes = inspect.signature(own).parameters
    made = own(**{name: value for name, value in (("utility", utility), ("max_size", max_size)) if name in takes})
    return made if before is None else made.fit(before)


def _long(sizes: Mapping[str, IntArray], lists: Lists, utility: str) -> pl.DataFrame:
    """Utility and number of items by method and user."""
    worth = utility_at_every_size(np.asarray(lists.hits), np.asarray(lists.n_relevant), utility)
    return pl.concat([
        runs.judged(lists, {"method": name}, {utility: at_sizes(worth, some), items_by(utility): some})
        for name, some in sizes.items()
    ])  # fmt: skip


def items_by(utility: str) -> str:
    """The metric that counts the items of lists made for a utility."""
    return f"items, {utility}"


@work(needs=runs.needs_base, judges=True, cost=20, version=2)
def by_calibration(bench: Workbench, *, methods: list[str], max_size: int, **run: Any) -> Tables:
    """Calibration errors over all candidates and the longest lists, and the utility of every user."""
    made, numbers, samples = runs.opened(bench, **run), [], []
    for fitted in perk.fitted_forms(made, methods, max_size):
        sizes = {utility: fitted.form.policy(utility, max_size).sizes(fitted.lists) for utility in UTILITIES}
        judged = pl.concat([_long({fitted.method: some}, fitted.lists, utility) for utility, some in sizes.items()])
        judged = judged.rename({"method": "calibration"}).filter(pl.col("metric").is_in(UTILITIES))
        means = judged.group_by("calibration", "metric", maintain_order=True).agg(pl.col("value").mean())
        errors = perk.calibration_of(fitted, made.split.test)
        numbers += [{"calibration": fitted.method, "metric": name, "value": value} for name, value in errors.items()]
        numbers += means.to_dicts()
        samples.append(judged)
    return {"numbers": pl.DataFrame(numbers), "samples": pl.concat(samples)}


# --- the studies -----------------------------------------------------------------------------------------------------


def settings(scale: Scale, point: Mapping[str, Any], *, max_size: int = MAX_SIZE) -> dict[str, Any] | None:
    """How the recommender and the learned methods are trained; these are left out on large data."""
    learned = bool(set(point["methods"]) & set(CUTS))
    if learned and point["data"] == "amazon-book-kgat":
        return None
    return runs.with_recipe(scale, point, cuts=cuts_of(point["data"], scale) if learned else {}, max_size=max_size)


def _claims(form: str, *, claimed: bool) -> Iterator[Claim]:
    for utility in UTILITIES:
        for text, others, said in (
            ("personal sizes beat every fixed size", tuple(FIXED), claimed),
            ("and Val-k", "Val-k", claimed),
            ("and AttnCut", "AttnCut", claimed),
            ("and MtCut", "MtCut", claimed),
            ("and MtCut as its public code has it", PUBLIC_CODE, claimed),
            ("and the best size of the past", REFERENCE, False),
        ):
            yield Claim(f"{text} ({form})", utility, {"method": form}, {"method": others}, claimed=said)


CLAIMS = (*_claims(PUBLISHED, claimed=True), *_claims(OURS, claimed=False), *_claims(DEFAULT, claimed=False))
_NOTE = (
    "Mean utility of test lists over users and splits ± deviation over splits / the published number. 60/20/20 of each "
    "user's interactions, lists of up to 50 items. PerK as published: a map for each user over all candidates and the "
    "dissertation's approximate utility with M = 2,000; notebook: probabilities times (sum p + sum p of the validation "
    "items) / sum p, and M = 3,000. Shrunk line: maps on the best candidates, exact utility; default: the same with a "
    "learned shape. Best fixed k: the one size that was best on validation. AttnCut and MtCut: the best of twelve "
    "settings for each utility, chosen with BPR on held-out users of the first split's validation lists."
)


def _study(name: str, number: str, title: str, *, methods: Any, data: Any, model: str = "bpr", **more: Any) -> Study:
    fields: dict[str, Any] = {"settings": settings, "metrics": UTILITIES} | more
    return Study(
        name=name, number=number, title=title, measure=utilities,
        grid={"data": data, "model": [model], "methods": methods, "seed": SEEDS}, **fields,
    )  # fmt: skip


_FULL: Mapping[Scale, Sequence[list[str]]] = {"quick": GROUPS, "full": [*GROUPS, [PUBLIC_CODE]]}
_ONE = {"quick": SMALL["quick"][:1], "full": ["citeulike-a"]}
STUDIES = (
    *(
        _study(f"list-size-{model}", number, f"List sizes with {title}", methods=_FULL, data=DATA[model], model=model,
               published="list-size", claims=CLAIMS, note=_NOTE)
        for model, number, title in (("bpr", "table-4.4", "BPR"), ("neumf", "table-4.5", "NCF"),
                                     ("lightgcn", "table-4.6", "LightGCN"), ("als", "", "ALS"))
    ),
    _study("list-size-100", "", "Lists of up to 100 items, BPR", methods=GROUPS[:3], data=_ONE,
           settings=lambda scale, point: settings(scale, point, max_size=100),
           note="The dissertation tried 100 and saw a similar gain, without numbers."),
    _study("cut-features", "", "Item embeddings as input of AttnCut, BPR", methods=[["AttnCut"], [WITH_ITEMS]],
           data=_ONE, claims=[
               Claim("item embeddings help AttnCut", utility, {"method": WITH_ITEMS}, {"method": "AttnCut"},
                     claimed=False) for utility in UTILITIES],
           note="The dissertation tried item embeddings as additional input and saw no gain, without numbers."),
    _study("summation-bound", "figure-4.5", "How far to sum: the study of M",
           methods=[[*map(str, perk.TERMS), perk.EXACT]], metrics=("ndcg", items_by("ndcg"), "f1", items_by("f1")),
           data={"quick": ["ml-100k"], "full": [name for name in DATA["bpr"]["full"] if name != "amazon-book-kgat"]},
           note="Rows: M, with the dissertation's own maps; it says that M = 2,000 is enough. Items: mean size."),
    Study(
        name="list-size-calibration", number="table-4.2", title="What calibration is worth for list sizes",
        measure=by_calibration, settings=lambda scale, point: runs.with_recipe(scale, point, max_size=MAX_SIZE),
        published="list-size-calibration", rows=("calibration",), digits=5,
        grid={"data": {"quick": ("ml-100k",), "full": SMALL["full"]},
              "model": {"quick": ("neumf", "bpr"), "full": ("neumf", "bpr", "lightgcn", "als")},
              "methods": [[perk.UNCALIBRATED, perk.GLOBAL, perk.USER_WISE, OURS, DEFAULT]], "seed": SEEDS},
        claims=[
            Claim(f"a map for each user beats {text}", utility, {"calibration": perk.USER_WISE}, {"calibration": other})
            for text, other in (("one map for all", perk.GLOBAL), ("none", perk.UNCALIBRATED)) for utility in UTILITIES
        ],
        note="ECE with 15 bins over all candidates, as in the dissertation, and over each user's first 50, of which "
        "lists are made. Uncalibrated, global and user-wise have one form: fitted on all candidates, exact expected "
        "utility. Uncalibrated: the sigmoid of the score. The dissertation has NCF only.",
    ),
)  # fmt: skip
