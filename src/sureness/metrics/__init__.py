"""Numbers that judge probabilities, rankings and lists, with confidence intervals."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "calibration": [
            "BrierSplit", "adaptive_calibration_error", "brier_score", "brier_split", "debiased_calibration_error",
            "expected_calibration_error", "maximum_calibration_error", "negative_log_likelihood",
            "top_n_calibration_error", "ReliabilityCurve", "reliability_curve",
        ],
        "cells": [
            "METRICS", "Cells", "Judged", "Metric", "cell_sums", "cells_of_parts", "chosen", "judge", "named_metric",
            "top_mask",
        ],
        "intervals": ["Interval", "basic_interval", "by_group", "interval", "interval_of_cells", "resampled_metric"],
        "inference": ["inference_table", "n_parameters"],
        "rank_comparison": [
            "CommonIds", "RankComparison", "RankScatter", "compare_ranks", "held_out_ranks", "rank_scatter",
        ],
        "ranking": [
            "DEFAULT_METRICS", "MEASURES", "RankingQuality", "best_items", "evaluate_ranking", "evaluate_within",
            "judge_lists", "longest", "parse_measure",
        ],
        "resampling": [
            "Difference", "cluster_sums", "clusters_of", "confidence_in_gains", "paired_difference", "resample",
            "resampled_difference", "resampled_means",
        ],
        "utility": [
            "DCG", "F1", "NDCG", "NORMALISERS", "PDCG", "TP", "Utility", "at_sizes", "named_utility",
            "utility_at_every_size", "utility_of",
        ],
    },
)  # fmt: skip
