"""Scores as networks read them: checked, and brought near 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sureness._types import BoolArray, FloatArray
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


def checked_scores(lists: Lists, width: int, by: object) -> FloatArray:
    """The scores of the first `width` ranks in one row, those behind the end of a list left out; finite or refused."""
    return check_scores(lists.needed("scores", by)[:, :width][real_ranks(lists, width)])


def real_ranks(lists: Lists, width: int) -> BoolArray:
    """Where there is a candidate; shape (n, width)."""
    return np.asarray(np.arange(width) < lists.lengths[:, None])
