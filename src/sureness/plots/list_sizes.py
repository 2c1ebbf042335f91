"""How long the lists of several policies are, and how list size depends on the number of interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.errors import DataError, EmptyError
from sureness.plots.degrees import correlation, is_skewed, log_axis, sample_of_users, written_correlation
from sureness.plots.style import BLUE, CYCLE, DASHES, ORANGE, drawing, legend_above, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_IN_A_ROW = 3  # names of policies above the figure; more go into it


@dataclass(frozen=True, eq=False)
class SizeDistributions:
    """How often each policy chooses each size; the first policy is the main one."""

    shares: dict[str, FloatArray]  # name -> (largest size + 1,) share of the users with lists of 0, 1, ... items
    means: dict[str, float]

    __repr__ = fields_repr


def prepare_size_distributions(sizes: Mapping[str, ArrayLike]) -> SizeDistributions:
    """Count the list sizes of several policies.

    Parameters
    ----------
    sizes : mapping of policy to array-like of shape (n_users,)

    Examples
    --------
    >>> found = prepare_size_distributions({"personal": [1, 1, 3], "fixed": [2, 2, 2]})
    >>> found.shares["personal"].round(2), found.means["fixed"]
    (array([0.  , 0.67, 0.  , 0.33]), 2.0)
    """
    checked = {name: _whole(values, name) for name, values in sizes.items()}
    if not checked:
        raise EmptyError("a figure of list sizes needs at least one policy, got none; give {name: sizes}")
    longest = max(int(values.max()) for values in checked.values())
    return SizeDistributions(
        shares={name: np.bincount(values, minlength=longest + 1) / len(values) for name, values in checked.items()},
        means={name: float(values.mean()) for name, values in checked.items()},
    )


def draw_size_distributions(distributions: SizeDistributions, *, ax: Axes | None = None) -> Axes:
    """Draw the share of users with each list size, the main policy filled and the others as lines.

    The share axis has a square-root scale, so that rare sizes remain visible beside common ones.

    Examples
    --------
    >>> ax = draw_size_distributions(prepare_size_distributions({"personal": [1, 1, 3], "Oracle": [1, 2, 2]}))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['personal 1.7', 'Oracle 1.7']
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        for place, (name, share) in enumerate(distributions.shares.items()):
            colour = BLUE if place == 0 else CYCLE[place % len(CYCLE)]
            label = f"{short_name(name, 18)} {distributions.means[name]:.1f}"
            edges = np.arange(len(share) + 1) - 0.5
            if place == 0:
                drawn.stairs(share, edges, fill=True, color=colour, alpha=0.25)
            dash = DASHES[place % len(DASHES)]
            drawn.stairs(share, edges, color=colour, linewidth=1.6, linestyle=dash, label=label, zorder=3)
        _square_root_axis(drawn, max(float(share.max()) for share in distributions.shares.values()))
        first = min(int(np.flatnonzero(share)[0]) for share in distributions.shares.values())
        drawn.set(xlim=(first - 0.7, len(edges) - 1.3), xlabel="items in the list", ylabel="users (square-root scale)")
        drawn.set_title("List sizes, with their means")
        if len(distributions.shares) <= _MOST_IN_A_ROW:
            legend_above(drawn, len(distributions.shares))
        else:
            drawn.legend(loc="upper right", handlelength=1.6)
    return drawn


@dataclass(frozen=True, eq=False)
class SizeByDegree:
    """The size of each user's list, and the user's number of known interactions."""

    degree: FloatArray  # (n_drawn,) of all users, or of a sample if there are many
    size: FloatArray  # (n_drawn,)
    sizes: IntArray  # (n_sizes,) the sizes that occur
    mean_degree: FloatArray  # (n_sizes,) mean degree of the users with lists of that size
    n_users: int
    correlation: float  # Pearson, over all users; NaN if degree or size does not vary
    log_degree: bool  # whether a logarithmic axis shows the degrees better

    __repr__ = fields_repr


def prepare_size_by_degree(sizes: ArrayLike, degree: ArrayLike, *, seed: int = 0) -> SizeByDegree:
    """List sizes by the users' degrees.

    Parameters
    ----------
    sizes, degree : array-like of shape (n_users,)
        Whole numbers.
    seed : int
        Seed of the sample of users, if there are too many to draw all.

    Examples
    --------
    >>> found = prepare_size_by_degree([1, 3, 3], [10, 20, 40])
    >>> found.sizes, found.mean_degree, round(found.correlation, 2)
    (array([1, 3]), array([10., 30.]), 0.76)
    """
    chosen, known = _whole(sizes, "sizes"), _whole(degree, "degree")
    if len(chosen) != len(known):
        raise DataError(f"sizes and degree must belong to the same users, got {len(chosen):,} and {len(known):,}")
    x, y = known.astype(np.float64), chosen.astype(np.float64)
    there, place = np.unique(chosen, return_inverse=True)
    drawn = sample_of_users(len(x), seed)
    return SizeByDegree(
        degree=x[drawn],
        size=y[drawn],
        sizes=there,
        mean_degree=np.bincount(place, x) / np.bincount(place),
        n_users=len(x),
        correlation=correlation(x, y),
        log_degree=is_skewed(x),
    )


def draw_size_by_degree(data: SizeByDegree, *, ax: Axes | None = None) -> Axes:
    """Draw every user as a point, and the mean degree of the users with each list size.

    Examples
    --------
    >>> draw_size_by_degree(prepare_size_by_degree([1, 3, 3], [10, 20, 40])).get_title(loc="left")
    'List size by interactions · Pearson r = 0.76'
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        drawn.scatter(data.degree, data.size, s=11, color=BLUE, alpha=0.28, linewidths=0, label="one user")
        drawn.plot(
            data.mean_degree, data.sizes, "o", color=ORANGE, markersize=5, markeredgecolor="white",
            label="mean of each size",
        )  # fmt: skip
        if data.log_degree:
            log_axis(drawn, data.degree)
        drawn.set(xlabel="known interactions of the user", ylabel="items in the list")
        drawn.set_ylim(min(0.0, float(data.sizes[0]) - 0.5), 1.06 * float(data.sizes[-1]) + 0.5)
        drawn.locator_params(axis="y", integer=True)
        drawn.set_title(f"List size by interactions · {written_correlation(data.correlation)}")
        legend_above(drawn, 2)
    return drawn


def _whole(values: ArrayLike, name: str) -> IntArray:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise DataError(
            f"{name} must hold one whole number for each user, 0 or more, got values of type {numbers.dtype} and "
            f"shape {numbers.shape}"
        )
    return numbers.astype(np.int64)


def _square_root_axis(ax: Axes, top: float) -> None:
    ax.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0)), np.square))
    ticks = [tick for tick in (0, 0.001, 0.01, 0.04, 0.1, 0.2, 0.4, 0.7, 1.0) if tick <= 1.1 * top]
    ax.set_yticks(ticks, [f"{tick:.1%}" if 0 < tick < 0.01 else f"{tick:.0%}" for tick in ticks])
    ax.set_ylim(0, 1.12 * top)
