"""Fit calibrators that may have no minimum, and judge those that do."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import NoMinimumError, SurenessWarning
from sureness.metrics.calibration import brier_score, expected_calibration_error, negative_log_likelihood

ALL_METHODS = (
    "minmax", "sigmoid", "histogram", "isotonic", "bbq", "temperature", "platt", "beta", "gaussian", "gamma",
    "manmatha", "kanoulas", "shape",
)  # fmt: skip


class Fit(NamedTuple):
    """A fitted calibrator, or the reason why there is none."""

    calibrator: Calibrator | None
    problem: str | None


def try_fit(method: str, data: CalibrationSet, *, risk: str | None = None) -> Fit:
    """Fit a method by name; warnings are dropped, since the demo shows what came of the fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)
            return Fit(make_calibrator(method, risk=risk).fit(data), None)
    except NoMinimumError as error:
        return Fit(None, str(error))


def judge(calibrator: Calibrator | None, test: ScoredPairs) -> dict[str, float | None]:
    """ECE, NLL and Brier score on labelled pairs; None for a fit that does not exist."""
    if calibrator is None:
        return {"ece": None, "nll": None, "brier": None}
    probabilities = calibrator.probability(test.scores)
    return {
        "ece": expected_calibration_error(test.labels, probabilities),
        "nll": negative_log_likelihood(test.labels, probabilities),
        "brier": brier_score(test.labels, probabilities),
    }
