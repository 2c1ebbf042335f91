"""Every experiment of chapter 4 from its grid to its tables, on a small log."""

from __future__ import annotations

import polars as pl
import pytest

from reproduction.tests.list_size.small import SmallShelf, make_small
from sureness_reproduction.cells import in_order, work_of
from sureness_reproduction.experiment import Plan
from sureness_reproduction.list_size import EXPERIMENTS, runs
from sureness_reproduction.published import published
from sureness_reproduction.running import run_cells
from sureness_reproduction.store import CellStore

BY_NAME = {each.name: each for each in EXPERIMENTS}
NAMES = [
    "list-size-bpr", "list-size-neumf", "list-size-lightgcn", "list-size-als", "size-distributions", "degree-and-size",
    "list-size-calibration", "list-size-space-time", "summation-bound", "trending-filler", "multi-domain",
]  # fmt: skip
QUICK = ["list-size-bpr", "size-distributions", "degree-and-size", "list-size-calibration", "list-size-space-time",
         "summation-bound", "trending-filler", "multi-domain"]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return CellStore(tmp_path_factory.mktemp("cells"), SmallShelf())


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield


def plan_of(name):
    data = {"multi-domain": ("simulator",), "list-size-bpr": ("ml-100k", "citeulike-a")}.get(name, ("ml-100k",))
    return Plan("quick", (0, 1) if name == "list-size-bpr" else (0,), data)


@pytest.fixture(scope="module")
def outcomes(store, small):
    found = {}
    for name in QUICK:
        plan = plan_of(name)
        run_cells(BY_NAME[name].cells(plan), store)
        found[name] = BY_NAME[name].outcome(plan, store.find)
    return found


def test_all_experiments_are_there_in_the_order_of_the_text():
    assert list(BY_NAME) == NAMES
    assert {each.chapter for each in EXPERIMENTS} == {4}
    assert {name for name, each in BY_NAME.items() if each.claims} == {
        "size-distributions", "list-size-space-time", "summation-bound"
    }  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_an_outcome_has_no_empty_cell_and_says_something(outcomes, name):
    outcome = outcomes[name]
    assert outcome.tables
    assert outcome.findings
    for table in outcome.tables:
        assert table.shown.height
        assert not table.shown.null_count().sum_horizontal().item(), table.name
        remark = table.shown["remark"] if "remark" in table.shown.columns else None
        for row in table.shown.to_dicts():
            dashes = [name for name, value in row.items() if value == "-" and name != "deviation"]
            assert not dashes or remark is None or row["remark"], (table.name, row)


@pytest.mark.parametrize("name", QUICK)
def test_figures_can_be_drawn(outcomes, name):
    for figure in outcomes[name].figures:
        assert figure.caption
        assert figure.draw() is not None


@pytest.mark.parametrize(
    ("name", "table"),
    [("list-size-bpr", "list-size"), ("list-size-calibration", "list-size-calibration"),
     ("list-size-space-time", "list-size-space-time")],
)  # fmt: skip
def test_every_published_number_is_beside_ours_or_explained(outcomes, name, table):
    beside = next(each for each in outcomes[name].tables if each.name == "beside-published").tidy
    keys = [key for key in beside.columns if key in ("data", "model", "method", "calibration", "metric")]
    theirs = published(table)
    theirs = theirs.filter(model="bpr") if name == "list-size-bpr" else theirs
    if "method" in keys:
        theirs = theirs.with_columns(
            method=pl.when((pl.col("method") == "PerK") & (name == "list-size-bpr"))
            .then(pl.lit("PerK as published")).otherwise("method")
        )  # fmt: skip
    assert theirs.join(beside, on=keys, how="anti").is_empty()
    known = beside.join(theirs.select(keys), on=keys)
    assert known.filter(pl.col("ours").is_null() & (pl.col("remark") == "")).is_empty()
    if name == "list-size-bpr":
        ran = known.filter(data="citeulike-a")
        assert ran["ours"].null_count() == 0
        assert set(ran["verdict"].unique()) <= {"better", "worse", "equal"}


def test_what_chooses_never_sees_the_test(outcomes, store):
    """All cells below ran: those that do not judge got a split whose test raises."""
    cells = [cell for name in QUICK for cell in in_order(BY_NAME[name].cells(plan_of(name)))]
    judging = {cell.work.split(":")[1] for cell in cells if work_of(cell).judges}
    choosing = {cell.work.split(":")[1] for cell in cells if not work_of(cell).judges}
    assert judging == {
        "utilities_judged", "errors_judged", "cuts_judged", "terms_judged", "pages_filled", "pages_shared"
    }  # fmt: skip
    assert choosing == {"trained", "cut_sizes", "degrees", "serving_measured"}
    assert all(store.has(cell) for cell in cells)


@pytest.mark.parametrize(
    ("name", "quick", "full"),
    [
        ("list-size-bpr", 12, 6 * 9 + 6 + 6),  # six data sets with cuts, one without, lists of up to 100
        ("list-size-neumf", 6, 45), ("list-size-lightgcn", 6, 54), ("list-size-als", 6, 33),
        ("size-distributions", 12, 54), ("degree-and-size", 12, 54), ("list-size-calibration", 32, 20 * 24),
        ("list-size-space-time", 3, 12), ("summation-bound", 2, 18), ("trending-filler", 4, 18),
        ("multi-domain", 4, 15),
    ],
)  # fmt: skip
def test_grids_are_as_large_as_declared(name, quick, full, monkeypatch):
    monkeypatch.setattr(runs, "find_spec", lambda name: object())
    every = CellStore("nowhere", SmallShelf())
    assert len(set(BY_NAME[name].cells(BY_NAME[name].plan("quick", every)))) == quick
    assert len(set(BY_NAME[name].cells(BY_NAME[name].plan("full", every)))) == full


def test_absent_data_are_named_once_with_the_reason(outcomes):
    shown = next(each for each in outcomes["list-size-bpr"].tables if each.name == "beside-published").shown
    rows = shown.filter(pl.col("data") == "MovieLens 10M").to_dicts()
    assert len(rows) == 1
    assert rows[0]["method"] == "all 11"
    assert "full scale" in rows[0]["remark"]


@pytest.mark.parametrize("name", NAMES)
def test_without_data_nothing_is_run_and_that_is_said(name):
    plan = Plan("full", (0, 1, 2), ())
    assert not BY_NAME[name].cells(plan)
    assert BY_NAME[name].outcome(plan, None).notes


def test_without_implicit_als_is_left_out_with_a_word(monkeypatch):
    monkeypatch.setattr(runs, "find_spec", lambda name: None)
    plan = Plan("quick", (0,), ("ml-100k",))
    assert not BY_NAME["list-size-als"].cells(plan)
    assert "implicit" in BY_NAME["list-size-als"].outcome(plan, None).notes[0]
