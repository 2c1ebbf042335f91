"""The results of `benchmarks.bd_public` as a file of numbers and as the table of docs/distillation.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

RESULTS = Path(__file__).parent / "results" / "bd_public.csv"
PAGE = Path(__file__).parents[1] / "docs" / "distillation.md"
COUNTINGS = ("public", "masked")
CONTROL = {"bpr": "weight 0, drawn negatives", "cdae": "weight 0, uniform negatives"}
"""What differs from the public code by its soft labels alone: only for BPR drawn items are negatives too."""

ORDER = (
    "alone", "bd-public", "printed sign", "printed sign, uniform negatives", CONTROL["bpr"], CONTROL["cdae"],
    "weight decay kept", "bd-public-cdae",
)  # fmt: skip

Ranks = NDArray[np.integer]


def measures(ranks: Ranks, counting: str) -> dict[str, float]:
    """Hits and NDCG at 50 and 100; the public code counts ranks from 1 and hits below 50, with a discount to match."""
    shift = 1 if counting == "public" else 0
    found = {}
    for k in (50, 100):
        hits = ranks + shift <= k
        found[f"h{k}"] = float(hits.mean())
        found[f"n{k}"] = float((hits / np.log2(ranks + 1 + shift)).mean())
    return found


def results(cache: Path) -> pl.DataFrame:
    """One line for every row of every seed, learner and way of counting."""
    lines = []
    for path in sorted((cache / "ranks").glob("*.parquet")):
        model, row, seed = path.stem.split("~")
        for column, ranks in pl.read_parquet(path).drop("user").to_dict().items():
            learner, counting = column.split(" ")
            about = {"model": model, "seed": int(seed), "row": row, "learner": learner, "counting": counting}
            lines.append(about | measures(ranks.to_numpy(), counting))
    return pl.DataFrame(lines).sort("model", "seed", "row", "learner", "counting")


def contrast(cache: Path, model: str, row: str, learner: str) -> tuple[float, float]:
    """How much a row differs from weight 0 in H@50, over the seeds of both, and a paired t-test over users."""
    both = [_hits(cache, model, name, learner) for name in (row, CONTROL[model])]
    common = sorted(both[0].keys() & both[1].keys())
    own, other = (np.mean([hits[seed] for seed in common], axis=0) for hits in both)
    return own.mean() / other.mean() - 1, float(stats.ttest_rel(own, other).pvalue)


def _hits(cache: Path, model: str, row: str, learner: str) -> dict[str, NDArray[np.bool_]]:
    """Who was hit, by seed."""
    paths = (cache / "ranks").glob(f"{model}~{row}~*.parquet")
    return {path.stem.rpartition("~")[2]: pl.read_parquet(path)[f"{learner} public"].to_numpy() < 50 for path in paths}


def table(found: pl.DataFrame, cache: Path, model: str) -> list[str]:
    """Rows of the page: means over seeds with their deviation, and the difference to weight 0 with its p-value."""
    lines = [
        "| row | seeds | teacher H@50 | student H@50 | student against weight 0 | teacher, masked | student, masked |",
        "|---|---|---|---|---|---|---|",
    ]
    own = found.filter(model=model)
    for row in ORDER:
        some = own.filter(row=row)
        if some.is_empty():
            continue
        cells = [_mean(some, *cell) for cell in (("teacher", "public"), ("student", "public"))]
        masked = [_mean(some, *cell) for cell in (("teacher", "masked"), ("student", "masked"))]
        compared = "" if row in (CONTROL[model], "alone") else _compared(cache, model, row)
        lines.append("| " + " | ".join([row, str(some["seed"].n_unique()), *cells, compared, *masked]) + " |")
    return lines


def _mean(found: pl.DataFrame, learner: str, counting: str) -> str:
    values = found.filter(learner=learner, counting=counting)["h50"].to_numpy()
    spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{spread}"


def _compared(cache: Path, model: str, row: str) -> str:
    if not list((cache / "ranks").glob(f"{model}~{CONTROL[model]}~*.parquet")):
        return ""
    change, p_value = contrast(cache, model, row, "student")
    return f"{change:+.1%} (p = {p_value:.1g})"


def write_results(cache: Path) -> None:
    """The file of numbers, and the tables between their marks in the page."""
    found = results(cache)
    found.with_columns(pl.col(pl.Float64).round(5)).write_csv(RESULTS)
    text = PAGE.read_text()
    for model in found["model"].unique():
        block = "\n".join(["", *table(found, cache, model), "", ""])
        text = re.sub(rf"(<!-- bd-public {model} -->\n).*?(<!-- end -->)", rf"\g<1>{block}\g<2>", text, flags=re.DOTALL)
    PAGE.write_text(text)
