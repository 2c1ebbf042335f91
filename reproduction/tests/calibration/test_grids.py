"""What is declared: the grid of the dissertation, and who may see test labels."""

from __future__ import annotations

from sureness_reproduction.calibration import EXPERIMENTS, confidence, desiderata, fitting, ratios
from sureness_reproduction.cells import in_order, work_of
from sureness_reproduction.experiment import Plan
from sureness_reproduction.published import published

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def test_the_experiments_are_those_of_the_chapter():
    assert list(BY_NAME) == [
        "desiderata", "calibration-ranking", "ece", "mce", "nll", "reliability", "score-distributions", "propensities",
        "user-degree", "calibration-case-study",
    ]  # fmt: skip
    published_choices = set(published("ece").select("method", "risk").iter_rows())
    assert published_choices < set(fitting.METHODS)


def test_the_full_grid_is_the_published_one():
    plan = Plan("full", (0, 1, 2, 3, 4), ("coat",))
    trained = {cell for cell in in_order(BY_NAME["ece"].cells(plan)) if cell.work.endswith(":trained")}
    assert len(trained) == 25  # five models, five seeds
    assert {cell["model"] for cell in trained} == {"bpr", "neumf", "cml", "ubpr", "lightgcn"}
    assert {cell["trials"] for cell in trained} == {12}
    assert {(cell["fixed"]["n_factors"], cell["model"] == "neumf") for cell in trained} == {(64, True), (128, False)}
    judged = [cell for cell in in_order(BY_NAME["ece"].cells(plan)) if cell.work.endswith(":judged")]
    assert len(judged) == 25 * (5 + len(ratios.RATIOS["full"]))
    assert len(fitting.METHODS) == 5 + 3 * 7
    shared = set(in_order(BY_NAME["mce"].cells(plan)))
    assert shared < set(in_order(BY_NAME["ece"].cells(plan)))  # nothing is computed twice


def test_what_chooses_never_judges():
    plan = Plan("quick", (0, 1), ("coat",))
    for experiment in EXPERIMENTS:
        for cell in in_order(experiment.cells(plan)):
            work = work_of(cell)
            assert work.judges or not any(work_of(need).judges for need in work.needed_by(cell))
    for chooses in (fitting.fitted, fitting.logged, desiderata.measured, confidence.described):
        assert not chooses.judges
