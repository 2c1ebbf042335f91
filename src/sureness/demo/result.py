"""What a demo found, and where it wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sureness._printing import fields_repr
from sureness.jobs.outputs import check_outputs
from sureness.report.findings import Finding
from sureness.saving.packed import JSON


@dataclass(frozen=True, kw_only=True, eq=False)
class DemoResult:
    """The findings of a demo, its page, and every number behind them."""

    about: str  # one or two sentences on the data and the recommender
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]  # what was left out, and why
    page: Path
    details: Mapping[str, JSON]  # all results as plain values

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object: the page, the findings, what was skipped, and all details."""
        findings: list[JSON] = [asdict(finding) for finding in self.findings]
        return {"report": str(self.page), "findings": findings, "skipped": list(self.skipped), **self.details}


def check_demo_outputs(folder: Path, data: str | None = None) -> None:
    """Refuse a folder that cannot be written to, or whose files would replace the log that the demo reads."""
    check_outputs(
        [
            (folder / "report.html", "page"), (folder / "calibrator.json", "json"),
            (folder / "lists.parquet", "table"), (folder / "figures", "figures"),
        ],
        [data],
    )  # fmt: skip
