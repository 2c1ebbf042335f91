"""One self-contained HTML page about how well calibrators do on held-out pairs."""

from sureness.report.contents import Contents, gather_contents
from sureness.report.page import ReportSummary, write_report

__all__ = ["Contents", "ReportSummary", "gather_contents", "write_report"]
