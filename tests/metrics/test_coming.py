"""The interval of realised over promised in the window that comes next."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.errors import DataError, SettingError
from sureness.metrics import coming_ratio
from sureness.metrics.coming import _SHARED, _USUAL, _WIDTH

N_WORLDS = 1_000


def covered(n_windows, spread_of, hits, shared=_SHARED, level=0.9, seed=0):
    """How often the ratio of the next window is inside, over many worlds."""
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(N_WORLDS):
        spread = spread_of(rng)
        promised = hits * np.exp(0.3 * rng.normal(size=n_windows + 1))
        ratio = np.exp(shared * spread * rng.normal() + spread * rng.normal(size=n_windows + 1))
        realised = rng.poisson(promised * ratio)
        found = coming_ratio(promised[:-1], realised[:-1], coming=promised[-1], level=level)
        inside += found.low <= realised[-1] / promised[-1] <= found.high
    return inside / N_WORLDS


def of_prior(rng):
    return _USUAL * np.exp(_WIDTH * rng.normal())


@pytest.mark.parametrize("hits", [60, 5_000])
@pytest.mark.parametrize("n_windows", [0, 3, 8])
def test_nine_of_ten_windows_are_inside_where_the_prior_is_right(n_windows, hits):
    assert 0.87 <= covered(n_windows, of_prior, hits) <= 0.93


@pytest.mark.parametrize(("spread", "lowest"), [(0.05, 0.9), (0.4, 0.8)])
def test_other_spreads_are_learned_from_the_windows(spread, lowest):
    assert covered(8, lambda _: spread, 2_000) >= lowest


def test_other_levels_are_kept():
    assert 0.46 <= covered(4, of_prior, 500, level=0.5) <= 0.54


def test_without_windows_it_is_the_prior_and_symmetric():
    found = coming_ratio([], [], coming=1e9)
    assert found.value == pytest.approx(1)
    assert found.low * found.high == pytest.approx(1)
    assert 1.3 < found.high < 1.6


def test_more_variance_makes_it_wider_and_more_windows_narrower():
    one = coming_ratio([100], [100])
    wider = coming_ratio([100], [100], variances=[900])
    many = coming_ratio([100] * 9, [100] * 9)
    assert wider.high / wider.low > one.high / one.low > many.high / many.low


def test_a_promise_that_is_always_too_high_moves_it():
    assert coming_ratio([1000] * 6, [700] * 6).value < 0.85
    assert coming_ratio([1000] * 6, [0] * 6).high < 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([1], [1, 2]), DataError),
        (([np.nan], [1]), DataError),
        (([1], [-1]), DataError),
        (([1], [1], [1, 2]), DataError),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error):
    with pytest.raises(error):
        coming_ratio(*arguments[:2], variances=arguments[2] if len(arguments) > 2 else None)


def test_levels_are_shares():
    with pytest.raises(SettingError):
        coming_ratio([1], [1], level=90)
