"""P-values of promises, and their correction for many groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.numerics.ratios import holm, promise_p_value


def p_value(rng, *, n_users, n_items, rate, times=1.0, shared=0.0):
    """Of drawn hits, `times` as many as promised; with `shared` all items of a user come together that often."""
    p = rng.beta(1.0, 1.0 / rate - 1.0, (n_users, n_items))
    alone = rng.random(p.shape)
    together = np.broadcast_to(rng.random((n_users, 1)), p.shape)
    draws = np.where(rng.random((n_users, 1)) < shared, together, alone)
    hits = draws < np.minimum(times * p, 1)
    return promise_p_value(hits.sum(axis=1), p.sum(axis=1), float((p * (1 - p)).sum()))


@pytest.mark.parametrize(
    "group",
    [
        {"n_users": 3, "n_items": 5, "rate": 0.1},
        {"n_users": 40, "n_items": 2, "rate": 0.01},
        {"n_users": 40, "n_items": 10, "rate": 0.2},
        {"n_users": 400, "n_items": 10, "rate": 0.1, "shared": 0.3},
    ],
    ids=str,
)
def test_a_promise_that_is_right_is_rarely_rejected(group):
    rng = np.random.default_rng(0)
    found = np.array([p_value(rng, **group) for _ in range(2_000)])
    for level in (0.01, 0.05, 0.2):
        assert np.mean(found < level) < level + 3 * np.sqrt(level / 2_000)


@pytest.mark.parametrize("times", [0.7, 1.3])
def test_a_promise_that_is_wrong_is_found(times):
    rng = np.random.default_rng(0)
    found = [p_value(rng, n_users=400, n_items=10, rate=0.1, times=times) for _ in range(50)]
    assert np.mean(np.array(found) < 0.001) > 0.9


def test_certain_hits_that_came_are_right():
    assert promise_p_value(np.ones(4), np.ones(4), 0.0) == 1.0


def slow_holm(p_values):
    """As in the textbook: the smallest times n, the next one times n - 1, and never below the one before."""
    corrected, before = {}, 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        before = max(before, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = before
    return [corrected[place] for place in range(len(p_values))]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_agrees_with_the_textbook(p_values):
    assert_allclose(holm(np.array(p_values)), slow_holm(p_values))
