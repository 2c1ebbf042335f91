"""What figures about users with few and many interactions share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sureness._types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 2_000  # more users than this are drawn as a sample
_SKEWED = 5  # times the median that the largest degree may be on a linear axis


def sample_of_users(n_users: int, seed: int) -> IntArray:
    """The users to draw: all, or a sorted random sample if there are too many."""
    return np.sort(np.random.default_rng(seed).permutation(n_users)[:_MOST_POINTS])


def is_skewed(degree: FloatArray) -> bool:
    """Whether a logarithmic axis shows these degrees better; never with users of degree 0."""
    return bool(degree.min() >= 1 and degree.max() > _SKEWED * np.median(degree))


def correlation(x: FloatArray, y: FloatArray) -> float:
    """Pearson's correlation; NaN if one of the two does not vary.

    Examples
    --------
    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    rounding = 1e-12 * len(x)  # what is left of a constant after its mean is subtracted
    return float(x @ y) / scale if scale > rounding else float("nan")


def written_correlation(value: float) -> str:
    """The correlation for the title of a figure."""
    return f"Pearson r = {value:.2f}" if np.isfinite(value) else "no correlation to measure"


def log_axis(ax: Axes, degree: FloatArray) -> None:
    """A logarithmic x axis with whole numbers as ticks."""
    ax.set_xscale("log")
    ticks = [first * 10**power for power in range(10) for first in (1, 2, 5)]
    shown = [tick for tick in ticks if degree.min() <= tick <= degree.max()]
    ax.set_xticks(shown, [f"{tick:,}" for tick in shown])
    ax.minorticks_off()
