"""The pieces of work: what they choose, what they judge, and that they agree with the studies they call."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from reproduction.tests.list_size.small import CUTS, SmallShelf
from sureness.list_size import Pages
from sureness.pipeline import ConfidentRecommender
from sureness.sources import svd_source
from sureness_reproduction.cells import in_order, work, work_of
from sureness_reproduction.list_size import EXPERIMENTS, runs
from sureness_reproduction.list_size.cutting import GivenSizes, cut_chosen, cut_sizes, ranked
from sureness_reproduction.list_size.domains import pages_shared
from sureness_reproduction.list_size.judging import cuts_judged, utilities_judged
from sureness_reproduction.list_size.runs import ALS_GRID, als_tuned, base, opened, recipe_of
from sureness_reproduction.list_size.trending import judged, pages_filled
from sureness_reproduction.running import run_cells
from sureness_reproduction.sealing import SealedError
from sureness_reproduction.store import CellStore
from sureness_reproduction.workbench import Workbench

RECIPE = {"trials": 1, "fixed": {"n_factors": 4, "epochs": 2}, "start": {}}
STUDY = {"data": "ml-100k", "model": "bpr", "recipe": RECIPE, "seed": 0, "max_size": 10}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return CellStore(tmp_path_factory.mktemp("cells"), SmallShelf())


def found(store, cell):
    run_cells([cell], store)
    return store.find(cell)


def bench_of(store, function, cells=()):
    return Workbench(work(judges=function)(lambda bench: {}), store.shelf, {c: store.find(c) for c in cells}, None)


def test_a_run_has_its_test_only_where_it_is_judged(store):
    cell = base("ml-100k", "bpr", RECIPE, 0)
    run_cells([cell], store)
    judging, choosing = (bench_of(store, judges, [cell]) for judges in (True, False))
    assert opened(judging, "ml-100k", "bpr", RECIPE, 0).test is not None
    assert opened(choosing, "ml-100k", "bpr", RECIPE, 0).test is None
    with pytest.raises(SealedError):
        _ = runs.split_of(choosing, "ml-100k", 0).test


def test_lists_are_those_of_the_recommender(store):
    split = store.shelf.split("any")
    source = svd_source(split.train, n_factors=4)
    recommender = ConfidentRecommender(source).fit(split.train, split.validation)
    theirs = recommender.lists(labels=split.test)
    ours = ranked(source, recommender.seen_, 50, split.test)
    for name in ("users", "lengths", "scores", "hits", "n_relevant"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_given_sizes_are_found_by_user():
    lists = ranked(*_two_users(), 5).take(np.array([1, 0]))
    policy = GivenSizes(pl.DataFrame({"user": [0, 1], "size": [3, 99]}), max_size=5)
    assert policy.sizes(lists).tolist() == [5, 3]


def _two_users():
    split = SmallShelf().split("any")
    return svd_source(split.train, n_factors=2), split.train


def test_cuts_choose_without_the_test_and_are_judged_with_it(store):
    cell = cuts_judged.cell(cuts=CUTS, **STUDY)
    values = found(store, cell).table("values")
    chosen = found(store, cut_sizes.cell(utility="f1", kind="mt-cut", **STUDY, **CUTS)).table("sizes")
    told = values.filter(utility="f1", policy="MtCut").join(chosen, on="user", suffix="_chosen")
    assert told.height
    assert_array_equal(told["size"], np.minimum(told["size_chosen"], 10))
    assert set(values["policy"]) == {"AttnCut", "MtCut"}
    assert set(values["utility"]) == {"ndcg", "pdcg", "f1", "tp"}


def test_chosen_settings_are_used(store):
    schedule = {"epochs": 1, "n_factors": 4}
    on = {"data": "ml-100k", "model": "bpr", "recipe": RECIPE}
    cell = cut_sizes.cell(**STUDY, utility="f1", kind="attn-cut", trials=2, schedule=schedule, chosen_on=on)
    assert found(store, cell).table("sizes").height == 90
    choice = cut_chosen.cell(**on, seed=0, utility="f1", kind="attn-cut", max_size=10, trials=2, schedule=schedule)
    trials = store.find(choice).table("trials")
    assert trials.height == 2
    assert trials["utility"].is_sorted(descending=True)


def test_settings_of_the_cuts_are_chosen_by_cells_without_the_test():
    every = CellStore("nowhere", SmallShelf())
    (experiment,) = [each for each in EXPERIMENTS if each.name == "list-size-lightgcn"]
    cells = in_order(experiment.cells(experiment.plan("full", every)))
    chosen = [cell for cell in cells if cell.work.endswith(":cut_chosen")]
    assert len(chosen) == 8  # four utilities, two methods, one data set for all
    assert {cell["data"] for cell in chosen} == {"citeulike-a"}
    assert not any(work_of(cell).judges for cell in chosen)


def test_a_form_of_perk_alone_is_as_in_the_whole_study(store):
    from sureness_reproduction.list_size.policy_study import study

    cell = utilities_judged.cell(variant="PerK, one map for all", **STUDY)
    alone = found(store, cell).table("values")
    bench = bench_of(store, True, [base("ml-100k", "bpr", RECIPE, 0)])
    whole, _ = study(opened(bench, "ml-100k", "bpr", RECIPE, 0), max_size=10, with_errors=False)
    assert alone.equals(whole.filter(policy="PerK, one map for all"))


def test_networks_score_once_and_the_same(store):
    recipe = {"trials": 1, "fixed": {"n_factors": 4, "epochs": 1}, "start": {}}
    cell = base("ml-100k", "neumf", recipe, 0)
    run_cells([cell], store)
    run = opened(bench_of(store, True, [cell]), "ml-100k", "neumf", recipe, 0)
    some = np.array([3, 50])
    assert_allclose(run.source.score_block(some), store.find(cell).model.score_block(some), rtol=1e-5)


def test_als_is_chosen_on_validation(store):
    pytest.importorskip("implicit")
    recipe = {"trials": 6, "fixed": {"factors": 4, "iterations": 2}, "start": ALS_GRID[3]}
    cell = base("ml-100k", "als", recipe, 0)
    settings = found(store, cell).table("about")["settings"][0]
    tuning = als_tuned.cell(data="ml-100k", protocol="ratio", model="als", **recipe)
    trials = store.find(tuning).table("trials")
    assert trials.height == 6
    assert trials["metric"].is_sorted(descending=True)
    assert settings == trials["settings"][0]


def test_recipes_are_those_that_were_run():
    assert recipe_of("citeulike-a", "lightgcn", "full")["start"]["learning_rate"] == 0.02
    assert recipe_of("ml-1m", "bpr", "full") == {"trials": 3, "fixed": {}, "start": {}}
    assert recipe_of("ml-1m", "als", "full")["trials"] == 6
    assert recipe_of("ml-100k", "bpr", "quick")["trials"] == 1


def test_pages_are_filled_with_what_trends(store):
    cell = pages_filled.cell(data="ml-100k", model="bpr", recipe=RECIPE, seed=0, slots=12)
    values, cases = (found(store, cell).table(name) for name in ("values", "cases"))
    assert (values["size"] <= 12).all()
    assert (values["hits_trending"] <= values["hits_page"]).all()
    assert cases["user"].n_unique() == 2
    assert cases.filter(~pl.col("personal"))["probability"].is_null().all()
    assert cases.filter("personal")["probability"].is_not_null().all()


def test_pages_are_judged_by_hand():
    pages = Pages(items=np.array([[4, 1, 2]]), personal=np.array([[True, False, False]]))
    full, found = np.array([[True, False, False]]), np.array([[True, True, False]])
    row = judged(pages, full, found, np.array([2])).row(0, named=True)
    assert row["f1_cut"] == pytest.approx(2 * 1 / (1 + 2))
    assert row["f1_full"] == pytest.approx(2 * 1 / (3 + 2))
    assert row["f1_page"] == pytest.approx(2 * 2 / (3 + 2))
    assert (row["hits_full"], row["hits_page"], row["hits_trending"]) == (1, 2, 1)


def test_users_without_a_relevant_item_are_not_judged():
    pages = Pages(items=np.array([[4, 1]] * 2), personal=np.ones((2, 2), dtype=bool))
    hits = np.array([[False, False], [True, False]])
    assert judged(pages, hits, hits, np.array([0, 1]))["user"].to_list() == [1]


def test_shared_pages_keep_to_their_slots(store):
    world = {"n_users": 120, "n_items": 80}
    cell = pages_shared.cell(data="simulator", pair="", world=world, slots=12, seed=0, source="svd")
    tables = found(store, cell)
    values = tables.table("values")
    assert (values["free_items"] <= 12).all()
    assert (values["filled_items"] == 12).all()
    assert (values["equal_items"] == 12).all()
    case = tables.table("cases").row(0, named=True)
    assert len(case["free_labels"]) == case["free_size"]
    assert set(tables.table("slots")["page"]) == {"equal", "free", "filled"}
