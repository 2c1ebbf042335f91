"""References that rescale scores without learning from labels: what "uncalibrated" means."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sureness._types import FloatArray
from sureness.calibration.base import Calibrator
from sureness.calibration.families import Formula
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import sigmoid


class MinMaxCalibrator(Calibrator):
    """Stretch the fitted range of scores over [0, 1]; an uncalibrated reference.

    Examples
    --------
    >>> MinMaxCalibrator().fit([0.0, 4.0], [0, 1]).probability([-1.0, 1.0, 9.0])
    array([0.  , 0.25, 1.  ])
    """

    learns_from_labels: ClassVar[bool] = False

    def _fit_points(self, points: WeightedScores) -> None:
        self.low_, self.high_ = points.minimum, points.maximum

    def _probability(self, scores: FloatArray) -> FloatArray:
        return np.asarray(np.clip((scores - self.low_) / (self.high_ - self.low_), 0.0, 1.0))

    def _formula(self) -> Formula | None:
        scale = 1.0 / (self.high_ - self.low_)
        return lambda scores, operations: operations.clip((scores - self.low_) * scale, 0.0, 1.0)

    def _state(self) -> dict[str, Any]:
        return {"low": self.low_, "high": self.high_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.low_, self.high_ = float(state["low"]), float(state["high"])


class SigmoidCalibrator(Calibrator):
    """The sigmoid of the score as it is; an uncalibrated reference.

    Examples
    --------
    >>> SigmoidCalibrator().fit([-1.0, 1.0], [0, 1]).probability([0.0])
    array([0.5])
    """

    learns_from_labels: ClassVar[bool] = False

    def reach(self) -> None:
        """The map does not depend on the fitted scores."""

    def _fit_points(self, points: WeightedScores) -> None:
        pass

    def _probability(self, scores: FloatArray) -> FloatArray:
        return sigmoid(scores)

    def _log_odds_formula(self) -> Formula | None:
        return lambda scores, _: scores * 1.0

    def _state(self) -> dict[str, Any]:
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        pass
