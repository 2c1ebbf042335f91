"""The demo on a log: small enough, split alike, and nothing chosen by the test part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.data.interactions import union
from sureness.data.recipes import Dataset
from sureness.data.splitting import by_ratio
from sureness.demo import log_study
from sureness.demo.list_study import lists_of
from sureness.demo.log_study import first_items, small_split, study_log
from sureness.errors import EmptyError
from sureness.metrics.ranking import best_items


@pytest.fixture(scope="module")
def split():
    world = sn.simulate(sn.SimulatorSettings(n_users=300, n_items=80, exposure_rate=0.3, seed=5))
    return by_ratio(sn.Interactions.from_matrix(world.train), seed=0)


@pytest.fixture(scope="module")
def source(split):
    return sn.svd_source(split.train, n_factors=4)


@pytest.fixture(scope="module")
def study(split, source):
    return study_log(split, source)


def test_all_methods_are_fitted_and_judged(study):
    assert set(study.table["method"]) == set(study.fitted)
    errors = dict(study.table.select("method", "ece").iter_rows())
    assert errors[study.main] < 0.2 * errors["sigmoid"]


def test_candidates_are_all_items_outside_the_training_part(study, split):
    assert len(study.test) == split.train.n_users * split.train.n_items - len(split.train)
    assert study.test.n_positive == len(split.test)


def test_first_items_are_what_lists_begin_with(split, source):
    lists = lists_of(split, source, max_size=20)
    before, after, kept = first_items(lists, 5)
    top = best_items(source, split.train.users.ids, 5, seen=union([split.train, split.validation]))
    hits = top.join(split.test.table(), on=["user_id", "item_id"], how="semi").height
    assert_allclose(kept.value, hits / top.height)
    assert kept.low < kept.value < kept.high
    assert_allclose(before, (1 / (1 + np.exp(-top["score"].to_numpy().astype(float)))).mean(), rtol=1e-5)
    assert abs(after - kept.value) < abs(before - kept.value)


def test_nothing_is_fitted_or_chosen_on_the_test_part(study, split, source):
    flipped = replace(split, test=split.test.keep(split.test.item_rows % 2 == 0))
    again = study_log(flipped, source)
    assert again.main == study.main
    scores = study.test.scores[:500]
    for method, calibrator in study.fitted.items():
        assert_allclose(again.fitted[method].probability(scores), calibrator.probability(scores))
    assert again.choice.table.equals(study.choice.table)


def test_a_large_log_is_sampled_by_user_and_says_so(monkeypatch):
    monkeypatch.setattr(log_study, "_MOST_INTERACTIONS", 500)
    log = sn.Interactions.of(np.repeat(np.arange(200), 10), np.tile(np.arange(10), 200))
    found = small_split(Dataset("interactions", log))
    assert sum(map(len, found.parts.values())) < 800
    assert any("users were sampled" in note for note in found.notes)


def test_a_sample_of_users_is_judged_when_there_are_many_pairs(split, source, monkeypatch):
    monkeypatch.setattr(log_study, "_MOST_JUDGED", 8_000)
    found = study_log(split, source)
    assert found.n_judged == 100
    assert len(np.unique(np.asarray(found.test.users))) == 100


def test_a_log_without_a_test_part_is_refused():
    log = sn.Interactions.of([1, 2, 3], [1, 2, 3])
    with pytest.raises(EmptyError, match="three"):
        small_split(Dataset("interactions", log))
