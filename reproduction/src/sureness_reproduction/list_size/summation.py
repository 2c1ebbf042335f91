"""The study of M: how far the dissertation's sum over the number of relevant items has to go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import spread
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.grid import MAX_SIZE, NAMES, study_of, title
from sureness_reproduction.list_size.policy_study import truncation_study
from sureness_reproduction.list_size.runs import SEEDS, Recipe, needs_base, opened
from sureness_reproduction.list_size.showing import put_first, where_data
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import published
from sureness_reproduction.workbench import Workbench

TERMS = (5, 10, 20, 50, 100, 500, 2_000)
EXACT = "exact"
_UTILITIES = ("ndcg", "f1")
_ENOUGH = 5e-4  # a difference below what a table of three digits shows
_DATA: dict[Scale, Sequence[str]] = {
    "quick": ("ml-100k",),
    "full": ("citeulike-a", "ml-1m", "amazon-music", "ml-10m", "ml-25m", "amazon-books"),
}


@work(needs=needs_base, judges=True, cost=30)
def terms_judged(bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int, max_size: int) -> Tables:
    """The utility and mean size that the dissertation's form reaches with each M, and the exact one."""
    run = opened(bench, data, model, recipe, seed)
    return {"terms": truncation_study(run, TERMS, utilities=_UTILITIES, max_size=max_size)}


def _cell(plan: Plan, data: str, seed: int) -> Cell:
    return terms_judged.cell(**study_of(plan, data, "bpr", seed, MAX_SIZE))


def _cells(plan: Plan) -> Sequence[Cell]:
    return [_cell(plan, data, seed) for data in plan.data for seed in plan.seeds]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    parts = [
        put_first(find(_cell(plan, data, seed)).table("terms"), "data", data).with_columns(seed=pl.lit(seed))
        for data in plan.data for seed in plan.seeds
    ]  # fmt: skip
    found = pl.concat(parts).rename({"policy": "M", "utility": "metric"})
    found = found.with_columns(pl.col("M").str.replace("M = ", "").str.replace(",", ""))
    table = ResultTable("terms", "Utility and list size by M, BPR", _wide(found),
                        "Mean ± deviation over splits; items: mean size of the lists.", tidy=found)  # fmt: skip
    figures = [
        ResultFigure(f"terms-{data}-{metric}", f"{NAMES[metric]} by M with BPR on {title(data)}, mean and range over "
                     "splits; the dashed line is exact", partial(_draw, found.filter(data=data, metric=metric), metric))
        for data in plan.data for metric in _UTILITIES
    ]  # fmt: skip
    notes = ["The dissertation's own maps. Exact sums cost no more here, so only this study has an M."]
    return Outcome(
        tables=[table], figures=figures, findings=[told(data, found.filter(data=data)) for data in plan.data],
        notes=notes, verdicts=[_verdict({data: sufficient(found.filter(data=data)) for data in plan.data})],
    )  # fmt: skip


def _means(table: pl.DataFrame) -> dict[tuple[str, str], float]:
    mean = table.group_by("M", "metric").agg(pl.col("value").mean())
    return {(row["M"], row["metric"]): row["value"] for row in mean.to_dicts()}


def sufficient(table: pl.DataFrame) -> int:
    """The smallest M from which on the utility does not change."""
    value = _means(table)
    known = sorted({int(m) for m, _ in value if m != EXACT})
    last = str(known[-1])
    return next(
        m for number, m in enumerate(known)
        if all(abs(value[str(other), metric] - value[last, metric]) < _ENOUGH
               for other in known[number:] for metric in _UTILITIES)
    )  # fmt: skip


def _verdict(enough: dict[str, int]) -> Verdict:
    """The largest M is enough where a smaller one already is: nothing changes on the way to it."""
    found = ", ".join(f"{title(data)} {m:,}" for data, m in enough.items())
    return Verdict("sufficient summation bound M", f"already enough: {found}", max(enough.values()) < TERMS[-1])


def told(data: str, table: pl.DataFrame) -> str:
    """A sentence: from which M on nothing changes, and how far that is from exact."""
    value = _means(table)
    last = str(max(int(m) for m, _ in value if m != EXACT))
    gaps = ", ".join(f"{NAMES[metric]} {_gap(value[last, metric], value[EXACT, metric])}" for metric in _UTILITIES)
    text = published("claims").filter(fact="sufficient summation bound M")["value"].item()
    return (
        f"{title(data)}: from M = {sufficient(table):,} on the utility changes by less than {_ENOUGH} (dissertation: "
        f"{text:,.0f} is enough); the dissertation's form with M = {int(last):,} against the exact utility, all its "
        f"approximations together: {gaps}."
    )


def _gap(ours: float, exact: float) -> str:
    """A difference to four digits; 0 has no sign.

    Examples
    --------
    >>> _gap(0.1, 0.10001), _gap(0.1, 0.09)
    ('0.0000', '+0.0100')
    """
    gap = round(ours - exact, 4)
    return f"{gap:+.4f}" if gap else "0.0000"


def _wide(found: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for (data, m), part in found.group_by("data", "M", maintain_order=True):
        row: dict[str, str] = {"data": title(str(data)), "M": str(m)}
        for metric in _UTILITIES:
            some = part.filter(metric=metric)
            row |= {NAMES[metric]: spread(some["value"]), f"items, {NAMES[metric]}": spread(some["mean_size"], 1)}
        rows.append(row)
    return pl.DataFrame(rows)


def _draw(part: pl.DataFrame, metric: str) -> Any:
    from sureness_reproduction.plots.summation import draw_summation_bound, prepare_summation_bound

    return draw_summation_bound(prepare_summation_bound(part, NAMES[metric]))


EXPERIMENTS = (
    Experiment(
        name="summation-bound", chapter=4, title="How far to sum: the study of M", shows="the figure of M",
        data=_DATA, cells=_cells, outcome=where_data(_outcome), seeds=SEEDS, claims=True,
    ),
)  # fmt: skip
