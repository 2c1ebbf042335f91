"""Every example in the README and the docs runs; commands that take minutes are fenced as bash and do not."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SURENESS = [sys.executable, "-c", "from sureness.cli import main; main()"]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_run_in_order(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(path, "python"):
        exec(compile(block, str(path), "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        promised = re.findall(r"^print\(.*\)\s+# (.*)$", block, flags=re.MULTILINE)
        for line, promise in zip(printed, promised, strict=False):
            if not promise.startswith("the "):
                assert line == promise


@pytest.mark.parametrize(
    "path", [p for p in DOCUMENTS if "sureness " in "".join(blocks(p, "console"))], ids=lambda p: p.name
)
def test_command_line_examples_run_in_order(path, tmp_path):
    for block in blocks(path, "console"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["sureness"]:
                done = subprocess.run(
                    [*SURENESS, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert path.name != "README.md" or (tmp_path / "report.html").stat().st_size > 50_000


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"^\[\d+\]: (\S+)$", text, flags=re.MULTILINE)
    for link in links:
        if not link.startswith("http"):
            assert (path.parent / link.split("#")[0]).exists() or link.startswith("#"), link


def test_the_readme_names_both_set_up_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
