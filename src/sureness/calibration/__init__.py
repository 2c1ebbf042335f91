"""Scores become probabilities: one map for lists, for all pairs, per segment or per user."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["Calibrator", "all_calibrators", "make_calibrator"],
        "calibration_set": ["CalibrationSet"],
        "choosing": ["Choice", "choose_calibrator", "cross_validate"],
        "families": ["NUMPY", "MonotoneFamily", "ScoreRange"],
        "fields": ["Fields"],
        "horizon": ["Horizon"],
        "known_sampling": ["prior_correction", "undo_sampling"],
        "list_sample": ["ListSample", "sample_lists"],
        "lists": ["ListCalibrator"],
        "maps": ["Observed", "ProbabilityMap", "Segments", "Who"],
        "nonparametric": [
            "BBQCalibrator", "HistogramCalibrator", "IsotonicCalibrator", "MinMaxCalibrator", "SigmoidCalibrator",
        ],
        "parametric": [
            "BetaCalibrator", "GammaCalibrator", "GaussianCalibrator", "KanoulasCalibrator", "ManmathaCalibrator",
            "ParametricCalibrator", "PlattCalibrator", "TemperatureCalibrator",
        ],
        "segments": ["SegmentCalibrator"],
        "per_user": ["PerUserGamma", "PerUserGaussian", "PerUserPlatt"],
        "shape": ["ShapeCalibrator"],
        "top_n": ["TopNCalibrator"],
    },
)  # fmt: skip
