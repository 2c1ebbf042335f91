"""Soft labels against their formulas, and calibrated ones against known probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sureness._registry import find, names
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.interactions import Interactions, union
from sureness.distillation.learner import SoftLabels, soft_labels, validation_pairs
from sureness.distillation.settings import Direction
from tests.distillation.worlds import fitted, parts

SCORES = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-50, 50, width=32))


class TableGuide:
    """A guide whose scores are in a table."""

    def __init__(self, scores):
        self.scores = scores

    def pair_scores(self, users, items):
        return self.scores[users[:, None], items]


def plain(kind="sigmoid", temperature=2.0):
    nobody = TableGuide(None)
    return soft_labels(Direction(labels=kind, temperature=temperature), nobody, nobody, None)


@given(SCORES, st.floats(0.1, 10))
def test_soft_labels_are_sigmoids_with_a_temperature(scores, temperature):
    made = plain(temperature=temperature)
    labels = made.of(scores)
    assert (labels.dtype, labels.shape) == (np.float32, scores.shape)
    assert_allclose(labels, expit(scores.astype(float) / temperature), rtol=1e-4, atol=1e-6)
    assert (made.slope, made.shift) == (1.0 / temperature, 0.0)  # the learner has the same temperature


def test_huge_scores_have_labels_of_0_and_1():
    assert plain().of(np.array([[-1e30, 0.0, 1e30]], dtype=np.float32)).tolist() == [[0.0, 0.5, 1.0]]


@given(SCORES)
def test_labels_of_one_are_one(scores):
    labels = plain("one").of(scores)
    assert (labels.dtype, labels.shape) == (np.float32, scores.shape)
    assert np.all(labels == 1)


# --- calibrated ------------------------------------------------------------------------------------------------------


def scored_pairs(n=4_000, seed=0, slope=3.0, shift=-1.0):
    """Pairs whose relevance follows the guide's score by a known curve, and the learner's score loosely."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).astype(np.float32)
    relevant = (rng.random(n) < expit(slope * scores + shift)).astype(int)
    learner = TableGuide((0.1 * scores + rng.normal(size=n) * 0.05).astype(np.float32)[:, None])
    return TableGuide(scores[:, None]), learner, (np.arange(n), np.zeros(n, dtype=int), relevant)


def test_calibrated_labels_are_probabilities():
    """The true curve is found, and slope and shift calibrate the learner on the same pairs."""
    guide, learner, pairs = scored_pairs()
    made = soft_labels(Direction(labels="calibrated"), learner, guide, pairs)
    grid = np.linspace(-2, 2, 9, dtype=np.float32)[:, None]
    assert_allclose(made.of(grid), expit(3.0 * grid - 1.0), atol=0.03)
    mine = learner.scores[:, 0].astype(float)
    off = expit(made.slope * mine + made.shift) - pairs[2]
    assert abs(off.mean()) < 1e-3  # the gradient of a logistic fit is zero
    assert abs((off * mine).mean()) < 1e-3
    assert made.slope > 5


@pytest.mark.parametrize("name", names("calibrator"))
def test_any_calibrator_can_make_the_labels(name):
    guide, learner, pairs = scored_pairs(500)
    made = soft_labels(Direction(labels="calibrated", calibrator=name), learner, guide, pairs)
    scores = np.sort(guide.scores[:, 0])[None, ::50].repeat(2, axis=0)
    labels = made.of(scores)
    assert (labels.dtype, labels.shape) == (np.float32, scores.shape)
    assert np.all((labels >= 0) & (labels <= 1))
    assert np.all(np.diff(labels[0]) >= 0)
    assert type(made.calibrator) is find("calibrator", name)


def test_a_calibrator_that_is_given_makes_the_labels():
    calibrator = PlattCalibrator().fit([-1.0, 0.3, 1.0, -0.5, 0.5, 0.2], [0, 0, 1, 0, 1, 1])
    scores = np.array([[0.3, -2.0]], dtype=np.float32)
    found = SoftLabels(Direction(labels="calibrated"), calibrator).of(scores)
    assert_allclose(found[0], calibrator.probability(scores[0]), rtol=1e-6)


# --- the pairs for calibration ---------------------------------------------------------------------------------------


def test_every_validation_pair_is_paired_with_an_unseen_item_of_its_user():
    train, validation = parts()
    users, items, relevant = validation_pairs(train, validation, np.random.default_rng(0))
    half = len(validation)
    assert len(users) == len(items) == len(relevant) == 2 * half
    assert_array_equal(relevant, [1] * half + [0] * half)
    assert_array_equal(users[:half], users[half:])
    assert set(zip(users[:half], items[:half], strict=True)) == set(
        zip(validation.user_rows, validation.item_rows, strict=True)
    )
    known = union([train, validation])
    assert not any(item in known.items_of(user) for user, item in zip(users[half:], items[half:], strict=True))


def test_the_seed_determines_the_pairs():
    first, same, other = (validation_pairs(*parts(), np.random.default_rng(seed))[1] for seed in (0, 0, 1))
    assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_users_without_an_unseen_item_have_no_pairs():
    train = Interactions.from_matrix(np.array([[1, 1, 0], [1, 0, 0]]))
    validation = Interactions.from_matrix(np.array([[0, 0, 1], [0, 1, 0]]))
    users, items, relevant = validation_pairs(train, validation, np.random.default_rng(0))
    assert (users.tolist(), items.tolist(), relevant.tolist()) == ([1, 1], [1, 2], [1, 0])


def test_calibrated_labels_are_a_half_on_average():
    """Half of the pairs are relevant, so the mean label and the learner's mean prediction are a half."""
    pairs = validation_pairs(*parts(), np.random.default_rng(0))
    guide, learner = fitted("lightgcn").network_, fitted("bpr", n_factors=2).network_
    made = soft_labels(Direction(labels="calibrated"), learner, guide, pairs)
    assert made.of(guide.pair_scores(pairs[0], pairs[1][:, None])).mean() == pytest.approx(0.5, abs=0.005)
    assert expit(made.slope * learner.pair_scores(pairs[0], pairs[1][:, None]) + made.shift).mean() == pytest.approx(
        0.5, abs=0.005
    )
