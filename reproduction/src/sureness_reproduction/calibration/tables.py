"""Errors of all methods as tables: in full beside the dissertation, and at a glance, one column per model."""

from __future__ import annotations

import polars as pl

from sureness_reproduction.calibration.fitting import CONSTANT, IN_TEXT, METHODS
from sureness_reproduction.calibration.grid import MODELS, why_absent
from sureness_reproduction.calibration.summing import KEYS
from sureness_reproduction.comparing import NOT_PUBLISHED, beside_published
from sureness_reproduction.experiment import Plan
from sureness_reproduction.published import published

ORDER = (*METHODS, (CONSTANT, ""))


def beside(plan: Plan, rows: pl.DataFrame, found: pl.DataFrame, failed: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Every number with its interval beside the published one; every missing number with the reason.

    Parameters
    ----------
    plan : Plan
    rows : table
        As `judgements` gives it, one part of the test only.
    found : table
        Its `summary`.
    failed : table
        As `problems` gives it.
    metric : str
    """
    ours = rows.select(*KEYS, value=pl.col(metric))
    reasons = _reasons(failed)

    def why_not_run(row: dict[str, object]) -> str:
        key = tuple(str(row[name]) for name in KEYS)
        return reasons[key][1] if key in reasons else why_absent(plan, key[0])

    table = beside_published(ours, published(metric), KEYS, higher_is_better=False, why_not_run=why_not_run)
    table = table.join(found.select(*KEYS, "low", "high"), on=KEYS, how="left", maintain_order="left")
    table = pl.concat([table, _unfitted(table, reasons)], how="diagonal_relaxed")
    remarks = [_remark(row, reasons, metric, plan) for row in table.to_dicts()]
    place = [_place(row) for row in table.select(KEYS).to_dicts()]
    ordered = table.with_columns(pl.Series("remark", remarks), pl.Series("place", place)).sort("place").drop("place")
    last = ["ours", "deviation", "low", "high", "seeds", "published", "difference", "verdict", "remark"]
    return ordered.select(*KEYS, *last)


Reasons = dict[tuple[str, ...], tuple[int, str]]


def _reasons(failed: pl.DataFrame) -> Reasons:
    """In how many seeds a map could not be fitted, and why in the first of them."""
    grouped = failed.group_by(KEYS, maintain_order=True).agg(pl.len().alias("seeds"), pl.col("problem").first())
    return {tuple(row[:4]): (row[4], row[5]) for row in grouped.select(*KEYS, "seeds", "problem").iter_rows()}


def _unfitted(table: pl.DataFrame, reasons: Reasons) -> pl.DataFrame:
    """Rows for methods that are neither published nor have a number of ours."""
    there = set(table.select(KEYS).iter_rows())
    rows = [dict(zip(KEYS, key, strict=True)) for key in reasons if key not in there]
    return pl.DataFrame(rows, schema=dict.fromkeys(KEYS, pl.String))


def _remark(row: dict[str, object], reasons: Reasons, metric: str, plan: Plan) -> str:
    key = tuple(str(row[name]) for name in KEYS)
    remark = str(row["remark"] or "")
    if key in reasons:
        count, why = reasons[key]
        all_seeds = row["ours"] is None
        return f"no number: {why}" if all_seeds else f"{count} of {len(plan.seeds)} seeds left out: {why}"
    if remark == NOT_PUBLISHED and metric != "ece" and key[2] == "minmax":
        return "the dissertation repeats its row of ECE here, so its number is left out"
    return remark


def _place(row: dict[str, object]) -> int:
    """Coat first, then the models and methods in the order of the dissertation."""
    model, choice = MODELS.index(str(row["model"])), (str(row["method"]), str(row["risk"]))
    return (row["data"] != "coat") * 10_000 + model * 100 + ORDER.index(choice)


def at_a_glance(data: str, found: pl.DataFrame, failed: pl.DataFrame, metric: str, *, with_text: bool) -> pl.DataFrame:
    """A row for each method, a column for each model: ours with interval, then the dissertation's number.

    The lowest of each column is starred, the constant aside.
    """
    here = found.filter(data=data)
    numbers = {
        tuple(row[:3]): row[3:] for row in here.select("model", "method", "risk", "value", "low", "high").iter_rows()
    }
    theirs = {
        tuple(row[:3]): row[3]
        for row in published(metric).filter(data=data).select("model", "method", "risk", "value").iter_rows()
    }
    lowest = {
        model: min((value[0] for key, value in numbers.items() if key[0] == model and key[1] != CONSTANT), default=0.0)
        for model in MODELS
    }
    lacking = set(failed.filter(data=data).select("model", "method", "risk").iter_rows())

    def shown(model: str, method: str, risk: str) -> str:
        key = (model, method, risk)
        if key not in numbers:
            return "no minimum" if key in lacking else "not run"
        value, low, high = numbers[key]
        text = f"{value:.4f} [{low:.3f}, {high:.3f}]" + ("*" if value == lowest[model] and method != CONSTANT else "")
        text += " †" if key in lacking else ""
        return text + (f" / {theirs[key]:.4f}" if with_text and key in theirs else " / -" if with_text else "")

    return pl.DataFrame([
        {"method": method, "risk": risk or "-"} | {model: shown(model, method, risk) for model in MODELS}
        for method, risk in ORDER
    ])  # fmt: skip


def glance_caption(*, with_text: bool, pairs: str, judged: str) -> str:
    """How to read such a table."""
    parts = [
        f"Fitted on {pairs}; judged on {judged}. Mean over seeds with a 95% interval for draws of users and seeds",
        " / the dissertation's number ('-': it has none)" if with_text else "",
        ". * lowest of its column, the constant aside (it gives every pair the same probability and ranks nothing). "
        "'no minimum': this risk has none on any seed; † on some seeds, which are left out. Risk '-': fitted to the "
        f"labels as they are. Methods beside {', '.join(IN_TEXT)} with a risk, and the weighted risk, are ours.",
    ]
    return "".join(parts)
