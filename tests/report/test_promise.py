"""Promised against realised among the best pairs, and the simple baselines beside it."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit

from sureness.calibration.nonparametric import SigmoidCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.report import gather_contents
from sureness.report.methods import ONE_RATE, RATE_BY_RANK, judge_promise, simple_baselines


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


class Tilted(SigmoidCalibrator):
    """Right on average where lists are made, and wrong in nearly every band of probabilities."""

    learns_from_labels = True

    def _probability(self, scores):
        return expit(3.0 * scores)


def test_the_headline_asks_the_bands_too():
    rng = np.random.default_rng(1)
    scores = rng.normal(0.0, 1.0, 40_000)
    labels = rng.random(len(scores)) < expit(scores)
    pairs = ScoredPairs.of(scores, labels, users=np.arange(len(scores)) // 10)  # all of a user's pairs are shown
    kept, broken = (
        gather_contents(pairs, {"map": kind().fit(scores, labels)}, n_resamples=2)
        for kind in (SigmoidCalibrator, Tilted)
    )
    assert "kept as far as the data can tell" in kept.headline.detail
    assert kept.tiles[-1].verdict == "good"
    assert broken.bands["map"].n_broken > 5
    assert "kept as far" not in broken.headline.detail
    assert broken.tiles[-1].verdict == "bad"
