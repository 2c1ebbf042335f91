"""The position weights of ranking distillation, against a loop over users."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.distillation.refresh import position_weights
from sureness.distillation.settings import Direction


@given(st.integers(1, 4), st.integers(1, 8), st.floats(0.5, 20), st.floats(0.01, 1), st.integers(0, 99))
def test_weights_fall_with_the_position_and_grow_with_the_gap(n_users, n, decay, scale, seed):
    rng = np.random.default_rng(seed)
    best, gap = rng.integers(-1, 9, (n_users, n)), rng.integers(-40, 40, (n_users, n))
    direction = Direction(scheme="top", position_decay=decay, rank_gap_scale=scale)
    found = position_weights(best, gap, direction)
    for user in range(n_users):
        position = [np.exp(-place / decay) for place in range(n)]
        weights = [value * np.tanh(max(gap[user, place] * scale, 0)) for place, value in enumerate(position)]
        weights = weights if sum(weights) > 0 else position
        weights = np.array([value if best[user, place] >= 0 else 0.0 for place, value in enumerate(weights)])
        assert_allclose(found[user], weights / max(weights.sum(), 1e-12), rtol=1e-5, atol=1e-9)
