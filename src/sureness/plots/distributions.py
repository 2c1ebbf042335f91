"""Distributions of the scores of positives and negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.plots.style import BLUE, ORANGE, drawing, spread_edges, weights_in_bins

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

    The bins cover the middle 99.9% of the scores; the few outside are counted in the end bins. `names` says what the
    two classes are called, such as ("not bought", "bought").

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
