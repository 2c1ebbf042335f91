"""Confidence and list size of users with few and with many known interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import DataError, IdError
from sureness.report.figures.lists import whole_numbers
from sureness.report.figures.style import BLUE, ORANGE, drawing, legend_above
from sureness.report.tables import given_table, with_ids_of
from sureness.tables.frames import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 2_000  # more users than this are drawn as a sample
_N_TREND = 10  # groups of users in the line of means
_SKEWED = 5  # times the median that the largest degree may be on a linear axis


@dataclass(frozen=True, eq=False)
class ByDegree:
    """A value of each user, and the user's degree: the number of known interactions."""

    name: str  # of the value
    degree: FloatArray  # (n_drawn,) of all users, or of a sample if there are many
    value: FloatArray  # (n_drawn,)
    mean_degree: FloatArray  # (n_groups,) of groups of users
    mean_value: FloatArray  # (n_groups,)
    n_users: int
    correlation: float  # Pearson, over all users; NaN if degree or value does not vary

    __repr__ = fields_repr

    @property
    def log_degree(self) -> bool:
        """Whether a logarithmic axis shows the degrees better; never with users of degree 0."""
        return bool(self.degree.min() >= 1 and self.degree.max() > _SKEWED * np.median(self.degree))


def prepare_confidence_by_degree(candidates: Frame, user_degree: Frame, *, n: int = 10, seed: int = 0) -> ByDegree:
    """Mean top-n probability of every user by degree, with means over ten groups of users with similar degrees.

    Parameters
    ----------
    candidates : table of any kind with user_id, score, probability
    user_degree : table of any kind with user_id, degree
        Users that are missing from either table are left out.
    n : int
    seed : int
        Seed of the sample of users, if there are too many to draw all.

    Examples
    --------
    >>> candidates = pl.DataFrame({"user_id": [1, 1, 2], "score": [2.0, 1.0, 1.5], "probability": [0.6, 0.2, 0.3]})
    >>> found = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": [1, 2], "degree": [30, 5]}))
    >>> found.value, round(found.correlation, 6)
    (array([0.4, 0.3]), 1.0)
    """
    scored = given_table(candidates, ("user_id", "score", "probability"), "the candidates")
    degrees = given_table(user_degree, ("user_id", "degree"), "the degree table")
    if degrees["user_id"].is_duplicated().any():
        raise IdError("the degree table must have one row per user, got users with several; sum them first")
    degrees = with_ids_of(degrees, scored, ["user_id"], "the degree table")
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id")
    means = scored.filter(rank <= n).group_by("user_id").agg(confidence=pl.col("probability").mean())
    users = means.join(degrees, on="user_id", how="inner").sort("user_id")
    if users.is_empty():
        raise IdError("no user of the degree table is among the candidates; check that both use the same user_id")
    degree, confidence = users["degree"].cast(pl.Float64).to_numpy(), users["confidence"].to_numpy()
    groups = np.array_split(np.argsort(degree, kind="stable"), min(_N_TREND, len(users)))
    means_of = [np.array([values[group].mean() for group in groups]) for values in (degree, confidence)]
    return _by_degree(f"mean probability of the top {n}", degree, confidence, means_of, seed)


def prepare_size_by_degree(sizes: ArrayLike, degree: ArrayLike, *, seed: int = 0) -> ByDegree:
    """List sizes by the users' degrees, with the mean degree of the users with each size.

    Parameters
    ----------
    sizes, degree : array-like of shape (n_users,)
        Whole numbers.
    seed : int
        Seed of the sample of users, if there are too many to draw all.

    Examples
    --------
    >>> found = prepare_size_by_degree([1, 3, 3], [10, 20, 40])
    >>> found.mean_value, found.mean_degree, round(found.correlation, 2)
    (array([1., 3.]), array([10., 30.]), 0.76)
    """
    chosen, known = whole_numbers(sizes, "sizes"), whole_numbers(degree, "degree")
    if len(chosen) != len(known):
        raise DataError(f"sizes and degree must belong to the same users, got {len(chosen):,} and {len(known):,}")
    there, place = np.unique(chosen, return_inverse=True)
    means = [np.bincount(place, known) / np.bincount(place), there.astype(np.float64)]
    return _by_degree("items in the list", known.astype(np.float64), chosen.astype(np.float64), means, seed)


def _by_degree(name: str, degree: FloatArray, value: FloatArray, means: Sequence[FloatArray], seed: int) -> ByDegree:
    drawn = np.sort(np.random.default_rng(seed).permutation(len(degree))[:_MOST_POINTS])
    return ByDegree(name, degree[drawn], value[drawn], means[0], means[1], len(degree), correlation(degree, value))


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


def draw_confidence_by_degree(data: ByDegree, *, ax: Axes | None = None) -> Axes:
    """Draw every user as a point, and the means of groups with similar degrees as a line.

    Examples
    --------
    >>> candidates = pl.DataFrame({"user_id": [1, 2], "score": [2.0, 1.5], "probability": [0.6, 0.3]})
    >>> data = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": [1, 2], "degree": [5, 5]}))
    >>> draw_confidence_by_degree(data).get_title(loc="left")
    'Confidence by interactions · no correlation to measure'
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        _draw(drawn, data, "Confidence", "-o", "mean of similar users")
        drawn.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        drawn.set_ylim(0, min(1.0, 1.25 * float(data.value.max()) + 0.02))
    return drawn


def draw_size_by_degree(data: ByDegree, *, ax: Axes | None = None) -> Axes:
    """Draw every user as a point, and the mean degree of the users with each list size.

    Examples
    --------
    >>> draw_size_by_degree(prepare_size_by_degree([1, 3, 3], [10, 20, 40])).get_title(loc="left")
    'List size by interactions · Pearson r = 0.76'
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        _draw(drawn, data, "List size", "o", "mean of each size")
        drawn.set_ylim(min(0.0, float(data.mean_value[0]) - 0.5), 1.06 * float(data.mean_value[-1]) + 0.5)
        drawn.locator_params(axis="y", integer=True)
    return drawn


def _draw(ax: Axes, data: ByDegree, title: str, line: str, label: str) -> None:
    """Users as points, means in orange, and a logarithmic axis with whole numbers if degrees are skewed."""
    ax.scatter(data.degree, data.value, s=11, color=BLUE, alpha=0.28, linewidths=0, label="one user")
    ax.plot(data.mean_degree, data.mean_value, line, color=ORANGE, markersize=5, markeredgecolor="white", label=label)
    if data.log_degree:
        ax.set_xscale("log")
        ticks = [first * 10**power for power in range(10) for first in (1, 2, 5)]
        shown = [tick for tick in ticks if data.degree.min() <= tick <= data.degree.max()]
        ax.set_xticks(shown, [f"{tick:,}" for tick in shown])
        ax.minorticks_off()
    ax.set(xlabel="known interactions of the user", ylabel=data.name)
    known = np.isfinite(data.correlation)
    found = f"Pearson r = {data.correlation:.2f}" if known else "no correlation to measure"
    ax.set_title(f"{title} by interactions · {found}")
    legend_above(ax, 2)
