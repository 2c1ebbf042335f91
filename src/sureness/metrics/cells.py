"""Calibration metrics as sums over cells of pairs, from which values, intervals and groups are computed.

A cell is a bin of the probability, or one cell for all pairs. A metric assigns pairs to cells and turns the sums of the
cells into a number. That makes every metric weighted, cheap to bootstrap and easy to split by group. `METRICS` names
them for `interval` and `by_group`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.errors import SettingError
from sureness.metrics.gaps import (
    OBSERVED,
    PREDICTED,
    WEIGHT,
    debiased_gaps,
    entropy_bounds,
    largest_gap,
    largest_gap_bounds,
    mean_bounds,
    ratio_bounds,
    total_gap_bounds,
    weighted_gaps,
)
from sureness.numerics.checks import check_labels, check_probabilities, check_weight, same_length
from sureness.numerics.grouping import top_n

_MOST_BINS = 1_000_000
_SMALLEST = 1e-15  # probabilities of 0 and 1 are moved by this much, so that one wrong label does not cost infinity


class Judged(NamedTuple):
    """Checked labels (or targets: labels over propensities) and probabilities of the same pairs."""

    labels: BoolArray | FloatArray
    probabilities: FloatArray
    weight: FloatArray | None

    def __repr__(self) -> str:
        return fields_repr(self)


class Cells(NamedTuple):
    """The cell of each pair, and what the pair adds to the sums of that cell."""

    place: IntArray  # (n,)
    n_cells: int
    predicted: FloatArray  # (n,)
    observed: AnyArray  # (n,)

    def __repr__(self) -> str:
        return fields_repr(self)


Bounds = Callable[[FloatArray, float, int, np.random.Generator], tuple[float, float]]
"""Low and high of a population's value, from (n_clusters, n_cells, 4) sums, the level, a number of draws and an rng."""


class Metric(NamedTuple):
    """A metric as pure functions: from pairs to cells, from sums of cells to a number, and to its confidence bounds."""

    title: str
    cells: Callable[[Judged, int], Cells]  # (pairs, n_bins)
    finish: Callable[[FloatArray], FloatArray]  # (..., n_cells, 4) -> (...)
    bounds: Bounds

    def __repr__(self) -> str:
        return fields_repr(self)

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of a loss of each pair, not a distance between sums of pairs."""
        return self.bounds is mean_bounds


def judge(labels: ArrayLike, probabilities: ArrayLike, sample_weight: ArrayLike | None = None) -> Judged:
    """Check labels, probabilities and weights of the same pairs."""
    checked = check_probabilities(probabilities)
    checked_labels = check_labels(labels)
    same_length(checked_labels, len(checked), "labels")
    return Judged(checked_labels, checked, check_weight(sample_weight, len(checked)))


def cell_sums(cells: Cells, weight: FloatArray | None) -> FloatArray:
    """Weight, squared weight, and weighted sums of predicted and observed in every cell; shape (n_cells, 4)."""
    weight = np.ones(len(cells.place)) if weight is None else weight
    columns = (weight, weight**2, weight * cells.predicted, weight * cells.observed)
    return np.stack([np.bincount(cells.place, column, cells.n_cells) for column in columns], axis=1)


# --- from pairs to cells -------------------------------------------------------------------------------------------


def equal_width_place(probabilities: FloatArray, n_bins: int) -> IntArray:
    """The equally wide bin of [0, 1] that each probability falls in; 1 belongs to the last."""
    exact = probabilities.astype(np.float64, copy=False)  # float32 would round 0.7 up to the next of ten bins
    return np.minimum((exact * n_bins).astype(np.int64), n_bins - 1)


def chosen(judged: Judged, mask: BoolArray | IntArray | slice) -> Judged:
    """The pairs that a mask, positions or a slice select."""
    weight = None if judged.weight is None else judged.weight[mask]
    return Judged(judged.labels[mask], judged.probabilities[mask], weight)


def equal_width_sums(judged: Judged, n_bins: int) -> FloatArray:
    """Sums over equally wide bins of [0, 1]; shape (n_bins, 4)."""
    return cell_sums(_equal_width(judged, n_bins), judged.weight)


def _equal_width(judged: Judged, n_bins: int) -> Cells:
    _check_bins(n_bins)
    return Cells(equal_width_place(judged.probabilities, n_bins), n_bins, judged.probabilities, judged.labels)


def _equal_mass(judged: Judged, n_bins: int) -> Cells:
    _check_bins(n_bins)
    values, which = np.unique(judged.probabilities, return_inverse=True)  # equal probabilities share a bin
    mass = np.bincount(which, judged.weight, len(values)).astype(np.float64)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return Cells(equal_width_place(middle, n_bins)[which], n_bins, judged.probabilities, judged.labels)


def _log_losses(judged: Judged, _: int) -> Cells:
    p = np.clip(judged.probabilities.astype(np.float64), _SMALLEST, 1 - _SMALLEST)
    return _one_cell(-(judged.labels * np.log(p) + (1.0 - judged.labels) * np.log1p(-p)))


def _squared_losses(judged: Judged, _: int) -> Cells:
    targets = judged.labels.astype(np.float64)
    # the last term is 0 for labels, and keeps the mean unbiased for targets (labels over propensities)
    return _one_cell((judged.probabilities - targets) ** 2 + targets * (1.0 - targets))


def _entropies(judged: Judged, _: int) -> Cells:
    return _log_losses(judged, 1)._replace(observed=judged.labels)


def _totals(judged: Judged, _: int) -> Cells:
    return Cells(np.zeros(len(judged.labels), dtype=np.int64), 1, judged.probabilities, judged.labels)


def _one_cell(losses: FloatArray) -> Cells:
    return Cells(np.zeros(len(losses), dtype=np.int64), 1, losses, np.zeros(len(losses)))


def _check_bins(n_bins: int) -> None:
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise SettingError(f"n_bins must be at least 1 and whole, got {n_bins}")
    if n_bins > _MOST_BINS:
        raise SettingError(f"n_bins must be at most {_MOST_BINS:,}, got {n_bins:,}")


# --- the metrics ---------------------------------------------------------------------------------------------------


def _mean(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0, PREDICTED] / sums[..., 0, WEIGHT])


def _over_entropy(sums: FloatArray) -> FloatArray:
    """The mean loss over that of the base rate; NaN where all labels are equal."""
    rate = sums[..., 0, OBSERVED] / sums[..., 0, WEIGHT]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_mean(sums) / -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate)))


def _ratio(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0, PREDICTED] / sums[..., 0, OBSERVED])


METRICS: dict[str, Metric] = {
    "ece": Metric("expected calibration error", _equal_width, weighted_gaps, total_gap_bounds),
    "mce": Metric("maximum calibration error", _equal_width, largest_gap, largest_gap_bounds),
    "adaptive_ece": Metric("adaptive calibration error", _equal_mass, weighted_gaps, total_gap_bounds),
    "debiased_ece": Metric("debiased calibration error", _equal_width, debiased_gaps, total_gap_bounds),
    "nll": Metric("negative log-likelihood", _log_losses, _mean, mean_bounds),
    "brier": Metric("Brier score", _squared_losses, _mean, mean_bounds),
    "normalised_entropy": Metric("normalised entropy", _entropies, _over_entropy, entropy_bounds),
    "calibration_ratio": Metric("predicted over observed", _totals, _ratio, ratio_bounds),
}
"""All metrics by the name that `interval`, `by_group` and the command line use."""


def named_metric(name: str) -> tuple[Metric, int | None]:
    """A metric by name, and over how many of each user's top pairs it is taken: "ece@10" is the ECE of the top 10."""
    bare, at, number = name.partition("@")
    if bare not in METRICS:
        raise SettingError(f"metric must be one of {', '.join(METRICS)} or one of them @N, got {name!r}")
    if not at:
        return METRICS[bare], None
    if not number.isdigit() or int(number) == 0:
        raise SettingError(f"a metric of each user's top N needs a whole number N, got {name!r}; for example 'ece@10'")
    return METRICS[bare], int(number)


def top_mask(users: AnyArray | None, order: FloatArray, top: int | None) -> BoolArray | slice:
    """Which pairs a metric is taken over: all, or each user's top N by the given order."""
    if top is None:
        return slice(None)
    if users is None:
        raise SettingError("a metric of each user's top N needs the users; give users=")
    return top_n(users, order, top)


def cells_of_parts(metric: Metric, judged: Judged, parts: IntArray, n_bins: int) -> Cells:
    """Bins of every part of the pairs on its own, so that gaps of different parts do not cancel."""
    place = parts * n_bins
    for part in range(int(parts.max()) + 1):
        inside = np.flatnonzero(parts == part)
        pairs = chosen(judged, inside)
        if len(inside) and (pairs.weight is None or pairs.weight.any()):
            place[inside] += metric.cells(pairs, n_bins).place
    return Cells(place, int(parts.max() + 1) * n_bins, judged.probabilities, judged.labels)


def value_of(metric: Metric, judged: Judged, n_bins: int) -> float:
    """The value of a metric on checked pairs."""
    return float(metric.finish(cell_sums(metric.cells(judged, n_bins), judged.weight)))
