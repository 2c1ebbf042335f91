# Written by `make stubs` from the table in __init__.py.
from sureness.metrics.calibration import adaptive_calibration_error as adaptive_calibration_error
from sureness.metrics.calibration import brier_score as brier_score
from sureness.metrics.calibration import debiased_calibration_error as debiased_calibration_error
from sureness.metrics.calibration import expected_calibration_error as expected_calibration_error
from sureness.metrics.calibration import maximum_calibration_error as maximum_calibration_error
from sureness.metrics.calibration import negative_log_likelihood as negative_log_likelihood
from sureness.metrics.calibration import top_n_calibration_error as top_n_calibration_error
from sureness.metrics.calibration import ReliabilityCurve as ReliabilityCurve
from sureness.metrics.calibration import reliability_curve as reliability_curve
from sureness.metrics.cells import METRICS as METRICS
from sureness.metrics.cells import Cells as Cells
from sureness.metrics.cells import Judged as Judged
from sureness.metrics.cells import Metric as Metric
from sureness.metrics.cells import cell_sums as cell_sums
from sureness.metrics.cells import cells_of_parts as cells_of_parts
from sureness.metrics.cells import chosen as chosen
from sureness.metrics.cells import judge as judge
from sureness.metrics.cells import named_metric as named_metric
from sureness.metrics.cells import top_mask as top_mask
from sureness.metrics.coming import coming_ratio as coming_ratio
from sureness.metrics.field_errors import field_calibration_error as field_calibration_error
from sureness.metrics.field_errors import field_relative_error as field_relative_error
from sureness.metrics.intervals import Interval as Interval
from sureness.metrics.intervals import by_group as by_group
from sureness.metrics.intervals import interval as interval
from sureness.metrics.intervals import interval_of_cells as interval_of_cells
from sureness.metrics.intervals import resampled_metric as resampled_metric
from sureness.metrics.ranking import DEFAULT_METRICS as DEFAULT_METRICS
from sureness.metrics.ranking import MEASURES as MEASURES
from sureness.metrics.ranking import RankingQuality as RankingQuality
from sureness.metrics.ranking import best_items as best_items
from sureness.metrics.ranking import evaluate_ranking as evaluate_ranking
from sureness.metrics.ranking import evaluate_within as evaluate_within
from sureness.metrics.ranking import judge_lists as judge_lists
from sureness.metrics.ranking import longest as longest
from sureness.metrics.ranking import parse_measure as parse_measure
from sureness.metrics.resampling import Difference as Difference
from sureness.metrics.resampling import cluster_sums as cluster_sums
from sureness.metrics.resampling import clusters_of as clusters_of
from sureness.metrics.resampling import confidence_in_gains as confidence_in_gains
from sureness.metrics.resampling import paired_difference as paired_difference
from sureness.metrics.resampling import resample as resample
from sureness.metrics.resampling import resampled_means as resampled_means
from sureness.metrics.utility import DCG as DCG
from sureness.metrics.utility import F1 as F1
from sureness.metrics.utility import NDCG as NDCG
from sureness.metrics.utility import NORMALISERS as NORMALISERS
from sureness.metrics.utility import PDCG as PDCG
from sureness.metrics.utility import TP as TP
from sureness.metrics.utility import Utility as Utility
from sureness.metrics.utility import at_sizes as at_sizes
from sureness.metrics.utility import named_utility as named_utility
from sureness.metrics.utility import utility_at_every_size as utility_at_every_size
from sureness.metrics.utility import utility_of as utility_of

__all__ = [
    "Cells",
    "DCG",
    "DEFAULT_METRICS",
    "Difference",
    "F1",
    "Interval",
    "Judged",
    "MEASURES",
    "METRICS",
    "Metric",
    "NDCG",
    "NORMALISERS",
    "PDCG",
    "RankingQuality",
    "ReliabilityCurve",
    "TP",
    "Utility",
    "adaptive_calibration_error",
    "at_sizes",
    "best_items",
    "brier_score",
    "by_group",
    "cell_sums",
    "cells_of_parts",
    "chosen",
    "cluster_sums",
    "clusters_of",
    "coming_ratio",
    "confidence_in_gains",
    "debiased_calibration_error",
    "evaluate_ranking",
    "evaluate_within",
    "expected_calibration_error",
    "field_calibration_error",
    "field_relative_error",
    "interval",
    "interval_of_cells",
    "judge",
    "judge_lists",
    "longest",
    "maximum_calibration_error",
    "named_metric",
    "named_utility",
    "negative_log_likelihood",
    "paired_difference",
    "parse_measure",
    "reliability_curve",
    "resample",
    "resampled_means",
    "resampled_metric",
    "top_mask",
    "top_n_calibration_error",
    "utility_at_every_size",
    "utility_of",
]
