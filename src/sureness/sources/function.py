"""Sources that compute scores when needed: from a function, a PyTorch model, or another source in other rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, IdError
from sureness.numerics.checks import as_array
from sureness.sources.base import (
    KnownScores,
    ScoreSource,
    as_float32,
    check_names,
    check_users,
    id_maps,
    trained_pairs,
)
from sureness.sources.blocks import BLOCK_SCORES, block_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


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
            raise DataError(
                f"the function must return one row per user and one column per item, {shape}, got {block.shape}"
            )
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


@dataclass(frozen=True, eq=False)
class TorchSource:
    """Scores of a PyTorch model, computed without gradients and with dropout switched off.

    Parameters
    ----------
    model : callable, or object with ``score(users, items)``
        A function or module that takes rows of users, shape (n,), and returns their scores of all items, shape
        (n, n_items). An object with a method `score` is asked for pairs instead: two tensors of one shape in, one
        score for each pair out.
    n_users, n_items : int
    device : str, optional
        Where the rows are sent; by default where the parameters of the model are.
    users, items : IdMap, optional
        The names of the rows and columns, None: their numbers.
    trained_pairs : int, optional
        How many pairs the model was trained on; then a missing `seen` is noticed.

    Examples
    --------
    >>> import torch
    >>> tastes, qualities = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0], [5.0]])
    >>> TorchSource(lambda users: tastes[users] @ qualities.T, n_users=2, n_items=3).score_block(np.array([1]))
    array([[ 6.,  8., 10.]], dtype=float32)
    """

    model: Any
    n_users: int
    n_items: int
    device: str | None = None
    users: IdMap | None = None
    items: IdMap | None = None
    trained_pairs: int | None = None

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        if not callable(self.model) and not callable(getattr(self.model, "score", None)):
            raise DataError(
                f"model must be a function of users, a module, or an object with score(users, items), "
                f"got {type(self.model).__name__}"
            )
        check_names(self)

    def score_block(self, users: IntArray) -> FloatArray:
        import torch  # slow to import, and not part of the base installation

        rows = check_users(users, self.n_users)
        if not len(rows):
            return np.empty((0, self.n_items), dtype=np.float32)
        with torch.no_grad(), _evaluating(self.model):
            wanted = torch.as_tensor(rows, device=self._device())
            found = self._scores(wanted).detach().to(device="cpu")
            block = (found if found.dtype == torch.float64 else found.to(torch.float32)).numpy()
        if block.shape != (len(rows), self.n_items):
            raise DataError(
                f"the model must return one row per user and one column per item, "
                f"{(len(rows), self.n_items)}, got {block.shape}"
            )
        return as_float32(block)

    def _scores(self, users: Tensor) -> Tensor:
        pairwise: Callable[[Tensor, Tensor], Tensor] | None = getattr(self.model, "score", None)
        if not callable(pairwise):
            return self.model(users)  # type: ignore[no-any-return]
        import torch

        items = torch.arange(self.n_items, device=users.device)
        size = max(1, BLOCK_SCORES // max(self.n_items, 1))
        parts = [
            pairwise(some.repeat_interleave(self.n_items), items.repeat(len(some))).reshape(len(some), self.n_items)
            for some in torch.split(users, size)
        ]
        return torch.cat(parts)

    def _device(self) -> Any:
        parameters = getattr(self.model, "parameters", None)
        first = next(iter(parameters()), None) if callable(parameters) else None
        return self.device or ("cpu" if first is None else first.device)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Switch a module to prediction, and back afterwards."""
    training = bool(getattr(model, "training", False))
    if training:
        model.eval()
    try:
        yield
    finally:
        if training:
            model.train()


@dataclass(frozen=True, eq=False)
class AlignedSource:
    """Any source with other rows and columns; users and items that it does not know have no scores.

    Examples
    --------
    >>> from sureness.data.interactions import Interactions
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["x", "z"]))
    >>> log = Interactions.of(["ann", "bob"], ["x", "y"])
    >>> AlignedSource.of(source, log).score_block(np.array([0, 1])).tolist()
    [[1.0, -inf], [-inf, -inf]]
    """

    source: ScoreSource
    users: IdMap  # of the rows
    items: IdMap  # of the columns
    user_rows: IntArray  # where the source has each user, -1: unknown
    item_rows: IntArray  # where the source has each item, -1: unknown

    __repr__ = fields_repr

    @classmethod
    def of(cls, source: ScoreSource, log: Interactions) -> AlignedSource:
        """Match a source with a log by id; refused if they have no user or no item in common."""
        users, items = id_maps(source)
        user_rows, item_rows = users.rows(log.users.ids), items.rows(log.items.ids)
        if not (np.any(user_rows >= 0) and np.any(item_rows >= 0)):
            raise IdError(
                "the source knows no user or no item of the training log; check that its ids are of the same kind"
            )
        return cls(source, log.users, log.items, user_rows, item_rows)

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def trained_pairs(self) -> int | None:
        """How many pairs the whole source was trained on."""
        return trained_pairs(self.source)

    @property
    def scores_per_user(self) -> int:
        return self.n_items

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items, -inf for unknown users and items; shape (len(users), n_items)."""
        scores = np.full((len(users), self.n_items), -np.inf, dtype=np.float32)
        known, columns = np.flatnonzero(self.user_rows[users] >= 0), np.flatnonzero(self.item_rows >= 0)
        rows = self.user_rows[users][known]
        done = 0
        for block, part in block_scores(self.source, rows):
            place = known[done : done + len(block)]
            scores[np.ix_(place, columns)] = part[:, self.item_rows[columns]]
            done += len(block)
        return scores

    def known_block(self, users: IntArray) -> KnownScores:
        """The scores of known items only."""
        return KnownScores.of_dense(self.score_block(users))

    def pair_scores(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores of pairs, 0 where the source has none: users (B,), items (B, n), result (B, n)."""
        some, place = np.unique(users, return_inverse=True)
        scores = np.empty(items.shape, dtype=np.float32)
        step = max(1, BLOCK_SCORES // self.n_items)
        for start in range(0, len(some), step):
            inside = np.flatnonzero((place >= start) & (place < start + step))
            block = self.score_block(some[start : start + step])
            scores[inside] = block[place[inside][:, None] - start, np.maximum(items[inside], 0)]
        return np.where(np.isneginf(scores), np.float32(0.0), scores)
