"""Counting methods against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.isotonic import IsotonicRegression

import sureness as sn
from sureness.calibration import BBQCalibrator
from tests.conftest import draw_pairs


def test_histogram_binning_agrees_with_a_loop(pairs):
    scores, labels = pairs
    fitted = sn.calibration.HistogramCalibrator(n_bins=15).fit(scores, labels)
    edges = np.linspace(scores.min(), scores.max(), 16)
    for b in range(15):
        inside = (scores >= edges[b]) & ((scores < edges[b + 1]) | (b == 14))
        if inside.any():
            assert_allclose(fitted.probability(scores[inside]), labels[inside].mean(), atol=1e-12)


def test_empty_bins_lie_between_their_neighbours():
    fitted = sn.calibration.HistogramCalibrator(n_bins=3).fit([0.0, 0.1, 2.9, 3.0], [0, 0, 1, 0])
    assert_allclose(fitted.probability([0.5, 1.5, 2.5]), [0.0, 0.25, 0.5])


def test_isotonic_agrees_with_scikit_learn(pairs):
    scores, labels = pairs
    ours = sn.IsotonicCalibrator().fit(scores, labels)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    grid = np.linspace(-9, 9, 3_001)
    assert_allclose(ours.probability(grid), theirs.predict(grid), atol=1e-12)


def bbq_by_hand(scores, labels, grid, binnings=None, prior=2.0, spread=10.0):
    """Naeini et al. 2015, written with loops: equal-frequency binnings weighted by their evidence."""
    order = np.argsort(scores, kind="stable")
    unit = ((scores - scores.min()) / np.ptp(scores))[order]
    y, n = labels[order], len(labels)
    at = (np.asarray(grid) - scores.min()) / np.ptp(scores)
    fewest, most = max(1, math.floor(n ** (1 / 3) / spread)), math.ceil(n ** (1 / 3) * spread)
    weights, answers = [], []
    for n_bins in binnings or range(fewest, most + 1):
        bins = [[] for _ in range(n_bins)]
        for rank in range(n):
            bins[int((rank + 0.5) * n_bins / n)].append(rank)
        bins = [members for members in bins if members]
        cuts = [(unit[a[-1]] + unit[b[0]]) / 2 for a, b in itertools.pairwise(bins)]
        edges = [0.0, *cuts, 1.0]
        evidence, means = 0.0, []
        for b, members in enumerate(bins):
            count, positive = len(members), int(y[members].sum())
            strength, middle = prior / len(bins), (edges[b] + edges[b + 1]) / 2
            alpha, beta = strength * middle, strength * (1 - middle)
            evidence += math.lgamma(strength) - math.lgamma(count + strength)
            evidence += math.lgamma(positive + alpha) - math.lgamma(alpha)
            evidence += math.lgamma(count - positive + beta) - math.lgamma(beta)
            means.append((positive + alpha) / (count + strength))
        weights.append(evidence)
        answers.append([means[sum(value >= cut for cut in cuts)] for value in at])
    share = np.exp(np.array(weights) - max(weights))
    return share / share.sum() @ np.array(answers)


@pytest.mark.parametrize("binnings", [None, (10, 20, 50, 100)])
@pytest.mark.parametrize("seed", range(3))
def test_bbq_agrees_with_a_loop_over_binnings(seed, binnings):
    scores, labels = draw_pairs(300, seed)
    grid = np.linspace(-4, 4, 41)
    fitted = BBQCalibrator(binnings=binnings).fit(scores, labels)
    assert_allclose(fitted.probability(grid), bbq_by_hand(scores, labels, grid, binnings), atol=1e-9)


@pytest.mark.parametrize("binnings", [(), (0, 10), (2.5,)])
def test_binnings_must_be_counts(binnings):
    with pytest.raises(sn.errors.SettingError, match="binnings"):
        BBQCalibrator(binnings=binnings).fit([0.0, 1.0], [0, 1])


@pytest.mark.parametrize("near", [4.75e-232, -4.75e-232])
def test_bbq_takes_scores_that_hardly_differ(near):
    """Scaled to their range they are equal, which once made the evidence of a binning NaN."""
    scores, labels = np.array([0.0, near, 0.0, 0.0, 0.0, -1.0, 1.0]), [0, 1, 0, 1, 0, 0, 1]
    for kept in (scores, scores[:-1], -scores[:-1]):
        assert np.isfinite(BBQCalibrator().fit(kept, labels[: len(kept)]).probability(kept)).all()


@pytest.mark.parametrize("kind", [sn.calibration.HistogramCalibrator, sn.IsotonicCalibrator, BBQCalibrator])
def test_targets_above_one_still_give_probabilities(kind):
    scores, labels = draw_pairs(2_000)
    fitted = kind().fit(scores, labels, propensity=np.full(2_000, 0.2))
    assert fitted.probability(scores).max() <= 1
    assert fitted.estimand_ == "preference"


def test_bins_must_be_counted_from_one():
    with pytest.raises(sn.errors.SettingError, match="n_bins"):
        sn.calibration.HistogramCalibrator(n_bins=0).fit([0.0, 1.0], [0, 1])
