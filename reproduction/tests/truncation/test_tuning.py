"""The search tries what its seed says and keeps what the users held out gain most from."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from reproduction.tests.truncation.worlds import made_up
from sureness.errors import DivergedError, SettingError
from sureness_reproduction.truncation import GRID, MtCut, cut_type, tune_cut
from tests.searches import assert_same_search, tried

FIXED = {"n_factors": 4, "epochs": 1}


def search(trials=4, lists=None, **changes):
    return tune_cut("attn-cut", made_up(40) if lists is None else lists, "f1", trials, **(FIXED | changes))


def test_a_seed_tries_the_same_settings_and_another_others():
    first, again, other = search(seed=1), search(seed=1), search(seed=2)
    assert_same_search(first, again)
    assert tried(first)[1:] != tried(other)[1:]


def test_the_defaults_come_first_and_nothing_comes_twice():
    grid = {"learning_rate": (1e-2, 1e-3), "tau": (0.1, 0.3)}
    settings = tried(search(trials=9, grid=grid))
    defaults = cut_type("attn-cut")().get_params()
    assert settings[0] == {name: defaults[name] for name in grid}
    drawn = {tuple(some.values()) for some in settings}
    assert drawn >= {(rate, tau) for rate in (1e-2, 1e-3) for tau in (0.1, 0.3)}
    assert len(drawn) == len(settings)


def test_the_grids_are_those_of_the_dissertation():
    assert GRID["learning_rate"] == (1e-2, 1e-3, 1e-4)
    assert GRID["weight_decay"] == (0.0, 1e-1, 1e-3, 1e-5, 1e-7, 1e-9)
    assert GRID["layers"] == GRID["heads"] == (1, 2)


def test_twelve_trials_try_every_value_of_the_grid():
    settings = tried(search(trials=12, epochs=1))
    assert len({json.dumps(some) for some in settings}) == 12
    for name, values in GRID.items():
        assert {some[name] for some in settings} == set(values)


def test_halving_stops_the_worse_half_and_trains_the_others_as_if_alone():
    lists = made_up(120)
    halved = search(trials=4, lists=lists, epochs=6, patience=6, halving=1)
    assert sorted(halved.trials["epochs"].to_list()) == [1, 1, 2, 6]
    whole = search(trials=4, lists=lists, epochs=6, patience=6)
    alone = {row["trial"]: row for row in whole.trials.iter_rows(named=True)}
    first = {row["trial"]: row["utility"] for row in search(trials=4, lists=lists).trials.iter_rows(named=True)}
    stopped = halved.trials.filter(epochs=1)["trial"].to_list()
    went_on = set(first) - set(stopped)
    assert max(first[trial] for trial in stopped) <= min(first[trial] for trial in went_on)
    last = halved.trials.filter(epochs=6).row(0, named=True)
    assert (last["utility"], last["epoch"]) == (alone[last["trial"]]["utility"], alone[last["trial"]]["epoch"])


def test_settings_that_are_given_are_not_searched():
    found = search(trials=3, learning_rate=0.02)
    assert all("learning_rate" not in settings for settings in tried(found))
    assert found.policy.learning_rate == 0.02


def test_the_best_trial_is_returned_fitted():
    lists = made_up(120)
    found = search(trials=5, lists=lists, epochs=2)
    assert found.trials["utility"].is_sorted(descending=True)
    assert found.trials["utility"].n_unique() > 1
    best = found.trials.row(0, named=True)
    assert (found.policy.best_utility_, found.policy.best_epoch_) == (best["utility"], best["epoch"])
    again = type(found.policy)("f1", **(FIXED | {"epochs": 2}), **json.loads(best["settings"])).fit(lists)
    assert_array_equal(again.sizes(lists), found.policy.sizes(lists))


def test_mt_cut_is_tuned_by_its_own_name():
    found = tune_cut("mt-cut", made_up(30), "tp", 1, experts=2, **FIXED)
    assert isinstance(found.policy, MtCut)
    assert (found.policy.utility, found.policy.experts) == ("tp", 2)


def test_a_trial_that_explodes_comes_last_and_does_not_end_the_search():
    found = search(trials=2, grid={"learning_rate": (1e38,)}, lists=made_up(120))
    assert found.trials["utility"].to_list()[1] == -np.inf
    assert found.policy.learning_rate == 0.001
    with pytest.raises(DivergedError):
        search(trials=1, learning_rate=1e38, grid={}, lists=made_up(120))


def test_progress_counts_over_all_trials():
    reports = []
    search(trials=2, epochs=2, patience=2, progress=lambda *step: reports.append(step))
    assert [step[1:] for step in reports] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert reports[2][0].startswith("trial 2 of 2: epoch 1 ")


def test_unknown_kinds_and_no_trials_are_refused():
    with pytest.raises(SettingError, match="attn-cut"):
        tune_cut("bi_cut", made_up(10))
    with pytest.raises(SettingError, match="trials"):
        search(trials=0)
