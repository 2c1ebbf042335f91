"""Bad input gets one sentence, a non-zero exit, no traceback and no half-written file."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ArtefactError, DataError, OutputError, SurenessError
from tests.cli.runner import COMMAND, refused, run, succeed
from tests.conftest import draw_pairs


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    scores, labels = draw_pairs(1_000)
    pl.DataFrame({"user_id": np.arange(1_000) // 5, "score": scores, "label": labels}).write_parquet(
        folder / "p.parquet"
    )
    succeed("fit", folder / "p.parquet", "-o", "map.json", cwd=folder)
    return folder


def table(tmp_path, **changes):
    scores, labels = draw_pairs(200)
    columns = {"user_id": np.arange(200) // 5, "score": scores, "label": labels} | changes
    pl.DataFrame({name: column for name, column in columns.items() if column is not None}).write_parquet(
        tmp_path / "t.parquet"
    )
    return tmp_path / "t.parquet"


def spoiled(value, at=7):
    scores = draw_pairs(200)[0]
    scores[at] = value
    return scores


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"score": spoiled(np.nan)}, "scores"),
        ({"score": spoiled(np.inf)}, "(inf) at position 7"),
        ({"score": np.full(200, "x")}, "scores"),
        ({"score": [None, *spoiled(0.0)[1:]]}, "column score has 1 empty"),
        ({"score": np.ones(200)}, "scores"),
        ({"label": np.full(200, 3)}, "labels"),
        ({"label": np.ones(200)}, "labels"),
        ({"label": None}, "--columns label="),
        ({"score": None}, "--columns score="),
        ({"propensity": np.full(200, 1.5)}, "propensities"),
        ({"weight": np.full(200, -1.0)}, "sample_weight"),
    ],
)
def test_bad_columns(tmp_path, changes, word):
    refused(run("fit", table(tmp_path, **changes), "-o", "map.json", cwd=tmp_path), DataError, word)
    assert not (tmp_path / "map.json").exists()


def test_unknown_rates_need_a_base_rate(tmp_path):
    done = run("fit", table(tmp_path), "--sampling-rate", "unknown", "-o", "m.json", cwd=tmp_path)
    refused(done, DataError, "negatives")
    assert run("fit", table(tmp_path), "--sampling-rate", "half", "-o", "m.json", cwd=tmp_path).returncode == 2


def test_unreadable_files(good, tmp_path):
    whole = (good / "p.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "words.csv").write_text("score,label\nhello,1\n0.5,0\n")
    (tmp_path / "header.csv").write_text("score,label\n")
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    for name in ("cut.parquet", "empty.csv", "words.csv", "header.csv", "table.xlsx", "missing.parquet"):
        for words in (["fit", name, "-o", "map.json"], ["apply", good / "map.json", name, "-o", "out.parquet"]):
            refused(run(*words, cwd=tmp_path), SurenessError, name)
    assert not (tmp_path / "map.json").exists()
    assert not (tmp_path / "out.parquet").exists()


def test_damaged_and_newer_artefacts(good, tmp_path):
    text = (good / "map.json").read_text()
    schema = re.search(r'"schema": \d+', text).group()
    for content in (text[:50], text.replace(schema, '"schema": 77'), text.replace("0.", "1."), "{}"):
        (tmp_path / "map.json").write_text(content)
        refused(run("apply", "map.json", good / "p.parquet", "-o", "out.parquet", cwd=tmp_path), ArtefactError)
        refused(run("report", good / "p.parquet", "map.json", "-o", "page.html", cwd=tmp_path), ArtefactError)
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]


def test_a_bad_value_late_in_a_table_leaves_no_output(good, tmp_path):
    scores = np.random.default_rng(0).normal(size=1_200_000)
    scores[1_100_000] = np.nan
    pl.DataFrame({"score": scores, "label": (scores > 0).astype(int)}).write_parquet(tmp_path / "late.parquet")
    refused(run("apply", good / "map.json", "late.parquet", "-o", "out.parquet", cwd=tmp_path), DataError, "finite")
    refused(run("fit", "late.parquet", "-o", "map.json", cwd=tmp_path), DataError, "rows 1,000,001 to 1,200,000")
    assert [path.name for path in tmp_path.iterdir()] == ["late.parquet"]


def test_unwritable_outputs(good, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for output in ("folder", "file/out.parquet", "out.doc", good / "p.parquet"):
        refused(run("apply", good / "map.json", good / "p.parquet", "-o", output, cwd=tmp_path), OutputError)
    refused(run("fit", good / "p.parquet", "-o", "folder", cwd=tmp_path), OutputError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def small_files_only():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "p.parquet", "-o", "new.json"),
        ("apply", "map.json", "p.parquet", "-o", "new.parquet"),
        ("apply", "map.json", "p.parquet", "-o", "new.csv"),
        ("report", "p.parquet", "map.json", "-o", "new.html"),
    ],
    ids=lambda words: words[0],
)
def test_a_full_disk_leaves_nothing_half_written(good, words, tmp_path):
    before = sorted(path.name for path in good.iterdir())
    succeed(*words, cwd=shutil.copytree(good, tmp_path / "warm"))  # compiled code must be in its cache already
    environment = os.environ | {"NUMBA_CACHE_DIR": "", "MPLCONFIGDIR": str(tmp_path)}
    done = subprocess.run(
        [*COMMAND, *words], cwd=good, capture_output=True, text=True, check=False, preexec_fn=small_files_only,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "cannot write new." in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in good.iterdir()) == before


def test_a_killed_apply_leaves_the_old_output(good, tmp_path):
    scores = np.random.default_rng(0).normal(size=3_000_000)
    pl.DataFrame({"score": scores}).write_parquet(tmp_path / "large.parquet")
    (tmp_path / "out.csv").write_text("old")
    process = subprocess.Popen(
        [*COMMAND, "apply", str(good / "map.json"), "large.parquet", "-o", "out.csv"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not list(tmp_path.glob(".out.csv.*")) and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, "it was over before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / "out.csv").read_text() == "old"


def test_wrong_usage_exits_with_two(tmp_path):
    assert run("fit", cwd=tmp_path).returncode == 2
    assert run("fit", "x.csv", "--method", "magic", cwd=tmp_path).returncode == 2
    assert run("nonsense", cwd=tmp_path).returncode == 2


def test_apply_leaves_the_other_columns_of_a_csv_as_they_are(good, tmp_path):
    (tmp_path / "in.csv").write_text("user_id,code,price,score\n007,01,1.50,0.5\n7,x,2.00,-1\n")
    succeed("apply", good / "map.json", "in.csv", "-o", "out.csv", cwd=tmp_path)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [["007", "01", "1.50"], ["7", "x", "2.00"]]


def test_one_positive_is_fitted_with_a_note(tmp_path):
    scores = np.linspace(-1, 1, 50)
    pl.DataFrame({"score": scores, "label": (np.arange(50) == 30).astype(int)}).write_csv(tmp_path / "t.csv")
    done = run("fit", "t.csv", "--method", "platt", "-o", "map.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cannot be judged" in done.stderr


def test_an_interrupt_says_so_and_leaves_nothing(good, tmp_path):
    scores = np.random.default_rng(0).normal(size=4_000_000)
    pl.DataFrame({"score": scores}).write_parquet(tmp_path / "large.parquet")
    process = subprocess.Popen(
        [*COMMAND, "apply", str(good / "map.json"), "large.parquet", "-o", "out.csv"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not list(tmp_path.glob(".out.csv.*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130, told
    assert told.startswith("stopped; ")
    assert [path.name for path in tmp_path.iterdir()] == ["large.parquet"]


@pytest.mark.parametrize("command", [("fit", "-o", "m.json"), ("data", "describe")])
def test_no_name_in_a_table_reaches_the_terminal_as_a_command(command, tmp_path):
    """An escape sequence in the name of a column could hide or colour what people read."""
    pl.DataFrame({"a\x1b[31mred": [1], "\x9b2J": [2]}).write_parquet(tmp_path / "t.parquet")
    verb, options = ([command[0]], command[1:]) if command[0] == "fit" else ([*command], ())
    done = run(*verb, tmp_path / "t.parquet", *options, cwd=tmp_path)
    assert "\\x1b[31mred" in done.stdout + done.stderr
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x9b"}


def test_control_characters_of_a_file_name_are_written_out(tmp_path):
    sn.PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]).save(tmp_path / "a\x1b[31mred.json")
    assert "a\\x1b[31mred.json" in succeed("inspect", "a\x1b[31mred.json", cwd=tmp_path)
