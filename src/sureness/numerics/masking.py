"""Recognise scores that stand for "no candidate": a value such as -1e9, far outside all real scores.

Recommenders hide items by giving them a score that no item can have, and a fit that takes it for a score is bent by it.
It shows by its distance: real scores, also heavy-tailed ones, reach outwards step by step, so that no gap between them
is many times as wide as everything inside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray

_MOST_CLUSTERS = 4  # of masked scores; usually there is one
_SAMPLE = 4_096
_APART = 10.0  # a gap this many times as wide as what lies inside it deserves a look
_FAR, _VERY_FAR = 1e3, 1e6
_SEVERAL, _MANY, _SOME = 3, 8, 100.0
_SMALLEST = 99.0  # of a number that is chosen because no score is so large
_LIMITS = (65_504.0, 3.4028234663852886e38, 2.0**15, 2.0**31, 2.0**63)  # ends of number types


@dataclass(frozen=True)
class Masked:
    """Equal or neighbouring scores that were taken for masks."""

    low: float
    high: float
    count: int
    real_low: float  # the real scores lie between these
    real_high: float

    def __str__(self) -> str:
        value = f"{self.low:.6g}" if self.low == self.high else f"{self.low:.6g} to {self.high:.6g}"
        return f"{self.count:,} of {value}"


def sampled(scores: FloatArray, low: float, high: float) -> FloatArray:
    """Some of the scores that are there (not -inf), sorted, with the lowest and the highest among them."""
    some = scores[:: max(1, len(scores) // _SAMPLE)].astype(np.float64)
    return np.sort(np.r_[low, some[some > -np.inf], high])


def core_of(ordered: FloatArray) -> tuple[float, float] | None:
    """Bounds between a sorted sample of scores and what lies far outside them; None if nothing does.

    Examples
    --------
    >>> core_of(np.r_[-1e9, -1e9, np.linspace(-1, 1, 50)])
    (-500000000.5, inf)
    >>> core_of(np.linspace(-1, 1, 50))
    """
    values = ordered[np.r_[True, np.diff(ordered) > 0]]
    for core, others in _partings(values):
        width = values[core.stop - 1] - values[core.start]
        below = [c for c in others if c.stop <= core.start]
        above = [c for c in others if c.start >= core.stop]
        low = high = np.inf
        if below and values[core.start] - values[below[-1].stop - 1] > _APART * width:
            low = -(values[core.start] + values[below[-1].stop - 1]) / 2
        if above and values[above[0].start] - values[core.stop - 1] > _APART * width:
            high = (values[core.stop - 1] + values[above[0].start]) / 2
        if min(low, high) < np.inf:
            return float(-low), float(high)
    return None


def masked_of(values: FloatArray, counts: IntArray | FloatArray) -> list[Masked]:
    """The masked ones among sorted distinct scores, given how many pairs have each; usually none.

    A cluster of scores, no wider than the real ones, is masked if it is a thousand times as far from them as they are
    wide and several pairs share it, or a million times and only one pair has it. One value that looks chosen, such as
    -999, needs less: ten times below the real scores.

    Examples
    --------
    >>> values = np.r_[-999.0, np.linspace(-1, 1, 50)]
    >>> print(*masked_of(values, np.r_[20, np.ones(50)]))
    20 of -999
    """
    for core, others in _partings(values):
        first, last = float(values[core.start]), float(values[core.stop - 1])
        found = [
            Masked(float(values[c.start]), float(values[c.stop - 1]), int(counts[c].sum()), first, last)
            for c in others
            if _is_masked(values[c], counts[c], first, last, core.stop - core.start)
        ]
        if found:
            return found
    return []


def real_scores(scores: FloatArray, masked: list[Masked]) -> BoolArray:
    """Which scores are not among the masked ones."""
    real = np.ones(len(scores), dtype=bool)
    for each in masked:
        real &= (scores < each.low) | (scores > each.high)
    return real


def bounds_of(masked: Sequence[Masked]) -> tuple[float, float]:
    """Bounds halfway between real and masked scores.

    Examples
    --------
    >>> bounds_of([Masked(-1e9, -1e9, 20, 0.0, 1.0)])
    (-500000000.0, inf)
    """
    low = max(((m.high + m.real_low) / 2 for m in masked if m.high < m.real_low), default=-np.inf)
    high = min(((m.low + m.real_high) / 2 for m in masked if m.low > m.real_high), default=np.inf)
    return low, high


def find_masked(scores: FloatArray, low: float, high: float) -> list[Masked]:
    """The masked ones among scores between low and high; a look at a sample spares ordinary scores the sorting."""
    if core_of(sampled(scores, low, high)) is None:
        return []
    there = scores[scores > -np.inf].astype(np.float64)
    return masked_of(*np.unique(there, return_counts=True))


def _partings(values: FloatArray) -> Iterator[tuple[slice, list[slice]]]:
    """Ways to part sorted distinct values at their widest gaps: the run with the most values, and the other runs."""
    gaps = np.diff(values)
    n_widest = min(_MOST_CLUSTERS, len(gaps))
    if not n_widest:
        return
    widest = np.argpartition(-gaps, n_widest - 1)[:n_widest]
    widest = widest[np.argsort(-gaps[widest], kind="stable")]
    left = np.delete(gaps, widest).max(initial=0.0)
    following = np.r_[gaps[widest][1:], left]
    for n_cuts in range(n_widest, 0, -1):
        if gaps[widest[n_cuts - 1]] > _APART * following[n_cuts - 1]:
            bounds = np.r_[0, np.sort(widest[:n_cuts]) + 1, len(values)].tolist()
            runs = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
            core = max(runs, key=lambda run: (run.stop - run.start, -abs(values[run.start])))
            yield core, [run for run in runs if run is not core]


def _is_masked(values: FloatArray, counts: IntArray | FloatArray, first: float, last: float, n_real: int) -> bool:
    """Whether a cluster of scores cannot belong to `n_real` distinct real scores from `first` to `last`."""
    width = last - first
    apart = first - values[-1] if values[-1] < first else values[0] - last
    if not apart > _APART * width > 0 or values[-1] - values[0] > width:
        return False
    several = counts.sum() >= _SEVERAL
    if n_real >= _MANY and (apart > _VERY_FAR * width or (several and apart > _FAR * width)):
        return True
    if len(values) > 1 or not several or n_real < 2 or not _looks_chosen(float(values[0])):
        return False
    needed = _APART if n_real >= _MANY else _SOME
    return bool(apart > _VERY_FAR * width or (values[0] < min(first, 0.0) and apart > needed * width))


def _looks_chosen(value: float) -> bool:
    """Whether a person would write this number: -1e9, -5000, 999, or the end of a number type; to float32 precision."""
    size = abs(value)
    if size < _SMALLEST:
        return False
    one_digit = 10.0 ** np.floor(np.log10(size * (1 + 1e-6)) - 1)
    near = (round(size / one_digit) * one_digit, 10.0 ** np.ceil(np.log10(size)) - 1, *_LIMITS)
    return any(abs(size - each) <= 1e-6 * size for each in near)
