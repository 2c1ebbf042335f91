"""What training a baseline gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sureness.sources import ScoreSource


@dataclass(frozen=True)
class Fitted:
    """A model at the epoch that was best on the validation set."""

    source: ScoreSource
    validation: float  # of the best epoch, by the metric it was chosen by
    epoch: int  # the best one
    epochs_run: int
    seconds: float  # of training and validation
    history: list[dict[str, Any]] = field(default_factory=list)
