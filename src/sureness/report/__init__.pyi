# Written by `make stubs` from the table in __init__.py.
from sureness.report.contents import Contents as Contents
from sureness.report.contents import gather_contents as gather_contents
from sureness.report.distillation import Distillation as Distillation
from sureness.report.distillation import DistilledModels as DistilledModels
from sureness.report.distillation import TrainingRecord as TrainingRecord
from sureness.report.distillation import gather_distillation as gather_distillation
from sureness.report.figures.comparison import MetricComparison as MetricComparison
from sureness.report.figures.comparison import draw_metric_comparison as draw_metric_comparison
from sureness.report.figures.comparison import draw_side_by_side as draw_side_by_side
from sureness.report.figures.comparison import prepare_metric_comparison as prepare_metric_comparison
from sureness.report.figures.degrees import ByDegree as ByDegree
from sureness.report.figures.degrees import draw_confidence_by_degree as draw_confidence_by_degree
from sureness.report.figures.degrees import draw_size_by_degree as draw_size_by_degree
from sureness.report.figures.degrees import prepare_confidence_by_degree as prepare_confidence_by_degree
from sureness.report.figures.degrees import prepare_size_by_degree as prepare_size_by_degree
from sureness.report.figures.distillation import ROLE_COLOURS as ROLE_COLOURS
from sureness.report.figures.distillation import ROLE_MARKERS as ROLE_MARKERS
from sureness.report.figures.distillation import RankDifferences as RankDifferences
from sureness.report.figures.distillation import TrainingCurves as TrainingCurves
from sureness.report.figures.distillation import draw_rank_differences as draw_rank_differences
from sureness.report.figures.distillation import draw_rank_scatter as draw_rank_scatter
from sureness.report.figures.distillation import draw_training_curves as draw_training_curves
from sureness.report.figures.distillation import prepare_rank_differences as prepare_rank_differences
from sureness.report.figures.distillation import prepare_training_curves as prepare_training_curves
from sureness.report.figures.lists import ListCut as ListCut
from sureness.report.figures.lists import SizeDistributions as SizeDistributions
from sureness.report.figures.lists import draw_list_cut as draw_list_cut
from sureness.report.figures.lists import draw_size_distributions as draw_size_distributions
from sureness.report.figures.lists import prepare_list_cut as prepare_list_cut
from sureness.report.figures.lists import prepare_size_distributions as prepare_size_distributions
from sureness.report.figures.promises import GroupRatios as GroupRatios
from sureness.report.figures.promises import PromiseBands as PromiseBands
from sureness.report.figures.promises import draw_group_ratios as draw_group_ratios
from sureness.report.figures.promises import draw_promise as draw_promise
from sureness.report.figures.promises import prepare_group_ratios as prepare_group_ratios
from sureness.report.figures.promises import prepare_promise as prepare_promise
from sureness.report.figures.reliability import ProbabilityBands as ProbabilityBands
from sureness.report.figures.reliability import draw_bands as draw_bands
from sureness.report.figures.reliability import draw_reliability as draw_reliability
from sureness.report.figures.reliability import prepare_bands as prepare_bands
from sureness.report.figures.saving import figure_svg as figure_svg
from sureness.report.figures.saving import save_figure as save_figure
from sureness.report.figures.scores import FittedCurves as FittedCurves
from sureness.report.figures.scores import ScoreDistributions as ScoreDistributions
from sureness.report.figures.scores import draw_fitted_curves as draw_fitted_curves
from sureness.report.figures.scores import draw_score_distributions as draw_score_distributions
from sureness.report.figures.scores import prepare_fitted_curves as prepare_fitted_curves
from sureness.report.figures.scores import prepare_score_distributions as prepare_score_distributions
from sureness.report.figures.style import BLUE as BLUE
from sureness.report.figures.style import CYCLE as CYCLE
from sureness.report.figures.style import DASHES as DASHES
from sureness.report.figures.style import GREY as GREY
from sureness.report.figures.style import INK as INK
from sureness.report.figures.style import LIGHT_GREY as LIGHT_GREY
from sureness.report.figures.style import MARKERS as MARKERS
from sureness.report.figures.style import ORANGE as ORANGE
from sureness.report.figures.style import SETTINGS as SETTINGS
from sureness.report.figures.style import drawing as drawing
from sureness.report.figures.style import legend_above as legend_above
from sureness.report.figures.style import short_name as short_name
from sureness.report.formatting import chance as chance
from sureness.report.formatting import count as count
from sureness.report.formatting import error as error
from sureness.report.formatting import percent as percent
from sureness.report.formatting import plain as plain
from sureness.report.formatting import points as points
from sureness.report.formatting import spoken_percent as spoken_percent
from sureness.report.inputs import Additions as Additions
from sureness.report.inputs import Background as Background
from sureness.report.inputs import ExtraTable as ExtraTable
from sureness.report.inputs import Finding as Finding
from sureness.report.list_sizes import ListSizes as ListSizes
from sureness.report.list_sizes import gather_list_sizes as gather_list_sizes
from sureness.report.page import ReportSummary as ReportSummary
from sureness.report.page import require_report as require_report
from sureness.report.page import write_distillation_report as write_distillation_report
from sureness.report.page import write_list_size_report as write_list_size_report
from sureness.report.page import write_report as write_report

__all__ = [
    "Additions",
    "BLUE",
    "Background",
    "ByDegree",
    "CYCLE",
    "Contents",
    "DASHES",
    "Distillation",
    "DistilledModels",
    "ExtraTable",
    "Finding",
    "FittedCurves",
    "GREY",
    "GroupRatios",
    "INK",
    "LIGHT_GREY",
    "ListCut",
    "ListSizes",
    "MARKERS",
    "MetricComparison",
    "ORANGE",
    "ProbabilityBands",
    "PromiseBands",
    "ROLE_COLOURS",
    "ROLE_MARKERS",
    "RankDifferences",
    "ReportSummary",
    "SETTINGS",
    "ScoreDistributions",
    "SizeDistributions",
    "TrainingCurves",
    "TrainingRecord",
    "chance",
    "count",
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
    "error",
    "figure_svg",
    "gather_contents",
    "gather_distillation",
    "gather_list_sizes",
    "legend_above",
    "percent",
    "plain",
    "points",
    "prepare_bands",
    "prepare_confidence_by_degree",
    "prepare_fitted_curves",
    "prepare_group_ratios",
    "prepare_list_cut",
    "prepare_metric_comparison",
    "prepare_promise",
    "prepare_rank_differences",
    "prepare_score_distributions",
    "prepare_size_by_degree",
    "prepare_size_distributions",
    "prepare_training_curves",
    "require_report",
    "save_figure",
    "short_name",
    "spoken_percent",
    "write_distillation_report",
    "write_list_size_report",
    "write_report",
]
