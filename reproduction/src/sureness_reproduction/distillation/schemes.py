"""Which items the models speak of, what they say, and who learns: the sampling schemes and the controls."""

from __future__ import annotations

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published
from sureness_reproduction.distillation.declared import DATA, KEPT, TEXT, pair
from sureness_reproduction.distillation.pairs import Pair
from sureness_reproduction.distillation.showing import Contest, beside_shown, contests, nothing, title
from sureness_reproduction.distillation.works import ROLES
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import published

_START, _MODEL = "published", "bpr"
SCHEMES = {
    "bd": "Rank discrepancy-aware", "rank-aware": "Rank-aware", "top-n": "Top-N selection", "mutual": "Uniform",
    "swapped": "Swapped rank discrepancy-aware",
}  # fmt: skip
"""The five schemes of the dissertation."""

CONTROLS = {
    "calibrated": "Calibrated labels", "constant-labels": "Constant labels",
    "drawn-negatives": "Drawn negatives, no labels", "one-way": "Fixed teacher", "to-teacher": "Fixed student",
}  # fmt: skip
"""What the dissertation does not have: its outlook, the controls, and one direction alone."""

GRIDS = {method: [TEXT if method == "bd" else KEPT] for method in (*SCHEMES, *CONTROLS)}


def _pair(plan: Plan) -> Pair:
    whole = pair(plan.scale, _START, _MODEL)
    return Pair(whole.data, whole.start, whole.model, whole.teacher, whole.student, whole.schedule, GRIDS)


def _cells(plan: Plan) -> list[Cell]:
    return (
        [_pair(plan).judged(method, seed) for method in ("alone", *GRIDS) for seed in plan.seeds] if plan.data else []
    )


def _outcome(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=nothing(plan))
    each = _pair(plan)
    names = {"alone": "Alone"} | SCHEMES | CONTROLS
    ours = each.quality(list(names), plan.seeds, find).filter(metric="hit@50")
    ours = ours.with_columns(scheme=pl.col("way").replace_strict(names))
    keys = ["data", "model", "scheme", "role"]
    theirs = published("sampling-schemes")
    beside = beside_published(ours.select(*keys, "value"), theirs, keys, why_not_run=_why)
    tests = [found for role in ROLES for found in _tests(each, role, plan, find)]
    tables = [
        ResultTable("schemes", f"H@50 of BD with other samples and labels, {title(each.data)}",
                    beside_shown(beside.filter(pl.col("ours").is_not_null()), ["scheme", "role"]),
                    "BPR from the published start; the last five and Alone are not in this table of the "
                    "dissertation.", beside),
        ResultTable("tests", "Paired tests over users, H@50", pl.DataFrame([found.row() for found in tests])),
        ResultTable("not-run", "Published, but not run", _rest(theirs, plan)),
    ]  # fmt: skip
    return Outcome(tables, [], _findings(ours, tests), [
        f"All have weight {TEXT['weight']}, {TEXT['items']} items and temperature {TEXT['temperature']:g}, smoothness "
        "1e-4 (rank-aware: 1e-2, as CD has it); nothing was chosen.",
        "Constant labels keep the level of the labels but tell no item from another; drawn negatives are the same "
        "items as negatives of each model's own loss, without labels: what these two bring is not knowledge of the "
        "other model.",
        "NeuMF and CDAE, which the dissertation has too, were left out here: each scheme would take hours.",
    ])  # fmt: skip


def _tests(each: Pair, role: str, plan: Plan, find: Finder) -> list[Contest]:
    """The proposed scheme against every other and against the model alone; then the controls against that."""
    learned = [way for way in GRIDS if (way, role) not in (("one-way", "teacher"), ("to-teacher", "student"))]
    which = [("bd", other) for other in ("alone", *learned) if other != "bd"]
    which += [(other, "alone") for other in learned if other in CONTROLS]
    found = contests(each, [((a, role), (b, role)) for a, b in which], ["hit@50"], plan.seeds, find)
    names = {"alone": "alone"} | SCHEMES | CONTROLS
    return [Contest(f"{names[a]} ({role})", names[b], each_.metric, each_.values, each_.difference, each_.p)
            for (a, b), each_ in zip(which, found, strict=True)]  # fmt: skip


def _rest(theirs: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    rest = theirs.filter(~(pl.col("data").is_in(list(plan.data)) & (pl.col("model") == _MODEL)))
    groups = rest.group_by("data", "model", maintain_order=True).len().rows()
    return pl.DataFrame([{"data": title(data), "model": model, "published numbers": count,
                          "why": _why({"data": data, "model": model})} for data, model, count in groups])  # fmt: skip


def _why(row: dict[str, object]) -> str:
    return "too slow for ten ways" if row["model"] != _MODEL else "it is the data set of --full"


def _findings(ours: pl.DataFrame, tests: list[Contest]) -> list[str]:
    sentences = []
    for role in ROLES:
        means = ours.filter(role=role).group_by("scheme", maintain_order=True).agg(pl.col("value").mean())
        five = means.filter(pl.col("scheme").is_in(list(SCHEMES.values()))).sort("value", descending=True)
        best, value = five.row(0)
        agrees = "as in the dissertation" if best == SCHEMES["bd"] else f"in the dissertation it is {SCHEMES['bd']}"
        sentences.append(f"Of the five schemes {best} is the best for the {role} (H@50 {value:.4f}); {agrees}.")
        overall, top = means.filter(pl.col("scheme") != "Alone").sort("value", descending=True).row(0)
        sentences.append(f"Of all ten ways {overall} is the best for the {role} (H@50 {top:.4f}).")
    wanted = [f"{SCHEMES['bd']} ({role})" for role in ROLES]
    others = ("alone", SCHEMES["mutual"], CONTROLS["constant-labels"], CONTROLS["calibrated"])
    sentences += [f"{found.sentence()}." for found in tests if found.first in wanted and found.second in others]
    return sentences


EXPERIMENTS = (
    Experiment(
        name="sampling-schemes", chapter=3, title="Sampling schemes and controls", cells=_cells, outcome=_outcome,
        shows="the table of sampling schemes", data=DATA,
    ),
)  # fmt: skip
