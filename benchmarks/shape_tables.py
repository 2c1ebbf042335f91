"""The tables of docs/list-sizes.md about shapes of maps, out of benchmarks/results."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "list-sizes.md"
UTILITIES = ("ndcg", "pdcg", "f1", "tp")
RANKS = ("all", "1", "2-3", "4-5", "6-10", "11-20")
SURE = 0.05
_NAMES = {
    "als": "implicit ALS", "implicit-bpr": "implicit BPR", "bpr": "our BPR", "als-tuned": "implicit ALS, tuned",
    "lightgcn": "LightGCN",
}  # fmt: skip


def utilities_table(found: pl.DataFrame) -> list[str]:
    """The change of every utility, against the best fixed size and against the line; a star: sure after Holm."""
    head = "| data | model | " + " | ".join([*UTILITIES, *UTILITIES]) + " |"
    rows = [head, "|---|---|" + "---:|" * 8, "| | | against the best fixed size | | | | against the line | | | |"]
    learned = found.filter(method="learned")
    for data, model in learned.select("data", "model").unique(maintain_order=True).iter_rows():
        cells = [
            _change(learned.filter(data=data, model=model, against=against, utility=utility))
            for against in ("best fixed size", "line")
            for utility in UTILITIES
        ]
        rows.append(f"| {data} | {_NAMES[model]} | " + " | ".join(cells) + " |")
    return rows


def _change(cell: pl.DataFrame) -> str:
    if not cell.height:
        return ""
    change, p_value = cell.select("change", "p_holm").row(0)
    return f"{100 * change:+.1f}%{'*' if p_value < SURE else ''}"


def promises_table(found: pl.DataFrame, methods: tuple[str, ...]) -> list[str]:
    """Realised over promised hits with intervals."""
    rows = ["| data | model | map | total | " + " | ".join(RANKS[1:]) + " |", "|---|---|---|" + "---:|" * len(RANKS)]
    for data, model in found.select("data", "model").unique(maintain_order=True).iter_rows():
        for method in methods:
            cells = [found.filter(data=data, model=model, method=method, ranks=ranks) for ranks in RANKS]
            if cells[0].height:
                rows.append(f"| {data} | {_NAMES[model]} | {method} | " + " | ".join(map(_ratio, cells)) + " |")
    return rows


def _ratio(cell: pl.DataFrame) -> str:
    ratio, low, high = cell.select("ratio", "low", "high").row(0)
    return f"{ratio:.2f} ({max(low, 0.0):.2f}-{high:.2f})"


def kept(found: pl.DataFrame, method: str) -> str:
    """How many cells keep the promise in total and in all bands."""
    wanted = pl.when(pl.col("ranks") == "all").then(0.1).otherwise(0.15)
    meets = (pl.col("low") <= 1 + wanted) & (pl.col("high") >= 1 - wanted)
    cells = found.filter(method=method).group_by("data", "model").agg(meets.all().alias("kept"))
    return f"{cells['kept'].sum()} of {cells.height}"


def counts_table(found: pl.DataFrame) -> list[str]:
    """How many cells are better, tied, worse."""
    rows = ["| method | against | utility | cells | better | surely better | surely worse | lowest |"]
    rows.append("|---|---|---|---:|---:|---:|---:|---:|")
    for (method, against, utility), cells in found.group_by("method", "against", "utility", maintain_order=True):
        sure = pl.col("p_holm") < SURE
        better, surely, worse, lowest = cells.select(
            (pl.col("change") > 0).sum(), (sure & (pl.col("change") > 0)).sum().alias("surely"),
            (sure & (pl.col("change") < 0)).sum().alias("worse"), pl.col("change").min().alias("lowest"),
        ).row(0)  # fmt: skip
        told = [method, against, utility, cells.height, better, surely, worse, f"{100 * lowest:+.1f}%"]
        rows.append("| " + " | ".join(map(str, told)) + " |")
    return rows


def write_tables() -> None:
    """Put the tables between their marks in the page."""
    utilities = pl.read_csv(RESULTS / "shapes.csv")
    promises = pl.read_csv(RESULTS / "promises.csv")
    at_random, by_time = promises.filter(split="ratio"), promises.filter(split="time")
    methods = ("learned", "one shape", "one line")
    text = PAGE.read_text()
    for name, rows in {
        "shapes": utilities_table(utilities),
        "shape counts": counts_table(utilities),
        "promises by time": promises_table(by_time, methods),
        "promises kept": [
            f"- {method}: {kept(at_random, method)} cells (at random), {kept(by_time, method)} (by time)"
            for method in methods
        ],
    }.items():
        block = "\n".join(["", *rows, ""])
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{block}\g<2>", text, flags=re.DOTALL)
    PAGE.write_text(text)
