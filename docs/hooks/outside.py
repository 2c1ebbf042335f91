"""Pages of the site that live elsewhere in the repository: benchmarks, changelog, how to contribute.

Their links, and those that lead to them, are rewritten to where the pages are on the site. A link to any other file
outside of docs/ becomes plain text, since the site has no such page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
BENCHMARKS = [f"benchmarks/{stem}.md" for stem in sorted(path.stem for path in ROOT.glob("benchmarks/RESULTS*.md"))]
ELSEWHERE = {name: name for name in BENCHMARKS} | {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
"""The page on the site, and the file that it shows."""
LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(([^()\s]+)\)|^\[([^\]]+)\]: (\S+)$", flags=re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    tabs = {title: pages for entry in config.nav for title, pages in entry.items()}
    tabs["Measured"] += [{_title(name): name} for name in BENCHMARKS]
    tabs["Maintainers"] += [{"Changelog": "changelog.md"}, {"Contributing": "contributing.md"}]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return LINK.sub(lambda found: _link(found, page.file.src_uri), markdown)


def _title(name: str) -> str:
    subject = Path(name).stem.removeprefix("RESULTS").strip("-").replace("-", " ")
    return f"Speed of {'list sizes' if subject == 'list size' else subject or 'calibration'}"


def _link(found: re.Match[str], page: str) -> str:
    text, inline, label, listed = found.groups()
    link = inline or listed
    if re.match(r"[a-z]+:|#", link):
        return found[0]
    path, mark, anchor = link.partition("#")
    source = ELSEWHERE.get(page, f"docs/{page}")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    target = next((name for name, origin in ELSEWHERE.items() if origin == file), None)
    if target is None and file.startswith("docs/"):
        target = file.removeprefix("docs/")
    if target is None:
        return text if inline else ""
    address = posixpath.relpath(target, posixpath.dirname(page) or ".") + mark + anchor
    return f"[{text}]({address})" if inline else f"[{label}]: {address}"
