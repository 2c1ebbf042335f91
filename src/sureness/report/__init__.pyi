# Written by `make stubs` from the table in __init__.py.
from sureness.report.contents import Additions as Additions
from sureness.report.contents import Background as Background
from sureness.report.contents import Contents as Contents
from sureness.report.contents import gather_contents as gather_contents
from sureness.report.figures.distillation import draw_training_curves as draw_training_curves
from sureness.report.figures.lists import ByDegree as ByDegree
from sureness.report.figures.lists import draw_confidence_by_degree as draw_confidence_by_degree
from sureness.report.figures.lists import draw_group_ratios as draw_group_ratios
from sureness.report.figures.lists import draw_list_cut as draw_list_cut
from sureness.report.figures.lists import draw_promise as draw_promise
from sureness.report.figures.lists import draw_size_by_degree as draw_size_by_degree
from sureness.report.figures.lists import draw_size_distributions as draw_size_distributions
from sureness.report.figures.lists import prepare_confidence_by_degree as prepare_confidence_by_degree
from sureness.report.figures.lists import prepare_size_by_degree as prepare_size_by_degree
from sureness.report.figures.reliability import ProbabilityBands as ProbabilityBands
from sureness.report.figures.reliability import draw_bands as draw_bands
from sureness.report.figures.reliability import draw_reliability as draw_reliability
from sureness.report.figures.reliability import prepare_bands as prepare_bands
from sureness.report.figures.scores import draw_fitted_curves as draw_fitted_curves
from sureness.report.figures.scores import draw_metric_comparison as draw_metric_comparison
from sureness.report.figures.scores import draw_score_distributions as draw_score_distributions
from sureness.report.figures.scores import draw_side_by_side as draw_side_by_side
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
from sureness.report.figures.style import figure_svg as figure_svg
from sureness.report.figures.style import legend_above as legend_above
from sureness.report.figures.style import save_figure as save_figure
from sureness.report.figures.style import short_name as short_name
from sureness.report.figures.windows import draw_windows as draw_windows
from sureness.report.formatting import Finding as Finding
from sureness.report.formatting import chance as chance
from sureness.report.formatting import count as count
from sureness.report.formatting import error as error
from sureness.report.formatting import percent as percent
from sureness.report.formatting import points as points
from sureness.report.formatting import spoken_percent as spoken_percent
from sureness.report.list_sizes import ListSizes as ListSizes
from sureness.report.list_sizes import gather_list_sizes as gather_list_sizes
from sureness.report.page import ReportSummary as ReportSummary
from sureness.report.page import require_report as require_report
from sureness.report.page import write_backtest_report as write_backtest_report
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
    "Finding",
    "GREY",
    "INK",
    "LIGHT_GREY",
    "ListSizes",
    "MARKERS",
    "ORANGE",
    "ProbabilityBands",
    "ReportSummary",
    "SETTINGS",
    "chance",
    "count",
    "draw_bands",
    "draw_confidence_by_degree",
    "draw_fitted_curves",
    "draw_group_ratios",
    "draw_list_cut",
    "draw_metric_comparison",
    "draw_promise",
    "draw_reliability",
    "draw_score_distributions",
    "draw_side_by_side",
    "draw_size_by_degree",
    "draw_size_distributions",
    "draw_training_curves",
    "draw_windows",
    "drawing",
    "error",
    "figure_svg",
    "gather_contents",
    "gather_list_sizes",
    "legend_above",
    "percent",
    "points",
    "prepare_bands",
    "prepare_confidence_by_degree",
    "prepare_size_by_degree",
    "require_report",
    "save_figure",
    "short_name",
    "spoken_percent",
    "write_backtest_report",
    "write_list_size_report",
    "write_report",
]
