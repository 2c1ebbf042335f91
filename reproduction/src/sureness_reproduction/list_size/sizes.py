"""How long the lists are: distributions of sizes, and sizes against the users' degrees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness_reproduction.base_models import split_options, statistics
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size.perk import DEFAULT, OURS, PUBLISHED
from sureness_reproduction.list_size.runs import DATA, MAX_SIZE, SEEDS, SMALL, UTILITIES, split_of
from sureness_reproduction.list_size.utility import GROUPS, items_by, settings, utilities
from sureness_reproduction.results import Results
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.types import FloatArray, IntArray
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLAIMED = (10, 20)  # where the dissertation sees the sizes of MtCut


def _parts(*, cuts: dict[str, Any], groups: list[list[str]], **run: Any) -> Iterable[Cell]:
    """The cells whose sizes are described, one for each group of methods."""
    for group in groups:
        yield utilities.cell(methods=group, cuts=cuts if "MtCut" in group else {}, max_size=MAX_SIZE, **run)


def _sizes(bench: Workbench, parameters: dict[str, Any]) -> pl.DataFrame:
    """Sizes by utility, method and user."""
    found = pl.concat([bench.found(cell).table("samples") for cell in _parts(**parameters)])
    names = {items_by(utility): utility for utility in UTILITIES}
    some = found.filter(pl.col("metric").is_in(list(names)))
    return some.select("method", "unit", utility=pl.col("metric").replace(names), size=pl.col("value").cast(pl.Int64))


@work(needs=_parts, judges=True, cost=1)
def sizes_described(bench: Workbench, **parameters: Any) -> Tables:
    """Mean and quartiles of the sizes of each method, the share within 10 to 20, and the distance to Oracle's."""
    rows, sizes = [], _sizes(bench, parameters)
    for (utility,), part in sizes.group_by("utility", maintain_order=True):
        oracle = shares(part.filter(method="Oracle")["size"].to_numpy())
        for (method,), some in part.group_by("method", maintain_order=True):
            if not str(method).startswith("Top-"):
                found = described(some["size"].to_numpy(), oracle)
                rows += [{"utility": utility, "method": method, "metric": name, "value": value}
                         for name, value in found.items()]  # fmt: skip
    return {"numbers": pl.DataFrame(rows), "sizes": sizes.filter(utility="f1")}


def described(sizes: IntArray, oracle: FloatArray) -> dict[str, float]:
    """Numbers on a distribution of sizes; the distance is half the sum of the differences of all shares.

    Examples
    --------
    >>> ones = np.ones(4, dtype=int)
    >>> found = described(ones, shares(np.array([1, 1, 2, 2])))
    >>> found["mean"], found["distance to Oracle"]
    (1.0, 0.5)
    """
    low, middle, high = np.quantile(sizes, (0.25, 0.5, 0.75))
    within = np.mean((sizes >= _CLAIMED[0]) & (sizes <= _CLAIMED[1]))
    return {
        "mean": float(np.mean(sizes)), "lower quartile": float(low), "median": float(middle),
        "upper quartile": float(high), "share within 10 to 20": float(within),
        "distance to Oracle": float(np.abs(shares(sizes) - oracle).sum() / 2),
    }  # fmt: skip


def shares(sizes: IntArray) -> FloatArray:
    """The share of lists of each size."""
    return np.bincount(sizes, minlength=MAX_SIZE + 1)[: MAX_SIZE + 1] / len(sizes)


@work(needs=_parts, judges=True, cost=2)
def size_by_degree(bench: Workbench, **parameters: Any) -> Tables:
    """The correlation of sizes with how many interactions of each user were known before the test."""
    split = split_of(bench, parameters["data"], parameters["seed"])
    known = split.train.user_degree + split.validation.user_degree
    degrees = pl.DataFrame({"unit": np.arange(len(known)), "degree": known})
    personal = pl.col("method").is_in([OURS, DEFAULT, PUBLISHED])
    joined = _sizes(bench, parameters).filter(personal).join(degrees, on="unit")
    found = joined.group_by("utility", "method", maintain_order=True).agg(
        pl.corr("size", "degree").fill_nan(0.0).alias("Pearson r"),
        pl.corr("size", "degree", method="spearman").fill_nan(0.0).alias("Spearman"),
    )
    numbers = found.unpivot(index=["utility", "method"], variable_name="metric")
    return {"numbers": numbers, "sizes": joined.filter(utility="f1")}


def draw_sizes(results: Results) -> Axes:
    """The distributions of the first data set, for F1."""
    from sureness.plots import draw_size_distributions, prepare_size_distributions

    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0])
    drawn = {name: first.filter(method=name)["size"].to_numpy() for name in (OURS, "Oracle", "MtCut", PUBLISHED)}
    return draw_size_distributions(
        prepare_size_distributions({name: some for name, some in drawn.items() if len(some)})
    )


def draw_degrees(results: Results) -> Axes:
    """Degree and size of the first data set and split, for F1."""
    from sureness.plots import draw_size_by_degree, prepare_size_by_degree

    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0], seed=0, method=PUBLISHED)
    return draw_size_by_degree(prepare_size_by_degree(first["size"].to_numpy(), first["degree"].to_numpy()))


def _settings(groups: list[list[str]], scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    found = settings(scale, {**point, "methods": [name for group in groups for name in group]})
    return None if found is None else {"recipe": found["recipe"], "cuts": found["cuts"], "groups": groups}


STUDIES = (
    statistics("list-size-data", "table-4.1", DATA["bpr"],
               lambda data: {"protocol": "ratio", **split_options(data, "ratio")}),
    Study(
        name="size-distributions", number="figure-4.2", title="Distribution of list sizes, BPR", draw=draw_sizes,
        measure=sizes_described, settings=partial(_settings, GROUPS), digits=3,
        grid={"data": SMALL, "model": ["bpr"], "seed": SEEDS},
        claims=(Claim("MtCut's sizes lie within 10 to 20 (MovieLens 25M, Amazon Books)", "share within 10 to 20",
                      {"method": "MtCut", "utility": "f1"}, 0.5),
                *(Claim("PerK is closer to Oracle's sizes than MtCut" + text, "distance to Oracle",
                        {"method": form, "utility": "f1"}, {"method": "MtCut", "utility": "f1"}, "-", claimed=not text)
                  for form, text in ((PUBLISHED, ""), (OURS, ", shrunk line"), (DEFAULT, ", default")))),
        note="Over the users of each split. Distance to Oracle: half the sum of the differences of the shares of all "
        "sizes. The dissertation shows MovieLens 25M (figure 4.2) and Amazon Books (figure 4.3).",
    ),
    Study(
        name="degree-and-size", number="figure-4.4", title="User degree and personal list size, BPR",
        measure=size_by_degree, settings=partial(_settings, GROUPS[:3]), draw=draw_degrees,
        grid={"data": SMALL, "model": ["bpr"], "seed": SEEDS}, rows=("utility", "method"), digits=3,
        claims=(Claim("list sizes grow with the degree", "Pearson r", {"utility": "f1"}, 0.0, "+",
                      ("data", "model", "method")),),
        note="Correlation over users. Degree: interactions in train and validation.",
    ),
)  # fmt: skip
