"""A plain recommender to start with: the truncated singular value decomposition of the interactions (PureSVD)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from sureness.errors import DataError
from sureness.sources.base import FactorSource


def svd_source(interactions: csr_matrix, *, n_factors: int = 16, seed: int = 0) -> FactorSource:
    """Score every pair with the best approximation of the interactions that has `n_factors` factors.

    Parameters
    ----------
    interactions : sparse matrix of shape (n_users, n_items)
        One where a user interacted with an item.
    n_factors : int
    seed : int
        Start of the iteration; the result does not depend on it beyond rounding.

    Examples
    --------
    >>> source = svd_source(csr_matrix(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])), n_factors=2)
    >>> source.score_block(np.array([0])).round(3) + 0.0
    array([[1., 1., 0.]], dtype=float32)
    """
    limit = min(interactions.shape)
    if not 0 < n_factors < limit:
        raise DataError(f"n_factors must lie between 1 and {limit - 1} for a {interactions.shape} matrix, got {n_factors}")
    start = np.random.default_rng(seed).normal(size=limit)
    left, values, right = svds(interactions.astype(np.float64), k=n_factors, v0=start)
    return FactorSource((left * values).astype(np.float32), right.T.astype(np.float32))
