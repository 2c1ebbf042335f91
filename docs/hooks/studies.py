"""Tables of the reproduction: `<!-- study NAME -->` becomes the tables of a study, from its committed CSV files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sureness_reproduction.pages import lines_of
from sureness_reproduction.results import read_csv
from sureness_reproduction.study import find_studies

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

RESULTS = Path(__file__).parents[2] / "reproduction" / "results"
MARK = re.compile(r"^<!-- study (\S+) -->$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return MARK.sub(lambda found: "\n".join(shown(found[1])), markdown)


def shown(name: str) -> list[str]:
    """The tables of a study, and its contrasts where they are kept."""
    (study,) = find_studies([name])
    claims = RESULTS / f"{name}.claims.csv"
    contrasts = read_csv(claims) if claims.exists() else pl.DataFrame()
    return list(lines_of(study, read_csv(RESULTS / f"{name}.csv"), contrasts, decided=True, level=4))
