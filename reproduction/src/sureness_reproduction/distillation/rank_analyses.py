"""How differently the two models rank: apart, where the dissertation begins, and after bidirectional distillation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published, spread
from sureness_reproduction.distillation.declared import DATA, STARTS, pair
from sureness_reproduction.distillation.pairs import Pair
from sureness_reproduction.distillation.showing import MODELS, NONE, beside_shown, mean, nothing, title
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import published

_STAGES = {"before": "alone", "after": "bd"}
_FACT = "test interactions the student"


def _pairs(plan: Plan, models: Sequence[str] = tuple(MODELS)) -> list[Pair]:
    return [pair(plan.scale, start, model) for model in models for start in STARTS] if plan.data else []


def _summaries(pairs: Sequence[Pair], stages: dict[str, str], plan: Plan, find: Finder) -> pl.DataFrame:
    """How the two rankings differ: one row per pair, stage and seed."""
    rows = []
    for each in pairs:
        for stage, method in stages.items():
            for seed in plan.seeds:
                found = find(each.compared(method, seed)).table("summary").row(0, named=True)
                about = {"data": each.data, "model": each.model, "start": each.start, "stage": stage, "seed": seed}
                rows.append(about | found)
    return pl.DataFrame(rows)


# -- before -----------------------------------------------------------------------------------------------------------


def _apart_cells(plan: Plan) -> list[Cell]:
    return [each.compared("alone", seed) for each in _pairs(plan) for seed in plan.seeds]


def _apart(plan: Plan, find: Finder) -> Outcome:
    pairs = _pairs(plan)
    if not pairs:
        return Outcome(notes=nothing(plan))
    found = _summaries(pairs, {"alone": "alone"}, plan, find)
    rows = []
    for (model, start), part in found.group_by("model", "start", maintain_order=True):
        rows.append(
            {
                "model": MODELS[str(model)], "start": start, "seeds": part.height,
                "student better": _percent(part["student_better"]),
                "published": _claimed(plan.data[0], str(model)), "teacher better": _percent(
                    1 - part["student_better"] - part["equal"]),
                "teacher's first items in the student's first tenth": _percent(part["known_to_student"]),
                "student's in the teacher's": _percent(part["known_to_teacher"]),
            }
        )  # fmt: skip
    table = ResultTable(
        "student-better", "How often the student ranks a test item higher than its teacher", pl.DataFrame(rows),
        "Mean and deviation over seeds. The dissertation gives NeuMF on CiteULike (36%) and Foursquare (42%, not "
        "here) only.",
        found,
    )  # fmt: skip
    figures = [_apart_figure(each, plan, find) for each in pairs]
    return Outcome([table], figures, _apart_findings(found, plan), [
        "Teacher and student are trained alone. A rank is exact, among the items the user has not seen.",
        "In the scatter, items are drawn by the rank-aware scheme of CD from the ranking of each model, seed 0.",
        "The shares of CIFAR that the dissertation compares with are of images, and were not run.",
        *(["At quick scale NeuMF and CDAE have one setting for both starts, so their rows are the same."]
          if plan.scale == "quick" else []),
    ], _apart_verdicts(found, plan))  # fmt: skip


def _apart_verdicts(found: pl.DataFrame, plan: Plan) -> list[Verdict]:
    """A share agrees if it is at most five points off."""
    shares = [100 * mean(found.filter(model="neumf", start=start)["student_better"]) for start in STARTS]
    told = f"{shares[0]:.1f} and {shares[1]:.1f} percent (NeuMF, {STARTS[0]} and {STARTS[1]} start)"
    return [
        Verdict(f"{_FACT} ranks higher than the teacher", told, abs(shares[0] - 36) <= 5, "CiteULike"),
        Verdict(f"{_FACT} predicts better than the teacher (introduction)", told, 31 <= shares[0] <= 47, "all"),
    ]


def _apart_findings(found: pl.DataFrame, plan: Plan) -> list[str]:
    neumf = found.filter(model="neumf")
    sentences = []
    for (start,), part in neumf.group_by("start", maintain_order=True):
        claimed = _claimed(plan.data[0], "neumf")
        beside = f" (the dissertation: {claimed})" if claimed != NONE else ""
        sentences.append(f"The NeuMF student of the {start} start ranks {mean(part['student_better']):.1%} of the "
                         f"test items higher than its teacher{beside}.")  # fmt: skip
    shares = found["student_better"].to_list()
    low, high = min(shares), max(shares)
    told = (
        "the teacher is not always superior, as the dissertation says" if low > 0.05 else "in some it hardly ever does"
    )
    sentences.append(f"Over all models, starts and seeds it is {low:.1%} to {high:.1%}: {told}.")
    known = mean(found["known_to_student"])
    word = "most" if known > 0.5 else "fewer than half"
    sentences.append(f"{known:.0%} of the items that a teacher ranks high are in the first tenth of its student's "
                     f"ranking too: {word} of them, where the dissertation says most.")  # fmt: skip
    return sentences


def _apart_figure(each: Pair, plan: Plan, find: Finder) -> ResultFigure:
    def draw() -> Any:
        from sureness.plots import draw_rank_scatter, draw_side_by_side

        cell = find(each.compared("alone", plan.seeds[0]))
        curve = _curve({"alone": cell})
        scatter = _scatter(cell)
        return draw_side_by_side([curve, lambda ax: draw_rank_scatter(scatter, ax=ax)])

    caption = (f"{MODELS[each.model]} on {title(each.data)}, {each.start} start: rank differences of the test items, "
               "and ranks of items that either model ranks high.")  # fmt: skip
    return ResultFigure(f"{each.model}-{each.start}", caption, draw)


def _curve(cells: dict[str, Any]) -> Callable[..., Any]:
    from sureness.evaluation import RankComparison
    from sureness.plots import draw_rank_differences, prepare_rank_differences

    found = {
        name: RankComparison(cell.table("ranks"), n_items=int(cell.table("summary")["n_items"][0]))
        for name, cell in cells.items()
    }
    return lambda ax: draw_rank_differences(prepare_rank_differences(found), ax=ax)


def _scatter(cell: Any) -> Any:
    from sureness.evaluation import RankScatter

    return RankScatter(cell.table("points"), n_items=int(cell.table("summary")["n_items"][0]))


def _percent(values: pl.Series) -> str:
    return " ± ".join(f"{part}%" for part in spread(100 * values, digits=1).split(" ± "))


def _claimed(data: str, model: str) -> str:
    if (data, model) != ("citeulike-bd", "neumf"):
        return NONE
    claim = published("claims").filter(fact=f"{_FACT} ranks higher than the teacher", scope="CiteULike")
    return f"{claim['value'][0]:.0f}%"


# -- after ------------------------------------------------------------------------------------------------------------


def _difference_cells(model: str, plan: Plan) -> list[Cell]:
    pairs = _pairs(plan, [model])
    return [each.compared(method, seed) for each in pairs for method in _STAGES.values() for seed in plan.seeds]


def _difference(model: str, plan: Plan, find: Finder) -> Outcome:
    pairs = _pairs(plan, [model])
    if not pairs:
        return Outcome(notes=nothing(plan))
    found = _summaries(pairs, _STAGES, plan, find)
    tables = []
    for start in STARTS:
        ours = found.filter(start=start).select("data", "model", "stage", value="average_difference")
        beside = beside_published(ours, published("rank-difference").filter(model=model), ["data", "model", "stage"],
                                  higher_is_better=False, why_not_run=_why)  # fmt: skip
        here = beside.filter(pl.col("ours").is_not_null())
        tables.append(ResultTable(f"{start}-start", f"Average rank difference, {start} start", beside_shown(
            here, ["data", "model", "stage"], verdict=False), "A share of the items; independent rankings have 0.3333.",
            beside))  # fmt: skip
    rest = published("rank-difference").filter(~pl.col("data").is_in(list(plan.data)), model=model)
    rows = [{"data": title(data), "published numbers": count, "why": _why({"data": data})}
            for data, count in rest.group_by("data", maintain_order=True).len().rows()]  # fmt: skip
    tables.append(ResultTable("not-run", "Published, but not run", pl.DataFrame(rows)))
    figures = [_difference_figure(each, plan, find) for each in pairs]
    return Outcome(tables, figures, _falls(found), [
        "Before: both models alone. After: both models of BD with the settings chosen on validation.",
        "From a strong start a model that BD does not make better on validation stays as it was, and so do its ranks.",
    ])  # fmt: skip


def _falls(found: pl.DataFrame) -> list[str]:
    sentences = []
    for (model, start), part in found.group_by("model", "start", maintain_order=True):
        before, after = (mean(part.filter(stage=stage)["average_difference"]) for stage in _STAGES)
        change = after / before - 1
        how = "falls" if change < -0.005 else "rises" if change > 0.005 else "stays the same"
        told = ", as the dissertation says" if how == "falls" else "; the dissertation says that it falls"
        sentences.append(f"{MODELS[str(model)]}, {start} start: the average rank difference {how} from {before:.4f} to "
                         f"{after:.4f} ({change:+.1%}){told}.")  # fmt: skip
    return sentences


def _why(row: dict[str, object]) -> str:
    return "it is the data set of --full" if row["data"] == "citeulike-bd" else "its file is not here"


def _difference_figure(each: Pair, plan: Plan, find: Finder) -> ResultFigure:
    def draw() -> Any:
        from sureness.plots import draw_side_by_side

        cells = {stage: find(each.compared(method, plan.seeds[0])) for stage, method in _STAGES.items()}
        return draw_side_by_side([_curve(cells)])

    caption = f"{MODELS[each.model]} on {title(each.data)}, {each.start} start: rank differences before and after BD."
    return ResultFigure(f"{each.model}-{each.start}", caption, draw)


def _difference_of(model: str) -> Experiment:
    return Experiment(
        name=f"rank-difference-{model}", chapter=3, data=DATA, cells=partial(_difference_cells, model),
        title=f"Rank differences of {MODELS[model]} before and after distillation", outcome=partial(_difference, model),
        shows=f"the table of average rank differences, {MODELS[model]}, and the figure after it",
    )  # fmt: skip


EXPERIMENTS = (
    Experiment(
        name="teacher-student", chapter=3, title="The teacher is not always superior", data=DATA,
        shows="the figures of the analysis that begins the chapter", cells=_apart_cells, outcome=_apart,
        claims=True, seeds={"quick": 2, "full": 2},
    ),
    *(_difference_of(model) for model in MODELS),
)  # fmt: skip
