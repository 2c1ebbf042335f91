"""Say when a map is asked about scores far outside those that it was fitted on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sureness._types import FloatArray
from sureness._wording import counted
from sureness.errors import warn

_MARGIN = 0.5  # of the fitted range: new scores may lie so far outside it
_USUAL = 0.01  # share of scores that may lie further outside
_FEW = 10.0  # the same as a number of fitted pairs: a range of few pairs is narrow


def n_beyond(scores: FloatArray, low: float, high: float, *, upwards: bool = False) -> int:
    """How many scores lie far outside a range, or far above it; scores that are not there (-inf) do not count.

    Examples
    --------
    >>> n_beyond(np.array([0.5, 1.2, 100.0, -np.inf]), 0.0, 1.0)
    1
    """
    if not scores.size:
        return 0
    margin = _MARGIN * (high - low)
    lowest = -np.inf if upwards else low - margin
    if scores.min() >= lowest and scores.max() <= high + margin:
        return 0
    outside = (scores < lowest) | (scores > high + margin)
    return int(np.count_nonzero(outside & np.isfinite(scores)))


@dataclass(frozen=True)
class Reach:
    """Counts over all batches how many of the scores lie far outside the fitted ones, and says it once."""

    low: float
    high: float
    n_fitted: int
    upwards: bool = False  # lower scores than the fitted ones are usual
    counts: list[tuple[int, int]] = field(default_factory=list)  # of each batch: far outside, and in all

    def look(self, scores: FloatArray) -> None:
        """Count a batch."""
        beyond = n_beyond(scores, self.low, self.high, upwards=self.upwards)
        total = int(np.count_nonzero(np.isfinite(scores))) if beyond else scores.size  # only a share needs it exact
        self.counts.append((beyond, total))

    def say(self) -> None:
        """Warn if more scores lie far outside than new data of the same kind would have."""
        beyond, total = (sum(column) for column in zip(*self.counts, strict=True)) if self.counts else (0, 0)
        if not total or beyond / total <= max(_USUAL, _FEW / (self.n_fitted + 1)):
            return
        warn(
            f"{beyond / total:.1%} of the {counted(total, 'score')} lie far outside the scores that the map was fitted "
            f"on, {self.low:.6g} to {self.high:.6g}, so their probabilities are a guess; give scores of the same "
            "recommender on the same scale, or fit the map again"
        )
