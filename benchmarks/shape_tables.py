"""The tables of docs/measured/list-sizes.md about the map for lists, out of benchmarks/results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "measured" / "list-sizes.md"
UTILITIES = ("f1", "ndcg")
FIXED = "best fixed size"
BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
BEFORE = "a learned map for each user"
SURE, FEWEST_HITS = 0.05, 300
_NAMES = {
    "als": "implicit ALS", "implicit-bpr": "implicit BPR", "bpr": "our BPR", "als-tuned": "implicit ALS, tuned",
    "lightgcn": "LightGCN",
}  # fmt: skip
_CELL = ("data", "model", "split", "method")


def every_cell(*, shared: bool = False) -> pl.DataFrame:
    """One row for each log, model, split and method: seeds pooled, users in groups that are compared in pairs.

    With `shared`, of the map for lists only the seeds that the default before was run with.
    """
    now, before = (pl.read_csv(RESULTS / name) for name in ("lists.csv", "lists-before.csv"))
    if shared:
        now = now.filter(method="lists").join(before, on=["data", "model", "split", "seed"], how="semi")
    sums = pl.concat([now, before], how="diagonal_relaxed")
    pooled = sums.group_by(*_CELL, "bucket", maintain_order=True).agg(
        pl.col("seed").n_unique().alias("seeds"), pl.exclude(*_CELL, "bucket", "seed").sum()
    )
    rows = [
        _judged(dict(zip(_CELL, key, strict=True)), cell) for key, cell in pooled.group_by(*_CELL, maintain_order=True)
    ]
    table = pl.DataFrame(rows, infer_schema_length=None).sort("split", "data", "model", "method")
    for utility in UTILITIES:
        table = table.with_columns(
            pl.col(f"p {utility}").map_batches(holm).over("split", "method").alias(f"holm {utility}")
        )
    return table


def _judged(cell: dict[str, object], buckets: pl.DataFrame) -> dict[str, object]:
    found = cell | {"seeds": buckets["seeds"].max()}
    buckets = buckets.filter(pl.col("users") > 0)  # users never seen are every second one
    for utility in UTILITIES:
        own, fixed = (buckets[name].to_numpy() / buckets["users"].to_numpy() for name in (utility, f"{utility} fixed"))
        value, other = (buckets[name].sum() / buckets["users"].sum() for name in (utility, f"{utility} fixed"))
        found |= {
            utility: value,
            utility + " gain": value / other - 1,
            f"p {utility}": float(stats.ttest_rel(own, fixed).pvalue),
        }
    for name in (column.removesuffix(" promised") for column in buckets.columns if column.endswith(" promised")):
        promised, came = (buckets[f"{name} {what}"].to_numpy() for what in ("promised", "realised"))
        ratio, margin = _ratio(promised, came)
        found |= {
            f"{name} promised": promised.sum(),
            name: ratio,
            f"{name} low": ratio - margin,
            f"{name} high": ratio + margin,
        }
    return found


def _ratio(promised: np.ndarray, came: np.ndarray) -> tuple[float, float]:
    """Realised over promised hits, and half of the width of a 95% interval over groups of users."""
    total = max(float(promised.sum()), 1e-300)
    ratio = float(came.sum()) / total
    away = came - ratio * promised
    return ratio, float(stats.t.ppf(0.975, len(away) - 1) * np.sqrt(away @ away * len(away) / (len(away) - 1)) / total)


def holm(p_values: pl.Series) -> pl.Series:
    """P-values corrected for as many tests by Holm's method."""
    order = np.argsort(p_values.to_numpy())
    scaled = np.maximum.accumulate(p_values.to_numpy()[order] * np.arange(len(order), 0, -1))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(scaled, 1.0)
    return pl.Series(corrected)


def cells_table(found: pl.DataFrame) -> list[str]:
    """Gains over the best fixed size and the promise of each cell, before and now."""
    now = found.filter(method="lists")
    before = found.filter(method=BEFORE)
    rows = ["| split | data | model | F1 | before | NDCG | before | promise | before |", "|---|---|---|" + "---:|" * 6]
    for cell in now.iter_rows(named=True):
        old = before.filter(split=cell["split"], data=cell["data"], model=cell["model"])
        other = old.row(0, named=True) if old.height else None
        texts = []
        for utility in UTILITIES:
            texts += [_gain(cell, utility), "" if other is None else _gain(other, utility)]
        texts += [_kept(cell), "" if other is None else f"{other['all']:.2f}"]
        rows.append(f"| {cell['split']} | {cell['data']} | {_NAMES[cell['model']]} | " + " | ".join(texts) + " |")
    return rows


def _gain(cell: dict[str, float], utility: str) -> str:
    return f"{100 * cell[utility + ' gain']:+.1f}%{'*' if cell['holm ' + utility] < SURE else ''}"


def _kept(cell: dict[str, float]) -> str:
    return f"{cell['all']:.2f} ({max(cell['all low'], 0.0):.2f}-{cell['all high']:.2f})"


def summary_table(found: pl.DataFrame) -> list[str]:
    """Mean gains and how many cells keep which promise; the default before on cells and seeds that both have."""
    shared = every_cell(shared=True)
    now = shared.filter(method="lists")
    columns = {
        "a map for each user, before": shared.filter(method=BEFORE).join(
            now, on=["split", "data", "model"], how="semi"
        ),
        "map for lists, the same seeds": now,
        "map for lists, all seeds": found.filter(method="lists"),
        "users never seen": found.filter(method="lists, users never seen"),
    }
    rows = [f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    judged = [summary(cells) for cells in columns.values()]
    return rows + [f"| {what} | {' | '.join(each[what] for each in judged)} |" for what in judged[0]]


def summary(found: pl.DataFrame) -> dict[str, str]:
    """What the cells of one method show, in words and numbers."""
    cells = found.filter(pl.col("all promised") >= FEWEST_HITS)
    history, ranks = [f"history {number}" for number in (1, 2, 3, 4)], [f"ranks {a}-{b}" for a, b in BANDS]
    rows = cells.to_dicts()
    quarters = [cell[name] for cell in rows for name in history if cell[f"{name} promised"] >= FEWEST_HITS]
    worse = sum(
        found.filter((pl.col(f"{name} gain") < 0) & (pl.col(f"holm {name}") < SURE)).height for name in UTILITIES
    )
    means = {f"{name.upper()}, mean": f"{100 * found[name + ' gain'].mean():+.1f}%" for name in UTILITIES}
    return (
        {"cells": str(found.height)}
        | means
        | {
            "surely worse than the best fixed size": str(worse),
            f"cells with {FEWEST_HITS} promised hits or more": str(cells.height),
            "of these, 0.9 to 1.1 of the promise came": str(cells.filter(pl.col("all").is_between(0.9, 1.1)).height),
            "every quarter of histories meets 0.85 to 1.15": str(sum(_all_meet(cell, history) for cell in rows)),
            "every band of ranks meets 0.85 to 1.15": str(sum(_all_meet(cell, ranks) for cell in rows)),
            f"quarters of histories with {FEWEST_HITS} promised hits or more": str(len(quarters)),
            "of these, 0.85 to 1.15 of the promise came": str(sum(0.85 <= ratio <= 1.15 for ratio in quarters)),
        }
    )


def _all_meet(cell: dict[str, float], names: Sequence[str], low: float = 0.85, high: float = 1.15) -> bool:
    """Whether every interval meets a range; what promises nothing keeps its promise."""
    return all(
        cell[f"{name} promised"] == 0 or (cell[f"{name} low"] <= high and cell[f"{name} high"] >= low) for name in names
    )


def write_tables() -> None:
    """Put the tables between their marks in the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page with its tables as the results have them now."""
    found = every_cell()
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in {"list cells": cells_table(found), "list summary": summary_table(found)}.items():
        block = "\n".join(["", *rows, ""])
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{block}\g<2>", text, flags=re.DOTALL)
    return text
