"""Chapter 4: the notebook's probabilities, and budgets that are kept."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from reproduction.tests.small import SmallShelf, make_small, small_log
from sureness.data import by_ratio
from sureness.sources import svd_source
from sureness_reproduction.cells import CellStore
from sureness_reproduction.list_size.budgets import EQUAL, PERSONAL, densest
from sureness_reproduction.list_size.perk import NOTEBOOK, PUBLISHED, fitted_forms
from sureness_reproduction.list_size.runs import Opened
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked, find_studies


@pytest.fixture(scope="module")
def made():
    split = by_ratio(small_log(exposure_rate=0.4))
    return Opened(svd_source(split.train, n_factors=4), split)


def test_the_notebook_spreads_the_validation_items_over_the_candidates(made):
    plain, notebook = fitted_forms(made, [PUBLISHED, NOTEBOOK], 20)
    assert plain.recommender is notebook.recommender  # one fit serves both
    factor = notebook.lists.probabilities / plain.lists.probabilities
    free = (notebook.lists.probabilities < 1).all(axis=1)
    assert free.sum() > 50
    assert_allclose(factor[free].max(axis=1), factor[free].min(axis=1))
    recommender, validation = plain.recommender, made.split.validation
    scores = made.source.score_block(np.arange(90))
    every = 1 / (1 + np.exp(-recommender.mapped_.log_odds(scores, np.arange(90))))
    gone = np.array([every[user, validation.items_of(user)].sum() for user in range(90)])
    left = every.sum(axis=1) - np.array([every[user, made.seen.items_of(user)].sum() for user in range(90)])
    assert_allclose(factor[free][:, 0], (1 + gone / left)[free], rtol=1e-6)
    assert (notebook.lists.probabilities <= 1).all()


def test_budgets_are_spent_and_kept(tmp_path, data_folder, monkeypatch):
    make_small(monkeypatch)
    store = CellStore(tmp_path / "cells", SmallShelf(data_folder))
    slots, cache = run_studies(find_studies(["budget", "prefetch"]), Asked(seeds=1), store, tmp_path)
    assert set(slots.summary["sizes"]) == {EQUAL, PERSONAL}
    for results, files, metric in ((slots, "slots_sold", "items, f1"), (cache, "items_cached", "bytes")):
        assert results.finished
        for file in store.folder.glob(f"{files}-*/samples.parquet"):
            found = pl.read_parquet(file).filter(metric=metric)
            budget = found.columns[0]
            spent = found.group_by(budget, "sizes").agg(pl.col("value").sum())
            assert (spent["value"] <= 90 * spent[budget] + 1e-6).all()


def test_the_densest_items_leave_no_better_one_out():
    rng = np.random.default_rng(0)
    gains, costs = rng.random((30, 8)), rng.lognormal(size=(30, 8))
    chosen = densest(gains, costs, budget=40.0)
    assert 40.0 - costs.max() < costs[chosen].sum() <= 40.0
    assert (gains / costs)[chosen].min() >= np.sort((gains / costs)[~chosen])[-1]
