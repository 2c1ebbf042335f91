"""Size and speed of the models, and what the size of the other model does."""

from __future__ import annotations

from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import beside_published, spread
from sureness_reproduction.distillation.declared import DATA, SIZES, TEXT, pair, sized_pair
from sureness_reproduction.distillation.pairs import Pair
from sureness_reproduction.distillation.showing import MODELS, beside_shown, mean, nothing, title
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import published

_MEDIUM = 25
_START, _MODEL = "published", "bpr"
STUDENT_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 15, 25), "full": (5, 10, 15, 25, 50)}

# -- parameters and time ----------------------------------------------------------------------------------------------


def _time_pairs(plan: Plan) -> list[Pair]:
    return [pair(plan.scale, _START, model) for model in MODELS] if plan.data else []


def _time_cells(plan: Plan) -> list[Cell]:
    return [each.measured() for each in _time_pairs(plan)]


def _time(plan: Plan, find: Finder) -> Outcome:
    pairs = _time_pairs(plan)
    if not pairs:
        return Outcome(notes=nothing(plan))
    parts = []
    for each in pairs:
        found = find(each.measured()).table("sizes")
        long = found.select("role", parameters=pl.col("parameters") / 1e6, time="seconds").unpivot(
            index="role", variable_name="metric"
        )
        parts.append(long.with_columns(data=pl.lit(each.data), model=pl.lit(each.model)))
    ours = pl.concat(parts)
    keys = ["data", "model", "role", "metric"]
    beside = beside_published(ours.select(*keys, "value"), published("distillation-size-time"), keys,
                              higher_is_better=False, why_not_run=_why)  # fmt: skip
    shown = beside_shown(beside.filter(pl.col("ours").is_not_null()), keys, digits=3)
    rest = published("distillation-size-time").filter(~pl.col("data").is_in(list(plan.data)))
    rows = [{"data": title(data), "published numbers": count, "why": _why({"data": data})}
            for data, count in rest.group_by("data", maintain_order=True).len().rows()]  # fmt: skip
    tables = [ResultTable("size-time", "Parameters (million) and time to list 50 items for every user (s)", shown,
                          "Ours: one thread of a processor, the faster of two runs. The dissertation's: "
                          "a GPU.", beside),
              ResultTable("not-run", "Published, but not run", pl.DataFrame(rows))]  # fmt: skip
    return Outcome(tables, [], _time_findings(ours), [
        "A time depends on the machine and on what else it does; only those of one run can be compared.",
    ])  # fmt: skip


def _time_findings(ours: pl.DataFrame) -> list[str]:
    sentences = []
    for (model,), part in ours.group_by("model", maintain_order=True):
        value = {(role, metric): number for role, metric, number in part.select("role", "metric", "value").iter_rows()}
        share = value["student", "parameters"] / value["teacher", "parameters"]
        time = value["student", "time"] / value["teacher", "time"]
        sentences.append(f"The {MODELS[str(model)]} student has {share:.1%} of its teacher's parameters and takes "
                         f"{time:.0%} of its time.")  # fmt: skip
    return sentences


def _why(row: dict[str, object]) -> str:
    return "it is the data set of --full" if row["data"] == "citeulike-bd" else "its file is not here"


# -- the size of the other model --------------------------------------------------------------------------------------


def _partners(scale: Scale) -> list[tuple[str, str, Pair, str]]:
    """Who is judged, what its partner is called, the pair, and the method."""
    small, large = SIZES["student"], SIZES["teacher"]
    named = (("S", small), ("M", _MEDIUM), ("T", large))
    sizes = {(large, size) for _, size in named} | {(size, small) for _, size in named}
    made = {each: sized_pair(scale, _START, _MODEL, *each) for each in sizes}
    rows = [("teacher", name, made[large, size], "bd") for name, size in named]
    rows.append(("teacher", "fixed S", made[large, small], "to-teacher"))
    rows += [("student", name, made[size, small], "bd") for name, size in named]
    return [*rows, ("student", "fixed T", made[large, small], "one-way")]


def _students(scale: Scale) -> dict[int, Pair]:
    return {size: sized_pair(scale, _START, _MODEL, SIZES["teacher"], size) for size in STUDENT_SIZES[scale]}


def _size_cells(plan: Plan) -> list[Cell]:
    if not plan.data:
        return []
    asked = [(each, method) for _, _, each, method in _partners(plan.scale)]
    asked += [(each, method) for each in _students(plan.scale).values() for method in ("bd", "alone")]
    return [each.judged(method, seed) for each, method in asked for seed in plan.seeds]


def _size(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=nothing(plan))
    partners, students = _partner_rows(plan, find), _student_rows(plan, find)
    alone = {role: mean(partners.filter(model=role, partner="alone")["hit@50"]) for role in SIZES}
    tables = [
        ResultTable("partners", "H@50 with a partner of varying size", _averaged(partners, "model", "partner"),
                    "S: 5 factors, M: 25, T: 50; fixed: trained alone first, and not after.", partners),
        ResultTable("students", "H@50 of students of varying size", _averaged(students, "model", "size"),
                    f"The teacher of {SIZES['teacher']} factors alone has {alone['teacher']:.4f}.", students),
    ]  # fmt: skip
    enough, sentence = _equal_size(students, alone["teacher"])
    fact = "teacher parameters a student needs for comparable performance"
    told = "more than was tried" if enough is None else f"{enough:.0%} of the parameters (BPR)"
    holds = enough is not None and 0.2 <= enough <= 0.3
    findings = [*_partner_findings(partners, alone), sentence]
    return Outcome(tables, [_partner_figure(partners), _student_figure(students, alone["teacher"])], findings, [
        f"{MODELS[_MODEL]} from the published start, BD as the dissertation recommends it ({TEXT['items']} items, "
        "weight "
        f"{TEXT['weight']}, smoothness 1e-4); the dissertation prints no numbers for these figures.",
        "The dissertation also shows NeuMF; here it was left out, since it takes many times as long.",
        "Two models of one size begin with different random numbers.",
    ], [Verdict(fact, told, holds)])  # fmt: skip


def _partner_rows(plan: Plan, find: Finder) -> pl.DataFrame:
    rows = []
    for role, partner, each, method in _partners(plan.scale):
        rows += [{"model": role, "partner": partner, "seed": seed,
                  "hit@50": _hit(find, each.judged(method, seed), role)} for seed in plan.seeds]  # fmt: skip
    both = sized_pair(plan.scale, _START, _MODEL, SIZES["teacher"], SIZES["student"])
    for role in SIZES:
        for seed in plan.seeds:
            value = _hit(find, both.judged("alone", seed), role)
            rows.append({"model": role, "partner": "alone", "seed": seed, "hit@50": value})
    return pl.DataFrame(rows)


def _student_rows(plan: Plan, find: Finder) -> pl.DataFrame:
    rows = []
    for size, each in _students(plan.scale).items():
        for method, name in (("bd", "BD-Student"), ("alone", "Student")):
            rows += [{"model": name, "size": size, "seed": seed,
                      "hit@50": _hit(find, each.judged(method, seed), "student")} for seed in plan.seeds]  # fmt: skip
    return pl.DataFrame(rows)


def _hit(find: Finder, cell: Cell, role: str) -> float:
    return float(find(cell).table("quality").filter(role=role, metric="hit@50")["value"].item())


def _averaged(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {**dict(zip(keys, map(str, name), strict=True)), "H@50": spread(part["hit@50"]), "seeds": part.height}
            for name, part in rows.group_by(*keys, maintain_order=True)
        ]
    )


def _partner_findings(rows: pl.DataFrame, alone: dict[str, float]) -> list[str]:
    sentences = []
    for role, widest, fixed in (("teacher", "S", "fixed S"), ("student", "T", "fixed T")):
        means = dict(rows.filter(pl.col("partner") != "alone", model=role).group_by("partner", maintain_order=True)
                     .agg(pl.col("hit@50").mean()).iter_rows())  # fmt: skip
        sizes = {name: value for name, value in means.items() if not name.startswith("fixed")}
        best = max(sizes, key=sizes.__getitem__)
        agrees = (
            "as the dissertation says" if best == widest else f"the dissertation says {widest}, where the gap is widest"
        )
        learning = "more" if means[widest] > means[fixed] else "not more"
        sentences.append(f"The {role} is best with a partner of size {best} (H@50 {sizes[best]:.4f}; alone "
                         f"{alone[role]:.4f}): {agrees}. A learning partner brings {learning} than a fixed one "
                         f"({means[widest]:.4f} against {means[fixed]:.4f}; the dissertation says more).")  # fmt: skip
    return sentences


def _equal_size(rows: pl.DataFrame, teacher: float) -> tuple[float | None, str]:
    """The smallest student within 5% of the teacher alone; the dissertation calls 20 to 30% of the size comparable."""
    means = rows.filter(model="BD-Student").group_by("size").agg(pl.col("hit@50").mean()).sort("size")
    reached = [(size, value) for size, value in means.iter_rows() if value >= 0.95 * teacher]
    if not reached:
        size, value = means.rows()[-1]
        return None, (f"No student up to {size} factors comes within 5% of the teacher alone ({value:.4f} against "
                      f"{teacher:.4f}); the dissertation says 20 to 30% of the parameters are enough.")  # fmt: skip
    size, value = reached[0]
    share = size / SIZES["teacher"]
    return share, (f"A student of {size} factors, {share:.0%} of the parameters, comes within 5% of the teacher alone "
                   f"({value:.4f} against {teacher:.4f}); the dissertation says 20 to 30%.")  # fmt: skip


def _partner_figure(rows: pl.DataFrame) -> ResultFigure:
    def draw() -> Any:
        from sureness.plots import draw_side_by_side
        from sureness_reproduction.plots.sweeps import draw_sweep, prepare_sweep

        sweeps = [prepare_sweep(rows.filter(model=role).drop("model"), "partner") for role in SIZES]
        return draw_side_by_side([lambda ax, sweep=sweep: draw_sweep(sweep, ax=ax) for sweep in sweeps])

    return ResultFigure(
        "partners", "H@50 of the teacher (left) and of the student (right) by the size of the other model.", draw
    )


def _student_figure(rows: pl.DataFrame, teacher: float) -> ResultFigure:
    def draw() -> Any:
        from sureness_reproduction.plots.sweeps import draw_sweep, prepare_sweep

        line = pl.DataFrame(
            {"model": ["Teacher"], "size": [None], "seed": [0], "hit@50": [teacher]}, schema=rows.schema
        )
        return draw_sweep(prepare_sweep(pl.concat([rows, line]), "size"))

    return ResultFigure(
        "students", "H@50 by the size of the student, alone and with BD; dashed: the teacher alone.", draw
    )


EXPERIMENTS = (
    Experiment(
        name="distillation-size-time", chapter=3, title="Model size and time to rank", data=DATA,
        shows="the table of parameters and inference time", cells=_time_cells, outcome=_time,
        seeds={"quick": 1, "full": 1},
    ),
    Experiment(
        name="model-sizes", chapter=3, title="Partners of other sizes", data=DATA,
        shows="the two figures of the model size analysis", cells=_size_cells, outcome=_size,
        seeds={"quick": 1, "full": 3}, claims=True,
    ),
)  # fmt: skip
