"""Tables, figures and sentences, made of numbers that are known."""

from __future__ import annotations

import pytest

from reproduction.tests.distillation.made_up import finder
from sureness_reproduction.cells import work_of
from sureness_reproduction.distillation import EXPERIMENTS
from sureness_reproduction.distillation.declared import TEXT, pair
from sureness_reproduction.distillation.hyperparameters import Point
from sureness_reproduction.experiment import Plan
from sureness_reproduction.published import published

NAMED = {each.name: each for each in EXPERIMENTS}
BETTER = {"bd": 0.03, "cd": 0.02, "rd": 0.01}


def plan_of(name, scale="full", seeds=2):
    return Plan(scale, tuple(range(seeds)), tuple(NAMED[name].data[scale]))


def better(cell, role):
    return (0.2 if role == "teacher" else 0.1) + BETTER.get(cell["method"], 0.0)


def outcome(name, find, scale="full", seeds=2):
    return NAMED[name].outcome(plan_of(name, scale, seeds), find)


def sentence(found, *words):
    return next(line for line in found.findings if all(word in line for word in words))


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("name", list(NAMED))
def test_an_outcome_reads_only_its_cells_and_leaves_nothing_empty(name, scale):
    plan = plan_of(name, scale)
    asked, find = set(NAMED[name].cells(plan)), finder(better)

    def strict(cell):
        assert cell in asked
        return find(cell)

    found = NAMED[name].outcome(plan, strict)
    assert found.tables
    assert found.findings
    for table in found.tables:
        assert table.shown.height, table.name
        for row in table.shown.iter_rows():
            assert all(value is not None and value != "" for value in row), (table.name, row)
    names = [table.name for table in found.tables]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", list(NAMED))
def test_every_figure_is_drawn(name):
    for figure in outcome(name, finder(better), "quick").figures:
        drawn = figure.draw()
        assert getattr(drawn, "figure", drawn).axes


@pytest.mark.parametrize("name", list(NAMED))
def test_nothing_is_invented_where_the_data_are_absent(name):
    plan = Plan("full", (0,), (), ("citeulike-bd",))
    assert NAMED[name].cells(plan) == []
    found = NAMED[name].outcome(plan, finder())
    assert not found.tables
    assert "not here" in found.notes[0]


@pytest.mark.parametrize("model", ["bpr", "neumf", "cdae"])
def test_every_published_number_of_the_main_table_is_run_or_explained(model):
    found = outcome(f"distillation-{model}", finder(better))
    tables = {table.name: table for table in found.tables}
    theirs = published("distillation").filter(model=model)
    for start in ("published", "strong"):
        run = tables[f"{start}-start"].tidy.drop_nulls("published")
        assert run.filter(data="citeulike-bd").height == theirs.filter(data="citeulike-bd").height
        assert run["ours"].null_count() == 0
    explained = dict(tables["not-run"].shown.select("data", "published numbers").iter_rows())
    assert sum(explained.values()) == theirs.height - theirs.filter(data="citeulike-bd").height


@pytest.mark.parametrize("name", ["rank-difference-cdae", "distillation-size-time", "sampling-schemes"])
def test_every_other_published_number_is_run_or_explained(name):
    tables = outcome(name, finder(better)).tables
    run = next(table for table in tables if table.tidy is not None).tidy
    explained = next(table for table in tables if table.name == "not-run").shown["published numbers"].sum()
    both = run.drop_nulls(["ours", "published"]).height
    model = [each for each in ("cdae",) if name.endswith(each)]
    theirs = published(name.removesuffix("-cdae"))
    assert both + explained == (theirs.filter(model=model[0]) if model else theirs).height
    assert (run.filter(run["ours"].is_null())["remark"] != "").all()


def test_gains_are_said_as_they_are():
    found = outcome("distillation-bpr", finder(better))
    assert "does not hold" not in sentence(found, "published start", "BD-Student is above CD")
    assert "0.1300 against 0.1200 (+8.3%" in sentence(found, "strong start", "BD-Student is above CD")
    assert "BD-Teacher is above Teacher" in sentence(found, "strong start", "BD-Teacher")
    assert "Combined" not in sentence(found, "best student from the published start")


def test_losses_and_ties_are_said_as_they_are():
    found = outcome("distillation-bpr", finder(lambda cell, role: 0.1 - (0.02 if cell["method"] == "bd" else 0.0)))
    assert "does not hold" in sentence(found, "published start", "BD-Student is below Student")
    tie = outcome("distillation-bpr", finder(lambda cell, role: 0.1))
    assert "does not hold" in sentence(tie, "published start", "BD-Student does not differ from Student")


def test_the_largest_improvement_is_judged():
    assert outcome("distillation-bpr", finder(better)).verdicts[0].holds is False  # 15%, not 20.79
    much = finder(lambda cell, role: 0.1 if cell["method"] == "alone" else 0.2)
    assert outcome("distillation-bpr", much).verdicts[0].holds is True


def test_a_fall_of_the_rank_difference_is_seen():
    falls = finder(gap=lambda cell: 0.05 if cell["method"] == "bd" else 0.1)
    assert all("falls from 0.1000 to 0.0500" in line for line in outcome("rank-difference-bpr", falls).findings)
    rises = finder(gap=lambda cell: 0.1 if cell["method"] == "bd" else 0.05)
    assert all(
        "rises" in line and "the dissertation says that it falls" in line
        for line in outcome("rank-difference-bpr", rises).findings
    )


def test_the_best_scheme_is_named():
    found = outcome("sampling-schemes", finder(lambda cell, role: 0.3 if cell["method"] == "mutual" else 0.1))
    assert "Uniform is the best for the teacher" in sentence(found, "Of the five schemes", "teacher")
    assert "in the dissertation it is Rank discrepancy-aware" in sentence(found, "Of the five schemes", "teacher")
    control = outcome(
        "sampling-schemes", finder(lambda cell, role: 0.3 if cell["method"] == "constant-labels" else 0.1)
    )
    assert "Constant labels is the best for the student" in sentence(control, "Of all ten ways", "student")


def test_the_best_weights_and_smoothness_are_named():
    wanted = Point(to_student=1.0, to_teacher=0.1).changes()
    other = Point(exp=1e-3).changes()

    def quality(cell, role):
        return 0.1 + 0.1 * (cell["grid"] == [wanted]) + 0.05 * (cell["grid"] == [other])

    found = outcome("distillation-hyperparameters", finder(quality))
    assert "weights 1 (to the student) and 0.1 (to the teacher): the dissertation says" in sentence(
        found, "teacher is best", "weights"
    )
    assert "smoothness to the teacher of 0.001: the dissertation says 1e-4" in sentence(
        found, "teacher is best", "to the teacher of"
    )
    text = finder(lambda cell, role: 0.2 if cell["grid"] == [TEXT] else 0.1)
    agreed = outcome("distillation-hyperparameters", text)
    assert sum("as the dissertation says" in line for line in agreed.findings) == 6
    assert [verdict.holds for verdict in agreed.verdicts] == [True, True, True]


def test_the_student_that_is_large_enough_is_found():
    def quality(cell, role):
        size = cell["bases"]["student"][0]["n_factors"]
        return 0.2 if role == "teacher" else 0.2 if size >= 15 and cell["method"] == "bd" else 0.1

    found = outcome("model-sizes", finder(quality))
    assert "A student of 15 factors, 30% of the parameters" in sentence(found, "comes within 5%")
    assert found.verdicts[0].holds is True
    small = outcome("model-sizes", finder(lambda cell, role: 0.2 if role == "teacher" else 0.1))
    assert "No student up to 50 factors" in sentence(small, "comes within 5%")
    assert small.verdicts[0].holds is False


def test_the_share_of_the_student_is_beside_the_text():
    found = outcome("teacher-student", finder())
    assert "36.0% of the test items higher than its teacher (the dissertation: 36%)" in sentence(
        found, "NeuMF", "published"
    )
    assert [verdict.holds for verdict in found.verdicts] == [True, True]


def test_only_judging_cells_are_asked_for_their_judgement():
    """What an experiment wants of the test comes from work that may see it, and choices never do."""
    for each in EXPERIMENTS:
        for cell in each.cells(plan_of(each.name)):
            wanted = {"judged": True, "compared": True, "chosen": False, "measured": False}
            assert work_of(cell).judges is wanted[cell.work.split(":")[1]]


def test_the_schemes_share_their_cells_with_the_sweeps_and_the_sizes():
    every = [set(NAMED[name].cells(plan_of(name))) for name in
             ("sampling-schemes", "distillation-hyperparameters", "model-sizes")]  # fmt: skip
    shared = pair("full", "published", "bpr").judged("bd", 0, [TEXT])
    assert all(shared in cells for cells in every)
