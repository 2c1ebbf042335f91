"""Promised against realised among the best pairs, and the simple baselines beside it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from sureness.calibration.nonparametric import SigmoidCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.numerics.ratios import Ratio
from sureness.report import gather_contents
from sureness.report.methods import ONE_RATE, RATE_BY_RANK, judge_promise, promise_in_words, simple_baselines


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


NINE_OF_TEN = [Ratio(0.8, 0.7, 0.9)] * 4 + [Ratio(1.0, 0.9, 1.1)] + [Ratio(1.2, 1.1, 1.3)] * 5


@pytest.mark.parametrize(("bands", "way"), [(NINE_OF_TEN, "too much"), (NINE_OF_TEN[::-1], "too little")])
@pytest.mark.parametrize("name", ["ranks", "probabilities"])
def test_a_total_that_nine_of_ten_bands_exclude_is_not_called_kept(bands, way, name):
    words, colour = promise_in_words(Ratio(1.0, 0.95, 1.05), **{name: bands})
    assert words == (
        f"the promise is kept in total, but 9 of 10 bands of {name} exclude it, and the highest of them promises {way}"
    )
    assert colour == "bad"


def test_a_few_bands_may_exclude_a_promise_by_chance():
    kept, broken, unknown = Ratio(1.0, 0.9, 1.1), Ratio(0.8, 0.7, 0.9), Ratio(None, None, None)
    assert promise_in_words(kept, ranks=[broken, *[kept] * 3])[1] == "good"
    assert promise_in_words(kept, ranks=[broken, broken, *[kept] * 3])[1] == "bad"
    assert promise_in_words(kept, ranks=[broken, *[kept] * 2, *[unknown] * 3])[1] == "bad"
    assert promise_in_words(kept, ranks=[])[1] == "good"
    assert promise_in_words(unknown, ranks=[broken]) == ("", "")


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
    assert "kept as far" not in broken.headline.detail
    assert "of 10 bands of ranks exclude it, and the highest of them promises too much" in broken.headline.detail
    assert broken.tiles[-1].verdict == "bad"
