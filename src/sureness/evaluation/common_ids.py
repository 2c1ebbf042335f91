"""Two models restricted to the users and items that both know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.errors import IdError
from sureness.evaluation.ranking import block_scores
from sureness.sources.aligned import fitted_to
from sureness.sources.base import ScoreSource, id_maps, named

BLOCK_SCORES = 4_000_000
"""How many scores of each model are held in memory at a time."""


@dataclass(frozen=True, eq=False)
class CommonIds:
    """The ids that two models share, and the row of each in both models.

    If only one of the models has ids, the other must have the same users or items in the same order.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> large = MatrixSource(np.array([[1.0, 2.0, 3.0]]), items=IdMap.of(["a", "b", "c"]))
    >>> small = MatrixSource(np.array([[5.0, 4.0]]), items=IdMap.of(["b", "c"]))
    >>> for users, first, second in CommonIds.of(large, small).blocks(np.array([0])):
    ...     print(first, second)
    [[2. 3.]] [[5. 4.]]
    """

    sources: tuple[ScoreSource, ScoreSource]
    users: IdMap
    items: IdMap
    user_rows: tuple[IntArray | None, IntArray | None]  # rows of the common users in each model; None: the same
    item_rows: tuple[IntArray | None, IntArray | None]

    __repr__ = fields_repr

    @classmethod
    def of(cls, first: ScoreSource, second: ScoreSource) -> CommonIds:
        """Match the ids of two models."""
        (users, user_rows), (items, item_rows) = (_matched(first, second, side) for side in ("users", "items"))
        return cls((first, second), users, items, user_rows, item_rows)

    def fitted(self, log: Interactions, name: str) -> Interactions:
        """Re-index a log to the common ids, or to row numbers if neither model has ids."""
        check_log(log, name)
        if all(named(source, side) is None for source in self.sources for side in ("users", "items")):
            return fitted_to(self.sources[0], log, name)
        return log.aligned(self.users, self.items)

    def blocks(self, users: IntArray) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Blocks of common users with their scores by both models, which may be overwritten; -inf: unknown."""
        size = max(1, BLOCK_SCORES // max(source.n_items for source in self.sources))
        for start in range(0, len(users), size):
            block = users[start : start + size]
            yield block, self._scores(0, block), self._scores(1, block)

    def _scores(self, place: int, block: IntArray) -> FloatArray:
        rows, columns = self.user_rows[place], self.item_rows[place]
        parts = [scores for _, scores in block_scores(self.sources[place], block if rows is None else rows[block])]
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return scores if columns is None else np.ascontiguousarray(scores[:, columns])


def _matched(
    first: ScoreSource, second: ScoreSource, side: str
) -> tuple[IdMap, tuple[IntArray | None, IntArray | None]]:
    place = ("users", "items").index(side)
    mine, other = id_maps(first)[place], id_maps(second)[place]
    if named(first, side) is None and named(second, side) is None:
        if len(mine) != len(other):
            raise IdError(f"two models without ids must have the same {side}, got {len(mine):,} and "
                          f"{len(other):,}; give both their ids")  # fmt: skip
        return mine, (None, None)
    if mine.same_as(other):
        return mine, (None, None)
    if named(first, side) is None or named(second, side) is None:
        raise IdError(f"one of the two models has no names for its {side}, so their ids are row numbers, and the other "
                      "has others; give both their ids")  # fmt: skip
    rows = other.rows(mine.ids)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        raise IdError(f"the two models have no {side} in common; check that both were fitted on the same data")
    return IdMap(mine.at(common)), (common, rows[common])
