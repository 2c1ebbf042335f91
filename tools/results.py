"""Write the results of the reproduction into the pages of docs/measured, from its committed CSV files.

`python tools/results.py` fills what stands between `<!-- study NAME -->` and `<!-- end -->` with the tables of a study,
between `<!-- study NAME key=value -->` and `<!-- end -->` with the part of them that has these values, between
`<!-- claims -->` and `<!-- end -->` with the table of what the dissertation claims and what was found, and between
`<!-- items -->` and `<!-- end -->` with the list of all its items.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from sureness_reproduction.claims import RESULTS, claims_table, committed
from sureness_reproduction.declarations import find_studies
from sureness_reproduction.items import counts, items_table
from sureness_reproduction.pages import lines_of, not_run
from sureness_reproduction.pages import markdown as table_lines
from sureness_reproduction.results import matches, read_csv

FOLDER = Path(__file__).parents[1] / "docs" / "measured"
MARKED = re.compile(
    r"^<!-- (claims|items|study \S+(?: \S+=[^=]+)*) -->$.*?^<!-- end -->$", flags=re.MULTILINE | re.DOTALL
)
LONG = 50  # lines


def pages() -> dict[Path, str]:
    """Every page with its tables as the CSV files have them now."""
    return {path: MARKED.sub(_filled, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.md"))}


def _filled(found: re.Match[str]) -> str:
    _, name, where = re.fullmatch(r"(claims|items|study (\S+)((?: \S+=[^=]+)*))", found[1]).groups()  # type: ignore[union-attr]
    whole = {"claims": lambda: table_lines(claims_table()), "items": _items}
    lines = whole[found[1]]() if name is None else _tables(name, where)
    return "\n".join([f"<!-- {found[1]} -->", "", "\n".join(lines).strip(), "", "<!-- end -->"])


def _items() -> list[str]:
    """How many items are done, and the list of them, opened by a click."""
    table = items_table()
    told = [counts(table), "", "<details markdown>", "<summary>All items</summary>", ""]
    return [*told, *table_lines(table), "", "</details>"]


def _tables(name: str, where: str) -> list[str]:
    """The tables of a study, its contrasts where they are kept and the whole study is shown, and its figure."""
    (study,) = find_studies([name])
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return [f"Not run at full scale: `sureness reproduce {name} --full`."]
    chosen = dict(re.findall(r" (\w+)=([^=]+?)(?= \w+=|$)", where))
    summary = read_csv(path)
    summary = summary.filter(matches(chosen, summary.columns))
    contrasts = committed(name) if not chosen else pl.DataFrame()
    missing = [] if chosen else not_run(study, summary)
    image = f"![{study.title}](../../reproduction/results/{name}.png)"
    figure = [image] if path.with_suffix(".png").exists() else []
    return [*_folded(list(lines_of(study, summary, contrasts, decided=True, level=4))), *missing, *figure]


def _folded(lines: list[str]) -> list[str]:
    """Long pages of a study show their first table; the others are opened by a click."""
    starts = [place for place, line in enumerate(lines) if line.startswith("**")]
    if len(lines) <= LONG or len(starts) < 2:
        return lines
    shown, hidden = lines[: starts[1]], lines[starts[1] :]
    return [*shown, "<details markdown>", "<summary>More tables and contrasts</summary>", "", *hidden, "</details>", ""]


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
