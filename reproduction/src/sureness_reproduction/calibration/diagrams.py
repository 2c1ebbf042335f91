"""Reliability diagrams of every method: what was promised against what happened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness.metrics import reliability_curve
from sureness_reproduction.calibration.fitting import COUNTING, IN_TEXT
from sureness_reproduction.calibration.grid import DATA, base_of, why_absent
from sureness_reproduction.calibration.judging import name_of, predicted
from sureness_reproduction.calibration.sets import AS_LOGGED, WITH_ANCHOR, title_of
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETS = (AS_LOGGED, WITH_ANCHOR)
_MODEL = "lightgcn"
_DRAWN = (
    ("sigmoid", ""), ("histogram", ""), *((method, "naive") for method in ("platt", "gaussian", "gamma")),
    ("isotonic", ""), ("bbq", ""), *((method, "unbiased") for method in ("platt", "gaussian", "gamma")),
)  # fmt: skip
_N_BINS = 10
_CLAIMED_OF = "yahoo-r3"  # where the dissertation says which probabilities are never reached


def _bases(plan: Plan, model: str) -> list[dict[str, Any]]:
    return [base_of(data, model, seed, plan.scale) for data in plan.data for seed in plan.seeds]


def _absent(plan: Plan) -> list[str]:
    return [
        f"{TITLES[data]}, on which the dissertation draws this, was not run: {why_absent(plan, data)}."
        for data in plan.absent
    ]


def _reliability_cells(plan: Plan) -> Sequence[Cell]:
    return [
        predicted.cell(data=base["data"], base=base, pairs=pairs) for pairs in _SETS for base in _bases(plan, _MODEL)
    ]


def _pooled(plan: Plan, find: Finder, data: str, pairs: str, model: str = _MODEL) -> pl.DataFrame:
    """The test pairs of all seeds with their probabilities; a map without minimum has none on its seed."""
    tables = [
        find(predicted.cell(data=data, base=base, pairs=pairs)).table("pairs").with_columns(seed=pl.lit(base["seed"]))
        for base in _bases(plan, model)
        if base["data"] == data
    ]
    return pl.concat(tables, how="diagonal")


def _reliability(plan: Plan, find: Finder) -> Outcome:
    tables, figures, findings = [], [], []
    for data in plan.data:
        for pairs in _SETS:
            pooled = _pooled(plan, find, data, pairs)
            bins = _bins(pooled)
            title = f"LightGCN on {TITLES[data]}, {title_of(pairs)}"
            tables.append(ResultTable(f"reliability-{data}-{pairs}", title, bins, _BINS_CAPTION))
            figures.append(
                ResultFigure(f"reliability-{data}-{pairs}", f"{title}. {_FIGURE_CAPTION}", partial(_draw_all, pooled))
            )
            findings.append(f"{title}: {_reliability_finding(bins)}")
    logged = {data: _pooled(plan, find, data, AS_LOGGED) for data in plan.data}
    return Outcome(tables, figures, findings, _absent(plan), _verdicts(logged))


def _verdicts(pooled: dict[str, pl.DataFrame]) -> list[Verdict]:
    """Which probabilities are never reached, under the dissertation's protocol."""
    unbiased = [name_of(method, "unbiased") for method in IN_TEXT]
    return [
        _verdict("largest probability produced by non-parametric methods", pooled, list(COUNTING), 0.6),
        _verdict("largest probability produced by parametric methods with the unbiased risk", pooled, unbiased, 0.9),
    ]


def _verdict(fact: str, pooled: dict[str, pl.DataFrame], names: Sequence[str], bound: float) -> Verdict:
    """The dissertation says it of one data set; what others give stands beside it and decides nothing."""
    largest = {data: _largest(rows, names) for data, rows in pooled.items()}
    told = ", ".join(
        f"no map has a minimum on {TITLES[data]}" if value is None else f"{value:.3f} on {TITLES[data]}"
        for data, value in largest.items()
    )
    value = largest.get(_CLAIMED_OF)
    return Verdict(fact, f"{told}; LightGCN, {title_of(AS_LOGGED)}", None if value is None else value <= bound)


def _largest(rows: pl.DataFrame, names: Sequence[str]) -> float | None:
    there = [float(rows[name].max()) for name in names if name in rows.columns]  # type: ignore[arg-type]
    return max(there, default=None)


def _curve_of(pooled: pl.DataFrame, name: str, reading: Any = "frequency") -> Any:
    there = pooled.drop_nulls(name)
    return reliability_curve(there["label"].to_numpy(), there[name].to_numpy(), n_bins=_N_BINS, reading=reading)


def _bins(pooled: pl.DataFrame) -> pl.DataFrame:
    """What was promised and what happened in every bin that holds pairs."""
    parts = []
    for method, risk in _DRAWN:
        name = name_of(method, risk)
        if name not in pooled.columns:
            parts.append(
                pl.DataFrame({"method": [method], "risk": [risk or "-"], "remark": ["the risk has no minimum"]})
            )
            continue
        curve = _curve_of(pooled, name)
        held = curve.weight > 0
        parts.append(pl.DataFrame({
            "method": method, "risk": risk or "-", "from": curve.edges[:-1][held], "to": curve.edges[1:][held],
            "pairs": curve.weight[held].astype(int), "promised": curve.confidence[held],
            "observed": curve.observed[held],
            "low": curve.low[held], "high": curve.high[held],
        }))  # fmt: skip
    table = pl.concat(parts, how="diagonal_relaxed")
    return table.with_columns(pl.col("remark").fill_null("")) if "remark" in table.columns else table


def _draw_all(pooled: pl.DataFrame) -> Figure:
    """Two rows of small diagrams, as in the dissertation: counting methods left, naive above unbiased risk right."""
    from sureness.plots import SETTINGS, draw_reliability, require_matplotlib

    matplotlib = require_matplotlib()
    with matplotlib.rc_context(SETTINGS):
        figure = matplotlib.figure.Figure(figsize=(14.5, 6.4), layout="constrained")
        axes = figure.subplots(2, len(_DRAWN) // 2).ravel()
    for ax, (method, risk) in zip(axes, _DRAWN, strict=True):
        name = name_of(method, risk)
        if name in pooled.columns:
            draw_reliability(_curve_of(pooled, name, "accuracy"), ax=ax, title=name, compact=True)
        else:
            ax.set_axis_off()
            ax.text(0.5, 0.5, f"{name}:\nthe risk has no minimum", ha="center", va="center")
    return figure  # type: ignore[no-any-return]


def _reliability_finding(bins: pl.DataFrame) -> str:
    """The dissertation's three sentences on its diagram."""
    counted, unbiased = _highest(bins.filter(pl.col("method").is_in(COUNTING))), _highest(bins.filter(risk="unbiased"))
    gaps = {risk: _gap_above_half(bins.filter(risk=risk)) for risk in ("naive", "unbiased")}
    return (
        f"the highest bin of a non-parametric method ends at {counted} (dissertation, on Yahoo!R3: nothing over 0.6), "
        f"of an unbiased parametric one at {unbiased} (dissertation: nothing over 0.9). The mean gap of Platt, "
        f"Gaussian and Gamma above 0.5 is {gaps['naive']} with the naive risk and {gaps['unbiased']} with the unbiased "
        "one; the dissertation finds the latter much smaller."
    )


def _highest(bins: pl.DataFrame) -> str:
    held = bins["to"].drop_nulls().to_list()
    return f"{max(held):.1f}" if held else "no number (no map has a minimum)"


def _gap_above_half(bins: pl.DataFrame) -> str:
    high = bins.filter(pl.col("from") >= 0.5 - 1e-9)
    if not high.height:
        return "not defined (no pair is that likely)" if bins["from"].drop_nulls().len() else "not defined (no map)"
    gaps = (high["promised"] - high["observed"]).abs()
    return f"{np.average(gaps.to_numpy(), weights=high['pairs'].to_numpy()):.3f}"


_BINS_CAPTION = (
    "10 bins of equal width, the test pairs of all seeds together; bins without pairs are not listed. low and high: "
    "95% interval of the observed frequency (Wilson), which treats pairs as independent. A method without bins has its "
    "reason in the remark."
)
_FIGURE_CAPTION = "Accuracy against confidence as in the dissertation: below one half the negative class is predicted."

EXPERIMENTS = (
    Experiment(
        name="reliability", chapter=2, title="Reliability diagrams of each calibration method",
        shows="the figure of reliability diagrams (LightGCN, 10 bins)", data=DATA, cells=_reliability_cells,
        outcome=_reliability, claims=True,
    ),
)  # fmt: skip
