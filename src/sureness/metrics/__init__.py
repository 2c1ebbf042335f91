"""Numbers that judge a prediction."""

from sureness.metrics.calibration import (
    METRICS,
    BrierSplit,
    adaptive_calibration_error,
    brier_score,
    brier_split,
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    top_n_calibration_error,
)
from sureness.metrics.intervals import Interval, by_group, interval
from sureness.metrics.reliability import ReliabilityCurve, reliability_curve

__all__ = [
    "METRICS",
    "BrierSplit",
    "Interval",
    "ReliabilityCurve",
    "adaptive_calibration_error",
    "brier_score",
    "brier_split",
    "by_group",
    "debiased_calibration_error",
    "expected_calibration_error",
    "interval",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "reliability_curve",
    "top_n_calibration_error",
]
