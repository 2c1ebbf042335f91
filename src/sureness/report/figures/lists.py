"""List sizes of several policies, and where the list of one user is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, EmptyError
from sureness.report.figures.style import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREY,
    ORANGE,
    PALE,
    drawing,
    legend_above,
    short_name,
)

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
    checked = {name: whole_numbers(values, name) for name, values in sizes.items()}
    if not checked:
        raise EmptyError("a figure of list sizes needs at least one policy, got none; give {name: sizes}")
    longest = max(int(values.max()) for values in checked.values())
    return SizeDistributions(
        shares={name: np.bincount(values, minlength=longest + 1) / len(values) for name, values in checked.items()},
        means={name: float(values.mean()) for name, values in checked.items()},
    )


def draw_size_distributions(distributions: SizeDistributions, *, ax: Axes | None = None) -> Axes:
    """Draw the share of users with each list size, the main policy filled and the others as lines.

    The share axis has a square-root scale, so that rare sizes remain visible.

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


def whole_numbers(values: ArrayLike, name: str) -> IntArray:
    """One whole number for each user, 0 or more; anything else is refused."""
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


_BEYOND = 6  # items after the cut that are drawn, if there are as many
_FEWEST = 12


@dataclass(frozen=True, eq=False)
class ListCut:
    """The candidates of one user around the cut, best first."""

    probability: FloatArray  # (n_drawn,)
    expected: FloatArray  # (n_drawn,) expected utility of the first 1, 2, ... items
    size: int  # number of shown items
    hits: BoolArray | None  # (n_drawn,) which items turned out to be relevant; None: unknown
    utility: str  # its name

    __repr__ = fields_repr


def prepare_list_cut(
    probability: ArrayLike, expected: ArrayLike, size: int, *, hits: ArrayLike | None = None, utility: str = "F1"
) -> ListCut:
    """Select the candidates of a user up to a few after the cut.

    Parameters
    ----------
    probability : array-like of shape (n_candidates,)
        In the order of the list.
    expected : array-like of shape (n_sizes,)
        Expected utility of lists of 1, 2, ... items.
    size : int
        Number of shown items.
    hits : array-like of shape (n_candidates,), optional
    utility : str

    Examples
    --------
    >>> cut = prepare_list_cut([0.9, 0.4, 0.1], [0.6, 0.7, 0.5], 2, hits=[1, 0, 1])
    >>> cut.size, cut.hits
    (2, array([ True, False,  True]))
    """
    p, worth = np.asarray(probability, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    found = None if hits is None else np.asarray(hits).astype(bool)
    n_known = min(len(p), len(worth))
    if p.ndim != 1 or worth.ndim != 1 or not n_known or not 0 <= size <= n_known:
        raise DataError(
            f"a list needs at least one probability and expected utility, and a size between 0 and their number, got "
            f"{counted(len(p), 'probability', 'probabilities')}, {counted(len(worth), 'utility', 'utilities')} and a "
            f"size of {size}"
        )
    n_drawn = min(n_known, max(size + _BEYOND, _FEWEST))
    return ListCut(p[:n_drawn], worth[:n_drawn], int(size), None if found is None else found[:n_drawn], utility)


def draw_list_cut(cut: ListCut, *, ax: Axes | None = None) -> Axes:
    """Draw the items as bars with the cut between them, and the expected utility of each size as a curve.

    Examples
    --------
    >>> ax = draw_list_cut(prepare_list_cut([0.9, 0.4, 0.1], [0.6, 0.7, 0.5], 2))
    >>> ax.get_title(loc="left")
    '2 items · expected F1 0.700'
    """
    ranks = np.arange(1, len(cut.probability) + 1)
    with drawing(ax, (4.6, 3.2)) as drawn:
        _draw_bars(drawn, cut, ranks)
        top = float(cut.probability.max())
        drawn.set(xlim=(0.3, len(ranks) + 0.7), ylim=(0, 1.12 * top if top > 0 else 1.0), ylabel="probability")
        drawn.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
        drawn.locator_params(axis="y", nbins=5)
        drawn.grid(visible=False, axis="x")
        drawn.set_xlabel("rank, or list size")
        drawn.locator_params(axis="x", integer=True)
        drawn.axvline(cut.size + 0.5, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        _draw_curve(drawn, cut, ranks)
        worth = cut.expected[cut.size - 1] if cut.size else 0.0
        items = counted(cut.size, "item") if cut.size else "no items"
        drawn.set_title(f"{items} · expected {cut.utility} {worth:.3f}")
        legend_above(drawn, len(drawn.get_legend_handles_labels()[1]))
    return drawn


def _draw_bars(ax: Axes, cut: ListCut, ranks: IntArray) -> None:
    """Shown items in blue, the others in grey; hits are dark, the rest pale."""
    shown = ranks <= cut.size
    if cut.hits is None:
        kinds = [(shown, BLUE, "shown"), (~shown, LIGHT_GREY, "not shown")]
    else:
        kinds = [
            (shown & cut.hits, BLUE, "shown, relevant"),
            (shown & ~cut.hits, LIGHT_BLUE, "shown"),
            (~shown & cut.hits, GREY, "missed"),
            (~shown & ~cut.hits, PALE, "not shown"),
        ]
    for rows, colour, label in kinds:
        if rows.any():
            ax.bar(ranks[rows], cut.probability[rows], 0.82, color=colour, label=label)


def _draw_curve(ax: Axes, cut: ListCut, ranks: IntArray) -> None:
    """Expected utility by list size on the right axis, with a dot on the chosen size."""
    right = ax.twinx()
    right.plot(ranks, cut.expected, color=ORANGE, linewidth=1.8)
    if cut.size:
        right.plot([cut.size], [cut.expected[cut.size - 1]], "o", color=ORANGE, markersize=7, markeredgecolor="white")
    low, high = min(float(cut.expected.min()), 0.0), max(float(cut.expected.max()), 0.0)
    room = 0.16 * (high - low) or 0.1
    right.set_ylim(low - (room if low < 0 else 0), high + room)
    right.set_ylabel(f"expected {cut.utility}", color=ORANGE)
    right.tick_params(axis="y", labelcolor=ORANGE)
    right.locator_params(axis="y", nbins=5)
    right.grid(visible=False)
