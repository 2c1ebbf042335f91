"""The main table of chapter 3, one experiment for each base model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from sureness.metrics import Interval
from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published
from sureness_reproduction.distillation.declared import COMPARED, DATA, EXTRAS, STARTS, pair
from sureness_reproduction.distillation.pairs import NAMES, Pair
from sureness_reproduction.distillation.showing import (
    MODELS,
    SHORT,
    Contest,
    beside_shown,
    contests,
    mean,
    nothing,
    settings_table,
    title,
)
from sureness_reproduction.distillation.showing import STARTS as ABOUT_STARTS
from sureness_reproduction.distillation.works import METRICS
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import published

_CLAIMS = (
    (("bd", "student"), ("alone", "student")),
    (("bd", "student"), ("rd", "student")),
    (("bd", "student"), ("cd", "student")),
    (("bd", "teacher"), ("alone", "teacher")),
)
"""What the dissertation says is better than what."""


def methods_of(start: str, model: str) -> tuple[str, ...]:
    """Every method of a table; from a strong start also what the dissertation does not have."""
    return ("alone", *COMPARED, *(EXTRAS[model] if start == "strong" else ()))


def _cells(model: str, plan: Plan) -> list[Cell]:
    return [cell for each in _pairs(model, plan) for cell in _cells_of(each, plan.seeds)]


def _pairs(model: str, plan: Plan) -> list[Pair]:
    return [pair(plan.scale, start, model) for start in STARTS] if plan.data else []


def _cells_of(each: Pair, seeds: Sequence[int]) -> list[Cell]:
    methods = methods_of(each.start, each.model)
    choices = [each.chosen(method) for method in methods if len(each.grids.get(method, [])) > 1]
    return choices + [each.judged(method, seed) for method in methods for seed in seeds]


def _outcome(model: str, plan: Plan, find: Finder) -> Outcome:
    pairs = _pairs(model, plan)
    if not pairs:
        return Outcome(notes=nothing(plan))
    tables, figures, findings = [], [], []
    for each in pairs:
        ours = each.quality(methods_of(each.start, model), plan.seeds, find)
        tables += [_beside(each, ours), _tests(each, plan, find)]
        figures.append(_figure(each, ours))
        findings += [f"From the {each.start} start, {found.sentence()}; {_as_published(found, model, each.data)}."
                     for found in contests(each, _CLAIMS, ["hit@50"], plan.seeds, find)]  # fmt: skip
        findings += _best_student(each, ours)
    tried = pl.concat([
        settings_table([each], [name for name in methods_of(each.start, model) if name not in ("alone", "svd")], find)
        for each in pairs
    ])  # fmt: skip
    tables.append(ResultTable("settings", "What was tried on validation", tried,
                              "One seed; the final models are trained with every seed."))  # fmt: skip
    tables.append(_not_run(model, plan))
    return Outcome(tables, figures, findings, _notes(plan, pairs), _verdicts(model, pairs, plan, find))


# -- tables -----------------------------------------------------------------------------------------------------------


def _beside(each: Pair, ours: pl.DataFrame) -> ResultTable:
    theirs = published("distillation").filter(data=each.data, model=each.model)
    found = beside_published(
        ours, theirs, ["data", "model", "method", "metric"], why_not_run=lambda row: "see the notes"
    )
    order = {name: place for place, name in enumerate(NAMES.values())}
    found = found.sort(pl.col("method").replace_strict(order, default=99), maintain_order=True)
    shown = beside_shown(found, ["method", "metric"])
    caption = f"{ABOUT_STARTS[each.start]}. {title(each.data)}, all unseen items ranked."
    return ResultTable(f"{each.start}-start", f"{MODELS[each.model]}, {each.start} start", shown, caption, found)


def _tests(each: Pair, plan: Plan, find: Finder) -> ResultTable:
    others = [name for name in methods_of(each.start, each.model) if name not in ("alone", "bd")]
    which = [*_CLAIMS, *(((name, "student"), ("alone", "student")) for name in others)]
    if "bd-best" in others:
        new = [name for name in ("combined", "bd-best") if name in others]
        which += [((name, "student"), (baseline, "student")) for name in new for baseline in COMPARED]
        which.append((("bd-best", "teacher"), ("alone", "teacher")))
    rows = [found.row() for found in contests(each, which, METRICS, plan.seeds, find)]
    title_ = f"Paired tests over users, {each.start} start"
    return ResultTable(f"{each.start}-tests", title_, pl.DataFrame(rows),
                       "A user's values are averaged over the seeds; paired t-test, two-sided.")  # fmt: skip


def _not_run(model: str, plan: Plan) -> ResultTable:
    every = published("distillation").filter(model=model)
    rest = every.filter(~pl.col("data").is_in([pair(plan.scale, STARTS[0], model).data]))
    groups = rest.group_by("data", maintain_order=True).agg(numbers=pl.len())
    rows = [{"data": title(data), "published numbers": count, "why": _why(data, plan)} for data, count in groups.rows()]
    return ResultTable("not-run", "Published, but not run", pl.DataFrame(rows))


def _why(data: str, plan: Plan) -> str:
    if data == "citeulike-bd":
        return "it is the data set of --full"
    return "its file is not here, and nothing was declared for it"


# -- figures and sentences --------------------------------------------------------------------------------------------


def _figure(each: Pair, ours: pl.DataFrame) -> ResultFigure:
    def draw() -> object:
        from sureness.plots import draw_metric_comparison, prepare_model_comparison

        ranges = {}
        for (name,), part in ours.filter(metric="hit@50").group_by("method", maintain_order=True):
            values = part["value"]
            ranges[str(name)] = Interval(values.mean(), values.min(), values.max())  # type: ignore[arg-type]
        return draw_metric_comparison(prepare_model_comparison(ranges, metric="H@50"), bars="the range over seeds")

    caption = f"{MODELS[each.model]}, {each.start} start: H@50, the mean over seeds with the lowest and the highest."
    return ResultFigure(f"{each.start}-start", caption, draw)  # type: ignore[arg-type]


def _as_published(found: Contest, model: str, data: str) -> str:
    """What the dissertation prints for the same contest, and whether ours goes the same way."""
    theirs = published("distillation").filter(data=data, model=model, metric=found.metric)
    values = dict(theirs.select("method", "value").iter_rows())
    if not values:
        return f"the dissertation has no {SHORT[found.metric]} for these data"
    gain = values[found.first] / values[found.second] - 1
    same = found.verdict == "above"
    return f"the dissertation prints {gain:+.1%}, and its direction {'holds' if same else 'does not hold'} here"


def _best_student(each: Pair, ours: pl.DataFrame) -> list[str]:
    students = (
        ours.filter(role="student", metric="hit@50").group_by("method", maintain_order=True).agg(pl.col("value").mean())
    )
    best = students.sort("value", descending=True).row(0)
    teacher = mean(ours.filter(method="Teacher", metric="hit@50")["value"])
    return [
        f"The best student from the {each.start} start is {best[0]}: H@50 {best[1]:.4f}, "
        f"{best[1] / teacher:.0%} of the teacher alone ({teacher:.4f})."
    ]


def _verdicts(model: str, pairs: Sequence[Pair], plan: Plan, find: Finder) -> list[Verdict]:
    """The largest improvements that the dissertation names: BPR's for the teacher, NeuMF's for the student."""
    facts = {"bpr": ("teacher", "hit@50", 20.79), "neumf": ("student", "ndcg@50", 39.88)}
    if model not in facts:
        return []
    role, metric, claimed = facts[model]
    which = [(("bd", role), ("alone", role))]
    gains = [100 * contests(each, which, [metric], plan.seeds, find)[0].relative for each in pairs]
    told = " and ".join(f"{gain:+.1f} percent ({each.start} start)" for gain, each in zip(gains, pairs, strict=True))
    scope = f"CiteULike, {SHORT[metric]}"
    return [Verdict(f"largest improvement of the {role}", f"{MODELS[model]}: {told}", max(gains) >= claimed, scope)]


def _notes(plan: Plan, pairs: Sequence[Pair]) -> list[str]:
    tried = ", ".join(f"{len(each.grids['bd'])} each from the {each.start} start" for each in pairs)
    notes = [
        "Settings were chosen by H@50 on the validation part with seed 0: for RD and CD that of the student, for BD "
        "that of both models, each in units of the model alone. RD, CD and BD had equal numbers of settings "
        f"({tried}), from equal ranges as far as a method has them.",
        "Published start: Adam, batches of 128, small first embeddings, 1 negative; the dissertation does not say how "
        "long its "
        "models were trained, how they were initialised, or how strong L2 was.",
        "From the strong start a model that does not get better on validation ends as it began.",
    ]
    if pairs[0].model == "bpr":
        notes.append("SVD, Teacher positives, Combined and BD on top items are not in the dissertation; the last two "
                     "have one "
                     "setting, put together from what CD and Teacher positives had shown on validation.")  # fmt: skip
    if plan.scale == "quick":
        notes.append(
            "The quick scale trains for few epochs with one or two settings: it shows that all runs, not who wins."
        )
    return notes


def _experiment(model: str) -> Experiment:
    return Experiment(
        name=f"distillation-{model}", chapter=3, title=f"Bidirectional distillation of {MODELS[model]}",
        shows=f"the main table, the block of {MODELS[model]}",
        data=DATA,
        cells=partial(_cells, model), outcome=partial(_outcome, model),
        claims=model in ("bpr", "neumf"),
    )  # fmt: skip


EXPERIMENTS = tuple(_experiment(model) for model in ("bpr", "neumf", "cdae"))
