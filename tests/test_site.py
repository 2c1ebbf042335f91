"""The documentation builds without a warning, is complete, and needs nothing from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sureness as sn

pytest.importorskip("material", reason="mkdocs-material is not installed; pip install '.[docs]'")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed; pip install '.[docs]'")
pytest.importorskip("latex2mathml", reason="latex2mathml is not installed; pip install '.[docs]'")

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Page(HTMLParser):
    """What a page loads, what it links to, and what can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        if tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get("id"):
            self.ids.add(given["id"])


def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def test_nothing_is_loaded_from_outside(site):
    for name, page in pages(site).items():
        outside = [address for address in page.loaded if re.match(r"[a-z]+:|//", address)]
        assert not outside, f"{name} loads {outside}"
        missing = [address for address in page.loaded if not (site / name).parent.joinpath(address).exists()]
        assert name == "404.html" or not missing, f"{name} loads {missing}, which the site does not have"
    for path in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^)\"']+)", path.read_text(encoding="utf-8"))
        assert not outside, f"{path.name} loads {outside}"


def test_links_lead_to_pages_and_places_that_exist(site):
    found = pages(site)
    for name, page in found.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link) or name == "404.html":
                continue
            address, _, place = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), address)) if address else name
            assert (site / target).exists(), f"{name} links to {link}"
            if place and target in found:
                assert place in found[target].ids, f"{name} links to {link}"


def test_every_public_name_has_a_place_in_the_reference(site):
    documented = {
        place.rpartition(".")[2]
        for name, page in pages(site).items()
        if name.startswith("reference/")
        for place in page.ids
        if place.startswith("sureness.")
    }
    assert not set(sn.__all__) - documented - {"__version__", "errors"}


def test_the_page_of_commands_has_every_option_that_help_shows(site):
    from typer.testing import CliRunner

    from sureness.cli import app, commands

    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<h2 id="([\w-]+)">(.*?)(?=<h2|</article>)', text, flags=re.DOTALL))
    for words in map(str.split, commands()):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
        options = set(re.findall(r"(?<=\s)--[a-z][a-z-]+", shown)) - {"--help"}
        section = sections["-".join(("sureness", *words))]
        missing = [option for option in options if f"<code>{option}</code>" not in section]
        assert options, words
        assert not missing, f"{' '.join(words)}: {missing}"


def test_formulas_are_mathml(site):
    for path in (site / "mathematics").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<math" in text, path.name
        assert "arithmatex" not in text, path.name
        assert "\\(" not in text, path.name
        assert not re.search(r"<mi>\\?\\[a-zA-Z]+</mi>", text), f"{path.name} has a command that MathML does not know"


def test_what_lives_outside_of_docs_is_there(site):
    for name in ("benchmarks/RESULTS.html", "changelog.html", "contributing.html"):
        assert (site / name).exists()
    assert {path.stem for path in (ROOT / "benchmarks").glob("RESULTS*.md")} == {
        path.stem for path in (site / "benchmarks").glob("*.html")
    }


def test_the_search_runs_from_files(site):
    """The index is also there as a script, and a stand-in for workers is loaded before the theme's own script."""
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    text = (site / "index.html").read_text(encoding="utf-8")
    assert 0 < text.index("iframe-worker.js") < text.index("assets/javascripts/bundle")


def test_figures_are_as_wide_as_a_phone():
    """A wider figure is cut at the edge of the screen, where nothing shows that there is more of it."""
    rules = re.findall(r"[^{}]*\bimg\b[^{}]*{([^}]*)}", (ROOT / "docs" / "assets" / "site.css").read_text())
    assert not any("width" in rule for rule in rules)
