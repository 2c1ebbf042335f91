"""Windows of a backtest: what came over what was promised, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness.errors import ColumnError
from sureness.report.figures.style import BLUE, GREY, ORANGE, drawing, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = {"there": ("if the user is there", BLUE, -0.08), "period": ("in the period", ORANGE, 0.08)}
_MOST_NAMED = 6  # windows whose dates fit below the figure


def draw_windows(table: pl.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw realised over promised hits of each window of ``Backtest.table()`` as dots with their intervals.

    Examples
    --------
    >>> row = {"start": ["2024-05-01", "2024-06-01"]} | {
    ...     f"{of}_{name}": [1.1, 0.9] for of in ("there", "period") for name in ("ratio", "low", "high")}
    >>> draw_windows(pl.DataFrame(row)).get_ylabel()
    'realised / promised hits'
    """
    needed = ("start", *(f"{of}_{name}" for of in _LINES for name in ("ratio", "low", "high")))
    if lacking := [name for name in needed if name not in table.columns]:
        raise ColumnError(f"expected the table of a Backtest, got one without {', '.join(lacking)}; give found.table()")
    places = np.arange(table.height)
    with drawing(ax, (6.4, 3.4)) as drawn:
        drawn.axhline(1, color=GREY, linewidth=1)
        for of, (label, colour, aside) in _LINES.items():
            value, low, high = (
                table[f"{of}_{name}"].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("ratio", "low", "high")
            )
            drawn.vlines(places + aside, low, high, colors=colour, linewidth=1.6)
            drawn.plot(places + aside, value, "o-", color=colour, markersize=4.5, linewidth=0.8, label=label)
        step = max(1, -(-table.height // _MOST_NAMED))
        drawn.set_xticks(places[::step], [_day(start) for start in table["start"].to_list()[::step]])
        drawn.set(xlabel="start of the window", ylabel="realised / promised hits")
        drawn.set_ylim(bottom=0)
        drawn.set_title("What came of what was promised")
        legend_above(drawn, len(_LINES))
    return drawn


def _day(start: str | float) -> str:
    return start[:10] if isinstance(start, str) else f"{start:g}"
