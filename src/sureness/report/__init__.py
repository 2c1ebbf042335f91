"""One self-contained HTML page: how well calibrators do, how long lists should be, what distillation brings."""

from sureness.report.contents import Contents, gather_contents
from sureness.report.distillation import Distillation, gather_distillation
from sureness.report.findings import Finding
from sureness.report.list_sizes import ListSizes, gather_list_sizes
from sureness.report.page import ReportSummary, write_report
from sureness.report.part_pages import write_distillation_report, write_list_size_report

__all__ = [
    "Contents",
    "Distillation",
    "Finding",
    "ListSizes",
    "ReportSummary",
    "gather_contents",
    "gather_distillation",
    "gather_list_sizes",
    "write_distillation_report",
    "write_list_size_report",
    "write_report",
]
