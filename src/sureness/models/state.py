"""How far training is, in plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from sureness._printing import fields_repr

HISTORY = {"epoch": pl.Int64, "loss": pl.Float64, "metric": pl.Float64, "seconds": pl.Float64}
"""The columns of a training history; one row per epoch, `metric` only where the epoch was validated."""


@dataclass
class TrainingState:
    """How far training is: everything but the tensors."""

    epoch: int = 0  # finished epochs
    best: float = -1.0  # the best validation metric; -1 before the first validation
    best_epoch: int = 0
    failures: int = 0  # validations since the best one
    seconds: float = 0.0  # over all processes that trained
    history: list[dict[str, float | None]] = field(default_factory=list)  # rows with the columns of HISTORY

    __repr__ = fields_repr

    @property
    def table(self) -> pl.DataFrame:
        """The history as a table."""
        return pl.DataFrame(self.history, schema=HISTORY)

    @property
    def best_metric(self) -> float | None:
        """The best validation metric, None without any validation."""
        return self.best if self.best >= 0 else None
