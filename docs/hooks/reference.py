"""A page of reference for each folder of the package, with every public name; names in prose link to it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

import sureness

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

SOURCE = Path(__file__).parents[2] / "src"
TITLES = {
    "calibration": "Calibration",
    "lists": "List sizes",
    "recommender": "Confident recommenders and runs",
    "distillation": "Distillation",
    "models": "Recommenders",
    "models.networks": "Networks",
    "sources": "Score sources",
    "data": "Data",
    "tables": "Tables",
    "propensity": "Propensities",
    "activity": "Who will be there",
    "metrics": "Metrics",
    "jobs": "Jobs",
    "expressions": "Expressions",
    "saving": "Files",
    "report": "Reports",
    "plots": "Figures",
    "numerics": "Numerics",
    "spark": "Spark",
    "errors": "Errors",
}
"""The packages and modules in the order of their pages."""
IMPORT = re.compile(r"^from (sureness[\w.]*) import (\w+) as \2$", flags=re.MULTILINE)
UNTOUCHED = re.compile(r"(<(a|pre|h[1-6])\b.*?</\2>)", flags=re.DOTALL)
NAME = re.compile(r"<code>((?:sn\.|sureness\.)?(\w+)(?:\([^<]*\))?)</code>")


@cache
def groups() -> dict[str, dict[str, str]]:
    """Package -> public name -> where it is defined; names at the top come first."""
    found = {folder: names for folder in TITLES if (names := _published(f"sureness.{folder}"))}
    found["saving"] |= {name: _home(f"sureness.{module}", name) for module, name in BESIDE}
    top = set(sureness.__all__)
    return {
        folder: {
            name: names[name] for name in sorted(names, key=lambda each: each not in top)
            if folder == _page_of(names[name], found)
        }
        for folder, names in found.items()
    }  # fmt: skip


def _page_of(where: str, found: dict[str, dict[str, str]]) -> str:
    """The package on whose page a name stands, if several publish it: the one that is nearest to its definition."""
    folders = [folder for folder, names in found.items() if where in names.values()]
    return max(folders, key=lambda folder: len(folder) if where.startswith(f"sureness.{folder}.") else 0)


BESIDE = (
    ("_registry", "register"),
    ("_progress", "Progress"),
    ("_progress", "PrintedProgress"),
    ("_progress", "silent"),
)
"""Names at the top that no package has; they stand on the page of files."""


def _published(package: str) -> dict[str, str]:
    """The names that a package publishes, and where each is defined; constants are left out."""
    homes = {name: _home(package, name) for _, name in _imports(package)} or _of_module(package)
    return {name: where for name, where in homes.items() if not _is_constant(name, where)}


def _is_constant(name: str, where: str) -> bool:
    """Whether a name in capitals is no class, as BPR is."""
    module, _, _ = where.removeprefix("sureness.").rpartition(".")
    member = _package()[module].members.get(name)  # several constants of one line are unknown
    return name.isupper() and (member is None or member.is_attribute)


def _home(module: str, name: str) -> str:
    """Where a name is defined, through the packages that publish it."""
    inner = next((source for source, known in _imports(module) if known == name), None)
    return f"{module}.{name}" if inner is None else _home(inner, name)


@cache
def _imports(package: str) -> list[tuple[str, str]]:
    """The lines of a package's stub, which `make stubs` writes from its table of names."""
    stub = SOURCE.joinpath(*package.split("."), "__init__.pyi")
    return IMPORT.findall(stub.read_text(encoding="utf-8")) if stub.exists() else []


def _of_module(module: str) -> dict[str, str]:
    """The public classes and functions of a module, which has no stub."""
    found = _package().members.get(module.removeprefix("sureness."))
    members = found.members if found is not None and found.is_module and not found.is_package else {}
    return {
        name: f"{module}.{name}"
        for name, member in members.items()
        if not name.startswith("_") and not member.is_alias and (member.is_class or member.is_function)
    }


def on_config(config: MkDocsConfig) -> None:
    reference = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    reference += [{TITLES[folder]: _page(folder)} for folder in groups()]


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
    return f"reference/{re.sub('[_.]', '-', folder)}.md"


@cache
def _package() -> Any:
    return griffe.load("sureness", search_paths=[str(SOURCE)], docstring_parser="numpy", resolve_aliases=True)


def _sentence(path: str) -> str:
    """The first paragraph of a docstring."""
    found = _package()[path.removeprefix("sureness.")]
    text = found.docstring.value if found.docstring else ""
    return " ".join(text.partition("\n\n")[0].split())


def _reference(folder: str, names: dict[str, str]) -> str:
    parts = [f"# {TITLES[folder]}", _sentence(f"sureness.{folder}")]
    parts += [f"::: {where}" for where in names.values()]
    return "\n\n".join(parts) + "\n"


def _overview() -> str:
    parts = [
        "# Reference",
        "Every public name, made from the docstrings. Names in **bold** are at the top of the package (`sn.name` after "
        "`import sureness as sn`); the others are in their package, such as "
        "`sn.calibration.KanoulasCalibrator`. Commands have [a page of their own](commands.md).",
    ]
    for folder, names in groups().items():
        page = _page(folder).removeprefix("reference/")
        rows = [f"| {_link(name, page, where)} | {_cell(_sentence(where))} |" for name, where in names.items()]
        heading = f"## {TITLES[folder]} (`sureness.{folder}`)"
        parts += [heading, "\n".join(["| name | what it is |", "|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def _link(name: str, page: str, where: str) -> str:
    link = f"[`{name}`]({page}#{where})"
    return f"**{link}**" if name in sureness.__all__ else link


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
