"""Figures of the reproduction, which stand beside its CSV files outside of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

RESULTS = Path(__file__).parents[2] / "reproduction" / "results"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"figures/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return re.sub(r"(?<=\.\./)\.\./reproduction/results/(?=[\w-]+\.png\))", "figures/", markdown)
