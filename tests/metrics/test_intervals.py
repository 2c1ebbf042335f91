"""Intervals that hold what they promise, and tables by group."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.errors import DataError
from sureness.metrics import METRICS, by_group, interval
from sureness.metrics.intervals import Interval
from sureness.metrics.resampling import clusters_of
from tests.metrics.slow_metrics import calibrated_users

every_metric = pytest.mark.parametrize("metric", METRICS)


@pytest.fixture(scope="module")
def alike():
    """Calibrated pairs of 80 users, half of whom answer all their pairs with one draw."""
    users, p, chance = calibrated_users(80, 15, np.random.default_rng(5), alike=0.5)
    return chance < p, p, users


@every_metric
def test_the_same_seed_gives_the_same_interval_and_another_hardly_another(metric, alike):
    labels, p, users = alike
    first, again, other = (interval(metric, labels, p, users=users, n_resamples=1_000, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first.value == other.value
    assert_allclose([first.low, first.high], [other.low, other.high], rtol=0.1)


@pytest.mark.parametrize("metric", ["brier", "nll", "ece"])
def test_users_that_answer_alike_make_the_interval_wider(metric):
    users, p, chance = calibrated_users(80, 15, np.random.default_rng(5), alike=0.5)
    labels = chance < p**2  # far from calibrated, so that no bound is cut off at 0
    clustered = interval(metric, labels, p, users=users)
    single = interval(metric, labels, p)
    assert clustered.value == single.value
    assert clustered.high - clustered.low > 1.2 * (single.high - single.low)


def test_independent_pairs_give_the_same_width_with_or_without_users():
    users, p, chance = calibrated_users(300, 10, np.random.default_rng(3), alike=0.0)
    clustered, single = (interval("brier", chance < p, p, users=u) for u in (users, None))
    assert_allclose(clustered.high - clustered.low, single.high - single.low, rtol=0.15)


def test_the_width_is_that_of_the_normal_theory_for_a_mean():
    rng = np.random.default_rng(0)
    p = rng.random(1_500)
    labels = rng.random(1_500) < p
    losses = (p - labels) ** 2
    found = interval("brier", labels, p, n_resamples=4_000)
    assert_allclose(found.high - found.low, 2 * 1.96 * losses.std() / np.sqrt(1_500), rtol=0.06)


def test_more_users_than_are_drawn_one_by_one_give_the_same_width():
    """Beyond 2,000 users they are put together at random."""
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    labels = rng.random(20_000) < p
    losses = (p - labels) ** 2
    found = interval("brier", labels, p, users=np.arange(20_000), n_resamples=2_000)
    assert_allclose(found.high - found.low, 2 * 1.96 * losses.std() / np.sqrt(20_000), rtol=0.08)


def test_users_put_together_stay_whole_and_clusters_stay_equal():
    users = np.repeat(np.arange(5_000), 2)
    clusters, n_clusters = clusters_of(users, len(users), np.random.default_rng(0))
    assert n_clusters == 2_000
    assert np.array_equal(clusters[::2], clusters[1::2])
    assert set(np.bincount(clusters) // 2) == {2, 3}


def test_a_higher_level_gives_a_wider_interval(alike):
    labels, p, users = alike
    widths = [
        found.high - found.low
        for found in (interval("brier", labels, p, users=users, level=level) for level in (0.5, 0.9, 0.99))
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


def test_weights_and_string_users_enter_an_interval(alike):
    labels, p, users = alike
    weight = np.where(users < 40, 1.0, 0.0)
    names = np.array([f"ü{user}" for user in users])
    half = interval("brier", labels, p, users=names, sample_weight=weight)
    assert_allclose(half.value, interval("brier", labels[users < 40], p[users < 40]).value)


def covered(metric, truth, draw, n_simulations=200):
    """How often the 95% interval holds the true value."""
    rng = np.random.default_rng(12)
    hits = 0
    for _ in range(n_simulations):
        users, p, labels = draw(rng)
        found = interval(metric, labels, p, users=users, n_resamples=300, n_bins=10)
        hits += found.low <= truth <= found.high
    return hits / n_simulations


def draw_alike(rng, truth=lambda p: p):
    users, p, chance = calibrated_users(80, 8, rng, alike=0.5)
    return users, p, chance < truth(p)


@pytest.mark.parametrize(
    ("metric", "truth"),
    [("brier", 1 / 6), ("nll", 1 / 2)],  # the means of p(1 - p) and of the entropy of a uniform p
)
def test_intervals_of_users_that_answer_alike_cover_the_truth(metric, truth):
    assert 0.90 <= covered(metric, truth, draw_alike) <= 0.99


def test_the_interval_of_a_calibration_error_covers_the_truth():
    """The truth is p**2, below p in every bin: the error is the integral of p - p**2 over [0, 1], 1/6."""
    assert covered("ece", 1 / 6, lambda rng: draw_alike(rng, np.square)) >= 0.93


def test_intervals_that_ignore_users_promise_too_much():
    without = covered("brier", 1 / 6, lambda rng: (None, *draw_alike(rng)[1:]), n_simulations=100)
    assert without < 0.90


def test_an_interval_reads_as_a_number_with_its_range():
    assert str(Interval(0.25, 0.25, 0.25)) == "0.2500 [0.2500, 0.2500]"


# --- by group ------------------------------------------------------------------------------------------------------


@every_metric
@pytest.mark.parametrize("kind", [str, int])
def test_a_group_has_the_metric_and_the_interval_of_its_own_pairs(metric, kind, alike):
    labels, p, users = alike
    groups = np.array([kind(group) for group in np.random.default_rng(0).integers(0, 3, len(p))])
    weight = np.random.default_rng(1).random(len(p))
    table = by_group(metric, labels, p, groups, users=users, sample_weight=weight, n_resamples=50, seed=4)
    assert table.columns == ["group", "n_pairs", metric, "low", "high"]
    assert table["group"].to_list() == list(dict.fromkeys(groups.tolist()))
    for group, n_pairs, value, low, high in table.iter_rows():
        inside = groups == group
        alone = interval(
            metric, labels[inside], p[inside], users=users[inside], sample_weight=weight[inside], n_resamples=50, seed=4
        )
        assert (n_pairs, value, low, high) == (inside.sum(), alone.value, alone.low, alone.high)


def test_groups_of_true_and_false_stay_true_and_false():
    table = by_group("ece", [1, 0, 1], [0.7, 0.6, 0.2], np.array([True, False, True]), n_resamples=2)
    assert [str(group) for group in table["group"]] == ["True", "False"]


def test_a_group_that_weighs_nothing_does_not_spoil_the_others():
    table = by_group("brier", [1, 0, 1], [0.5, 0.5, 0.2], ["a", "a", "b"], sample_weight=[1, 1, 0], n_resamples=2)
    assert table.row(0)[:3] == ("a", 2, 0.25)


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"metric": "accuracy"}, "metric"),
        ({"level": 1.0}, "level"),
        ({"n_resamples": 1}, "n_resamples"),
        ({"users": ["a"]}, "users"),
        ({"users": ["a", None]}, "users"),
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2_001}, "n_bins"),
    ],
)
def test_an_interval_that_makes_no_sense_is_refused(options, word):
    with pytest.raises(DataError, match=word):
        interval(**({"metric": "ece", "labels": [0, 1], "probabilities": [0.5, 0.5]} | options))


def test_groups_of_other_pairs_are_refused():
    with pytest.raises(DataError, match="groups"):
        by_group("ece", [0, 1], [0.5, 0.5], ["a"])
