"""Intervals cover and choices keep their promise, at an everyday size; `python -m tests.attacks.coverage` is long."""

from __future__ import annotations

import pytest

from tests.attacks.coverage import CORRELATIONS, SMALL_ERROR, World, coverage, false_wins, out_of_fold_coverage

ERRORS = ("ece", "adaptive_ece", "ece@5", "mce")


@pytest.mark.parametrize("error", [0.0, SMALL_ERROR])
@pytest.mark.parametrize("n_users", [50, 1_000])
def test_intervals_of_calibration_errors_cover(error, n_users):
    """Of 40 intervals 38 should; reflected bootstrap intervals cover 18 to 36."""
    for found in coverage(World(3_000, n_users, error), ERRORS, simulations=40, n_resamples=300):
        assert found.covered >= 34, found.metric


def test_intervals_of_means_cover_with_few_users():
    for found in coverage(World(3_000, 30), ("nll", "brier"), simulations=80):
        assert found.covered >= 70, found.metric


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_best_of_five_equal_ways_is_seldom_called_better(correlation):
    """At most 10% and two standard errors; each tested alone would make it 37% to 16%."""
    assert false_wins(correlation, simulations=200, n_users=100, n_resamples=400) <= 28


def test_out_of_fold_errors_cover_where_scores_say_nothing():
    assert out_of_fold_coverage(slope=0.0, simulations=20, n_pairs=1_000).covered >= 17
