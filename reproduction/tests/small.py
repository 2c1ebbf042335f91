"""An experiment of seconds, for the tests of everything around experiments."""

from __future__ import annotations

import polars as pl

from reproduction.tests.works import total
from sureness_reproduction.comparing import beside_published
from sureness_reproduction.experiment import Experiment
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict


def cells(plan):
    return [total.cell(first=seed, second=1) for seed in plan.seeds]


def outcome(plan, find):
    ours = pl.DataFrame(
        {
            "model": ["bpr"] * len(plan.seeds),
            "value": [find(cell).table("found")["value"][0] / 10 for cell in cells(plan)],
        }
    )
    theirs = pl.DataFrame({"model": ["bpr", "cml"], "value": [0.1, 0.9]})
    table = beside_published(ours, theirs, ["model"], why_not_run=lambda row: "a data set is missing")
    return Outcome(
        tables=[ResultTable("numbers", "Numbers | all", table, "Ours beside theirs.")],
        figures=[ResultFigure("line", "A line <that> rises", _figure)],
        findings=[f"The mean is {table['ours'][0]:.2f}."],
        notes=["Nothing was measured."],
        verdicts=[Verdict("best distillation weight", "0.25", False)],
    )


def _figure():
    from matplotlib.figure import Figure

    figure = Figure((3, 2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1])
    return axes


SMALL = Experiment(
    name="small", chapter=2, title="A small experiment", shows="Table small",
    data={"quick": ("simulated",), "full": ("simulated", "yahoo-r3")}, cells=cells, outcome=outcome,
    seeds={"quick": 2, "full": 3}, claims=True,
)  # fmt: skip
