"""How the error of probabilities goes with the share of positives they were fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sureness.plots import CYCLE, DASHES, GREY, MARKERS, drawing, legend_above
from sureness_reproduction.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def draw_error_by_share(
    shares: FloatArray, errors: Mapping[str, FloatArray], *, truth: float, ax: Axes | None = None, metric: str = "ECE"
) -> Axes:
    """Draw a line for each risk, and where the true share of positives is.

    Parameters
    ----------
    shares : array of shape (n,)
        Positives among the fitted pairs.
    errors : mapping of name to array of shape (n,)
        NaN where there is no number.
    truth : float
        The share of positives among the judged pairs.
    ax : matplotlib Axes, optional
    metric : str

    Examples
    --------
    >>> import numpy as np
    >>> ax = draw_error_by_share(np.array([0.1, 0.5]), {"naive": np.array([0.05, 0.3])}, truth=0.18)
    >>> ax.get_ylabel()
    'ECE'
    """
    with drawing(ax, (4.8, 3.8)) as drawn:
        for place, (name, values) in enumerate(errors.items()):
            drawn.plot(
                shares, values, color=CYCLE[place % len(CYCLE)], linestyle=DASHES[place % len(DASHES)], linewidth=1.8,
                marker=MARKERS[place % len(MARKERS)], markersize=4.5, label=name,
            )  # fmt: skip
        drawn.axvline(truth, color=GREY, linewidth=1.1, linestyle=(0, (4, 3)), label="true share")
        drawn.set(xscale="log", ylim=(0, None), xlabel="positives among the fitted pairs", ylabel=metric)
        shown = [tick for tick in _TICKS if shares.min() / 1.2 <= tick <= 1.2 * shares.max()]
        drawn.set_xticks(shown, [f"{tick:.1%}" if tick < 0.01 else f"{tick:.0%}" for tick in shown])
        drawn.set_xticks([], minor=True)
        drawn.set_title(f"{metric} by the share of positives")
        legend_above(drawn, len(errors) + 1)
    return drawn
