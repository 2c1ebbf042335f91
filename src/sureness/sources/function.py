"""Scores computed by a function: a source for any model that scores all items of a user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import DataError
from sureness.numerics.checks import as_array
from sureness.sources.base import KnownScores, check_names, check_users
from sureness.sources.precision import as_float32


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """Scores from a function that takes rows of users and returns one row of scores for each.

    Examples
    --------
    >>> source = FunctionSource(lambda users: np.outer(users, [1.0, 2.0, 3.0]), n_users=4, n_items=3)
    >>> source.score_block(np.array([2]))
    array([[2., 4., 6.]], dtype=float32)
    """

    function: Callable[[IntArray], ArrayLike]  # (n,) rows -> (n, n_items) finite scores
    n_users: int
    n_items: int
    users: IdMap | None = None  # the id of each row; None: its number
    items: IdMap | None = None  # the id of each column
    trained_pairs: int | None = None  # how many pairs the model was trained on; None: unknown

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        check_names(self)

    def score_block(self, users: IntArray) -> FloatArray:
        return as_float32(self._computed(users))

    def _computed(self, users: IntArray) -> AnyArray:
        rows = check_users(users, self.n_users)
        shape = (len(rows), self.n_items)
        block = as_array(self.function(rows), "scores") if len(rows) else np.empty(shape, dtype=np.float32)
        if block.shape != shape:
            raise DataError(f"the function must return one row per user and one column per item, {shape}, "
                            f"got {block.shape}")  # fmt: skip
        return block


@dataclass(frozen=True, eq=False)
class PartialFunctionSource(FunctionSource):
    """A `FunctionSource` whose function returns NaN for unknown scores, as neighbourhood models do.

    `score_block` puts those items just below the user's lowest known score; see `PartialSource`.

    Examples
    --------
    >>> source = PartialFunctionSource(lambda users: np.array([[1.0, np.nan]] * len(users)), n_users=4, n_items=2)
    >>> source.score_block(np.array([2]))
    array([[1.        , 0.99999994]], dtype=float32)
    >>> source.known_block(np.array([2])).items
    array([0])
    """

    __repr__ = fields_repr

    @property
    def scores_per_user(self) -> int:
        return self.n_items

    def score_block(self, users: IntArray) -> FloatArray:
        return self.known_block(users).dense(self.n_items)

    def known_block(self, users: IntArray) -> KnownScores:
        return KnownScores.of_dense(self._computed(users))
