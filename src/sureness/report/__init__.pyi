# Written by `make stubs` from the table in __init__.py.
from sureness.report.contents import Contents as Contents
from sureness.report.contents import gather_contents as gather_contents
from sureness.report.distillation import Distillation as Distillation
from sureness.report.distillation import DistilledModels as DistilledModels
from sureness.report.distillation import Measuring as Measuring
from sureness.report.distillation import TrainingRecord as TrainingRecord
from sureness.report.distillation import gather_distillation as gather_distillation
from sureness.report.figures import PageFigure as PageFigure
from sureness.report.figures import Plan as Plan
from sureness.report.findings import Finding as Finding
from sureness.report.formatting import MISSING as MISSING
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
from sureness.report.inputs import PageText as PageText
from sureness.report.list_sizes import ListSizes as ListSizes
from sureness.report.list_sizes import gather_list_sizes as gather_list_sizes
from sureness.report.page import ReportSummary as ReportSummary
from sureness.report.page import page_environment as page_environment
from sureness.report.page import require_report as require_report
from sureness.report.page import write_report as write_report
from sureness.report.part_pages import write_distillation_report as write_distillation_report
from sureness.report.part_pages import write_list_size_report as write_list_size_report

__all__ = [
    "Additions",
    "Background",
    "Contents",
    "Distillation",
    "DistilledModels",
    "ExtraTable",
    "Finding",
    "ListSizes",
    "MISSING",
    "Measuring",
    "PageFigure",
    "PageText",
    "Plan",
    "ReportSummary",
    "TrainingRecord",
    "chance",
    "count",
    "error",
    "gather_contents",
    "gather_distillation",
    "gather_list_sizes",
    "page_environment",
    "percent",
    "plain",
    "points",
    "require_report",
    "spoken_percent",
    "write_distillation_report",
    "write_list_size_report",
    "write_report",
]
