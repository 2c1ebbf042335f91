"""Chapter 2 on real data, with recommenders trained for seconds."""

from __future__ import annotations

import gzip
import shutil

import numpy as np
import polars as pl
import pytest

from sureness_reproduction.calibration import (
    EXPERIMENTS,
    confidence,
    desiderata,
    errors,
    fitting,
    grid,
    judging,
    ratios,
)
from sureness_reproduction.calibration.sets import (
    AS_LOGGED,
    WITH_ANCHOR,
    anchor_rows,
    logged_ratio,
    negatives,
    training_log,
)
from sureness_reproduction.experiment import Plan
from sureness_reproduction.published import published
from sureness_reproduction.running import run_cells
from sureness_reproduction.store import CellStore
from sureness_reproduction.workbench import DataShelf, Workbench

PLAN = Plan("quick", (0,), ("coat",), ("yahoo-r3",))
_MAY_BE_EMPTY = ("remark", "verdict", "risk", "deviation")  # with one seed there is no deviation
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.fixture(scope="module")
def store(data_folder, tmp_path_factory):
    """A store, and grids that take seconds: one setting, two epochs, two models, few ratios."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(grid._SEARCH, "quick", (1, {"epochs": 2, "patience": 2}))
        patch.setattr(grid, "MODELS", ("bpr", "lightgcn"))
        patch.setitem(ratios.RATIOS, "quick", [negatives(9)])
        patch.setattr(errors, "_EVERY", (AS_LOGGED, WITH_ANCHOR))
        patch.setattr(errors, "_MAIN", (AS_LOGGED, WITH_ANCHOR))
        patch.setattr(ratios, "CANDIDATES", negatives(9))
        patch.setattr(ratios, "RATINGS", negatives(9))
        patch.setattr(fitting, "METHODS", tuple(
            choice for choice in fitting.METHODS if choice[0] not in ("bbq", "kanoulas", "manmatha", "temperature")
        ))  # fmt: skip
        patch.setattr(desiderata, "METHODS", ("isotonic", "histogram", "platt", "beta", "gaussian", "gamma"))
        yield CellStore(tmp_path_factory.mktemp("cells"), DataShelf(data_folder))


def outcome_of(name, store):
    experiment = BY_NAME[name]
    run_cells(experiment.cells(PLAN), store)
    return experiment.outcome(PLAN, store.find)


@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_experiment_comes_to_tables_without_unexplained_holes(store, name):
    outcome = outcome_of(name, store)
    assert outcome.findings
    for table in outcome.tables:
        assert table.shown.height
        for row in table.shown.to_dicts():
            if any(value is None or value == "" for key, value in row.items() if key not in _MAY_BE_EMPTY):
                assert row.get("remark"), f"{table.name}: {row}"
    for figure in outcome.figures:
        assert figure.draw() is not None


def test_every_published_error_is_there_or_explained(store):
    for metric in ("ece", "mce", "nll"):
        table = outcome_of(metric, store).tables[0].shown
        keys = ["data", "model", "method", "risk"]
        missing = published(metric).join(table, on=keys, how="anti")
        assert missing.is_empty()
        assert table.filter(pl.col("ours").is_null() & (pl.col("remark") == "")).is_empty()
        assert table.filter(pl.col("ours").is_not_null())["model"].n_unique() == 2
        assert set(table.filter(data="yahoo-r3")["remark"]) == {
            "not run: the data are not here; their terms bind each user to their publisher"
        }


def test_other_test_labels_give_the_same_maps(store, data_folder, tmp_path):
    """The dissertation's protocol, the ratio of negatives and the recommender do not look at the test."""
    other = tmp_path / "data" / "coat"
    shutil.copytree(data_folder / "coat", other)
    rows = pl.read_csv(other / "interactions.tsv.gz", separator="\t")
    turned = rows.with_columns(rating=pl.when(pl.col("split") == "test").then(6 - pl.col("rating")).otherwise("rating"))
    with gzip.open(other / "interactions.tsv.gz", "wb") as file:
        file.write(turned.write_csv(separator="\t").encode())
    cell = fitting.maps_cell(grid.base_of("coat", "bpr", 0, "quick"), AS_LOGGED)
    second = CellStore(tmp_path / "cells", DataShelf(other.parent))
    for each in (store, second):
        run_cells([cell], each)
    assert store.key(cell) != second.key(cell)  # other data, so computed anew
    first_maps, second_maps = (sorted(each.find(cell).folder.glob("*-*.json")) for each in (store, second))
    assert len(first_maps) > 10
    for one, two in zip(first_maps, second_maps, strict=True):
        assert one.read_text() == two.read_text()


def test_the_anchor_is_left_out_of_the_test(store):
    base = grid.base_of("coat", "bpr", 0, "quick")
    run_cells([judging.judged_cell(base, WITH_ANCHOR), judging.judged_cell(base, AS_LOGGED)], store)
    anchored = store.find(judging.judged_cell(base, WITH_ANCHOR)).table("judged")
    whole = store.find(judging.judged_cell(base, AS_LOGGED)).table("judged")
    assert set(anchored["judged_on"]) == {"rest"}
    sizes = {part: whole.filter(judged_on=part)["n_pairs"][0] for part in ("all", "rest")}
    assert sizes["all"] - sizes["rest"] == 1_000
    assert set(anchored["n_pairs"]) == {sizes["rest"]}
    assert anchor_rows(4_000, 1).sum() == 1_000
    assert anchor_rows(100, 1).sum() == 25
    assert (anchor_rows(4_000, 1) != anchor_rows(4_000, 2)).any()


def test_an_anchor_brings_the_level_of_the_test(store):
    base = grid.base_of("coat", "bpr", 0, "quick")
    run_cells([judging.judged_cell(base, WITH_ANCHOR)], store)
    rows = store.find(judging.judged_cell(base, WITH_ANCHOR)).table("judged").filter(method="gaussian")
    assert (rows["mean_probability"] - rows["positive_share"]).abs().max() < 0.03
    assert (rows["ece"] < 0.06).all()


def test_the_ratio_is_that_of_the_log(data_folder, tmp_path):
    bench = Workbench(fitting.fitted, DataShelf(data_folder), {}, tmp_path)
    log = training_log(bench, "coat")
    assert len(log) == 6_960
    assert logged_ratio(log, 3) == round((6_960 - 1_905) / 1_905) == 3


def test_a_straight_line_in_log_odds_is_not_bent():
    grid_ = np.linspace(-3, 3, 50)
    assert desiderata.bend(grid_, 1 / (1 + np.exp(-grid_))) < 1e-9
    assert desiderata.bend(grid_, np.full(50, 0.3)) == 0
    assert desiderata.bend(grid_, 1 / (1 + np.exp(-(grid_ + grid_**2 / 7)))) > 0.1


def test_cases_are_found_by_rule():
    top = pl.DataFrame(
        {"user_id": [1, 1, 2, 2, 3, 3], "probability": [0.9, 0.8, 0.1, 0.05, 0.7, 0.1], "rank": [1, 2] * 3}
    )
    assert confidence._cases(top) == {"sure of all": 1, "sure of none": 2, "wide apart": 3}
