"""Distillation methods of chapter 3 that only its tables need: ablations, controls, and the authors' public code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from sureness.data import Interactions
from sureness.distillation import (
    Direction,
    DistillationSettings,
    DrawnItems,
    Guide,
    Learner,
    Refreshed,
    SettingValue,
    SoftLabels,
    distillation_method,
)
from sureness.models import Batch, Network, SoftItems
from sureness.numerics import members


@dataclass(frozen=True, kw_only=True)
class ControlDirection(Direction):
    """A direction with what the controls and the public code do differently."""

    constant: bool = False  # all drawn items of a batch have the mean of their soft labels
    reuse: bool = False  # the drawn items also serve as negatives in the learner's own loss
    tempered: Literal["both", "labels"] = "both"  # "labels": the learner predicts sigmoid(score)
    dropout: bool = False  # whether the guide labels with its dropout on
    keeps_weight_decay: bool = True  # False: joint training is without the weight decay of models with dense Adam

    @property
    def draws(self) -> bool:
        return super().draws or self.reuse

    def learner(self, network: Network, train: Interactions) -> ControlLearner:
        return ControlLearner(network, train, self)


class ControlLearner(Learner):
    """The trainer of a model that learns in a `ControlDirection`."""

    direction: ControlDirection

    def imitate(self, guide: Guide, refreshed: Refreshed, labels: SoftLabels) -> None:
        super().imitate(guide, refreshed, labels if self.direction.tempered == "both" else replace(labels, slope=1.0))
        if not self.direction.keeps_weight_decay:
            self.optimiser.weight_decay = 0.0

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        if self.pool is None or not self.direction.reuse:
            return super().step(batch, soft)
        items = self.pool.take(batch, self.epochs_since_refresh).items
        log = self.batches.log
        is_positive = members(items, batch.users, log.row_starts, log.item_rows)  # by now, with added positives
        return super().step(_with_negatives(batch, np.where(is_positive, -1, items)))

    def labelled(self, batch: Batch, drawn: DrawnItems) -> SoftItems | None:
        if not self.direction.weight:
            return None
        soft = super().labelled(batch, drawn)
        if soft is not None and self.direction.constant:
            there = soft.items >= 0
            known = soft.labels[there] if there.any() else soft.labels
            soft = soft._replace(labels=np.full_like(soft.labels, known.mean()))
        return soft

    @torch.no_grad()
    def guide_scores(self, batch: Batch, drawn: DrawnItems) -> NDArray[np.float32]:
        guide = self.guide
        if not (self.direction.dropout and isinstance(guide, Network)):
            return super().guide_scores(batch, drawn)
        guide.train()
        scores = guide.score(guide.tensor(batch.users), guide.tensor(np.maximum(drawn.items, 0)))
        guide.eval()
        return np.asarray(scores.cpu().numpy(), dtype=np.float32)


def _with_negatives(batch: Batch, items: NDArray[np.int64]) -> Batch:
    """The batch with drawn items in place of its own negatives, as far as there are any."""
    negatives = batch.negatives.copy()
    n = min(items.shape[1], negatives.shape[1])
    negatives[:, :n] = np.where(items[:, :n] >= 0, items[:, :n], negatives[:, :n])
    return batch._replace(negatives=negatives)


def _both_ways(direction: Direction) -> DistillationSettings:
    return DistillationSettings(to_teacher=direction, to_student=direction)


def _both(**changes: SettingValue) -> dict[str, SettingValue]:
    """The same changes of both directions."""
    return {f"{side}__{name}": value for side in ("to_teacher", "to_student") for name, value in changes.items()}


_LIKE_BD = DistillationSettings(to_teacher=ControlDirection(scheme="exp"), to_student=ControlDirection())

# A model is labelled on items that it ranks higher itself, only labels are tempered, and weight decay ends with the
# training alone. The public code looks at no validation data, so all epochs are run.
_PUBLIC = _LIKE_BD.changed(**_both(ranked_higher_by="learner", tempered="labels", keeps_weight_decay=False))

BD_PUBLIC = _PUBLIC.changed(to_student__rank_gap_scale=1e-2, **_both(items=1, temperature=5.0, reuse=True))
"""The public code with its settings for BPR."""

BD_PUBLIC_CDAE = _PUBLIC.changed(**_both(items=5, dropout=True))
"""The public code with its settings for CDAE."""

TO_TEACHER = DistillationSettings(student_learns=False)
"""BD from a fixed student."""

MUTUAL = _both_ways(Direction(scheme="uniform"))
"""BD with uniform draws in both directions: plain mutual learning."""

RANK_AWARE = _both_ways(Direction(scheme="rank-aware", rank_gap_scale=1e-2))
"""BD with the sampling of CD in both directions."""

TOP_N = _both_ways(Direction(scheme="top"))
"""BD with the items of RD in both directions."""

SWAPPED = DistillationSettings(to_teacher=Direction(scheme="tanh"), to_student=Direction(scheme="exp"))
"""BD with the two sampling functions exchanged."""

CALIBRATED = DistillationSettings(
    to_teacher=Direction(scheme="exp", labels="calibrated"), to_student=Direction(labels="calibrated")
)
"""BD with probabilities as labels, from a calibrator that is fitted on validation pairs at each refresh."""

CONSTANT_LABELS = _LIKE_BD.changed(**_both(constant=True))
"""Control: labels keep their level but are the same for all items; what remains is regularisation."""

DRAWN_NEGATIVES = _LIKE_BD.changed(**_both(weight=0.0, reuse=True))
"""Control: the drawn items are only harder negatives of each model's own loss, without soft labels."""

CONTINUED = _both_ways(Direction(weight=0.0, scheme="uniform"))
"""Control: no soft labels and no drawn items; each model goes on alone for as long as with BD."""


def method_settings(name: str, **changes: SettingValue) -> DistillationSettings:
    """The settings of a method, whose directions also know the settings of the controls.

    Examples
    --------
    >>> method_settings("bd", to_student__reuse=True).to_student.reuse
    True
    """
    settings = distillation_method(name)
    to_teacher, to_student = (
        each if isinstance(each, ControlDirection) else ControlDirection(**asdict(each))
        for each in (settings.to_teacher, settings.to_student)
    )
    return replace(settings, to_teacher=to_teacher, to_student=to_student).changed(**changes)
