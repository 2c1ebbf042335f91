"""The utility tables: every method that chooses list sizes, on each recommender, beside the published numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from sureness.list_size import ExpectedUtility, Lists, ListSizePolicy, compare_policies
from sureness.workflows import REFERENCE, baselines
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size.cutting import CUTS, GivenSizes, cut_sizes, cuts_of, ranked
from sureness_reproduction.list_size.perk import OURS, PUBLISHED, form_of, recommender_of
from sureness_reproduction.list_size.runs import (
    DATA,
    MAX_SIZE,
    SEEDS,
    SMALL,
    UTILITIES,
    base,
    opened,
    parts_of,
    with_recipe,
)
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.workbench import Workbench

FIXED = [f"Top-{size}" for size in (1, 5, 10, 20, 50)]
PLAIN = ["Oracle", *FIXED, "Rand", REFERENCE, "Val-k"]  # need no training
GROUPS = [[*PLAIN, OURS], [PUBLISHED], list(CUTS)]
"""What one cell judges together."""


def _cut_cells(*, methods: list[str], cuts: dict[str, Any], **run: Any) -> dict[tuple[str, str], Cell]:
    return {
        (utility, name): cut_sizes.cell(utility=utility, kind=CUTS[name], **run, **cuts)
        for utility in UTILITIES for name in methods if name in CUTS
    }  # fmt: skip


def _needs(**parameters: Any) -> Iterable[Cell]:
    yield base(**parameters)
    yield from _cut_cells(**parameters).values()


@work(needs=_needs, judges=True, cost=15)
def utilities(bench: Workbench, *, methods: list[str], cuts: dict[str, Any], max_size: int, **run: Any) -> Tables:
    """The utility and size of every user's list by a group of methods."""
    made = opened(bench, **run)
    cells = _cut_cells(methods=methods, cuts=cuts, max_size=max_size, **run)
    parts = []
    if cells:
        lists = ranked(made.source, made.seen(), max_size, made.test)
        for utility in UTILITIES:
            chosen = {name: bench.found(cells[utility, name]).table("sizes") for name in methods if name in CUTS}
            given: dict[str, ListSizePolicy] = {name: GivenSizes(each, max_size) for name, each in chosen.items()}
            parts.append(_long(given, lists, utility))
    for method in (name for name in methods if name not in PLAIN and name not in CUTS):
        parts += _by_form(made, method, [name for name in methods if name in PLAIN], max_size)
    found = pl.concat(parts)
    return {"samples": found.drop("size"), "sizes": found.drop("value")}


def _by_form(run: Any, method: str, plain: list[str], max_size: int) -> Iterator[pl.DataFrame]:
    """One form of PerK, or a policy of one's own on the lists of the shrunk line; and the methods without training."""
    train, validation, test = parts_of(run)
    policy = _own_policy(method)
    form = form_of(OURS if policy else method)
    recommender = recommender_of(run, form, max_size)
    lists = recommender.lists(labels=test)
    before = recommender.validation_lists(train, validation) if plain or policy else None
    for utility in UTILITIES:
        there = baselines(utility, max_size, before) if before is not None else {}
        every = {name: there[name] for name in plain}
        if policy is not None and before is not None:
            every[method] = _fitted(policy, utility, max_size, before)
        else:
            every[method] = ExpectedUtility(utility, max_size=max_size, method=form.method)
        yield _long(every, lists, utility)


def _own_policy(method: str) -> type[ListSizePolicy] | None:
    found = load_own(method) if is_own(method) else None
    return found if inspect.isclass(found) and issubclass(found, ListSizePolicy) else None


def _fitted(policy: type[ListSizePolicy], utility: str, max_size: int, before: Lists) -> ListSizePolicy:
    """A policy of one's own with as much as it takes of the utility, the longest list, and a fit to past lists."""
    takes = inspect.signature(policy).parameters
    made = policy(**{name: value for name, value in (("utility", utility), ("max_size", max_size)) if name in takes})
    return made.fit(before) if hasattr(made, "fit") else made


def _long(policies: Mapping[str, ListSizePolicy], lists: Lists, utility: str) -> pl.DataFrame:
    found = compare_policies(policies, lists, utility)
    return pl.concat([
        pl.DataFrame({"unit": found.users, "value": found.values[name], "size": found.sizes[name]}).select(
            method=pl.lit(name), metric=pl.lit(utility), unit="unit", value="value", size="size"
        )
        for name in policies
    ])  # fmt: skip


# --- the studies -----------------------------------------------------------------------------------------------------


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the recommender and the learned methods are trained; these are left out on large data."""
    recipe = with_recipe(scale, point)
    if recipe is None or (set(point["methods"]) & set(CUTS) and point["data"] == "amazon-book-kgat"):
        return None
    learned = cuts_of(point["data"], scale) if set(point["methods"]) & set(CUTS) else {}
    return recipe | {"cuts": learned, "max_size": MAX_SIZE}


def _claims(form: str, *, claimed: bool) -> Iterator[Claim]:
    for utility in UTILITIES:
        for text, others in (
            ("personal sizes beat every fixed size", tuple(FIXED)),
            ("and Val-k", "Val-k"),
            ("and AttnCut", "AttnCut"),
            ("and MtCut", "MtCut"),
        ):
            yield Claim(f"{text} ({form})", utility, {"method": form}, {"method": others}, claimed=claimed)
        yield Claim(f"and the best size of the past ({form})", utility, {"method": form}, {"method": REFERENCE},
                    claimed=False)  # fmt: skip


CLAIMS = (*_claims(PUBLISHED, claimed=True), *_claims(OURS, claimed=False))
_NOTE = (
    "Mean utility of test lists over users and splits ± deviation over splits / the published number. 60/20/20 of each "
    "user's interactions, lists of up to 50 items. PerK as published: a map for each user over all candidates and the "
    "dissertation's approximate utility. Shrunk line: maps on the best candidates, exact utility. Best fixed k: the "
    "one size that was best on validation."
)


def _study(model: str, number: str, title: str) -> Study:
    return Study(
        name=f"list-size-{model}", number=number, title=f"List sizes with {title}", measure=utilities,
        settings=settings, published="list-size", claims=CLAIMS, note=_NOTE,
        grid={"data": DATA[model], "model": [model], "methods": GROUPS, "seed": SEEDS},
    )  # fmt: skip


STUDIES = (
    _study("bpr", "table-4.4", "BPR"),
    _study("neumf", "table-4.5", "NCF"),
    _study("lightgcn", "table-4.6", "LightGCN"),
    _study("als", "", "ALS"),
    Study(
        name="list-size-100", number="", title="Lists of up to 100 items, BPR", measure=utilities,
        grid={"data": {"quick": SMALL["quick"][:1], "full": ["citeulike-a"]}, "model": ["bpr"], "methods": GROUPS[:2],
              "seed": SEEDS},
        settings=lambda scale, point: (settings(scale, point) or {}) | {"max_size": 100},
        note="The dissertation tried 100 and saw a similar gain, without numbers.",
    ),
)  # fmt: skip
