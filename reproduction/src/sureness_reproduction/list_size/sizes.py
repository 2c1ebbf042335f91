"""How long the lists are: distributions of sizes, and sizes against the users' degrees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import spread
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.grid import (
    DATA,
    MAX_SIZE,
    METHODS,
    NAMES,
    OURS,
    has_cuts,
    title,
    utilities_of,
    utility_cells,
)
from sureness_reproduction.list_size.judging import PUBLISHED
from sureness_reproduction.list_size.runs import SEEDS, split_of
from sureness_reproduction.list_size.showing import put_first, where_data
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

_MODEL, _UTILITY = "bpr", "f1"
_DRAWN = ("Oracle", "MtCut", PUBLISHED, OURS)
_CLAIMED_OF = ("ml-25m", "amazon-books")
_CLAIMED = (10, 20)  # where the dissertation sees the sizes of MtCut
_FORMS = (PUBLISHED, OURS)
_DATA: dict[Scale, Sequence[str]] = {
    scale: [name for name in names if has_cuts(name)] for scale, names in DATA[_MODEL].items()
}


# --- distributions --------------------------------------------------------------------------------------------------


def _cells(plan: Plan) -> Sequence[Cell]:
    return [cell for data in plan.data for cell in utility_cells(plan, data, _MODEL)]


def _distributions(plan: Plan, find: Finder) -> Outcome:
    sizes = {data: utilities_of(plan, find, data, _MODEL) for data in plan.data}
    tidy = pl.concat([put_first(described(some), "data", data) for data, some in sizes.items()])
    f1 = tidy.filter(metric=_UTILITY)
    table = ResultTable(
        "sizes", "Sizes of the lists, BPR and F1", _shown(f1),
        f"Over the users of all splits. Within {_CLAIMED[0]} to {_CLAIMED[1]}: share of the lists. Distance to Oracle: "
        "half the sum of the differences of the shares of all sizes, 0 for the same distribution. The file has the "
        "other utilities as well.",
        tidy=tidy,
    )  # fmt: skip
    figures = [
        ResultFigure(f"sizes-{data}", f"Sizes for F1 with BPR on {title(data)}, by their square roots; means in the "
                     "legend", partial(_draw, some.filter(metric=_UTILITY)))
        for data, some in sizes.items()
    ]  # fmt: skip
    found = [sentence for data in plan.data for sentence in told_sizes(data, f1.filter(data=data))]
    return Outcome(
        tables=[table],
        figures=figures,
        findings=found,
        notes=_notes(plan),
        verdicts=[verdict(f1.filter(method="MtCut"))],
    )


def verdict(table: pl.DataFrame) -> Verdict:
    """On the claim about MtCut, which is about two data sets: told only where these are."""
    share = {row["data"]: row["within"] for row in table.to_dicts()}
    found = ", ".join(f"{title(data)} {value:.0%}" for data, value in share.items())
    claimed = [share[data] for data in _CLAIMED_OF if data in share]
    text = f"lists of MtCut with {_CLAIMED[0]} to {_CLAIMED[1]} items: {found}"
    return Verdict("list sizes MtCut concentrates on", text, min(claimed) > 0.5 if claimed else None)


def described(values: pl.DataFrame) -> pl.DataFrame:
    """Mean, quartiles and concentration of the sizes of each method: metric, method and numbers."""
    rows = []
    for (metric,), part in values.group_by("metric", maintain_order=True):
        oracle = _shares(part.filter(method="Oracle"))
        for method in METHODS:
            some = part.filter(method=method)
            if some.height and not method.startswith("Top-"):
                rows.append({"metric": metric, "method": method, **_numbers(some["size"].to_numpy(), oracle)})
    return pl.DataFrame(rows)


def _numbers(sizes: Any, oracle: FloatArray) -> dict[str, float]:
    low, middle, high = np.quantile(sizes, [0.25, 0.5, 0.75])
    shares = np.bincount(sizes, minlength=len(oracle))[: len(oracle)] / len(sizes)
    within = np.mean((sizes >= _CLAIMED[0]) & (sizes <= _CLAIMED[1]))
    width = _CLAIMED[1] - _CLAIMED[0] + 1
    sums = np.convolve(shares, np.ones(width), mode="valid")  # of every range as wide as the claimed one
    return {
        "mean": float(np.mean(sizes)), "lower_quartile": float(low), "median": float(middle),
        "upper_quartile": float(high), "within": float(within), "densest_from": float(np.argmax(sums)),
        "densest_share": float(sums.max()), "to_oracle": float(np.abs(shares - oracle).sum() / 2),
    }  # fmt: skip


def _shares(part: pl.DataFrame) -> FloatArray:
    return np.bincount(part["size"].to_numpy(), minlength=MAX_SIZE + 1) / part.height


def _shown(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(
        pl.col("data").map_elements(title, pl.String), "method", pl.col("mean").round(1),
        quartiles=pl.format("{}, {}, {}", "lower_quartile", "median", "upper_quartile"),
        within=pl.col("within").round(3), distance=pl.col("to_oracle").round(3),
    ).rename({"within": f"within {_CLAIMED[0]} to {_CLAIMED[1]}", "distance": "distance to Oracle"})  # fmt: skip


def told_sizes(data: str, table: pl.DataFrame) -> list[str]:
    """Sentences: where MtCut's sizes are, and who comes closest to Oracle."""
    row = {each["method"]: each for each in table.to_dicts()}
    mt, first = row["MtCut"], int(row["MtCut"]["densest_from"])
    most = f"{mt['densest_share']:.0%} within {first} to {first + _CLAIMED[1] - _CLAIMED[0]}"
    closer = [name for name in _FORMS if row[name]["to_oracle"] < mt["to_oracle"]]
    distances = ", ".join(f"{name} {row[name]['to_oracle']:.2f}" for name in _FORMS)
    who = "both forms of PerK are" if len(closer) == 2 else f"{closer[0]} is" if closer else "no form of PerK is"
    return [
        f"{title(data)}: {mt['within']:.0%} of MtCut's lists have {_CLAIMED[0]} to {_CLAIMED[1]} items (the "
        "dissertation sees "
        f"its peak there, on other data); it is densest with {most}.",
        f"{title(data)}: {who} closer to the sizes of Oracle than MtCut (distance {distances}; "
        f"MtCut {mt['to_oracle']:.2f}).",
    ]


def _draw(values: pl.DataFrame) -> Any:
    from sureness.plots import draw_size_distributions, prepare_size_distributions

    sizes = {name: values.filter(method=name)["size"].to_numpy() for name in (OURS, *_DRAWN[:-1])}
    return draw_size_distributions(prepare_size_distributions(sizes))


# --- degrees --------------------------------------------------------------------------------------------------------


@work(cost=2)
def degrees(bench: Workbench, *, data: str, seed: int) -> Tables:
    """How many interactions of each user were known before the test."""
    split = split_of(bench, data, seed)
    known = split.train.user_degree + split.validation.user_degree
    return {"degrees": pl.DataFrame({"user": np.arange(len(known)), "degree": known})}


def _degree_cells(plan: Plan) -> Sequence[Cell]:
    studied = [cell for data in plan.data for cell in utility_cells(plan, data, _MODEL, cuts=False)]
    return studied + [degrees.cell(data=data, seed=seed) for data in plan.data for seed in plan.seeds]


def _by_degree(plan: Plan, find: Finder) -> Outcome:
    joined = {data: _joined(plan, find, data) for data in plan.data}
    tidy = pl.concat([put_first(correlations(some), "data", data) for data, some in joined.items()])
    rows = [
        {"data": title(data), "method": method, "utility": NAMES[metric],
         "Pearson r": spread(part["pearson"], 3), "Spearman": spread(part["spearman"], 3)}
        for (data, metric, method), part in tidy.group_by("data", "metric", "method", maintain_order=True)
    ]  # fmt: skip
    caption = "Correlation over users, mean ± deviation over splits. The dissertation shows F1."
    table = ResultTable("degree", "User degree and list size, BPR", pl.DataFrame(rows), caption, tidy=tidy)
    figures = [
        ResultFigure(f"degree-{data}-{'published' if form == PUBLISHED else 'default'}",
                     f"{form}, F1 with BPR on {title(data)}, first split", partial(_draw_degree, some, form))
        for data, some in joined.items() for form in _FORMS
    ]  # fmt: skip
    found = [sentence for data in plan.data for sentence in told_degrees(data, tidy.filter(data=data))]
    notes = ["Degree: interactions of the user in train and validation."]
    return Outcome(tables=[table], figures=figures, findings=found, notes=notes)


def _joined(plan: Plan, find: Finder, data: str) -> pl.DataFrame:
    """The sizes of both forms of PerK with the degree of each user."""
    cells = {seed: degrees.cell(data=data, seed=seed) for seed in plan.seeds}
    known = pl.concat([find(cell).table("degrees").with_columns(seed=pl.lit(seed)) for seed, cell in cells.items()])
    sizes = utilities_of(plan, find, data, _MODEL, cuts=False).filter(pl.col("method").is_in(_FORMS))
    return sizes.join(known, on=["user", "seed"])


def correlations(values: pl.DataFrame) -> pl.DataFrame:
    """Correlation of size and degree for every metric, method and seed; 0 where one of them never varies.

    Examples
    --------
    >>> values = pl.DataFrame({"metric": ["f1"] * 3, "method": ["PerK"] * 3, "seed": [0] * 3, "size": [1, 2, 3],
    ...                        "degree": [10, 20, 40]})
    >>> correlations(values).select(pl.col("pearson").round(3), "spearman").rows()
    [(0.982, 1.0)]
    """
    return values.group_by("metric", "method", "seed", maintain_order=True).agg(
        pearson=pl.corr("size", "degree").fill_nan(0.0),
        spearman=pl.corr("size", "degree", method="spearman").fill_nan(0.0),
    )


def told_degrees(data: str, table: pl.DataFrame) -> list[str]:
    """A sentence: whether list sizes for F1 grow with the degree, as the dissertation says."""
    mean = table.filter(metric=_UTILITY).group_by("method", maintain_order=True).agg(pl.col("pearson").mean())
    signs = [f"{row['method']} r = {row['pearson']:+.2f}" for row in mean.to_dicts()]
    grows = bool((mean["pearson"] > 0).all())
    verdict = (
        "sizes grow with the degree, as in the dissertation"
        if grows
        else "sizes do not grow with the degree everywhere"
    )
    return [f"{title(data)}: {verdict} ({', '.join(signs)})."]


def _draw_degree(values: pl.DataFrame, form: str) -> Any:
    from sureness.plots import draw_size_by_degree, prepare_size_by_degree

    some = values.filter(metric=_UTILITY, method=form, seed=values["seed"].min())
    return draw_size_by_degree(prepare_size_by_degree(some["size"].to_numpy(), some["degree"].to_numpy()))


def _notes(plan: Plan) -> list[str]:
    if plan.scale == "quick":
        return ["The dissertation shows MovieLens 25M and Amazon Books; these are smaller data sets."]
    return ["The dissertation shows MovieLens 25M and Amazon Books, which are run where the data folder has them."]


EXPERIMENTS = (
    Experiment(
        name="size-distributions", chapter=4, title="Distribution of list sizes",
        shows="the figures of sizes by Oracle, PerK and MtCut", data=_DATA, cells=_cells,
        outcome=where_data(_distributions), seeds=SEEDS, claims=True,
    ),
    Experiment(
        name="degree-and-size", chapter=4, title="User degree and personal list size",
        shows="the figure of degree and size", data=_DATA, cells=_degree_cells,
        outcome=where_data(_by_degree), seeds=SEEDS,
    ),
)  # fmt: skip
