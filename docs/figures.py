"""Draw the figures of the documents: `python docs/figures.py`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
from matplotlib.figure import Figure

import sureness as sn
from sureness.calibration import MinMaxCalibrator
from sureness.report import (
    BLUE,
    GREY,
    INK,
    LIGHT_GREY,
    SETTINGS,
    draw_list_cut,
    draw_reliability,
    draw_side_by_side,
    save_figure,
)

FOLDER = Path(__file__).parent / "figures"
REPRODUCED = FOLDER.parents[1] / "reproduction" / "results"


def before_and_after() -> None:
    """The same recommender before and after calibration, judged on uniformly exposed pairs."""
    world = sn.simulate(sn.SimulatorSettings(n_users=6_000))
    source = sn.svd_source(world.train, n_factors=7)
    log = sn.CalibrationSet.from_source(
        source, world.held_out, seen=world.train, propensity=world, held_out_share=world.settings.held_out_share
    )
    outside = ~world.in_training
    users, items = world.test_users[outside], world.test_items[outside]
    test = sn.data.ScoredPairs.of(
        source.score_block(np.arange(world.n_users))[users, items], world.test_labels[outside]
    )
    calibrated = sn.IsotonicCalibrator().fit(log)
    stretched = MinMaxCalibrator().fit(test.scores, test.labels)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        axes = figure.subplots(1, 2)
    for ax, title, calibrator in zip(
        axes, ("scores stretched over 0 to 100%", "after calibration"), (stretched, calibrated), strict=True
    ):
        probabilities = calibrator.probability(test.scores)
        draw_reliability(sn.metrics.reliability_curve(test.labels, probabilities), ax=ax, title=title)
    save_figure(figure, FOLDER / "before-after.png")


def two_lists() -> None:
    """The users at a quarter and at 95% of all list sizes, in a simulated world."""
    world = sn.simulate(sn.SimulatorSettings(n_users=2_000, exposure_rate=0.4))
    split = sn.by_ratio(sn.Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=0)
    recommender = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=7)).fit(split.train, split.validation)
    policy, lists = recommender.policy_, recommender.lists(labels=split.test)
    sizes, _, _ = policy.decide(lists)
    expected, order = policy.expected(lists), np.argsort(sizes, kind="stable")
    rows = [int(order[int(share * (len(order) - 1))]) for share in (0.25, 0.95)]
    cuts = [
        partial(draw_list_cut, lists.probabilities[row], expected[row], int(sizes[row]), hits=lists.hits[row])
        for row in rows
    ]
    figure = draw_side_by_side(cuts, panel=(5.5, 4.2))
    save_figure(figure, FOLDER / "two-lists.png")


def students() -> None:
    """Hit ratios of BPR on CiteULike from the strong start, from the committed results of the reproduction."""
    found = pl.read_csv(REPRODUCED / "distillation.csv").filter(
        data="citeulike-bd", start="strong", model="bpr", metric="hit@50"
    )
    rows = found.select("role", "method", "value", "deviation").iter_rows()
    values = {(role, method): (mean, deviation) for role, method, mean, deviation in rows}
    wanted = {
        ("teacher", "alone"): "teacher, 50 factors",
        ("student", "bd-best"): "student, BD (bd-best)",
        ("student", "cd"): "student, CD",
        ("student", "combined"): "student, combined",
        ("student", "bd"): "student, BD as printed",
        ("student", "alone"): "student alone, 5 factors",
    }
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        ax = figure.subplots()
        for place, (name, label) in enumerate(reversed(wanted.items())):
            mean, deviation = values[name]
            colour = BLUE if name[1] != "alone" else {"teacher": LIGHT_GREY, "student": GREY}[name[0]]
            ax.barh(label, mean, 0.62, color=colour, xerr=deviation, error_kw={"ecolor": INK, "elinewidth": 1.2})
            ax.text(mean + deviation + 0.003, place, f"{mean:.3f}", va="center")
        ax.set(xlabel="H@50 on CiteULike, leave-one-out, mean and deviation of three seeds", xlim=(0, 0.26))
        ax.grid(visible=False, axis="y")
    save_figure(figure, FOLDER / "students.png")


if __name__ == "__main__":
    before_and_after()
    two_lists()
    students()
