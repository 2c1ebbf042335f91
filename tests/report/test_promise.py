"""Promised against realised among the best pairs, and the simple baselines beside it."""

import numpy as np
from numpy.testing import assert_allclose

from sureness.data.scored_pairs import ScoredPairs
from sureness.report.promise import ONE_RATE, RATE_BY_RANK, judge_promise, simple_baselines


def test_baselines_do_not_know_the_labels_they_are_judged_on():
    users = np.repeat([0, 1], 100)
    pairs = ScoredPairs.of(np.arange(200.0), users == 0, users=users)
    rates = simple_baselines(pairs, users, np.tile(np.arange(1, 101), 2))
    for name in (ONE_RATE, RATE_BY_RANK):
        assert rates[name][users == 0].max() < 0.1
        assert rates[name][users == 1].min() > 0.9


def test_one_user_has_no_baseline():
    pairs = ScoredPairs.of([1.0, 2.0], [0, 1], users=["a", "a"])
    found = judge_promise(pairs, {"half": np.full(2, 0.5)})
    assert found.baseline is None
    assert np.isnan(found.gain)
    assert found.main.ratio == (1.0, None, None)


def test_weights_enter_what_was_promised_and_what_came():
    pairs = ScoredPairs.of([1.0, 2.0], [0, 1], users=["a", "b"], sample_weight=[1.0, 3.0])
    found = judge_promise(pairs, {"main": np.array([0.2, 0.6])})
    assert_allclose([found.main.promised, found.realised, found.base_rate], [0.5, 0.75, 0.75])
