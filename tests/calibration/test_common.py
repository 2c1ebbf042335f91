"""What must hold for every calibrator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness._settings import clone
from sureness.calibration import MinMaxCalibrator, SigmoidCalibrator, all_calibrators
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.parametric import ParametricCalibrator
from tests.conftest import draw_pairs

EVERY = [*all_calibrators(), sn.GammaCalibrator(shift=0.1)]
MONOTONE = [c for c in EVERY if c.monotone_by_design]
SMOOTH = [c for c in EVERY if isinstance(c, ParametricCalibrator)]
LEARNING = [c for c in EVERY if not isinstance(c, MinMaxCalibrator | SigmoidCalibrator)]

every = pytest.mark.parametrize("calibrator", EVERY, ids=repr)
smooth = pytest.mark.parametrize("calibrator", SMOOTH, ids=repr)

# what is said about strange scores has tests of its own
quietly = pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")

any_scores = arrays(
    np.float64,
    st.integers(6, 60),
    elements=st.one_of(st.floats(-5, 5), st.floats(-1e4, 1e4), st.integers(-3, 3).map(float)),
)


def fit_or_skip(calibrator, scores, labels, **more):
    """A fit, unless these data are refused for a good reason."""
    try:
        return clone(calibrator).fit(scores, labels, **more)
    except sn.errors.DataError:
        assume(False)


def labelled(scores, seed):
    """Labels of both classes that overlap in the scores."""
    labels = (np.random.default_rng(seed).random(len(scores)) < 0.5).astype(int)
    labels[[0, 1, 2, 3]] = [0, 1, 0, 1]
    return labels


@quietly
@pytest.mark.parametrize("calibrator", MONOTONE, ids=repr)
@given(scores=any_scores, seed=st.integers(0, 1_000))
@hypothesis_settings(max_examples=60)
def test_never_decreases_also_outside_the_fitted_range(calibrator, scores, seed):
    fitted = fit_or_skip(calibrator, scores, labelled(scores, seed))
    width = np.ptp(scores)
    beyond = np.linspace(scores.min() - 3 * width, scores.max() + 3 * width, 500)
    grid = np.sort(np.concatenate([scores, beyond, [-1e9, 1e9]]))
    steps = np.diff(fitted.probability(grid))
    assert steps.min() >= -1e-12


@quietly
@every
@given(scores=any_scores, seed=st.integers(0, 1_000))
@hypothesis_settings(max_examples=40)
def test_probabilities_lie_between_0_and_1(calibrator, scores, seed):
    fitted = fit_or_skip(calibrator, scores, labelled(scores, seed))
    probabilities = fitted.probability(np.r_[scores, -1e12, 1e12])
    assert np.all((probabilities >= 0) & (probabilities <= 1))


@every
def test_a_weight_of_two_equals_the_pair_twice(calibrator, pairs):
    scores, labels = pairs
    weight = np.random.default_rng(1).integers(1, 4, len(scores))
    weighted = clone(calibrator).fit(scores, labels, sample_weight=weight)
    repeated = clone(calibrator).fit(np.repeat(scores, weight), np.repeat(labels, weight))
    assert_allclose(weighted.probability(scores), repeated.probability(scores), atol=1e-9)


@every
def test_pairs_without_weight_are_as_if_they_were_not_there(calibrator, pairs):
    scores, labels = pairs
    weight = np.random.default_rng(3).integers(0, 3, len(scores)).astype(float)
    weight[np.abs(scores) > 2] = 0.0
    held = weight > 0
    weighted = clone(calibrator).fit(scores, labels, sample_weight=weight)
    without = clone(calibrator).fit(scores[held], labels[held], sample_weight=weight[held])
    assert_array_equal(weighted.probability(scores), without.probability(scores))
    assert (weighted.score_range_, weighted.n_pairs_) == (without.score_range_, without.n_pairs_)


@every
def test_chunks_in_any_order_equal_the_whole(calibrator, pairs):
    scores, labels = pairs
    whole = clone(calibrator).fit(scores, labels)
    cuts = np.split(np.random.default_rng(0).permutation(len(scores)), [100, 1_500, 1_501])
    chunks = [sn.data.ScoredPairs.of(scores[cut], labels[cut]) for cut in cuts]
    parts = clone(calibrator).fit(CalibrationSet.from_chunks(chunks))
    assert_allclose(parts.probability(scores), whole.probability(scores), atol=1e-10)


@quietly
@every
def test_saving_and_loading_changes_nothing(calibrator, pairs, tmp_path):
    fitted = clone(calibrator).fit(*pairs)
    fitted.save(tmp_path / "calibrator.json")
    loaded = sn.load(tmp_path / "calibrator.json")
    assert repr(loaded) == repr(fitted)
    assert (loaded.estimand_, loaded.n_pairs_, loaded.score_range_) == (
        fitted.estimand_, fitted.n_pairs_, fitted.score_range_,
    )  # fmt: skip
    grid = np.linspace(-30, 30, 1_001)
    assert_array_equal(loaded.probability(grid), fitted.probability(grid))


@every
def test_clone_and_get_params_keep_the_settings(calibrator):
    again = clone(calibrator)
    assert again is not calibrator
    assert again.get_params() == calibrator.get_params()


@every
def test_a_second_fit_forgets_the_first(calibrator, pairs):
    scores, labels = pairs
    other_scores, other_labels = draw_pairs(500, seed=9, level=2.0)
    twice = clone(calibrator).fit(other_scores, other_labels).fit(scores, labels)
    assert_array_equal(twice.probability(scores), clone(calibrator).fit(scores, labels).probability(scores))


@every
def test_fit_returns_self_and_leaves_its_input_alone(calibrator, pairs):
    scores, labels = pairs[0].copy(), pairs[1].copy()
    fresh = clone(calibrator)
    assert fresh.fit(scores, labels) is fresh
    assert_array_equal(scores, pairs[0])
    assert_array_equal(labels, pairs[1])


@every
def test_lists_booleans_and_float32_are_welcome(calibrator, pairs):
    scores, labels = pairs[0][:200].astype(np.float32), pairs[1][:200]
    from_arrays = clone(calibrator).fit(scores, labels).probability(scores)
    from_lists = clone(calibrator).fit(scores.tolist(), labels.astype(bool).tolist()).probability(scores.tolist())
    assert_allclose(from_lists, from_arrays, atol=1e-12)


@every
def test_asking_before_fitting_says_so(calibrator):
    with pytest.raises(sn.errors.NotFittedError, match="call fit"):
        clone(calibrator).probability([0.0])


def with_outlier(rng, n):
    scores = rng.normal(size=n)
    scores[n // 2] = 10_000.0
    return scores


DISTRIBUTIONS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "outlier": with_outlier,
    "student": lambda rng, n: rng.standard_t(2, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=1.5, size=n),
    "far from zero": lambda rng, n: 1e6 + rng.normal(size=n),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "few values": lambda rng, n: rng.integers(0, 20, n).astype(float),
}


@pytest.mark.filterwarnings("ignore:.*the same probability:sureness.errors.SurenessWarning")
@smooth
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_smooth_families_from_the_histogram_equal_those_from_the_arrays(calibrator, distribution, monkeypatch):
    rng = np.random.default_rng(3)
    scores = DISTRIBUTIONS[distribution](rng, 50_000)
    centre, scale = np.median(scores), np.subtract(*np.quantile(scores, [0.75, 0.25]))
    labels = rng.random(len(scores)) < 1 / (1 + np.exp(1.0 - np.clip((scores - centre) / scale, -4, 4)))
    binned = clone(calibrator).fit(sn.ScoreHistogram.of(scores, labels))
    monkeypatch.setattr(type(calibrator), "exact_pairs", len(scores))
    exact = clone(calibrator).fit(scores, labels)
    assert_allclose(binned.probability(scores), exact.probability(scores), atol=1e-5)


@pytest.mark.parametrize("calibrator", LEARNING, ids=repr)
def test_large_inputs_go_through_the_histogram_and_stay_close(calibrator):
    scores, labels = draw_pairs(150_000)
    large = clone(calibrator).fit(scores, labels)
    small = clone(calibrator).fit(scores[:90_000], labels[:90_000])
    grid = np.linspace(-2, 2, 50)
    assert np.mean(np.abs(large.probability(grid) - small.probability(grid))) < 0.02


@pytest.mark.parametrize("calibrator", LEARNING, ids=repr)
def test_a_base_rate_is_met(calibrator, pairs):
    scores, labels = pairs
    data = CalibrationSet.from_pairs(scores, labels, base_rate=0.1)
    fitted = clone(calibrator).fit(data)
    assert fitted.probability(scores).mean() == pytest.approx(0.1, abs=2e-3)


@every
@pytest.mark.parametrize(
    ("scores", "labels", "more", "message"),
    [
        ([0.0, np.nan, 1.0], [0, 1, 0], {}, "scores must be finite numbers, got 1"),
        ([0.0, np.inf, 1.0], [0, 1, 0], {}, "infinite values, the first .inf. at position 1"),
        ([0.0, 1.0, 2.0], [0, 2, 1], {}, "labels must be 0 or 1, .*got 1 other value such as 2"),
        ([0.0, 1.0, 2.0], ["a", "b", "c"], {}, "labels must be 0 or 1, .*got 3 other values such as .a."),
        ([0.0, 1.0, 2.0], [1, 1, 1], {}, "both classes, got 3 pairs that are all positive"),
        ([0.0, 1.0, 2.0], [0, 0, 0], {}, "both classes, got 3 pairs and no positive"),
        ([1.0, 1.0, 1.0], [0, 1, 0], {}, "scores must differ, but all 3 are 1"),
        ([], [], {}, "scores must not be empty"),
        ([0.0, 1.0], [0, 1, 0], {}, "one value for each of the 2 pairs, got 3"),
        ([[0.0, 1.0]], [0, 1], {}, "one-dimensional, got shape .1, 2."),
        (["x", "y"], [0, 1], {}, "scores must be numbers"),
        ([0.0, 1.0], None, {}, "fit needs labels"),
        ([0.0, 1.0, 2.0], [0, 1, 0], {"propensity": [0.5, 0.0, 1]}, r"propensities must lie in \(0, 1\], got 0 to 1"),
        ([0.0, 1.0, 2.0], [0, 1, 0], {"propensity": [0.5, 1.2, 1]}, r"propensities must lie in \(0, 1\]"),
        ([0.0, 1.0, 2.0], [0, 1, 0], {"sample_weight": [1, -1, 1]}, "sample_weight must not be negative, got -1"),
        ([0.0, 1.0, 2.0], [0, 1, 0], {"sample_weight": [0, 0, 0]}, "must not be zero for every pair"),
        ([0.0, 1.0, 2.0], [0, 1, 0], {"sample_weight": [1, 1]}, "one value for each of the 3 pairs, got 2"),
    ],
)
def test_bad_input_gets_one_clear_sentence(calibrator, scores, labels, more, message):
    with pytest.raises(sn.errors.DataError, match=message):
        clone(calibrator).fit(scores, labels, **more)
