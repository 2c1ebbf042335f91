"""One user's list: the probability of each item, the expected utility of each size, and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError
from sureness.plots.style import BLUE, GREY, INK, LIGHT_BLUE, LIGHT_GREY, ORANGE, PALE, drawing, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
