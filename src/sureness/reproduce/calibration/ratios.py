"""How much hangs on the number of negatives that are drawn for each positive."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sureness.reproduce.calibration.contests import proposal_table, risk_table
from sureness.reproduce.calibration.fitting import IN_TEXT, RISKS, maps_cell
from sureness.reproduce.calibration.grid import bases
from sureness.reproduce.calibration.judging import ALL
from sureness.reproduce.calibration.sets import AS_LOGGED, CANDIDATES, RATINGS, negatives, title_of
from sureness.reproduce.calibration.summing import judgements, mean_of, problems
from sureness.reproduce.experiment import Finder, Plan, ResultFigure, Scale
from sureness.reproduce.published import TITLES

RATIOS: dict[Scale, Sequence[str]] = {
    "quick": [negatives(count) for count in (1, 9, 13, 49)],
    "full": [negatives(count) for count in (1, 2, 5, 7, 9, 13, 19, 49, 99)],
}
"""Beside the ratio of the log; 9 makes a tenth of the sample positive, the text's word on preferred items."""


def ratio_table(plan: Plan, find: Finder) -> pl.DataFrame:
    """A row for each calibration set without an anchor: its level, the errors it gives, and how the claims fare."""
    sets = [AS_LOGGED, *RATIOS[plan.scale], CANDIDATES, RATINGS]
    rows = [row for pairs in sets for row in _rows(plan, find, pairs)]
    return pl.DataFrame(rows, infer_schema_length=None).sort("data", "order").drop("order")


def _rows(plan: Plan, find: Finder, pairs: str) -> list[dict[str, object]]:
    judged = judgements(plan, find, pairs).filter(judged_on=ALL)
    failed = problems(plan, find, pairs)
    return [
        _row(data, pairs, _share(plan, find, pairs, data), judged.filter(data=data), failed.filter(data=data))
        for data in plan.data
    ]


def _share(plan: Plan, find: Finder, pairs: str, data: str) -> float:
    """Positives among the pairs that were fitted on."""
    base = next(base for base in bases(plan) if base["data"] == data)
    about = find(maps_cell(base, pairs)).table("about")
    return float(about["positives"].item() / about["pairs"].item())


def _row(data: str, pairs: str, share: float, rows: pl.DataFrame, failed: pl.DataFrame) -> dict[str, object]:
    text = rows.filter(pl.col("method").is_in(IN_TEXT))
    risks, proposals = risk_table(rows).filter(pl.col("method").is_in(IN_TEXT)), proposal_table(rows)
    decided = risks.drop_nulls("decrease_percent").height
    means = {risk: text.filter(risk=risk) for risk in RISKS}
    lacking = failed.filter(pl.col("method").is_in(IN_TEXT)).height
    return {
        "data": data, "fitted on": title_of(pairs), "positive share": share,
        "liked in the test": float(rows["positive_share"].mean()),  # type: ignore[arg-type]
        **{f"mean probability, {risk}": mean_of(means[risk], "mean_probability") for risk in ("naive", "unbiased")},
        **{f"ECE, {risk}": mean_of(means[risk], "ece") for risk in RISKS},
        "unbiased is lower": _of(risks, "unbiased_is", ("lower", "lower, within chance"), decided),
        "proposed is lowest": _of(proposals, "verdict", ("holds", "lowest, but within chance"), proposals.height),
        "maps without minimum": lacking, "order": -share if pairs != RATINGS else 1.0,
    }  # fmt: skip


def _of(table: pl.DataFrame, column: str, good: tuple[str, str], total: int) -> str:
    """How often something is so, and how often beyond chance (the first of the good words)."""
    found = table.filter(pl.col(column).is_in(good)).height
    return f"{found} of {total} ({table.filter(pl.col(column) == good[0]).height} beyond chance)"


def ratio_findings(table: pl.DataFrame) -> list[str]:
    """What the ratio does to the claims."""
    sentences = []
    for (data,), rows in table.group_by("data", maintain_order=True):
        drawn = rows.filter(pl.col("fitted on").str.contains("negatives per positive"))
        errors = drawn["ECE, unbiased"].drop_nans().to_list()
        low, high = min(errors, default=float("nan")), max(errors, default=float("nan"))
        better = drawn.filter(pl.col("ECE, unbiased") < pl.col("ECE, naive"))["positive share"].to_list()
        worse = drawn.filter(pl.col("ECE, unbiased") >= pl.col("ECE, naive"))["positive share"].to_list()
        liked = float(rows["liked in the test"][0])
        best = drawn.sort("ECE, unbiased", nulls_last=True).row(0, named=True)
        sentences.append(
            f"{TITLES.get(str(data), data)}: the number of negatives alone moves the ECE of the unbiased risk from "
            f"{low:.4f} to {high:.4f}. The unbiased risk is better than the naive one where the sample has "
            f"{_span(better)} positives and worse where it has {_span(worse)}; {liked:.1%} of the test pairs are "
            "liked. Dividing by propensities raises every probability, so it helps exactly where the sample made them "
            "too low. At the ratio that is best for the unbiased risk, which only the test could tell "
            f"({best['fitted on']}), the text's claim on the lowest ECE comes true for {best['proposed is lowest']} "
            f"models, and the unbiased risk is lower than the naive one in {best['unbiased is lower']} cases."
        )
    return sentences


def _span(shares: list[float]) -> str:
    """Shares as people read them.

    Examples
    --------
    >>> _span([0.1, 0.25]), _span([])
    ('10.0% to 25.0%', 'no tried share of')
    """
    if not shares:
        return "no tried share of"
    low, high = min(shares), max(shares)
    return f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"


def ratio_figure(table: pl.DataFrame) -> ResultFigure:
    """ECE against the positive share of the sample, a line a risk."""
    from sureness.plots.levels import draw_error_by_share

    def draw() -> object:
        first = table["data"][0]
        drawn = table.filter(pl.col("fitted on").str.contains("negatives per positive"), data=first).sort(
            "positive share"
        )
        lines = {risk: drawn[f"ECE, {risk}"].to_numpy() for risk in RISKS}
        return draw_error_by_share(
            drawn["positive share"].to_numpy(), lines, truth=float(drawn["liked in the test"][0])
        )

    caption = "ECE by the share of positives that drawing negatives gives the sample; the line is that of the test."
    return ResultFigure("ece-by-ratio", caption, draw)  # type: ignore[arg-type]
