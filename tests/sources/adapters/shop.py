"""A small log whose ids are text with accents and numbers in no order, and the check that all adapters share."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

from sureness.data.interactions import Interactions
from sureness.sources.base import PartialSource, ScoreSource

N_USERS, N_ITEMS = 24, 15
RNG = np.random.default_rng(5)
USERS = [f"{name} {row}" for row, name in enumerate(RNG.choice(["zoë", "ann", "Ødegård", "bob"], N_USERS))]
USERS = [USERS[row] for row in RNG.permutation(N_USERS)]  # in the order of the library's rows, not sorted
ITEMS = [int(item) for item in RNG.permutation(np.arange(100, 100 + N_ITEMS))]
BOUGHT = RNG.random((N_USERS, N_ITEMS)) < 0.4
BOUGHT[np.arange(N_USERS), np.arange(N_USERS) % N_ITEMS] = True  # nobody bought nothing, nothing stayed unsold
RATINGS = RNG.integers(1, 6, BOUGHT.shape)
MATRIX = csr_matrix(BOUGHT.astype(np.float32))  # rows and columns in the order of USERS and ITEMS
TRIPLES = [(USERS[u], ITEMS[i], float(RATINGS[u, i])) for u, i in zip(*np.nonzero(BOUGHT), strict=True)]
LOG = Interactions.of([user for user, _, _ in TRIPLES], [item for _, item, _ in TRIPLES])


def dense(source: ScoreSource):
    return source.score_block(np.arange(source.n_users))


def assert_same_scores(source, theirs, *, users=USERS, items=ITEMS, rtol=1e-5):
    """All of a source against a library's own scores, whose rows and columns are in the order of users and items."""
    theirs = np.asarray(theirs, dtype=np.float64)
    assert isinstance(source, ScoreSource)
    assert source.users.ids.to_list() == sorted(users)
    assert source.items.ids.to_list() == sorted(items)
    rows, columns = ([ids.index(name) for name in sorted(ids)] for ids in (users, items))
    expected, found = theirs[np.ix_(rows, columns)], dense(source)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 1e30  # no sentinel
    known = np.isfinite(expected)
    assert_allclose(found[known], expected[known], rtol=rtol, atol=1e-6)
    assert_allclose(source.score_block(np.array([3, 0])), found[[3, 0]], rtol=1e-5, atol=1e-6)
    if not known.all():
        assert isinstance(source, PartialSource)
        parts = source.known_block(np.arange(source.n_users))
        assert set(zip(parts.rows, parts.items, strict=True)) == set(zip(*np.nonzero(known), strict=True))
