"""The trainer of a model that learns from another one: its own loss plus soft labels on drawn items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.maps import Who
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.interactions import Interactions, union
from sureness.data.sampling import NegativeSampler
from sureness.distillation.refresh import DrawnItems, Pool, Refreshed
from sureness.distillation.settings import Direction
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import Network
from sureness.models.networks.training import Trainer


class Learner(Trainer):
    """A trainer that also imitates a guide: L_CF + weight * L_BD on the items of its pool."""

    def __init__(self, network: Network, train: Interactions, direction: Direction) -> None:
        super().__init__(network, train)
        self.direction = direction
        self.pool: Pool | None = None
        self.guide: Guide | None = None
        self.soft_labels = SoftLabels(direction)
        self.epochs_since_refresh = 0

    def imitate(self, guide: Guide, refreshed: Refreshed, labels: SoftLabels) -> None:
        """Train on these drawn items and soft labels until the next refresh."""
        if refreshed.log is not self.batches.log:
            self.batches = self.network.batches(refreshed.log)
        self.pool, self.guide, self.soft_labels = refreshed.pool, guide, labels

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        if self.pool is None:
            return super().step(batch, soft)
        return super().step(batch, self.labelled(batch, self.pool.take(batch, self.epochs_since_refresh)))

    def labelled(self, batch: Batch, drawn: DrawnItems) -> SoftItems | None:
        """The drawn items of a batch with the guide's soft labels; None to make a plain step."""
        scores = self.guide_scores(batch, drawn) if drawn.scores is None else drawn.scores
        weight = np.float32(self.direction.weight)
        weights = np.full(drawn.items.shape, weight) if drawn.weights is None else weight * drawn.weights
        return SoftItems(
            drawn.items, self.soft_labels.of(scores), weights, self.soft_labels.slope, self.soft_labels.shift
        )

    def guide_scores(self, batch: Batch, drawn: DrawnItems) -> FloatArray:
        """The guide's scores of the drawn items, with its current weights."""
        assert self.guide is not None
        return self.guide.pair_scores(batch.users, drawn.items)


class Guide(Protocol):
    """Anything that can score pairs."""

    def pair_scores(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores of pairs: users (B,), items (B, n), result (B, n)."""
        ...


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """The guide's scores become labels; the learner predicts sigmoid(slope * score + shift)."""

    direction: Direction
    calibrator: Calibrator | None = None  # of the guide's scores
    slope: float = 1.0
    shift: float = 0.0

    __repr__ = fields_repr

    def of(self, scores: FloatArray) -> FloatArray:
        """Labels between 0 and 1, in the shape of the guide's scores."""
        if self.direction.labels == "one":
            return np.ones(scores.shape, dtype=np.float32)
        if self.calibrator is not None:
            # scores drift away from those that the map was fitted on while models learn: not worth a warning each time
            return self.calibrator.probability_of(scores.astype(np.float64), Who(len(scores))).astype(np.float32)
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores / np.float32(self.direction.temperature))), np.float32)


LabelledPairs = tuple[IntArray, IntArray, IntArray]
"""Pairs that calibrated labels are fitted on: users, items, and 1 if held out for validation or 0 if unseen."""


def soft_labels(direction: Direction, learner: Guide, guide: Guide, pairs: LabelledPairs | None) -> SoftLabels:
    """The soft labels of one direction until the next refresh.

    Calibrated labels are probabilities that an item is the positive one of a positive and an unseen item, which are the
    odds of the learner's own loss. The learner's scores are mapped to the same odds by a Platt calibrator.

    Parameters
    ----------
    direction : Direction
    learner, guide : Guide
    pairs : LabelledPairs, optional
        Needed for calibrated labels.
    """
    if direction.labels != "calibrated":
        return SoftLabels(direction, slope=1.0 / direction.temperature)
    assert pairs is not None
    calibrator = make_calibrator(direction.calibrator).fit_set(_calibration_set(guide, pairs))
    mine = PlattCalibrator().fit_set(_calibration_set(learner, pairs)).natural_parameters_
    return SoftLabels(direction, calibrator, slope=mine["b"], shift=mine["c"])


def _calibration_set(model: Guide, pairs: LabelledPairs) -> CalibrationSet:
    users, items, relevant = pairs
    return CalibrationSet.from_pairs(model.pair_scores(users, items[:, None])[:, 0], relevant)


def validation_pairs(train: Interactions, validation: Interactions, rng: np.random.Generator) -> LabelledPairs:
    """Every validation pair (relevant), and for each an unseen item of the same user (not relevant)."""
    known = union(
        [Interactions(part.users, part.items, part.user_rows, part.item_rows) for part in (train, validation)]
    )
    has_unseen = known.user_degree[validation.user_rows] < known.n_items
    users, positives = validation.user_rows[has_unseen], validation.item_rows[has_unseen]
    negatives = NegativeSampler(known).draw(users, rng)
    relevant = np.repeat([1, 0], len(users))
    return np.concatenate([users, users]), np.concatenate([positives, negatives]), relevant
