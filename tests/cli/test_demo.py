"""The demo on the command line: one JSON object, or a short text and a bar."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import sureness.demo as running
from sureness.cli import demo
from sureness.demo import DemoResult
from sureness.errors import EmptyError, SettingError
from sureness.report import Finding
from tests.cli.runner import refused, run, succeed


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    printed = succeed("demo", "--users", "300", "--items", "80", "--recommender", "svd", "--json", cwd=folder)
    return folder, json.loads(printed)


def test_json_is_the_plain_result(found):
    folder, result = found
    assert set(result) >= {"report", "findings", "headline", "list_sizes"}
    assert (folder / result["report"]).exists()


def test_the_printed_text_is_short(found, monkeypatch):
    folder, result = found
    console = Console(file=io.StringIO(), width=100, highlight=False)
    monkeypatch.setattr(demo, "out", console)
    findings = tuple(Finding(**each) for each in result["findings"])
    page, explorer = folder / result["report"], result["explorer"]
    demo.print_result(DemoResult(about="A world.", findings=findings, page=page, explorer=explorer, details={}))
    lines = [line for line in console.file.getvalue().splitlines() if line.strip()]
    assert len(lines) <= 22
    assert lines[-2].endswith("report.html")
    assert lines[-1].startswith("To explore it in a browser: sureness serve demo-output/recommender.sureness")
    assert all(finding.title in console.file.getvalue() for finding in findings)


def test_data_that_was_not_fetched_is_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_DATA", str(tmp_path))
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    done = run("demo", "ml-100k", cwd=tmp_path)
    assert done.returncode == 1
    assert "sureness data fetch ml-100k" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "cache").exists()  # nothing was downloaded


def test_a_log_with_other_columns_is_read_as_its_options_say(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text("who,what\n1,2\n3,4\n")
    said = run("demo", "log.csv", cwd=tmp_path).stderr  # every option that is needed
    assert "--columns user_id=... --columns item_id=..." in " ".join(said.split())
    read = {}

    def studied(dataset):
        read["users"] = dataset.interactions.users.ids.to_list()
        raise EmptyError("that is enough")

    monkeypatch.setattr(running, "small_split", studied)
    words = ("--columns", "user_id=who", "--columns", "item_id=what", "--recommender", "svd")
    refused(run("demo", "log.csv", *words, cwd=tmp_path), EmptyError, "enough")
    assert read["users"] == [1, 3]


def test_columns_of_no_log_are_refused(tmp_path):
    refused(run("demo", "--columns", "user_id=who", cwd=tmp_path), SettingError, "data")
    assert list(tmp_path.iterdir()) == []
