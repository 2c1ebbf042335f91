"""How well the five recommenders rank each user's uniformly exposed test items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from sureness.data import rated_above
from sureness.evaluation import evaluate_within
from sureness_reproduction.calibration.grid import DATA, bases, not_run, recommender, why_absent
from sureness_reproduction.calibration.sets import threshold_of
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import beside_published, paired, spread
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import TITLES, published
from sureness_reproduction.workbench import Workbench

METRICS = tuple(f"{metric}@{k}" for metric in ("ndcg", "recall") for k in (1, 3, 5))
_MAIN = "ndcg@5"  # by which models are compared in pairs
_KEYS = ["data", "model", "metric"]


def _needs(*, base: dict[str, Any], **_: Any) -> Iterable[Cell]:
    yield recommender(base)


@work(needs=_needs, judges=True, cost=1)
def ranked(bench: Workbench, *, data: str, base: dict[str, Any]) -> Tables:
    """NDCG and recall of every user with a positive among the test items."""
    split = bench.split(data, "preference", seed=base["seed"])
    relevant = rated_above(split.test, threshold_of(data))
    quality = evaluate_within(bench.found(recommender(base)).model, split.test, relevant, metrics=METRICS)
    return {"users": quality.per_user.rename({"user_id": "user"})}


def _cells(plan: Plan) -> Sequence[Cell]:
    return [ranked.cell(data=base["data"], base=base) for base in bases(plan)]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    notes = not_run(plan)
    if not plan.data:
        return Outcome(notes=notes)
    users = pl.concat(
        find(ranked.cell(data=base["data"], base=base)).table("users").with_columns(
            data=pl.lit(base["data"]), model=pl.lit(base["model"]), seed=pl.lit(base["seed"])
        )
        for base in bases(plan)
    )  # fmt: skip
    ours = users.group_by("data", "model", "seed", maintain_order=True).agg(pl.col(METRICS).mean())
    ours = ours.unpivot(METRICS, index=["data", "model", "seed"], variable_name="metric")
    theirs = published("calibration-ranking")
    table = beside_published(ours, theirs, _KEYS, why_not_run=lambda row: why_absent(plan, str(row["data"])))
    tables = [
        ResultTable("ranking", "Ranking quality, ours beside the dissertation", table, _CAPTION),
        *(ResultTable(f"ranking-{data}", f"{TITLES[data]} at a glance", _wide(data, ours, theirs), _WIDE_CAPTION)
          for data in plan.data),
        ResultTable("ranking-pairs", f"{_MAIN} of every two models", _pairs(users), _PAIRS_CAPTION),
    ]  # fmt: skip
    return Outcome(
        tables, findings=[_finding(data, table) for data in plan.data], notes=[*notes, *_settings(plan, find)]
    )


def _wide(data: str, ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    def shown(model: str, metric: str) -> str:
        values = ours.filter(data=data, model=model, metric=metric)["value"]
        printed = theirs.filter(data=data, model=model, metric=metric)["value"].item()
        return f"{spread(values)} / {printed:.4f}"

    models = ours.filter(data=data)["model"].unique(maintain_order=True)
    return pl.DataFrame([{"metric": metric} | {model: shown(model, metric) for model in models} for metric in METRICS])


def _pairs(users: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for (data,), part in users.group_by("data", maintain_order=True):
        for first, second in combinations(part["model"].unique(maintain_order=True), 2):
            one, other = (part.filter(model=model).rename({_MAIN: "value"}) for model in (first, second))
            gain, p_value = paired(one, other)
            rows.append({"data": data, "first": first, "second": second, "difference": gain, "p": p_value})
    return pl.DataFrame(rows)


def _finding(data: str, table: pl.DataFrame) -> str:
    rows = table.filter(data=data).drop_nulls("published")
    matched = rows.filter(pl.col("verdict") != "worse").height
    ours, theirs = (
        rows.filter(metric=_MAIN).sort(column, descending=True)["model"][0] for column in ("ours", "published")
    )
    return (
        f"{TITLES[data]}: {matched} of {rows.height} published numbers are reached or exceeded. By {_MAIN} the best "
        f"model here is {ours}, in the dissertation {theirs}."
    )


def _settings(plan: Plan, find: Finder) -> list[str]:
    """What was chosen on validation."""
    return [
        f"{base['data']} {base['model']}, chosen on validation: {_chosen(find, base)}."
        for base in bases(plan)
        if base["seed"] == plan.seeds[0]
    ]


def _chosen(find: Finder, base: dict[str, Any]) -> str:
    return str(find(recommender(base)).table("about")["settings"].item())


_CAPTION = (
    "Each user's uniformly exposed test items are ranked; test pairs that are also in the training log are left out, "
    "and so are users without a positive. A tenth of the training positives chose settings and epochs, by NDCG@50."
)
_WIDE_CAPTION = "Ours, mean ± deviation over seeds / the dissertation."
_PAIRS_CAPTION = (
    "First less second, with the p-value of a paired t-test over users whose differences are averaged over seeds; not "
    "corrected for the number of comparisons."
)

EXPERIMENTS = (
    Experiment(
        name="calibration-ranking", chapter=2, title="Ranking quality of the five base models",
        shows="the table of NDCG and Recall at 1, 3 and 5", data=DATA, cells=_cells, outcome=_outcome,
    ),
)  # fmt: skip
