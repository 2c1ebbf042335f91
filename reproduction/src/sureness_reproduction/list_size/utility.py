"""What every method that chooses list sizes is worth on each recommender, and how long its lists are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness.jobs import REFERENCE, baselines
from sureness.lists import Lists
from sureness.metrics import at_sizes, utility_at_every_size
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size import perk, runs
from sureness_reproduction.list_size.cutting import CUTS, cut_cells, cuts_of
from sureness_reproduction.list_size.perk import DEFAULT, OURS, PUBLISHED
from sureness_reproduction.list_size.runs import LARGE, MAX_SIZE, UTILITIES
from sureness_reproduction.study import Scale
from sureness_reproduction.tables import numbers
from sureness_reproduction.workbench import Workbench

FIXED = [f"Top-{size}" for size in (1, 5, 10, 20, 50)]
PLAIN = ["Oracle", *FIXED, "Rand", REFERENCE, "Val-k"]  # need no training


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the recommender and the learned methods are trained; these are left out on large data."""
    groups = point.get("groups") or [point["methods"]]
    learned = any(name in CUTS for group in groups for name in group)
    if learned and point["data"] == LARGE:
        return None
    found = runs.with_recipe(scale, point)
    return found and found | {"cuts": cuts_of(point["data"], scale) if learned else {}}


@work(needs=lambda **run: [*runs.base(**run), *cut_cells(**run).values()], judges=True, cost=15, version=2)
def utilities(bench: Workbench, *, methods: list[str], cuts: dict[str, Any], max_size: int, **run: Any) -> Tables:
    """The utility and the number of items of every user's list by a group of methods."""
    made, parts = runs.opened(bench, **run), []
    if cells := cut_cells(methods=methods, cuts=cuts, max_size=max_size, **run):
        lists = runs.ranked_lists(made.source, max_size, seen=made.seen, labels=made.split.test)
        for (utility, name), cell in cells.items():
            parts.append(_long({name: bench.found(cell).table("sizes")["size"].to_numpy()}, lists, utility))
    plain = [name for name in methods if name in PLAIN]
    forms = [name for name in methods if name not in PLAIN and name not in CUTS]
    for fitted in perk.fitted_forms(made, forms, max_size):
        before = None
        if plain or fitted.form.own:
            before = fitted.recommender.validation_lists(made.split.train, made.split.validation)
        for utility in UTILITIES:
            there = baselines(utility, max_size, before) if before is not None else {}
            chosen = fitted.form.policy(utility, max_size, before)
            policies = {name: there[name] for name in plain} | {fitted.method: chosen}
            sizes = {name: policy.sizes(fitted.lists) for name, policy in policies.items()}
            parts.append(_long(sizes, fitted.lists, utility))
    return {"samples": pl.concat(parts)}


def _long(sizes: Mapping[str, NDArray[Any]], lists: Lists, utility: str, key: str = "method") -> pl.DataFrame:
    """Utility and number of items by method and user."""
    worth = utility_at_every_size(np.asarray(lists.hits), np.asarray(lists.n_relevant), utility)
    return pl.concat([
        runs.judged(lists, {key: name}, {utility: at_sizes(worth, some), f"items, {utility}": some})
        for name, some in sizes.items()
    ])  # fmt: skip


@work(needs=runs.base, judges=True, cost=20, version=2)
def by_calibration(bench: Workbench, *, methods: list[str], max_size: int, **run: Any) -> Tables:
    """Calibration errors over all candidates and the longest lists, and the utility of every user."""
    made, means, users = runs.opened(bench, **run), [], []
    for fitted in perk.fitted_forms(made, methods, max_size):
        found: dict[str, Any] = {**perk.calibration_of(fitted, made.split.test)}
        for utility in UTILITIES:
            sizes = fitted.form.policy(utility, max_size).sizes(fitted.lists)
            users.append(_long({fitted.method: sizes}, fitted.lists, utility, "calibration").filter(metric=utility))
            found[utility] = users[-1]["value"].mean()
        means.append(numbers({"calibration": fitted.method}, found))
    return {"numbers": pl.concat(means), "samples": pl.concat(users)}


# --- how long the lists are -------------------------------------------------------------------------------------------


def _parts(*, cuts: dict[str, Any], groups: list[list[str]], **run: Any) -> Iterable[Cell]:
    """The cells whose sizes are described, one for each group of methods."""
    for group in groups:
        yield utilities.cell(methods=group, cuts=cuts if "MtCut" in group else {}, max_size=MAX_SIZE, **run)


def _sizes(bench: Workbench, parameters: dict[str, Any]) -> pl.DataFrame:
    """Sizes by utility, method and user."""
    found = pl.concat([bench.found(cell).table("samples") for cell in _parts(**parameters)])
    names = {f"items, {utility}": utility for utility in UTILITIES}
    some = found.filter(pl.col("metric").is_in(list(names)))
    return some.select("method", "unit", utility=pl.col("metric").replace(names), size=pl.col("value").cast(pl.Int64))


@work(needs=_parts, judges=True, cost=1)
def sizes_described(bench: Workbench, **parameters: Any) -> Tables:
    """Mean and quartiles of the sizes of each method, the share within 10 to 20, and the distance to Oracle's.

    The distance is half the sum of the differences of the shares of all sizes.
    """
    rows, sizes = [], _sizes(bench, parameters)
    for (utility,), part in sizes.group_by("utility", maintain_order=True):
        oracle = _shares(part.filter(method="Oracle")["size"].to_numpy())
        listed = part.filter(~pl.col("method").str.starts_with("Top-"))
        for (method,), each in listed.group_by("method", maintain_order=True):
            some = each["size"].to_numpy()
            low, middle, high = np.quantile(some, (0.25, 0.5, 0.75))
            rows.append(numbers({"utility": utility, "method": method}, {
                "mean": some.mean(), "lower quartile": low, "median": middle, "upper quartile": high,
                "share within 10 to 20": ((some >= 10) & (some <= 20)).mean(),
                "distance to Oracle": np.abs(_shares(some) - oracle).sum() / 2,
            }))  # fmt: skip
    return {"numbers": pl.concat(rows), "sizes": sizes.filter(utility="f1")}


def _shares(sizes: NDArray[Any]) -> NDArray[Any]:
    """The share of lists of each size."""
    return np.bincount(sizes, minlength=MAX_SIZE + 1)[: MAX_SIZE + 1] / len(sizes)


@work(needs=_parts, judges=True, cost=2)
def size_by_degree(bench: Workbench, **parameters: Any) -> Tables:
    """The correlation of sizes with how many interactions of each user were known before the test."""
    split = runs.split_of(bench, **parameters)
    known = split.train.user_degree + split.validation.user_degree
    degrees = pl.DataFrame({"unit": np.arange(len(known)), "degree": known})
    personal = pl.col("method").is_in([OURS, DEFAULT, PUBLISHED])
    joined = _sizes(bench, parameters).filter(personal).join(degrees, on="unit")
    found = joined.group_by("utility", "method", maintain_order=True).agg(
        pl.corr("size", "degree").fill_nan(0.0).alias("Pearson r"),
        pl.corr("size", "degree", method="spearman").fill_nan(0.0).alias("Spearman"),
    )
    long = found.unpivot(index=["utility", "method"], variable_name="metric")
    return {"numbers": long, "sizes": joined.filter(utility="f1")}
