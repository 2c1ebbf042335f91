"""The utility tables: every method that chooses list sizes, on each recommender, beside the published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from sureness.workflows import PERSONAL, REFERENCE
from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.list_size.comparing_methods import compared, means, told_gains, wide_gains, wide_utilities
from sureness_reproduction.list_size.grid import (
    DATA,
    METHODS,
    METRICS,
    MODEL_NAMES,
    NAMES,
    OURS,
    cuts_of,
    has_cuts,
    named,
    title,
    utilities_of,
    utility_cell,
    utility_cells,
    why_absent,
)
from sureness_reproduction.list_size.judging import PUBLISHED
from sureness_reproduction.list_size.runs import ALS, SEEDS, als_is_here
from sureness_reproduction.list_size.showing import beside_shown, put_first, where_data
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import published

_KEYS = ("data", "method", "metric")
_LONGER = 100
_LONGER_ON = ("bpr", "citeulike-a")


def _cells(model: str, plan: Plan) -> Sequence[Cell]:
    if model == ALS and not als_is_here():
        return ()
    wanted = [cell for data in plan.data for cell in utility_cells(plan, data, model)]
    return wanted + list(_longer_cells(model, plan))


def _longer_cells(model: str, plan: Plan) -> list[Cell]:
    """Lists of up to 100 items, which the dissertation mentions."""
    if plan.scale == "quick" or model != _LONGER_ON[0] or _LONGER_ON[1] not in plan.data:
        return []
    forms = (PERSONAL, PUBLISHED)
    return [utility_cell(plan, _LONGER_ON[1], model, seed, form, _LONGER) for seed in plan.seeds for form in forms]


def _outcome(model: str, plan: Plan, find: Finder) -> Outcome:
    if model == ALS and not als_is_here():
        return Outcome(notes=["ALS needs the package implicit, which is not installed; nothing was run."])
    values = {data: utilities_of(plan, find, data, model) for data in plan.data}
    gains = {data: compared(some) for data, some in values.items()}
    tables = [_wide(values), *_beside(model, plan, values), _gains(gains)]
    findings = [sentence for data, some in gains.items() for sentence in told_gains(data, some)]
    findings += [sentence for data, some in values.items() for sentence in told_fixed(data, some)]
    findings += [sentence for data, some in values.items() for sentence in told_improvement(data, model, some)]
    if longer := _longer_cells(model, plan):
        seeds = [cell["seed"] for cell in longer]
        table, more = _longer(named([find(cell).table("values") for cell in longer], seeds))
        tables.append(table)
        findings += more
    return Outcome(tables=tables, findings=findings, notes=_notes(plan))


def _wide(values: dict[str, pl.DataFrame]) -> ResultTable:
    return ResultTable(
        "utilities", "What each method is worth",
        pl.concat([put_first(wide_utilities(some), "data", title(data)) for data, some in values.items()]),
        "Mean utility on test items over users, ± deviation over splits. + and -: better and worse than the best fixed "
        "size by a paired t-test over users at 0.05.",
        tidy=pl.concat([put_first(means(some), "data", data) for data, some in values.items()]),
    )  # fmt: skip


def _beside(model: str, plan: Plan, values: dict[str, pl.DataFrame]) -> list[ResultTable]:
    """Ours beside the dissertation's numbers, where the dissertation has the recommender."""
    ours = pl.concat([put_first(means(some), "data", data) for data, some in values.items()])
    theirs = published("list-size").filter(model=model).with_columns(pl.col("method").replace({"PerK": PUBLISHED}))
    if theirs.is_empty():
        return []
    table = beside_published(ours, theirs, _KEYS, why_not_run=lambda row: why_absent(plan, row["data"]))
    place = {name: number for number, name in enumerate((*METHODS, *METRICS))}
    table = table.sort(pl.col("method", "metric").replace_strict(place), maintain_order=True)
    shown = ResultTable(
        "beside-published", "Beside the published numbers",
        beside_shown(table, theirs["data"].unique(maintain_order=True).to_list(), "method"),
        "Published PerK stands beside ours with the dissertation's maps and approximations. Data sets that the "
        "dissertation does not "
        "have are in the table before.",
        tidy=table,
    )  # fmt: skip
    return [shown]


def _gains(gains: dict[str, pl.DataFrame]) -> ResultTable:
    return ResultTable(
        "paired", "PerK against every competitor",
        pl.concat([put_first(wide_gains(some), "data", title(data)) for data, some in gains.items()]),
        "Mean difference over users, each averaged over the splits first, and the p-value of the paired t-test.",
        tidy=pl.concat([put_first(some, "data", data) for data, some in gains.items()]),
    )  # fmt: skip


def _longer(values: pl.DataFrame) -> tuple[ResultTable, list[str]]:
    data = _LONGER_ON[1]
    table = ResultTable(
        "up-to-100", f"Lists of up to {_LONGER} items, {title(data)}", wide_utilities(values),
        "The dissertation tried 100 and saw a similar gain.", tidy=put_first(means(values), "data", data),
    )  # fmt: skip
    found = compared(values).filter(baseline=REFERENCE)
    gained = [
        f"{form}: " + ", ".join(f"{NAMES[row['metric']]} {row['gain']:+.4f}" for row in part.to_dicts())
        for (form,), part in found.group_by("form", maintain_order=True)
    ]
    return table, [f"With up to {_LONGER} items on {title(data)}, over the best fixed size: {'; '.join(gained)}."]


def told_fixed(data: str, values: pl.DataFrame) -> list[str]:
    """Sentences: what personal sizes could gain at most, and whether each user's own best of the past helps."""
    table = means(values).group_by("method", "metric").agg(pl.col("value").mean())
    value = {(row["method"], row["metric"]): row["value"] for row in table.to_dicts()}
    known = [metric for metric in METRICS if ("Oracle", metric) in value]
    top = {m: max(v for (method, metric), v in value.items() if metric == m and method.startswith("Top-"))
           for m in known}  # fmt: skip
    room = ", ".join(f"{NAMES[m]} {value['Oracle', m]:.4f} against {top[m]:.4f}" for m in known)
    worse = [NAMES[m] for m in known if value["Val-k", m] < value[REFERENCE, m]]
    own = f"Val-k is below the best fixed size in {', '.join(worse) or 'no utility'}"
    return [f"{title(data)}: Oracle against the best Top-k: {room}. {own}."]


def told_improvement(data: str, model: str, values: pl.DataFrame) -> list[str]:
    """A sentence: the gain over MtCut in percent, as the dissertation gives it, where it has the data set."""
    theirs = published("list-size").filter(data=data, model=model)
    if theirs.is_empty() or "MtCut" not in values["method"]:
        return []
    ours = means(values).group_by("method", "metric").agg(pl.col("value").mean())
    told = []
    for metric in [name for name in METRICS if name != "pdcg"]:  # which is negative
        own, text = (
            _value(table, form, metric) / _value(table, "MtCut", metric) - 1
            for table, form in ((ours, PUBLISHED), (theirs, "PerK"))
        )
        told.append(f"{NAMES[metric]} {own:+.1%} (dissertation: {text:+.1%})")
    return [f"{title(data)}: {PUBLISHED} over MtCut: {', '.join(told)}."]


def _value(table: pl.DataFrame, method: str, metric: str) -> float:
    return float(table.filter(method=method, metric=metric)["value"].item())


def _notes(plan: Plan) -> list[str]:
    notes = [
        "Users with 20 or more interactions (19 on CiteULike-a), 60/20/20 of each user's interactions at random, lists "
        "of up to 50 items.",
        f"{PUBLISHED}: a Platt map for each user over all candidates, the dissertation's approximate utility. {OURS}: "
        "maps on "
        "the best candidates, shrunk, carried over to the next period, exact utility. best fixed k is not in the "
        "dissertation: "
        "the one size that was best on validation.",
    ]
    if plan.scale == "quick":
        return [*notes, "AttnCut and MtCut: one setting each, 32 factors, 8 epochs at most."]
    chosen = title(cuts_of(plan)["chosen_on"]["data"])
    left = [title(data) for data in plan.data if not has_cuts(data)]
    notes.append(f"AttnCut and MtCut: the better of two settings on the first split of {chosen} with BPR, judged by "
                 "validation lists of users held out; that setting is used everywhere.")  # fmt: skip
    return notes + [f"AttnCut and MtCut were not run on {name}: training would take hours." for name in left]


def _experiment(model: str, shows: str) -> Experiment:
    return Experiment(
        name=f"list-size-{model}", chapter=4, title=f"List sizes with {MODEL_NAMES[model]}", shows=shows,
        data=DATA[model], cells=partial(_cells, model), outcome=where_data(partial(_outcome, model)), seeds=SEEDS,
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("bpr", "the utility table of BPR"),
    _experiment("neumf", "the utility table of NCF"),
    _experiment("lightgcn", "the utility table of LightGCN"),
    _experiment("als", "not in the dissertation: the same with ALS"),
)
