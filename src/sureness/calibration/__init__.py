"""Scores become probabilities: one map for all pairs, per segment, per user, or a chain of them."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["Calibrator"],
        "calibration_set": ["CalibrationSet"],
        "catalogue": ["all_calibrators", "make_calibrator"],
        "chain": ["MapChain"],
        "choosing": ["Choice", "choose_calibrator"],
        "cross_fitting": ["cross_validate"],
        "families": ["NUMPY", "MonotoneFamily", "ScoreRange"],
        "horizon": ["Horizon"],
        "maps": ["ANSWERS", "Observed", "ProbabilityMap", "Segments", "Who"],
        "pair_fields": ["Fields"],
        "multi_segment": ["MultiSegmentCalibrator"],
        "nonparametric": ["BBQCalibrator", "HistogramCalibrator", "IsotonicCalibrator"],
        "parametric": [
            "BetaCalibrator", "GammaCalibrator", "GaussianCalibrator", "KanoulasCalibrator", "ManmathaCalibrator",
            "ParametricCalibrator", "PlattCalibrator", "TemperatureCalibrator",
        ],
        "per_segment": ["SegmentCalibrator"],
        "per_user": ["PerUserGamma", "PerUserGaussian", "PerUserPlatt"],
        "rescaling": ["MinMaxCalibrator", "SigmoidCalibrator"],
        "shape": ["ShapeCalibrator"],
        "shared": ["SharedCalibrator"],
        "top_n": ["TopNCalibrator"],
    },
)  # fmt: skip
