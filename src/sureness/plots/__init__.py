"""Draw results computed elsewhere; the only matplotlib import of the package.

Compute, then draw: a `prepare_*` function gives plain numbers, a `draw_*` function puts them on axes and returns these.
"""

from sureness.plots.comparison import MetricComparison, draw_metric_comparison, prepare_metric_comparison
from sureness.plots.curves import FittedCurves, draw_fitted_curves, prepare_fitted_curves
from sureness.plots.degree import ConfidenceByDegree, draw_confidence_by_degree, prepare_confidence_by_degree
from sureness.plots.distillation import (
    RankDifferences,
    TrainingCurves,
    draw_rank_differences,
    draw_rank_scatter,
    draw_side_by_side,
    draw_training_curves,
    prepare_model_comparison,
    prepare_rank_differences,
    prepare_training_curves,
)
from sureness.plots.distributions import (
    ClassScores,
    ScoreDistributions,
    draw_score_distributions,
    prepare_score_distributions,
)
from sureness.plots.list_cases import ListCut, draw_list_cut, prepare_list_cut
from sureness.plots.list_sizes import (
    SizeByDegree,
    SizeDistributions,
    draw_size_by_degree,
    draw_size_distributions,
    prepare_size_by_degree,
    prepare_size_distributions,
)
from sureness.plots.reliability import draw_reliability
from sureness.plots.saving import figure_svg, save_figure

__all__ = [
    "ClassScores",
    "ConfidenceByDegree",
    "FittedCurves",
    "ListCut",
    "MetricComparison",
    "RankDifferences",
    "ScoreDistributions",
    "SizeByDegree",
    "SizeDistributions",
    "TrainingCurves",
    "draw_confidence_by_degree",
    "draw_fitted_curves",
    "draw_list_cut",
    "draw_metric_comparison",
    "draw_rank_differences",
    "draw_rank_scatter",
    "draw_reliability",
    "draw_score_distributions",
    "draw_side_by_side",
    "draw_size_by_degree",
    "draw_size_distributions",
    "draw_training_curves",
    "figure_svg",
    "prepare_confidence_by_degree",
    "prepare_fitted_curves",
    "prepare_list_cut",
    "prepare_metric_comparison",
    "prepare_model_comparison",
    "prepare_rank_differences",
    "prepare_score_distributions",
    "prepare_size_by_degree",
    "prepare_size_distributions",
    "prepare_training_curves",
    "save_figure",
]
