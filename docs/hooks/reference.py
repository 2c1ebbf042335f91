"""A page of reference for each folder of the package, with every public name; names in the text link to it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

import sureness
import sureness.plots

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

SOURCE = Path(__file__).parents[2] / "src"
TITLES = {
    "calibration": "Calibration", "list_size": "List sizes", "pipeline": "Confident recommenders",
    "distillation": "Distillation", "models": "Recommenders", "sources": "Score sources", "data": "Data",
    "propensity": "Propensities", "metrics": "Metrics", "evaluation": "Ranking quality", "truncation": "Learned cuts",
    "report": "Reports", "plots": "Figures", "numerics": "Numerics", "errors": "Errors",
}  # fmt: skip
"""The folders in the order of the pages; one that is not named here comes last under its own name."""
BESIDE = {
    "models": [
        "settings.Settings", "bpr.BPRSettings", "ubpr.UBPRSettings", "neumf.NeuMFSettings", "cml.CMLSettings",
        "lightgcn.LightGCNSettings", "cdae.CDAESettings",
    ],
    "list_size": [
        "allocation.DomainAllocation", "allocation.BudgetAllocation", "allocation.Pages",
        "allocation.AllocationComparison",
    ],
}  # fmt: skip
"""What is not a public name, but is set or returned by one."""
UNTOUCHED = re.compile(r"(<(a|pre|h[1-6])\b.*?</\2>)", flags=re.DOTALL)
NAME = re.compile(r"<code>((?:sn\.|sureness\.)?(\w+)(?:\([^<]*\))?)</code>")


def groups() -> dict[str, dict[str, str]]:
    """Folder -> public name -> where it is defined."""
    found: dict[str, dict[str, str]] = {}
    for module, names in sureness._HOME.items():
        found.setdefault(module.partition(".")[0], {}).update({name: f"sureness.{module}.{name}" for name in names})
    drawn = [name for name in sureness.plots.__all__ if not name.isupper()]
    found["plots"] = {name: f"sureness.plots.{name}" for name in drawn}
    known = [name for name in TITLES if name in found]
    return {name: found[name] for name in [*known, *(name for name in found if name not in TITLES)]}


def on_config(config: MkDocsConfig) -> None:
    reference = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    reference += [{TITLES.get(folder, folder): _page(folder)} for folder in groups()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "reference/index.md", content=_overview()))
    for folder, names in groups().items():
        files.append(File.generated(config, _page(folder), content=_reference(folder, names)))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link each public name that is set as code, outside of links, code blocks and headings."""
    addresses = {
        name: f"{get_relative_url(_page(folder).replace('.md', '.html'), page.url)}#{where}"
        for folder, names in groups().items()
        for name, where in names.items()
    }

    def linked(found: re.Match[str]) -> str:
        address = addresses.get(found[2])
        return f'<a class="name" href="{address}">{found[0]}</a>' if address else found[0]

    parts = UNTOUCHED.split(html)  # text, what stays as it is, its tag, text, ...
    for place in range(0, len(parts), 3):
        parts[place] = NAME.sub(linked, parts[place])
    del parts[2::3]
    return "".join(parts)


def _page(folder: str) -> str:
    return f"reference/{folder.replace('_', '-')}.md"


@cache
def _package() -> Any:
    return griffe.load("sureness", search_paths=[str(SOURCE)], docstring_parser="numpy", resolve_aliases=True)


def _sentence(path: str) -> str:
    """The first paragraph of a docstring."""
    found = _package()[path.removeprefix("sureness.")]
    text = found.docstring.value if found.docstring else ""
    return " ".join(text.partition("\n\n")[0].split())


def _reference(folder: str, names: dict[str, str]) -> str:
    parts = [f"# {TITLES.get(folder, folder)}", _sentence(f"sureness.{folder}")]
    parts += [f"::: {where}" for where in names.values()]
    parts += [f"::: sureness.{folder}.{where}" for where in BESIDE.get(folder, [])]
    return "\n\n".join(parts) + "\n"


def _overview() -> str:
    parts = [
        "# Reference",
        "Every public name of `sureness`, made from the docstrings; each is reached as `sn.name` after "
        "`import sureness as sn`, figures as `sureness.plots.name`. Commands have [a page of their own](commands.md).",
    ]
    for folder, names in groups().items():
        page = _page(folder).removeprefix("reference/")
        rows = [f"| [`{name}`]({page}#{where}) | {_cell(_sentence(where))} |" for name, where in names.items()]
        parts += [f"## {TITLES.get(folder, folder)}", "\n".join(["| name | what it is |", "|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
