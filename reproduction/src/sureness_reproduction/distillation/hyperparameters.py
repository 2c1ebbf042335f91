"""What the weights, the smoothness and the refresh period of BD do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.comparing import spread
from sureness_reproduction.distillation.declared import DATA, TEXT, pair
from sureness_reproduction.distillation.showing import nothing, title
from sureness_reproduction.distillation.works import ROLES
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict

_START, _MODEL = "published", "bpr"
WEIGHTS: dict[Scale, tuple[float, ...]] = {"quick": (0.1, 0.5, 1.0), "full": (0.1, 0.3, 0.5, 1.0)}
SCALES: dict[Scale, tuple[float, ...]] = {"quick": (1e-5, 1e-4, 1e-3), "full": (1e-5, 1e-4, 1e-3, 1e-2)}
PERIODS: dict[Scale, tuple[int, ...]] = {"quick": (2, 10), "full": (1, 5, 10, 20)}


@dataclass(frozen=True)
class Point:
    """One setting of a sweep."""

    to_student: float = 0.5  # weights
    to_teacher: float = 0.5
    tanh: float = 1e-4  # smoothness to the student
    exp: float = 1e-4  # and to the teacher
    period: int = 10

    def changes(self) -> dict[str, Any]:
        """What differs from BD's defaults; the dissertation's own point is written as everywhere else."""
        if self == Point():
            return TEXT
        rest = {name: TEXT[name] for name in ("items", "temperature", "reuse")}
        return rest | {
            "to_student__weight": self.to_student, "to_teacher__weight": self.to_teacher,
            "to_student__rank_gap_scale": self.tanh, "to_teacher__rank_gap_scale": self.exp,
            "refresh_every": self.period,
        }  # fmt: skip


def sweeps(scale: Scale) -> dict[str, list[Point]]:
    """The points of the heat map and of the three sweeps.

    Examples
    --------
    >>> {name: len(points) for name, points in sweeps("full").items()}
    {'weights': 16, 'tanh': 4, 'exp': 4, 'period': 4}
    """
    return {
        "weights": [Point(to_student=a, to_teacher=b) for a, b in product(WEIGHTS[scale], repeat=2)],
        "tanh": [Point(tanh=value) for value in SCALES[scale]],
        "exp": [Point(exp=value) for value in SCALES[scale]],
        "period": [Point(period=value) for value in PERIODS[scale]],
    }


def _cell(plan: Plan, point: Point, seed: int) -> Cell:
    return pair(plan.scale, _START, _MODEL).judged("bd", seed, [point.changes()])


def _cells(plan: Plan) -> list[Cell]:
    if not plan.data:
        return []
    points = {point for some in sweeps(plan.scale).values() for point in some}
    alone = [pair(plan.scale, _START, _MODEL).judged("alone", seed) for seed in plan.seeds]
    return alone + [_cell(plan, point, seed) for point in sorted(points, key=repr) for seed in plan.seeds]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=nothing(plan))
    found = {name: _rows(plan, points, find) for name, points in sweeps(plan.scale).items()}
    alone = _alone(plan, find)
    shown = {"weights": ["to_student", "to_teacher"], "tanh": ["tanh"], "exp": ["exp"], "period": ["period"]}
    titles = {
        "weights": "Both weights", "tanh": "Smoothness to the student (tanh)", "exp": "Smoothness to the teacher (exp)",
        "period": "Epochs between two looks at the ranks",
    }  # fmt: skip
    tables = [ResultTable(name, f"{titles[name]}: H@50", _wide(rows, shown[name]), "", rows)
              for name, rows in found.items()]  # fmt: skip
    return Outcome(tables, _figures(found, alone), findings(found), [
        f"BPR on {title(plan.data[0])} from the published start; the dissertation shows NeuMF, says that other models "
        "behave "
        "alike, and prints no numbers.",
        f"What does not vary is as the dissertation recommends it: weight 0.5, {TEXT['items']} items, temperature "
        f"{TEXT['temperature']:g}, smoothness 1e-4, a refresh every 10 epochs.",
        "These are test numbers, looked at after everything else was chosen: no setting was taken from here.",
    ], _verdicts(found, plan))  # fmt: skip


def _rows(plan: Plan, points: Sequence[Point], find: Finder) -> pl.DataFrame:
    rows = []
    for point in points:
        for seed in plan.seeds:
            quality = find(_cell(plan, point, seed)).table("quality").filter(metric="hit@50")
            rows += [{**vars(point), "model": role, "seed": seed, "hit@50": value}
                     for role, value in quality.select("role", "value").iter_rows()]  # fmt: skip
    return pl.DataFrame(rows)


def _alone(plan: Plan, find: Finder) -> pl.DataFrame:
    parts = [find(pair(plan.scale, _START, _MODEL).judged("alone", seed)).table("quality") for seed in plan.seeds]
    return pl.concat(parts).filter(metric="hit@50").select(model="role", **{"hit@50": "value"})


def _wide(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {**{key: f"{value:g}" for key, value in zip(keys, name, strict=True)},
             **{role: spread(part.filter(model=role)["hit@50"]) for role in ROLES}}
            for name, part in rows.group_by(*keys, maintain_order=True)
        ]
    )  # fmt: skip


def findings(found: dict[str, pl.DataFrame]) -> list[str]:
    """Where each model is best, beside where the dissertation says."""
    sentences = []
    for role in ROLES:
        one, other = _best(found["weights"], role, ["to_student", "to_teacher"])
        near = (
            "as the dissertation says"
            if max(abs(one - 0.5), abs(other - 0.5)) <= 0.2
            else "the dissertation says about 0.5 and 0.5"
        )
        sentences.append(
            f"The {role} is best with weights {one:g} (to the student) and {other:g} (to the teacher): {near}."
        )
        for name, side in (("tanh", "to the student"), ("exp", "to the teacher")):
            (scale,) = _best(found[name], role, [name])
            told = "as the dissertation says" if scale == 1e-4 else "the dissertation says 1e-4"
            sentences.append(f"The {role} is best with a smoothness {side} of {scale:g}: {told}.")
    student, teacher = (_spread_of(found["weights"], role) for role in ("student", "teacher"))
    sentences.append(
        f"Over the weights H@50 of the student varies by {student:.1%} of its mean, that of the teacher by "
        f"{teacher:.1%}; the dissertation calls the student the more robust, which "
        f"{'holds' if student < teacher else 'does not hold'} here."
    )
    sentences += [_period(found["period"], role) for role in ROLES]
    return sentences


def _verdicts(found: dict[str, pl.DataFrame], plan: Plan) -> list[Verdict]:
    weights = {role: _best(found["weights"], role, ["to_student", "to_teacher"]) for role in ROLES}
    scales = {(role, name): _best(found[name], role, [name])[0] for role in ROLES for name in ("tanh", "exp")}
    told = "; ".join(f"{role} {one:g} and {other:g}" for role, (one, other) in weights.items())
    near = all(abs(weight - 0.5) <= 0.2 for both in weights.values() for weight in both)
    best = "; ".join(f"{role} {scale:g} ({name})" for (role, name), scale in scales.items())
    teacher = dict(found["exp"].filter(model="teacher").group_by("exp").agg(pl.col("hit@50").mean()).iter_rows())
    last = max(teacher)
    fact = "exponential smoothing factor beyond which the teacher degrades (power of ten)"
    return [
        Verdict("best distillation weight", f"BPR: {told}", near),
        Verdict("best smoothing factor (power of ten)", f"BPR: {best}", set(scales.values()) == {1e-4}),
        Verdict(fact, f"BPR: H@50 {teacher[last]:.4f} at {last:g}, {teacher[1e-4]:.4f} at 1e-4",
                last > 1e-3 and teacher[last] < teacher[1e-4]),
    ]  # fmt: skip


def _best(rows: pl.DataFrame, role: str, keys: list[str]) -> tuple[float, ...]:
    means = rows.filter(model=role).group_by(keys, maintain_order=True).agg(pl.col("hit@50").mean())
    return tuple(means.sort("hit@50", descending=True, maintain_order=True).select(keys).row(0))


def _spread_of(rows: pl.DataFrame, role: str) -> float:
    means = rows.filter(model=role).group_by("to_student", "to_teacher").agg(pl.col("hit@50").mean())["hit@50"]
    values: list[float] = means.to_list()
    return (max(values) - min(values)) * len(values) / sum(values)


def _period(rows: pl.DataFrame, role: str) -> str:
    means = dict(rows.filter(model=role).group_by("period").agg(pl.col("hit@50").mean()).sort("period").iter_rows())
    often = min(means)
    change = means[10] / means[often] - 1
    return (
        f"With a refresh every 10 epochs the {role} has H@50 {means[10]:.4f}, with one every {often} "
        f"{means[often]:.4f} ({change:+.1%}; the dissertation calls 10 comparable to 1)."
    )


def _figures(found: dict[str, pl.DataFrame], alone: pl.DataFrame) -> list[ResultFigure]:
    def maps() -> Any:
        from sureness.plots import draw_side_by_side
        from sureness_reproduction.plots.sweeps import draw_weight_map, prepare_weight_map

        grids = [prepare_weight_map(found["weights"], model=role) for role in ROLES]
        return draw_side_by_side([lambda ax, grid=grid: draw_weight_map(grid, ax=ax) for grid in grids])

    def lines() -> Any:
        from sureness.plots import draw_side_by_side
        from sureness_reproduction.plots.sweeps import draw_sweep, prepare_sweep

        names = {"tanh": "ε to the student", "exp": "ε to the teacher", "period": "refresh_every"}
        tables = [_with_alone(found[name], name, alone).rename({name: shown}) for name, shown in names.items()]
        drawn = [prepare_sweep(table, shown) for table, shown in zip(tables, names.values(), strict=True)]
        return draw_side_by_side([lambda ax, sweep=sweep: draw_sweep(sweep, ax=ax) for sweep in drawn])

    return [
        ResultFigure("weights", "H@50 of teacher and student by both weights.", maps),
        ResultFigure("sweeps", "H@50 by smoothness and by refresh period; dashed: the models alone.", lines),
    ]


def _with_alone(rows: pl.DataFrame, name: str, alone: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([rows.select("model", name, "hit@50"), alone], how="diagonal")


EXPERIMENTS = (
    Experiment(
        name="distillation-hyperparameters", chapter=3, title="Weights, smoothness and refresh period", cells=_cells,
        outcome=_outcome, shows="the three figures of the hyperparameter analysis",
        data=DATA, seeds={"quick": 1, "full": 2}, claims=True,
    ),
)  # fmt: skip
