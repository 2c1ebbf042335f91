"""A source restricted to some of its items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import IdError
from sureness.sources.base import ScoreSource, checked_block, id_maps, trained_pairs


@dataclass(frozen=True, eq=False)
class ItemSubset:
    """Some items of a source, such as those of one domain. Use `subset_of`, which is faster for factors."""

    source: ScoreSource
    columns: IntArray  # ascending
    users: IdMap
    items: IdMap

    @property
    def n_users(self) -> int:
        return self.source.n_users

    @property
    def n_items(self) -> int:
        return len(self.columns)

    @property
    def trained_pairs(self) -> int | None:
        """How many pairs the whole source was trained on."""
        return trained_pairs(self.source)

    def score_block(self, users: IntArray) -> FloatArray:
        return np.asarray(checked_block(self.source, users)[:, self.columns], dtype=np.float32)


def subset_of(source: ScoreSource, columns: IntArray) -> ScoreSource:
    """Restrict a source to some of its items, given by ascending column numbers.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> part = subset_of(MatrixSource(np.array([[1.0, 2.0, 3.0]])), np.array([0, 2]))
    >>> part.score_block(np.array([0])), id_maps(part)[1].ids.to_list()
    (array([[1., 3.]], dtype=float32), [0, 2])
    """
    columns = np.asarray(columns)
    if not len(columns) or np.any(np.diff(columns) <= 0) or columns[0] < 0 or columns[-1] >= source.n_items:
        raise IdError(f"columns must be ascending numbers from 0 to {source.n_items - 1:,}, at least one of them")
    own: Callable[[IntArray], ScoreSource] | None = getattr(source, "restricted", None)
    if own is not None:
        return own(columns)
    users, items = id_maps(source)
    return ItemSubset(source, columns, users, IdMap(items.at(columns)))
