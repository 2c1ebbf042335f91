"""The grid of chapter 4: which recommenders on which data, the cells of their studies, and what these found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from sureness.workflows import PERSONAL, REFERENCE
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Finder, Plan, Scale
from sureness_reproduction.list_size.judging import PUBLISHED, cuts_judged, study_parameters, utilities_judged
from sureness_reproduction.list_size.policy_study import UTILITIES
from sureness_reproduction.list_size.runs import recipe_of
from sureness_reproduction.published import TITLES

MAX_SIZE = 50
OURS = "PerK, shrunk line"
CUTS = ("AttnCut", "MtCut")
METHODS = (
    "Oracle", "Top-1", "Top-5", "Top-10", "Top-20", "Top-50", "Top-100", "Rand", REFERENCE, "Val-k", *CUTS, PUBLISHED,
    OURS,
)  # fmt: skip
BASELINES = METHODS[1:-2]
"""What PerK is compared with."""

METRICS = UTILITIES
NAMES = {"ndcg": "NDCG", "pdcg": "PDCG", "f1": "F1", "tp": "TP", "ece": "ECE"}
MODEL_NAMES = {"bpr": "BPR", "neumf": "NeuMF (NCF)", "lightgcn": "LightGCN", "als": "ALS"}

_CANNOT_BE_HAD = ("ml-10m", "ml-25m", "amazon-books")
_WITHOUT_CUTS = ("amazon-book-kgat",)  # lists of so many users would take the learned methods hours
DATA: dict[str, dict[Scale, Sequence[str]]] = {
    "bpr": {
        "quick": ("ml-100k", "amazon-music"),
        "full": ("citeulike-a", "ml-1m", "amazon-music", "amazon-book-kgat", *_CANNOT_BE_HAD),
    },
    "neumf": {"quick": ("ml-100k",), "full": ("citeulike-a", "amazon-music", *_CANNOT_BE_HAD)},
    "lightgcn": {"quick": ("ml-100k",), "full": ("citeulike-a", "ml-1m", "amazon-music", *_CANNOT_BE_HAD)},
    "als": {"quick": ("ml-100k",), "full": ("citeulike-a", "ml-1m", "amazon-music", "amazon-book-kgat")},
}
"""Where each recommender is studied."""


def title(data: str) -> str:
    """What people call a data set."""
    return TITLES.get(data, "Amazon Books (KGAT)" if data == "amazon-book-kgat" else data)


def cuts_of(plan: Plan) -> dict[str, Any]:
    """How AttnCut and MtCut are trained: settings chosen with BPR on the first split of one data set."""
    if plan.scale == "quick":
        return {"trials": 1, "schedule": {"epochs": 8, "patience": 2, "n_factors": 32}, "chosen_on": {}}
    data = "citeulike-a" if "citeulike-a" in plan.data else plan.data[0]
    chosen_on = {"data": data, "model": "bpr", "recipe": recipe_of(data, "bpr", "full")}
    return {"trials": 2, "schedule": {"epochs": 30, "patience": 3}, "chosen_on": chosen_on}


def has_cuts(data: str) -> bool:
    """Whether the learned methods are run on a data set."""
    return data not in _WITHOUT_CUTS


def study_of(plan: Plan, data: str, model: str, seed: int, max_size: int = MAX_SIZE) -> dict[str, Any]:
    """The parameters of every study of a recommender."""
    return study_parameters(data, model, recipe_of(data, model, plan.scale), seed, max_size)


def utility_cell(
    plan: Plan, data: str, model: str, seed: int, variant: str = PERSONAL, max_size: int = MAX_SIZE
) -> Cell:
    """The cell that judges one form of PerK; with the shrunk line also the plain methods."""
    return utilities_judged.cell(variant=variant, **study_of(plan, data, model, seed, max_size))


def cuts_cell(plan: Plan, data: str, model: str, seed: int) -> Cell:
    """The cell that judges AttnCut and MtCut."""
    return cuts_judged.cell(cuts=cuts_of(plan), **study_of(plan, data, model, seed))


def utility_cells(plan: Plan, data: str, model: str, *, cuts: bool = True) -> Iterator[Cell]:
    """All methods of the utility tables on a data set, or all but AttnCut and MtCut."""
    for seed in plan.seeds:
        yield utility_cell(plan, data, model, seed)
        yield utility_cell(plan, data, model, seed, PUBLISHED)
        if cuts and has_cuts(data):
            yield cuts_cell(plan, data, model, seed)


def utilities_of(plan: Plan, find: Finder, data: str, model: str, *, cuts: bool = True) -> pl.DataFrame:
    """What all methods were worth: seed, metric, method, user, value, size."""
    cells = list(utility_cells(plan, data, model, cuts=cuts))
    return named([find(cell).table("values") for cell in cells], [cell["seed"] for cell in cells])


def named(tables: Sequence[pl.DataFrame], seeds: Sequence[int]) -> pl.DataFrame:
    """Tables of the studies as one, by the names that people see."""
    parts = [table.with_columns(seed=pl.lit(seed)) for table, seed in zip(tables, seeds, strict=True)]
    joined = pl.concat(parts).rename({"utility": "metric", "policy": "method"})
    joined = joined.with_columns(method=pl.col("method").replace({PERSONAL: OURS}))
    return joined.filter(pl.col("method").is_in(METHODS))


def why_absent(plan: Plan, data: object) -> str:
    """Why a published row has no number of ours."""
    name = str(data)
    if name in plan.absent:
        return f"{title(name)} is not in the data folder"
    return (
        f"{title(name)} is part of the full scale"
        if plan.scale == "quick"
        else f"{title(name)} was not asked for (--data)"
    )
