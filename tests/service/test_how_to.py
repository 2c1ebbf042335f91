"""The page on the service, as a reader would follow it: `sureness demo`, its last line, curl and Python."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.running import Server

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "service.md").read_text(encoding="utf-8")


def examples(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The server that the last line of a demo starts."""
    folder = tmp_path_factory.mktemp("demo")
    words = [sys.executable, "-m", "sureness", "demo", "--users", "300", "--items", "80", "--recommender", "svd"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    command = done.stdout.strip().splitlines()[-1].partition("sureness serve ")[2]
    assert f"sureness serve {command}" in examples("bash")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with Server(tuple(shlex.split(command))) as server:
            yield server


def test_every_curl_is_answered(demo):
    if shutil.which("curl") is None:
        pytest.skip("no curl; make test-service installs Debian's")
    commands = [line for text in examples("bash") for line in text.splitlines() if line.startswith("curl ")]
    assert len(commands) >= 6
    for command in commands:
        words = shlex.split(command.replace("localhost:8000", f"127.0.0.1:{demo.port}"))
        done = subprocess.run([*words, "--silent", "--show-error", "--fail-with-body"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["artefact"]["name"] == "recommender.sureness"


def test_the_python_runs(demo, capsys):
    (code,) = examples("py")
    exec(compile(code.replace("localhost:8000", f"127.0.0.1:{demo.port}"), "service.md", "exec"), {})
    first, second, artefact = capsys.readouterr().out.splitlines()
    assert first.startswith("7 [")
    assert second.startswith("8 [")
    assert "of the log" in artefact


def test_the_explorer_has_what_the_demo_found(demo):
    assert {table["by"] for table in demo.get("/v1/promise").json["tables"]} == {"rank", "probability", "group"}
    explained = demo.list_of(7, explain=True)["explained"]
    assert all(explained["titles"])
