"""Results of the reproduction in pages, from its committed CSV files.

`<!-- study NAME -->` becomes the tables of a study, `<!-- study NAME key=value -->` the part of them with these values,
and `<!-- claims -->` the table of what the dissertation claims and what we found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
from mkdocs.structure.files import File

from sureness_reproduction.claims import RESULTS, claims_table, committed
from sureness_reproduction.declarations import find_studies
from sureness_reproduction.pages import lines_of, not_run
from sureness_reproduction.pages import markdown as table_lines
from sureness_reproduction.results import matches, read_csv

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

STUDY = re.compile(r"^<!-- study (\S+)((?: \S+=[^=]+)*) -->$", flags=re.MULTILINE)
CLAIMS = re.compile(r"^<!-- claims -->$", flags=re.MULTILINE)
LONG = 50  # lines


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"figures/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    markdown = STUDY.sub(lambda found: "\n".join(shown(found[1], found[2])), markdown)
    return CLAIMS.sub(lambda found: "\n".join(table_lines(claims_table())), markdown)


def shown(name: str, where: str = "") -> list[str]:
    """The tables of a study, its contrasts where they are kept and the whole study is shown, and its figure."""
    (study,) = find_studies([name])
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return [f"Not run at full scale: `sureness reproduce {name} --full`.", ""]
    chosen = dict(re.findall(r" (\w+)=([^=]+?)(?= \w+=|$)", where))
    summary = read_csv(path)
    summary = summary.filter(matches(chosen, summary.columns))
    contrasts = committed(name) if not chosen else pl.DataFrame()
    figure = [f"![{study.title}](figures/{name}.png)", ""] if path.with_suffix(".png").exists() else []
    missing = [] if chosen else not_run(study, summary)
    return [*folded(list(lines_of(study, summary, contrasts, decided=True, level=4))), *missing, *figure]


def folded(lines: list[str]) -> list[str]:
    """Long pages of a study show their first table; the others are opened by a click."""
    starts = [place for place, line in enumerate(lines) if line.startswith("**")]
    if len(lines) <= LONG or len(starts) < 2:
        return lines
    shown, hidden = lines[: starts[1]], lines[starts[1] :]
    return [*shown, "<details markdown>", "<summary>More tables and contrasts</summary>", "", *hidden, "</details>", ""]
