"""A simple recommender: truncated singular value decomposition of the degree-normalised interactions."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse

from sureness._types import FloatArray
from sureness.data.interactions import Interactions, check_log
from sureness.errors import EmptyError, SettingError
from sureness.numerics.checks import check_whole
from sureness.sources.base import FactorSource


def svd_source(
    interactions: Interactions | csr_matrix, *, n_factors: int = 8, smoothing: float = 1.0, seed: int = 0
) -> FactorSource:
    """Score every pair by the truncated decomposition of the degree-normalised interactions.

    Each interaction is divided by the square roots of its user's and its item's number of interactions, as in graph
    convolution, so that the leading factors are tastes rather than popularity. Scores are scaled so that an
    interaction of an average user with an average item counts as 1.

    Parameters
    ----------
    interactions : Interactions, or sparse matrix of shape (n_users, n_items)
        1 where a user interacted with an item. The source takes its ids from Interactions.
    n_factors : int
    smoothing : float
        Added to every number of interactions, so that rare items do not dominate.
    seed : int
        For the start of the iteration; it changes the result only by rounding.

    Examples
    --------
    >>> source = svd_source(csr_matrix(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])), n_factors=2, smoothing=0)
    >>> source.score_block(np.array([0])).round(2) + 0.0
    array([[0.83, 0.83, 0.  ]], dtype=float32)
    """
    from scipy.sparse.linalg import svds  # slow to import, and only needed here

    users = items = None
    if isinstance(interactions, Interactions):
        users, items, interactions = interactions.users, interactions.items, interactions.matrix
    elif not issparse(interactions):
        check_log(interactions, "interactions")
    limit = min(interactions.shape)
    if not 0 < n_factors < limit:
        raise SettingError(
            f"n_factors must lie between 1 and {limit - 1} for a matrix of shape {interactions.shape}, got {n_factors}"
        )
    if not interactions.nnz:
        raise EmptyError(f"expected at least one interaction, got none in a matrix of shape {interactions.shape}")
    by_user, by_item = (_inverse_root(np.asarray(interactions.sum(axis=axis)).ravel() + smoothing) for axis in (1, 0))
    normalised = (diags(by_user) @ interactions.astype(np.float64) @ diags(by_item)).tocsr()
    start = np.random.default_rng(check_whole(seed, "seed")).normal(size=limit)
    left, values, right = svds(normalised, k=n_factors, v0=start)
    factors = (left * values).astype(np.float32), right.T.astype(np.float32)
    return FactorSource(*factors, users=users, items=items, trained_pairs=interactions.nnz)


def _inverse_root(degrees: FloatArray) -> FloatArray:
    """One over the square root of degrees, relative to their mean."""
    return np.asarray(np.maximum(degrees / max(degrees.mean(), 1e-12), 1e-12) ** -0.5)
