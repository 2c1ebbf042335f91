"""The protocol that the rest of the package asks scores of, and its two plain implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.numerics.checks import check_rows


@runtime_checkable
class ScoreSource(Protocol):
    """Scores of whole users, raw and finite; items already seen are masked by the caller, never here."""

    @property
    def n_users(self) -> int: ...

    @property
    def n_items(self) -> int: ...

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items for each of the users; float32 of shape (len(users), n_items)."""
        ...


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """Scores that are already in a dense matrix of shape (n_users, n_items)."""

    matrix: FloatArray

    @property
    def n_users(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_items(self) -> int:
        return int(self.matrix.shape[1])

    def score_block(self, users: IntArray) -> FloatArray:
        return np.asarray(self.matrix[check_users(users, self.n_users)], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class FactorSource:
    """Scores as products of user and item factors, with optional biases.

    Examples
    --------
    >>> source = FactorSource(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [3.0, 0.5]]))
    >>> source.score_block(np.array([1]))
    array([[2., 1.]], dtype=float32)
    """

    user_factors: FloatArray  # (n_users, n_factors)
    item_factors: FloatArray  # (n_items, n_factors)
    user_bias: FloatArray | None = None  # (n_users,)
    item_bias: FloatArray | None = None  # (n_items,)

    @property
    def n_users(self) -> int:
        return len(self.user_factors)

    @property
    def n_items(self) -> int:
        return len(self.item_factors)

    def score_block(self, users: IntArray) -> FloatArray:
        rows = check_users(users, self.n_users)
        scores = self.user_factors[rows] @ self.item_factors.T
        if self.item_bias is not None:
            scores = scores + self.item_bias
        if self.user_bias is not None:
            scores = scores + self.user_bias[rows, None]
        return np.asarray(scores, dtype=np.float32)


def check_users(users: ArrayLike, n_users: int) -> IntArray:
    """Row numbers of users that exist."""
    return check_rows(users, n_users, "users", "must be rows {} of the source")
