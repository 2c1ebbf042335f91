"""Numbers that judge probabilities and rankings, with confidence intervals."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "calibration": [
            "METRICS", "BrierSplit", "Judged", "Metric", "adaptive_calibration_error", "brier_score", "brier_split",
            "cell_sums", "chosen", "debiased_calibration_error", "expected_calibration_error", "judge",
            "maximum_calibration_error", "named_metric", "negative_log_likelihood", "top_mask",
            "top_n_calibration_error",
        ],
        "intervals": [
            "Interval", "basic_interval", "by_group", "cluster_sums", "clusters_of", "interval", "resampled_metric",
        ],
        "ranking": ["MEASURES", "judge_lists", "longest", "parse_measure"],
        "reliability": ["ReliabilityCurve", "reliability_curve"],
        "utility": ["NORMALISERS", "Utility", "at_sizes", "named_utility", "utility_at_every_size", "utility_of"],
    },
)  # fmt: skip
