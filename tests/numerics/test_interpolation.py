"""Lines between knots: the same as numpy's, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.numerics import interpolation
from sureness.numerics.interpolation import interpolate

RNG = np.random.default_rng(0)


def lines(knots):
    return np.asarray(knots, dtype=np.float64), np.sort(RNG.random(len(knots)))


KNOTS = {
    "even": np.linspace(-1.0, 1.0, 9),
    "odd widths": np.sort(RNG.normal(size=300)),
    "jumps": np.repeat(np.sort(RNG.normal(size=50)), 2),
    "hardly apart": np.cumsum(RNG.choice([1e-15, 0.01], size=400)),
    "one": np.zeros(1),
    "two that are equal": np.zeros(2),
    "tiny": np.array([0.0, 5e-324, 1e-300]),
    "huge": np.array([-1e100, 0.0, 1e100]),
}


@pytest.mark.parametrize("name", KNOTS)
@pytest.mark.parametrize("n_places", [3, 20_000])
def test_it_is_what_numpy_returns(name, n_places):
    knots, values = lines(KNOTS[name])
    spread = max(knots[-1] - knots[0], 1.0)
    places = RNG.uniform(knots[0] - 0.2 * spread, knots[-1] + 0.2 * spread, n_places)
    beside = [np.nextafter(knots, -np.inf), knots, np.nextafter(knots, np.inf)]
    places = np.concatenate([places, *beside, [-1e300, 1e300]])
    assert_array_equal(interpolate(places, knots, values), np.interp(places, knots, values))


def test_only_places_beside_a_knot_are_searched_for(monkeypatch):
    knots, values = lines(KNOTS["even"])
    places = RNG.uniform(-1.5, 1.5, 20_000)
    expected, searched = np.interp(places, knots, values), []
    monkeypatch.setattr(interpolation.np, "interp", lambda at, *known: searched.append(len(at)) or np.zeros(len(at)))
    found = interpolate(places, knots, values)
    assert sum(searched) < 0.01 * len(places)
    assert np.count_nonzero(found != expected) <= sum(searched)


def test_knots_that_crowd_where_the_places_are_leave_it_to_numpy(monkeypatch):
    """One knot far away makes cells so wide that most places share theirs with a knot."""
    knots, values = lines([*np.sort(RNG.normal(size=300)), 1e6])
    places, whole, asked = RNG.normal(size=20_000), np.interp, []
    monkeypatch.setattr(interpolation.np, "interp", lambda at, *known: asked.append(len(at)) or whole(at, *known))
    assert_array_equal(interpolate(places, knots, values), whole(places, knots, values))
    assert asked == [len(places)]
