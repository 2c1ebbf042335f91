"""One self-contained HTML page about how well calibrators do on held-out pairs, and how long lists should be."""

from sureness.report.contents import Contents, gather_contents
from sureness.report.list_sizes import ListSizes, gather_list_sizes
from sureness.report.page import ReportSummary, write_list_size_report, write_report

__all__ = [
    "Contents",
    "ListSizes",
    "ReportSummary",
    "gather_contents",
    "gather_list_sizes",
    "write_list_size_report",
    "write_report",
]
