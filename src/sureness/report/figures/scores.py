"""The scores of positives and negatives, and the probability that each calibrator gives to a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray
from sureness.calibration.list_terms import Groups
from sureness.calibration.maps import ProbabilityMap, Who
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError
from sureness.numerics.checks import check_scores, check_weight
from sureness.report.figures.style import (
    BLUE,
    CYCLE,
    DASHES,
    LIGHT_BLUE,
    LIGHT_GREY,
    ORANGE,
    drawing,
    percent_axis,
    short_name,
    spread_edges,
    strip_below,
    weights_in_bins,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADROOM = 1.3  # for the legend, in heights of the tallest bar


@dataclass(frozen=True, eq=False)
class ClassScores:
    """The scores of one class; mean and spread are NaN for a class without pairs."""

    name: str
    n_pairs: int
    mean: float
    std: float
    density: FloatArray  # (n_bins,) integrates to 1

    __repr__ = fields_repr


@dataclass(frozen=True, eq=False)
class ScoreDistributions:
    """Densities of the scores of both classes over the same bins."""

    edges: FloatArray  # (n_bins + 1,)
    negative: ClassScores
    positive: ClassScores

    __repr__ = fields_repr


def prepare_score_distributions(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 60,
    names: tuple[str, str] = ("negative", "positive"),
) -> ScoreDistributions:
    """Histogram the scores of both classes.

    The bins cover the middle 99.9% of the scores; the few outside are counted in the end bins. `names` are those of
    the two classes, such as ("not bought", "bought").

    Examples
    --------
    >>> found = prepare_score_distributions([0.0, 1.0, 1.0, 3.0], [0, 0, 1, 1], n_bins=3)
    >>> found.positive.mean, found.positive.std, found.negative.density.round(2)
    (2.0, 1.0, array([0.5, 0.5, 0. ]))
    """
    pairs = ScoredPairs.of(scores, labels, sample_weight=sample_weight)
    edges = spread_edges(pairs.scores, n_bins)
    return ScoreDistributions(
        edges=edges,
        negative=_class_scores(names[0], pairs, ~pairs.labels, edges),
        positive=_class_scores(names[1], pairs, pairs.labels, edges),
    )


def draw_score_distributions(distributions: ScoreDistributions, *, ax: Axes | None = None) -> Axes:
    """Draw the densities of both classes in one figure.

    Examples
    --------
    >>> ax = draw_score_distributions(prepare_score_distributions([0.0, 1.0, 1.0, 3.0], [0, 0, 1, 1]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()][1]
    'positive: mean 2, std 1'
    """
    with drawing(ax, (4.6, 4.0)) as drawn:
        for scores, colour in ((distributions.negative, ORANGE), (distributions.positive, BLUE)):
            label = _label(scores)
            drawn.stairs(scores.density, distributions.edges, fill=True, color=colour, alpha=0.22)
            drawn.stairs(scores.density, distributions.edges, color=colour, linewidth=1.6, label=label)
            if scores.n_pairs:
                drawn.axvline(scores.mean, ymax=1 / _HEADROOM, color=colour, linewidth=1.1, linestyle=(0, (4, 3)))
        drawn.set(xlabel="score", ylabel="density")
        drawn.set_yticks([])
        drawn.set_ylim(0, _HEADROOM * drawn.dataLim.y1)
        drawn.legend(loc="upper right", handlelength=1.4)
        drawn.set_title(f"Scores: {distributions.positive.name} and {distributions.negative.name}")
    return drawn


def _class_scores(name: str, pairs: ScoredPairs, inside: BoolArray, edges: FloatArray) -> ClassScores:
    scores = pairs.scores[inside].astype(np.float64)
    weight = None if pairs.weight is None else pairs.weight[inside]
    counts = weights_in_bins(scores, weight, edges)
    if not counts.sum():
        return ClassScores(name, 0, float("nan"), float("nan"), counts)
    mean = float(np.average(scores, weights=weight))
    std = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    return ClassScores(name, len(scores), mean, std, counts / (counts.sum() * np.diff(edges)))


def _label(scores: ClassScores) -> str:
    if not scores.n_pairs:
        return f"{scores.name}: no pairs"
    return f"{scores.name}: mean {scores.mean:.3g}, std {scores.std:.3g}"


_N_BINS = 60
_LOW = 0.3  # highest probability up to which the axis ends below 100%


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """Probabilities of several calibrators on one grid of scores, and where the scores are."""

    grid: FloatArray  # (n_points,)
    probabilities: dict[str, FloatArray]  # name -> (n_points,); the first is the main one
    fitted_range: tuple[float, float] | None  # scores that the main calibrator was fitted on; None: unknown
    edges: FloatArray  # (n_bins + 1,)
    weight: FloatArray  # (n_bins,) weight of the scores in every bin

    __repr__ = fields_repr


def prepare_fitted_curves(
    calibrators: Mapping[str, ProbabilityMap],
    scores: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_points: int = 400,
) -> FittedCurves:
    """Evaluate fitted calibrators over the middle 99.9% of the scores.

    A map that differs between users or segments is evaluated for an unknown user and segment, a map for lists for a
    user with too few candidates to compare.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import MinMaxCalibrator
    >>> fitted = MinMaxCalibrator().fit([0.0, 2.0], [0, 1])
    >>> curves = prepare_fitted_curves({"minmax": fitted}, [0.0, 1.0, 2.0], n_points=3)
    >>> curves.probabilities["minmax"].round(3), curves.fitted_range
    (array([0. , 0.5, 1. ]), (0.0, 2.0))
    """
    if not calibrators:
        raise EmptyError("fitted curves need at least one calibrator, got none; give a dictionary of name: calibrator")
    checked = check_scores(scores).astype(np.float64)
    edges = spread_edges(checked, _N_BINS)
    grid = np.linspace(edges[0], edges[-1], n_points)
    unknown = np.full(n_points, -1)
    alone = Groups(np.zeros(n_points, dtype=np.int64), np.zeros(n_points), np.zeros(n_points))
    anyone = Who(n_points, users=unknown, segments=unknown, groups=alone)
    return FittedCurves(
        grid=grid,
        probabilities={name: calibrator.probability_of(grid, anyone) for name, calibrator in calibrators.items()},
        fitted_range=getattr(next(iter(calibrators.values())), "score_range_", None),
        edges=edges,
        weight=weights_in_bins(checked, check_weight(sample_weight, len(checked)), edges),
    )


def draw_fitted_curves(curves: FittedCurves, *, ax: Axes | None = None) -> Axes:
    """Draw probability against score; the range that the first calibrator was fitted on is shaded.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import SigmoidCalibrator
    >>> fitted = SigmoidCalibrator().fit([-1.0, 1.0], [0, 1])
    >>> draw_fitted_curves(prepare_fitted_curves({"sigmoid": fitted}, [-1.0, 0.0, 2.0])).get_ylabel()
    'probability'
    """
    with drawing(ax, (4.6, 4.0)) as drawn:
        if curves.fitted_range is not None:
            low, high = np.clip(curves.fitted_range, curves.grid[0], curves.grid[-1])
            drawn.axvspan(low, high, color=LIGHT_BLUE, alpha=0.16, linewidth=0, label="fitted range")
        for place, (name, probability) in enumerate(curves.probabilities.items()):
            _draw_curve(drawn, place, name, curves.grid, probability)
        drawn.set(xlim=(curves.grid[0], curves.grid[-1]), ylabel="probability")
        _fit_axis(drawn, next(iter(curves.probabilities.values())))
        strip = strip_below(drawn, "pairs")
        strip.stairs(curves.weight, curves.edges, fill=True, color=LIGHT_GREY)
        strip.set(xlabel="score", ylim=(0, 1.05 * curves.weight.max()))
        drawn.legend(loc="upper left", ncols=1 + (len(curves.probabilities) > 7), handlelength=2.2)
        drawn.set_title("Fitted curves")
    return drawn


def _fit_axis(ax: Axes, main: FloatArray) -> None:
    """From 0% to 100%, or to where the main curve ends if it stays low: rare events would be a line at the bottom."""
    top = 1.15 * float(main.max())
    if top > _LOW:
        ax.set_ylim(0, 1)
        percent_axis(ax.yaxis)
    else:
        ax.set_ylim(0, max(top, 1e-9))
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def _draw_curve(ax: Axes, place: int, name: str, grid: FloatArray, probability: FloatArray) -> None:
    """The main curve thick and blue and on top, the others thin, in other colours and dashes."""
    others = CYCLE[1:]
    colour = BLUE if place == 0 else others[(place - 1) % len(others)]
    dash = DASHES[0] if place == 0 else DASHES[(1 + (place - 1) + (place - 1) // len(others)) % len(DASHES)]
    width, order = (2.6, 4) if place == 0 else (1.5, 3)
    ax.plot(grid, probability, color=colour, linestyle=dash, linewidth=width, zorder=order, label=short_name(name))
