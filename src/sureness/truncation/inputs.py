"""Lists as the tensors that networks read and learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.list_size.lists import Lists
from sureness.numerics.checks import check_scores

_FARTHEST = 100.0  # deviations from the mean, where every gate of an LSTM is long shut or open


@dataclass(frozen=True)
class ScoreScale:
    """Brings scores near 0 with one mean and one deviation, those of the users that are learned from.

    Scaling every user's scores by themselves would hide the height and the spread of the list, and a user whose
    scores are all high is a user with many relevant items.

    Examples
    --------
    >>> ScoreScale.of(np.array([1.0, 3.0]))([5.0, 2.0])
    array([3., 0.], dtype=float32)
    """

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: FloatArray) -> Self:
        spread = float(scores.std())
        return cls(float(scores.mean()), spread if spread > 0 else 1.0)  # equal scores say nothing, at any scale

    def __call__(self, scores: FloatArray) -> FloatArray:
        most = _FARTHEST * self.deviation
        near = np.clip(np.asarray(scores, dtype=np.float64) - self.mean, -most, most)
        return np.asarray(near / self.deviation, dtype=np.float32)


class Inputs(NamedTuple):
    """What is known of n lists before they are shown."""

    scores: Tensor  # (n, width) scaled; 0 behind the end of a list
    lengths: Tensor  # (n,) from 1 to width
    allowed: Tensor  # (n, width) the sizes that may be chosen, column k - 1 for size k

    @classmethod
    def of(cls, lists: Lists, scale: ScoreScale, *, width: int, min_size: int, by: object) -> Self:
        """The first `width` ranks of lists."""
        scores = np.where(real_ranks(lists, width), lists.needed("scores", by)[:, :width], scale.mean)
        lengths = np.clip(lists.lengths, 1, width)  # a list without candidates counts as one; it is cut to 0 later
        allowed = allowed_sizes(lengths, width, min_size)
        return cls(torch.from_numpy(scale(scores)), torch.from_numpy(lengths), torch.from_numpy(allowed))

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        return type(self)(*(column[which] for column in self))


class Labels(NamedTuple):
    """What turned out about n lists."""

    target: Tensor  # (n, width) the distribution over sizes to learn
    hits: Tensor  # (n, width) 1 where the item was relevant, 0 elsewhere

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        return type(self)(*(column[which] for column in self))


def checked_scores(lists: Lists, width: int, by: object) -> FloatArray:
    """The scores of the first `width` ranks in one row, those behind the end of a list left out; finite or refused."""
    return check_scores(lists.needed("scores", by)[:, :width][real_ranks(lists, width)])


def real_ranks(lists: Lists, width: int) -> BoolArray:
    """Where there is a candidate; shape (n, width)."""
    return np.asarray(np.arange(width) < lists.lengths[:, None])


def allowed_sizes(lengths: IntArray, width: int, min_size: int) -> BoolArray:
    """The sizes from `min_size` to the length of each list; a list that is shorter can only be shown whole.

    Examples
    --------
    >>> allowed_sizes(np.array([3, 1]), 4, min_size=2).astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 0, 0]])
    """
    sizes, most = np.arange(1, width + 1), lengths[:, None]
    return np.asarray((sizes >= np.minimum(min_size, most)) & (sizes <= most))
