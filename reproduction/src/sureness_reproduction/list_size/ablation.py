"""What the calibration is worth: list sizes with no map, one map for all, and a map for each user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from sureness.workflows import PERSONAL
from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published, paired, spread
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.grid import (
    DATA,
    METRICS,
    MODEL_NAMES,
    NAMES,
    has_cuts,
    study_of,
    title,
    utility_cell,
    why_absent,
)
from sureness_reproduction.list_size.judging import GLOBAL, PUBLISHED, UNCALIBRATED, errors_judged
from sureness_reproduction.list_size.runs import ALS, SEEDS, als_is_here
from sureness_reproduction.list_size.showing import beside_shown, where_data
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import published

_OURS = "user-wise, shrunk line"
CALIBRATIONS = {UNCALIBRATED: "uncalibrated", GLOBAL: "global", PUBLISHED: "user-wise", PERSONAL: _OURS}
_TOP = "ece of the top"
_ORDER = ("uncalibrated", "global", "user-wise")
_MODELS: dict[Scale, Sequence[str]] = {"quick": ("neumf", "bpr"), "full": ("neumf", "bpr", "lightgcn", "als")}
_DATA: dict[Scale, Sequence[str]] = {
    "quick": ("ml-100k",),
    "full": [name for name in DATA["bpr"]["full"] if has_cuts(name)],
}


def _settings(plan: Plan) -> Iterator[tuple[str, str]]:
    """The recommenders on the data where they are studied."""
    for model in _MODELS[plan.scale]:
        if model == ALS and not als_is_here():
            continue
        yield from ((data, model) for data in plan.data if data in DATA[model][plan.scale])


def _pairs(plan: Plan, data: str, model: str) -> Iterator[tuple[str, int, Cell, Cell]]:
    for variant in CALIBRATIONS:
        for seed in plan.seeds:
            errors = errors_judged.cell(variant=variant, **study_of(plan, data, model, seed))
            yield variant, seed, utility_cell(plan, data, model, seed, variant), errors


def _cells(plan: Plan) -> Sequence[Cell]:
    return [cell for data, model in _settings(plan) for *_, first, second in _pairs(plan, data, model)
            for cell in (first, second)]  # fmt: skip


def _outcome(plan: Plan, find: Finder) -> Outcome:
    found, findings = [], []
    for data, model in _settings(plan):
        values, numbers = _found(plan, find, data, model)
        found.append(numbers)
        findings += told(data, model, values, numbers)
    ours = pl.concat(found)
    theirs = published("list-size-calibration")
    keys = ("data", "model", "calibration", "metric")
    table = beside_published(
        ours, theirs, keys, higher_is_better=lambda row: not str(row["metric"]).startswith("ece"),
        why_not_run=lambda row: why_absent(plan, row["data"]),
    )  # fmt: skip
    known = theirs["data"].unique(maintain_order=True).to_list()
    tables = [
        ResultTable("calibration", "Calibration error and utility of each map", _wide(ours),
                    "ECE (15 bins, test labels) over all candidates, as in the dissertation, and over each user's "
                    "first 50, of "
                    "which lists are made. Mean ± deviation over splits.", tidy=ours),
        ResultTable("beside-published", "Beside the published numbers, NCF",
                    beside_shown(table.filter(model="neumf"), known, "calibration"),
                    "Other recommenders and data sets are in the table before.", tidy=table),
    ]  # fmt: skip
    return Outcome(tables=tables, findings=findings, notes=_notes(plan))


def _found(plan: Plan, find: Finder, data: str, model: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Utilities of every user, and the mean of each number for every seed, by calibration."""
    values, errors = [], []
    for variant, seed, first, second in _pairs(plan, data, model):
        name = {"calibration": pl.lit(CALIBRATIONS[variant]), "seed": pl.lit(seed)}
        values.append(find(first).table("values").filter(policy=variant).with_columns(**name))
        errors.append(find(second).table("errors").with_columns(**name))
    every = pl.concat(values).rename({"utility": "metric"})
    wide = pl.concat(errors).rename({"ece_top": _TOP})
    long = wide.unpivot(["ece", _TOP], index=["calibration", "seed"], variable_name="metric")
    utility = every.group_by("calibration", "seed", "metric", maintain_order=True).agg(pl.col("value").mean())
    numbers = pl.concat([long.select(utility.columns), utility])
    return every, numbers.select(pl.lit(data).alias("data"), pl.lit(model).alias("model"), pl.all())


def _wide(ours: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for (data, model, calibration), part in ours.group_by("data", "model", "calibration", maintain_order=True):
        row = {"data": title(str(data)), "model": MODEL_NAMES[str(model)], "calibration": str(calibration)}
        for metric in ("ece", _TOP, *METRICS):
            digits = 5 if metric == "ece" else 4
            row[NAMES.get(metric, "ECE of the top")] = spread(part.filter(metric=metric)["value"], digits)
        rows.append(row)
    return pl.DataFrame(rows)


def told(data: str, model: str, values: pl.DataFrame, numbers: pl.DataFrame) -> list[str]:
    """Whether the dissertation's order holds: a map per user beats one for all, which beats none."""
    mean = numbers.group_by("calibration", "metric").agg(pl.col("value").mean())
    value = {(row["calibration"], row["metric"]): row["value"] for row in mean.to_dicts()}
    none, one, own = _ORDER
    holds: list[str] = []
    fails: list[str] = []
    for metric in ("ece", _TOP, *METRICS):
        sign = -1 if metric.startswith("ece") else 1
        right = sign * value[own, metric] > sign * value[one, metric] > sign * value[none, metric]
        (holds if right else fails).append(NAMES.get(metric, "ECE of the top"))
    by = {name: values.filter(calibration=name) for name in (one, own)}
    gains = []
    for metric in METRICS:
        gain, p_value = paired(by[own].filter(metric=metric), by[one].filter(metric=metric))
        gains.append(f"{NAMES[metric]} {gain:+.4f} (p {p_value:.1g})")
    order = f"user-wise > global > none holds for {', '.join(holds) or 'nothing'}"
    broken = f", not for {', '.join(fails)}" if fails else ""
    return [f"{title(data)}, {MODEL_NAMES[model]}: {order}{broken}. User-wise over global: {', '.join(gains)}."]


def _notes(plan: Plan) -> list[str]:
    notes = [
        "uncalibrated: the sigmoid of the score; global: one Platt map on all candidates of all users; user-wise: the "
        f"text's Platt map for each user on all its candidates; {_OURS}: on the best 200 candidates, shrunk, carried "
        "over to the next period. The dissertation has NCF only.",
    ]
    if "als" in _MODELS[plan.scale] and not als_is_here():
        notes.append("ALS needs the package implicit, which is not installed; it was not run.")
    return notes


EXPERIMENTS = (
    Experiment(
        name="list-size-calibration", chapter=4, title="What calibration is worth for list sizes",
        shows="the ablation of calibration", data=_DATA, cells=_cells, outcome=where_data(_outcome), seeds=SEEDS,
    ),
)  # fmt: skip
