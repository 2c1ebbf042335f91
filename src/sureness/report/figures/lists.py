"""Lists: their sizes, where one is cut, confidence and size by degree, promised and realised hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError, DataError, EmptyError, IdError
from sureness.report.figures.style import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREY,
    MARKERS,
    ORANGE,
    PALE,
    drawing,
    legend_above,
    short_name,
)
from sureness.report.tables import given_table, with_ids_of
from sureness.tables.frames import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_IN_A_ROW = 3  # names of policies above the figure; more go into it
_BEYOND = 6  # items after the cut that are drawn, if there are as many
_FEWEST = 12
_MOST_POINTS = 2_000  # more users than this are drawn as a sample
_N_TREND = 10  # groups of users in the line of means
_SKEWED = 5  # times the median that the largest degree may be on a linear axis


def draw_size_distributions(sizes: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw the share of users with each list size, the first policy filled and the others as lines.

    The share axis has a square-root scale, so that rare sizes remain visible.

    Parameters
    ----------
    sizes : mapping of policy to array-like of shape (n_users,)
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> ax = draw_size_distributions({"personal": [1, 1, 3], "Oracle": [1, 2, 2]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['personal 1.7', 'Oracle 1.7']
    """
    checked = {name: _whole_numbers(values, name) for name, values in sizes.items()}
    if not checked:
        raise EmptyError("a figure of list sizes needs at least one policy, got none; give {name: sizes}")
    longest = max(int(values.max()) for values in checked.values())
    shares = {name: np.bincount(values, minlength=longest + 1) / len(values) for name, values in checked.items()}
    with drawing(ax, (4.6, 3.7)) as drawn:
        for place, (name, share) in enumerate(shares.items()):
            _draw_shares(drawn, place, share, f"{short_name(name, 18)} {checked[name].mean():.1f}")
        _square_root_axis(drawn, max(float(share.max()) for share in shares.values()))
        first = min(int(np.flatnonzero(share)[0]) for share in shares.values())
        drawn.set(xlim=(first - 0.7, longest + 0.7), xlabel="items in the list", ylabel="users (square-root scale)")
        drawn.set_title("List sizes, with their means")
        if len(shares) <= _MOST_IN_A_ROW:
            legend_above(drawn, len(shares))
        else:
            drawn.legend(loc="upper right", handlelength=1.6)
    return drawn


def _draw_shares(ax: Axes, place: int, share: FloatArray, label: str) -> None:
    colour, edges = BLUE if place == 0 else CYCLE[place % len(CYCLE)], np.arange(len(share) + 1) - 0.5
    if place == 0:
        ax.stairs(share, edges, fill=True, color=colour, alpha=0.25)
    dash = DASHES[place % len(DASHES)]
    ax.stairs(share, edges, color=colour, linewidth=1.6, linestyle=dash, label=label, zorder=3)


def _whole_numbers(values: ArrayLike, name: str) -> IntArray:
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


def draw_list_cut(
    probability: ArrayLike,
    expected: ArrayLike,
    size: int,
    *,
    hits: ArrayLike | None = None,
    utility: str = "F1",
    ax: Axes | None = None,
) -> Axes:
    """Draw the items of a user as bars with the cut between them, and the expected utility of each size as a curve.

    Only a few items after the cut are drawn.

    Parameters
    ----------
    probability : array-like of shape (n_candidates,)
        In the order of the list.
    expected : array-like of shape (n_sizes,)
        Expected utility of lists of 1, 2, ... items.
    size : int
        Number of shown items.
    hits : array-like of shape (n_candidates,), optional
        Which items turned out to be relevant.
    utility : str
        Its name.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> draw_list_cut([0.9, 0.4, 0.1], [0.6, 0.7, 0.5], 2).get_title(loc="left")
    '2 items · expected F1 0.700'
    """
    p, worth, n_drawn = _around_the_cut(probability, expected, size)
    found = None if hits is None else np.asarray(hits).astype(bool)[:n_drawn]
    ranks, top = np.arange(1, n_drawn + 1), float(p.max())
    with drawing(ax, (4.6, 3.2)) as drawn:
        _draw_bars(drawn, ranks, p, size, found)
        drawn.set(xlim=(0.3, n_drawn + 0.7), ylim=(0, 1.12 * top if top > 0 else 1.0), ylabel="probability")
        drawn.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
        drawn.locator_params(axis="y", nbins=5)
        drawn.grid(visible=False, axis="x")
        drawn.set_xlabel("rank, or list size")
        drawn.locator_params(axis="x", integer=True)
        drawn.axvline(size + 0.5, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        _draw_curve(drawn, ranks, worth, size, utility)
        items = counted(size, "item") if size else "no items"
        drawn.set_title(f"{items} · expected {utility} {worth[size - 1] if size else 0.0:.3f}")
        legend_above(drawn, len(drawn.get_legend_handles_labels()[1]))
    return drawn


def _around_the_cut(probability: ArrayLike, expected: ArrayLike, size: int) -> tuple[FloatArray, FloatArray, int]:
    """The candidates up to a few after the cut, and their number."""
    p, worth = np.asarray(probability, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    n_known = min(len(p), len(worth))
    if p.ndim != 1 or worth.ndim != 1 or not n_known or not 0 <= size <= n_known:
        raise DataError(
            f"a list needs at least one probability and expected utility, and a size between 0 and their number, got "
            f"{counted(len(p), 'probability', 'probabilities')}, {counted(len(worth), 'utility', 'utilities')} and a "
            f"size of {size}"
        )
    n_drawn = min(n_known, max(size + _BEYOND, _FEWEST))
    return p[:n_drawn], worth[:n_drawn], n_drawn


def _draw_bars(ax: Axes, ranks: IntArray, p: FloatArray, size: int, hits: BoolArray | None) -> None:
    """Shown items in blue, the others in grey; hits are dark, the rest pale."""
    shown = ranks <= size
    if hits is None:
        kinds = [(shown, BLUE, "shown"), (~shown, LIGHT_GREY, "not shown")]
    else:
        kinds = [
            (shown & hits, BLUE, "shown, relevant"),
            (shown & ~hits, LIGHT_BLUE, "shown"),
            (~shown & hits, GREY, "missed"),
            (~shown & ~hits, PALE, "not shown"),
        ]
    for rows, colour, label in kinds:
        if rows.any():
            ax.bar(ranks[rows], p[rows], 0.82, color=colour, label=label)


def _draw_curve(ax: Axes, ranks: IntArray, expected: FloatArray, size: int, utility: str) -> None:
    """Expected utility by list size on the right axis, with a dot on the chosen size."""
    right = ax.twinx()
    right.plot(ranks, expected, color=ORANGE, linewidth=1.8)
    if size:
        right.plot([size], [expected[size - 1]], "o", color=ORANGE, markersize=7, markeredgecolor="white")
    low, high = min(float(expected.min()), 0.0), max(float(expected.max()), 0.0)
    room = 0.16 * (high - low) or 0.1
    right.set_ylim(low - (room if low < 0 else 0), high + room)
    right.set_ylabel(f"expected {utility}", color=ORANGE)
    right.tick_params(axis="y", labelcolor=ORANGE)
    right.locator_params(axis="y", nbins=5)
    right.grid(visible=False)


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
    chosen, known = _whole_numbers(sizes, "sizes"), _whole_numbers(degree, "degree")
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
    'Confidence by interactions'
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
    found = f" · Pearson r = {data.correlation:.2f}" if np.isfinite(data.correlation) else ""
    ax.set_title(f"{title} by interactions{found}")
    legend_above(ax, 2)


def draw_promise(table: pl.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what was promised in each band of shown items as a bar, and what came as a dot with its interval.

    `table` is one of `sureness.lists.promise` by rank or by probability; its first row, the total, is left out.

    Examples
    --------
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> draw_promise(promise(lists, FixedSize(2))).get_title(loc="left")
    'Promised and realised hits by rank'
    """
    by = {"ranks": "rank", "probabilities": "probability"}
    column = next((name for name in by if name in table.columns), None)
    if column is None:
        raise ColumnError(f"expected a table of promise(lists, policy), got the columns {', '.join(table.columns)}")
    promised, realised, low, high = _for_each_item(table[1:])
    places = np.arange(len(promised))
    with drawing(ax, (4.6, 3.4)) as drawn:
        drawn.bar(places, np.nan_to_num(promised), width=0.62, color=LIGHT_BLUE, label="promised")
        known = np.isfinite(low)
        drawn.vlines(places[known], low[known], high[known], colors=INK, linewidth=1.8)
        (dots,) = drawn.plot(places, realised, "o", color=BLUE, markersize=4.5, markeredgecolor="white")
        dots.set_label("realised, with 95% interval")
        top = np.nanmax([*promised, *realised, *high, 0.01])
        drawn.set(ylim=(0, 1.08 * float(top)), xlabel=by[column], ylabel="hits for each shown item")
        drawn.set_xticks(places, table[column].to_list()[1:])
        drawn.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}" if top > 0.05 else f"{share:.1%}")
        drawn.grid(visible=False, axis="x")
        drawn.set_title(f"Promised and realised hits by {by[column]}")
        legend_above(drawn, 2)
    return drawn


def _for_each_item(bands: pl.DataFrame) -> tuple[FloatArray, ...]:
    """What each shown item promised, what came of it, and the interval; NaN where nothing was shown, or to one user."""
    shown = bands["shown"].to_numpy()
    there = np.where(shown == 0, np.nan, shown)
    promised = bands["promised"].to_numpy() / there
    low, high = (promised * bands[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("low", "high"))
    return promised, bands["realised"].to_numpy() / there, low, high


def draw_group_ratios(tables: pl.DataFrame | Mapping[str, pl.DataFrame], *, ax: Axes | None = None) -> Axes:
    """Draw a row for each group: a dot for realised over promised hits, with its interval, for each table.

    Left of the line at 1, a group gets less than it was promised. Takes one table of ``promise(..., by=fields)``, or
    several by name; groups that are not in the first one are left out.

    Examples
    --------
    >>> from sureness.calibration import Segments
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> table = promise(lists, FixedSize(2), by=Segments(["old", "new"], of="users"))
    >>> [each.get_text() for each in draw_group_ratios(table).get_yticklabels()]
    ['all', 'segment: new', 'segment: old']
    """
    named = {"": tables} if isinstance(tables, pl.DataFrame) else tables
    groups, ratios = _ratios_of_groups(named)
    places = np.arange(len(groups), dtype=float)
    with drawing(ax, (6.2, 1.2 + (0.1 + 0.09 * len(named)) * len(groups))) as drawn:
        drawn.axvline(1, color=GREY, linewidth=1)
        for number, (name, found) in enumerate(ratios.items()):
            height = places + 0.3 * (number - (len(named) - 1) / 2)
            colour = CYCLE[(len(named) - 1 - number) % len(CYCLE)]  # the last one, which is looked for, in blue
            drawn.hlines(height, found[:, 1], found[:, 2], colors=colour, linewidth=1.6)
            marker = MARKERS[number % len(MARKERS)]
            drawn.plot(found[:, 0], height, marker, color=colour, markersize=4.5, markeredgecolor="white", label=name)
        drawn.set_yticks(places, groups)
        drawn.set(ylim=(len(groups) - 0.4, -0.6), xlabel="realised over promised hits, with 95% interval")
        drawn.grid(visible=False, axis="y")
        drawn.set_title("Who gets less (left) or more than promised")
        if any(named):
            legend_above(drawn, len(named))
    return drawn


def _ratios_of_groups(named: Mapping[str, pl.DataFrame]) -> tuple[list[str], dict[str, FloatArray]]:
    """The groups of the first table in words, and of each table their ratios with intervals: (n_groups, 3)."""
    for table in named.values():
        if not {"field", "group", "ratio", "low", "high"} <= set(table.columns):
            raise ColumnError(f"expected tables of promise(test, by=fields), got columns {', '.join(table.columns)}")
    if not named:
        raise EmptyError("expected at least one table of promise(test, by=fields), got none")
    groups = next(iter(named.values())).select("field", "group")
    ratios = {
        name: groups.join(table, on=["field", "group"], how="left", maintain_order="left")
        .select(pl.col("ratio", "low", "high").cast(pl.Float64).fill_null(np.nan))
        .to_numpy()
        for name, table in named.items()
    }
    return [group if field == group == "all" else f"{field}: {group}" for field, group in groups.rows()], ratios
