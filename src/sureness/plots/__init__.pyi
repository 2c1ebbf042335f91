# Written by `make stubs` from the table in __init__.py.
from sureness.plots.bands import ProbabilityBands as ProbabilityBands
from sureness.plots.bands import draw_bands as draw_bands
from sureness.plots.bands import prepare_bands as prepare_bands
from sureness.plots.comparison import MetricComparison as MetricComparison
from sureness.plots.comparison import draw_metric_comparison as draw_metric_comparison
from sureness.plots.comparison import prepare_metric_comparison as prepare_metric_comparison
from sureness.plots.curves import FittedCurves as FittedCurves
from sureness.plots.curves import draw_fitted_curves as draw_fitted_curves
from sureness.plots.curves import prepare_fitted_curves as prepare_fitted_curves
from sureness.plots.degree import ConfidenceByDegree as ConfidenceByDegree
from sureness.plots.degree import draw_confidence_by_degree as draw_confidence_by_degree
from sureness.plots.degree import prepare_confidence_by_degree as prepare_confidence_by_degree
from sureness.plots.distillation import ROLE_COLOURS as ROLE_COLOURS
from sureness.plots.distillation import ROLE_MARKERS as ROLE_MARKERS
from sureness.plots.distillation import RankDifferences as RankDifferences
from sureness.plots.distillation import TrainingCurves as TrainingCurves
from sureness.plots.distillation import draw_rank_differences as draw_rank_differences
from sureness.plots.distillation import draw_rank_scatter as draw_rank_scatter
from sureness.plots.distillation import draw_side_by_side as draw_side_by_side
from sureness.plots.distillation import draw_training_curves as draw_training_curves
from sureness.plots.distillation import prepare_model_comparison as prepare_model_comparison
from sureness.plots.distillation import prepare_rank_differences as prepare_rank_differences
from sureness.plots.distillation import prepare_training_curves as prepare_training_curves
from sureness.plots.distributions import ClassScores as ClassScores
from sureness.plots.distributions import ScoreDistributions as ScoreDistributions
from sureness.plots.distributions import draw_score_distributions as draw_score_distributions
from sureness.plots.distributions import prepare_score_distributions as prepare_score_distributions
from sureness.plots.list_cases import ListCut as ListCut
from sureness.plots.list_cases import draw_list_cut as draw_list_cut
from sureness.plots.list_cases import prepare_list_cut as prepare_list_cut
from sureness.plots.list_sizes import SizeByDegree as SizeByDegree
from sureness.plots.list_sizes import SizeDistributions as SizeDistributions
from sureness.plots.list_sizes import draw_size_by_degree as draw_size_by_degree
from sureness.plots.list_sizes import draw_size_distributions as draw_size_distributions
from sureness.plots.list_sizes import prepare_size_by_degree as prepare_size_by_degree
from sureness.plots.list_sizes import prepare_size_distributions as prepare_size_distributions
from sureness.plots.promises import GroupRatios as GroupRatios
from sureness.plots.promises import PromiseBands as PromiseBands
from sureness.plots.promises import draw_group_ratios as draw_group_ratios
from sureness.plots.promises import draw_promise as draw_promise
from sureness.plots.promises import prepare_group_ratios as prepare_group_ratios
from sureness.plots.promises import prepare_promise as prepare_promise
from sureness.plots.reliability import draw_reliability as draw_reliability
from sureness.plots.saving import FONTS as FONTS
from sureness.plots.saving import figure_svg as figure_svg
from sureness.plots.saving import save_figure as save_figure
from sureness.plots.style import BLUE as BLUE
from sureness.plots.style import CYCLE as CYCLE
from sureness.plots.style import DASHES as DASHES
from sureness.plots.style import GREY as GREY
from sureness.plots.style import INK as INK
from sureness.plots.style import LIGHT_GREY as LIGHT_GREY
from sureness.plots.style import MARKERS as MARKERS
from sureness.plots.style import ORANGE as ORANGE
from sureness.plots.style import SETTINGS as SETTINGS
from sureness.plots.style import drawing as drawing
from sureness.plots.style import legend_above as legend_above
from sureness.plots.style import require_matplotlib as require_matplotlib
from sureness.plots.style import short_name as short_name
from sureness.plots.tables import require_columns as require_columns

__all__ = [
    "BLUE",
    "CYCLE",
    "ClassScores",
    "ConfidenceByDegree",
    "DASHES",
    "FONTS",
    "FittedCurves",
    "GREY",
    "GroupRatios",
    "INK",
    "LIGHT_GREY",
    "ListCut",
    "MARKERS",
    "MetricComparison",
    "ORANGE",
    "ProbabilityBands",
    "PromiseBands",
    "ROLE_COLOURS",
    "ROLE_MARKERS",
    "RankDifferences",
    "SETTINGS",
    "ScoreDistributions",
    "SizeByDegree",
    "SizeDistributions",
    "TrainingCurves",
    "draw_bands",
    "draw_confidence_by_degree",
    "draw_fitted_curves",
    "draw_group_ratios",
    "draw_list_cut",
    "draw_metric_comparison",
    "draw_promise",
    "draw_rank_differences",
    "draw_rank_scatter",
    "draw_reliability",
    "draw_score_distributions",
    "draw_side_by_side",
    "draw_size_by_degree",
    "draw_size_distributions",
    "draw_training_curves",
    "drawing",
    "figure_svg",
    "legend_above",
    "prepare_bands",
    "prepare_confidence_by_degree",
    "prepare_fitted_curves",
    "prepare_group_ratios",
    "prepare_list_cut",
    "prepare_metric_comparison",
    "prepare_model_comparison",
    "prepare_promise",
    "prepare_rank_differences",
    "prepare_score_distributions",
    "prepare_size_by_degree",
    "prepare_size_distributions",
    "prepare_training_curves",
    "require_columns",
    "require_matplotlib",
    "save_figure",
    "short_name",
]
