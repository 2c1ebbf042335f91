"""What a guide says of an item, and what the learner says beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.catalogue import make_calibrator
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.interactions import Interactions, union
from sureness.data.sampling import NegativeSampler
from sureness.distillation.settings import Direction


class Guide(Protocol):
    """Whatever has opinions about pairs."""

    def opinions(self, users: IntArray, items: IntArray) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Labelling:
    """Scores of the guide become labels; the learner's prediction is sigmoid(slope * score + shift)."""

    direction: Direction
    calibrator: Calibrator | None = None  # of the guide
    slope: float = 1.0
    shift: float = 0.0

    def labels(self, scores: FloatArray, there: BoolArray | None = None) -> FloatArray:
        """Labels between 0 and 1 of any shape; "constant" keeps their level and forgets which item has which."""
        kind = self.direction.labels
        if kind == "one":
            return np.ones(scores.shape, dtype=np.float32)
        if self.calibrator is not None:
            return np.asarray(self.calibrator.probability(scores.ravel()), dtype=np.float32).reshape(scores.shape)
        soft = _sigmoid(scores / np.float32(self.direction.temperature))
        return _level(soft, there) if kind == "constant" else soft


def labelling(
    direction: Direction,
    learner: Guide,
    guide_scores: FloatArray | None,
    pairs: tuple[IntArray, IntArray, IntArray] | None,
) -> Labelling:
    """How one direction speaks until the next refresh.

    With calibrated labels the guide's scores become probabilities of being the positive of a pair of one positive and
    one unseen item, the odds of the learner's own loss; the learner's scores are mapped to the same odds.

    Parameters
    ----------
    direction : Direction
    learner : Guide
    guide_scores : array, optional
        The guide's scores of `pairs`.
    pairs : users, items and 0/1 labels, optional
    """
    if direction.labels != "calibrated":
        return Labelling(direction, slope=1.0 / direction.temperature)
    assert guide_scores is not None
    assert pairs is not None
    users, items, relevant = pairs
    calibrator = make_calibrator(direction.calibrator).fit(guide_scores, relevant)
    mine = PlattCalibrator().fit(learner.opinions(users, items[:, None])[:, 0], relevant).natural_parameters_
    return Labelling(direction, calibrator, slope=mine["b"], shift=mine["c"])


def judged_pairs(
    train: Interactions, validation: Interactions, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Each validation pair and an unseen item of the same user: users, items, and 1 for what was held out."""
    known = union(
        [Interactions(part.users, part.items, part.user_rows, part.item_rows) for part in (train, validation)]
    )
    fit = known.user_degree[validation.user_rows] < known.n_items
    users, positives = validation.user_rows[fit], validation.item_rows[fit]
    negatives = NegativeSampler(known).draw(users, rng)
    relevant = np.repeat([1, 0], len(users))
    return np.concatenate([users, users]), np.concatenate([positives, negatives]), relevant


def _level(labels: FloatArray, there: BoolArray | None) -> FloatArray:
    known = labels if there is None or not there.any() else labels[there]
    return np.full_like(labels, known.mean())


def _sigmoid(values: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)), dtype=np.float32)
