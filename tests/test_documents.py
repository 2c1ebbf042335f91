"""Every example in the README and the docs runs; commands that take minutes are fenced as bash and do not."""

from __future__ import annotations

import math
import re
import shlex
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from tools import results

from benchmarks import forward_tables, shape_tables
from sureness import _registry
from sureness.cli import main

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = r"(?:<!-- needs: (?P<needs>\w+) -->\n+)?"
OUTPUT = r"(?:\n+<!-- output -->\n```text\n(?P<output>.*?)```)?"
FENCED = re.compile(NEEDS + r"```(?P<language>python|console)\n(?P<text>.*?)```" + OUTPUT, re.DOTALL)


class Block(NamedTuple):
    """An example, and the library that it shows if that is not always installed."""

    language: str
    text: str
    needs: str | None
    line: int  # where it starts in the document, counted from 0
    output: str | None = None  # all that it prints, if the document shows it


def blocks(path: Path) -> list[Block]:
    document = path.read_text(encoding="utf-8")
    return [block_of(found, document) for found in FENCED.finditer(document)]


def block_of(found: re.Match[str], document: str) -> Block:
    line = document.count("\n", 0, found.start("text"))
    return Block(found["language"], found["text"], found["needs"], line, found["output"])


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def own_registry(monkeypatch):
    """What a page registers is known on that page only."""
    table = {family: dict(known) for family, known in _registry._TABLE.items()}
    monkeypatch.setattr(_registry, "_TABLE", table)


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path)], ids=name)
def test_examples_run_in_order(path, tmp_path, monkeypatch, capsys):
    """Python and commands of a document run in one folder, one after the other, as a reader of a clone would."""
    absent = sorted({block.needs for block in blocks(path) if block.needs and not find_spec(block.needs)})
    if absent:
        pytest.skip(f"{name(path)} shows {', '.join(absent)}, which is not installed; make test-adapters has it")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    for block in blocks(path):
        if block.language == "python":
            run_python(block, path, names, capsys)
        else:
            run_commands(block.text, monkeypatch, capsys)
    assert path.name != "tour.md" or (tmp_path / "report.html").stat().st_size > 50_000


def run_python(block, path, names, capsys):
    capsys.readouterr()
    code = "\n" * block.line + block.text  # so that errors name the line of the document
    exec(compile(code, str(path), "exec", dont_inherit=True), names)
    output = capsys.readouterr().out
    assert block.output is None or same_text(output, block.output)
    printed = output.splitlines()
    promised = re.findall(r"^print\(.*\)\s+# (.*)$", block.text, flags=re.MULTILINE)
    for line, promise in zip(printed, promised, strict=False):
        if not promise.startswith("the "):
            assert line == promise


NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def same_text(printed: str, shown: str) -> bool:
    """Equal but for the last digits of numbers, which differ between machines that round otherwise."""
    if re.sub(r"\s+", " ", NUMBER.sub("", printed)) != re.sub(r"\s+", " ", NUMBER.sub("", shown)):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(math.isclose(*(float(each.replace(",", "")) for each in pair), rel_tol=5e-3) for pair in pairs)


def test_numbers_of_examples_may_differ_in_their_last_digits_only():
    assert same_text("5,345 items, 0.0952", "5,346 items, 0.0951")
    assert not same_text("5,345 items", "5,445 items")
    assert not same_text("5,345 items", "5,345 pairs")


def run_commands(text, monkeypatch, capsys):
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] == ["sureness"]:
            monkeypatch.setattr(sys, "argv", words)
            with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
                warnings.simplefilter("default")  # as in a process of its own
                main()
            assert end.value.code in (0, None), f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_to_files_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"^\[\w+\]: (\S+)$", text, flags=re.MULTILINE)
    generated = ("commands.md", "reference/")  # pages that the site makes, tested with it
    for link in links:
        if not link.startswith(("http", "#")) and not any(part in link for part in generated):
            assert (path.parent / link.split("#")[0]).exists(), link


FOR_MAINTAINERS = ("docs/maintainers/", "docs/measured/")
MOST_WORDS = 25_000


def words(text: str) -> int:
    """Words that are read: without examples, comments and addresses of links."""
    prose = re.sub(r"^```.*?^```|<!--.*?-->|(?<=\])\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    return len(re.findall(r"[A-Za-z0-9][\w'.,-]*", prose))


def test_the_docs_for_users_can_be_read():
    """Decisions, measurements and what only maintainers need are in folders of their own."""
    pages = [path for path in DOCUMENTS if not name(path).startswith(FOR_MAINTAINERS)]
    counts = {name(path): words(path.read_text(encoding="utf-8")) for path in pages}
    assert sum(counts.values()) <= MOST_WORDS, counts


def test_the_page_on_how_it_is_built_names_files_that_exist():
    text = (ROOT / "docs" / "maintainers" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_/.]+`|the modules.*?) \|.*?\| ([^|]*) \|$", text, flags=re.MULTILINE)
    named = {f"{folder}/{file}" for folder, files in rows for file in re.findall(r"`([^`]+)`", files)}
    places = [re.sub(r"^the modules at the top/", "", place.replace("`", "")) for place in named]
    assert len(places) > 50
    assert not [place for place in places if not (ROOT / "src" / "sureness" / place).exists()]
    folders = {path.name for path in (ROOT / "src" / "sureness").iterdir() if (path / "__init__.py").exists()}
    assert not folders - {folder.strip("`/") for folder, _ in rows}


def test_tables_of_measured_pages_are_current():
    for page, text in results.pages().items():
        assert page.read_text(encoding="utf-8") == text, "results changed: run `python tools/results.py`"
    for tables in (shape_tables, forward_tables):
        assert tables.PAGE.read_text(encoding="utf-8") == tables.page()


def test_the_readme_names_both_set_up_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_the_first_screen_of_the_readme_installs_and_runs():
    """A sentence, how to install it, eight lines of Python and what they print; all of it on about 100 lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, *_ = blocks(ROOT / "README.md")
    assert text.index("pip install sureness") < text.index(first.text)
    assert first.line < 12
    assert first.output is not None
    assert len([line for line in first.text.splitlines() if line]) <= 8
    assert len(text.splitlines()) <= 110
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert (ROOT / picture).stat().st_size < 100_000


def test_examples_are_found():
    """The pattern that finds examples sees as many as there are fences, so that none is left out unseen."""
    for path in DOCUMENTS:
        fences = re.findall(r"^```(?:python|console)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert len(blocks(path)) == len(fences), path
