"""How much hangs on the number of negatives that are drawn for each positive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import polars as pl

from sureness_reproduction.calibration.contests import proposal_table, risk_table
from sureness_reproduction.calibration.fitting import IN_TEXT, RISKS, maps_cell
from sureness_reproduction.calibration.grid import bases
from sureness_reproduction.calibration.judging import ALL
from sureness_reproduction.calibration.sets import AS_LOGGED, CANDIDATES, RATINGS, negatives, title_of
from sureness_reproduction.calibration.summing import judgements, mean_of, problems
from sureness_reproduction.experiment import Finder, Plan, Scale
from sureness_reproduction.outcome import ResultFigure
from sureness_reproduction.published import TITLES

RATIOS: dict[Scale, Sequence[str]] = {
    "quick": [negatives(count) for count in (1, 9, 13, 49)],
    "full": [negatives(count) for count in (1, 2, 5, 7, 9, 13, 19, 49, 99)],
}
"""Beside the ratio of the log; 9 makes a tenth of the sample positive, the dissertation's word on preferred items."""


def ratio_table(plan: Plan, find: Finder) -> pl.DataFrame:
    """A row for each calibration set without an anchor: its level, the errors it gives, and how the claims fare."""
    sets = [AS_LOGGED, *RATIOS[plan.scale], CANDIDATES, RATINGS]
    rows = [row for pairs in sets for row in _rows(plan, find, pairs)]
    return pl.DataFrame(rows, infer_schema_length=None).sort("data", "order").drop("order")


def _rows(plan: Plan, find: Finder, pairs: str) -> list[dict[str, object]]:
    judged = judgements(plan, find, pairs).filter(judged_on=ALL)
    failed = problems(plan, find, pairs)
    return [
        _row(data, pairs, positive_share(plan, find, pairs, data), judged.filter(data=data), failed.filter(data=data))
        for data in plan.data
    ]


def positive_share(plan: Plan, find: Finder, pairs: str, data: str) -> float:
    """Positives among the pairs that were fitted on, the mean over models and seeds."""
    found = [find(maps_cell(base, pairs)).table("about") for base in bases(plan) if base["data"] == data]
    return fmean(about["positives"].item() / about["pairs"].item() for about in found)


def _row(data: str, pairs: str, share: float, rows: pl.DataFrame, failed: pl.DataFrame) -> dict[str, object]:
    text = rows.filter(pl.col("method").is_in(IN_TEXT))
    risks, proposals = risk_table(rows).filter(pl.col("method").is_in(IN_TEXT)), proposal_table(rows)
    decided = risks.drop_nulls("decrease_percent").height
    told = proposals.drop_nulls("improvement_percent").height
    means = {risk: text.filter(risk=risk) for risk in RISKS}
    lacking = failed.filter(pl.col("method").is_in(IN_TEXT)).height
    return {
        "data": data, "fitted on": title_of(pairs), "positive share": share,
        "liked in the test": float(rows["positive_share"].mean()),  # type: ignore[arg-type]
        **{f"mean probability, {risk}": mean_of(means[risk], "mean_probability") for risk in ("naive", "unbiased")},
        **{f"ECE, {risk}": mean_of(means[risk], "ece") for risk in RISKS},
        "unbiased is lower": _of(risks, "unbiased_is", ("lower", "lower, within chance"), decided),
        "proposed is lowest": _of(proposals, "verdict", ("holds", "lowest, but within chance"), told),
        "maps without minimum": lacking, "order": -share if pairs != RATINGS else 1.0,
    }  # fmt: skip


def _of(table: pl.DataFrame, column: str, good: tuple[str, str], total: int) -> str:
    """In how many of the decided cases something is so, and in how many beyond chance (the first good word)."""
    found = table.filter(pl.col(column).is_in(good)).height
    return f"{found} of {total} ({table.filter(pl.col(column) == good[0]).height} beyond chance)"


def ratio_findings(table: pl.DataFrame) -> list[str]:
    """What the ratio does to the claims."""
    return [
        f"{TITLES.get(str(data), data)}: {_finding(rows.filter(pl.col('fitted on').str.contains(_DRAWN)))}"
        for (data,), rows in table.group_by("data", maintain_order=True)
    ]


_DRAWN = "negatives? per positive"


def _finding(drawn: pl.DataFrame) -> str:
    """Of the ratios at which both risks have a minimum."""
    told = drawn.filter(pl.all_horizontal(pl.col("ECE, naive", "ECE, unbiased").is_finite()))
    if told.is_empty():
        return "the unbiased risk has no minimum with any tried number of negatives."
    told = told.with_columns(better=pl.col("ECE, unbiased") < pl.col("ECE, naive")).sort("positive share")
    better, worse = (told.filter(better=kind)["positive share"].to_list() for kind in (True, False))
    best, most = told.sort("ECE, unbiased")[[0, -1]].to_dicts()
    without = drawn.height - told.height
    return (
        f"the number of negatives alone moves the ECE of the unbiased risk from {best['ECE, unbiased']:.4f} to "
        f"{most['ECE, unbiased']:.4f}{f' (no minimum with {without} of {drawn.height})' if without else ''}. It "
        f"is better than the naive one where the sample has {_span(better)} positives and worse where it has "
        f"{_span(worse)}; {told['liked in the test'][0]:.1%} of the test pairs are liked. Dividing by propensities "
        "raises every probability; it helps where the sample made them so low that this does not overshoot"
        f"{_around(told)}. At the ratio that is best for the unbiased risk, which only the test could tell "
        f"({best['fitted on']}), the dissertation's claim on the lowest ECE comes true for "
        f"{best['proposed is lowest']} "
        f"decided models, and the unbiased risk is lower than the naive one in {best['unbiased is lower']} decided "
        "cases."
    )


def _around(told: pl.DataFrame) -> str:
    """The mean probabilities at the two ratios between which the better risk changes, for each such change."""
    changes = [(one, other) for one, other in pairwise(told.to_dicts()) if one["better"] != other["better"]]
    return " (" + "; ".join(_levels(row) for change in changes for row in change) + ")" if changes else ""


def _levels(row: dict[str, Any]) -> str:
    return (
        f"with {row['fitted on']} the mean probability is {row['mean probability, naive']:.3f} naive and "
        f"{row['mean probability, unbiased']:.3f} unbiased, which is {'better' if row['better'] else 'worse'}"
    )


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
    """ECE against the positive share of the sample, one line per risk."""
    from sureness_reproduction.plots.levels import draw_error_by_share

    def draw() -> object:
        first = table["data"][0]
        drawn = table.filter(pl.col("fitted on").str.contains(_DRAWN), data=first).sort("positive share")
        lines = {risk: drawn[f"ECE, {risk}"].to_numpy() for risk in RISKS}
        return draw_error_by_share(
            drawn["positive share"].to_numpy(), lines, truth=float(drawn["liked in the test"][0])
        )

    caption = "ECE by the share of positives that drawing negatives gives the sample; the line is that of the test."
    return ResultFigure("ece-by-ratio", caption, draw)  # type: ignore[arg-type]
