"""Lists as tensors, which networks read and learn from."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from sureness._types import BoolArray, IntArray
from sureness.list_size.lists import Lists
from sureness.truncation.scaling import ScoreScale, real_ranks


class Inputs(NamedTuple):
    """What is known about n lists before they are shown."""

    scores: Tensor  # (n, width) scaled; 0 behind the end of a list
    lengths: Tensor  # (n,) from 1 to width
    allowed: Tensor  # (n, width) the sizes that may be chosen, column k - 1 for size k
    features: Tensor | None = None  # (n, width, d) scaled; 0 behind the end of a list

    @classmethod
    def of(
        cls, lists: Lists, scale: ScoreScale, *, width: int, min_size: int, by: object,
        feature_scale: ScoreScale | None = None,
    ) -> Self:  # fmt: skip
        """The first `width` ranks of lists; with a `feature_scale`, their features too."""
        scores = np.where(real_ranks(lists, width), lists.needed("scores", by)[:, :width], scale.mean)
        lengths = np.clip(lists.lengths, 1, width)  # a list without candidates counts as one; it is cut to 0 later
        allowed = allowed_sizes(lengths, width, min_size)
        features = None
        if feature_scale is not None:
            there = np.where(
                real_ranks(lists, width)[:, :, None], lists.needed("features", by)[:, :width], feature_scale.mean
            )
            features = torch.from_numpy(feature_scale(there))
        return cls(torch.from_numpy(scale(scores)), torch.from_numpy(lengths), torch.from_numpy(allowed), features)

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        features = None if self.features is None else self.features[which]
        return type(self)(self.scores[which], self.lengths[which], self.allowed[which], features)


class Labels(NamedTuple):
    """What turned out about n lists."""

    target: Tensor  # (n, width) the distribution over sizes to learn
    hits: Tensor  # (n, width) 1 where the item was relevant, 0 elsewhere

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        return type(self)(*(column[which] for column in self))


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
