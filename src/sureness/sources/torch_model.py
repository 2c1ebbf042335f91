"""Scores of a PyTorch model: a module or function that scores all items, or an object that scores pairs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import DataError
from sureness.sources.base import BLOCK_SCORES, check_names, check_users
from sureness.sources.precision import as_float32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


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
            raise DataError(f"model must be a function of users, a module, or an object with score(users, items), "
                            f"got {type(self.model).__name__}")  # fmt: skip
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
            raise DataError(f"the model must return one row per user and one column per item, "
                            f"{(len(rows), self.n_items)}, got {block.shape}")  # fmt: skip
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
