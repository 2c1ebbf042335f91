"""A large and a small recommender teach each other, by commands alone."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sureness.data import IdMap
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import CheckpointError, DataError, FileError, LeakError, OutputError, SettingError, SurenessError
from sureness.recommender.run import open_run
from sureness.sources import FactorSource
from tests.cli.runner import COMMAND, refused, run, succeed, told

ALONE = (
    "--teacher-set", "epochs=6", "--teacher-set", "validate_every=2",
    "--student-set", "epochs=6", "--student-set", "validate_every=2",
)  # fmt: skip
TOGETHER = ("--set", "epochs=4", "--set", "validate_every=2", "--set", "refresh_every=2")
METHODS = ("bd", "bd-best", "one-way", "rd", "cd", "teacher-positives", "combined")
DATA = ("distill", "log.csv")
PAIR = (*DATA, "--teacher", "bpr:8", "--student", "bpr:2")
QUICK = (*PAIR, *ALONE, *TOGETHER)


@pytest.fixture
def folder(log_folder):
    return log_folder


def scores(place):
    return open_run(place).source.score_block(np.arange(5))


def trained(folder, name, *words):
    quick = ("--set", "epochs=6", "--set", "validate_every=2")
    succeed("train", "log.csv", "-o", f"{name}.sureness", *quick, *words, cwd=folder)


def test_one_command_makes_two_runs_that_every_other_command_takes(folder):
    shown = succeed(*QUICK, cwd=folder)
    for words in ("validation ndcg@50", "test hit@50", "test ndcg@50", "parameters", "wrote distilled.sureness"):
        assert words in shown
    assert sorted(path.name for path in folder.iterdir()) == ["distilled.sureness", "log.csv"]
    succeed("fit", "distilled.sureness/student", "--method", "platt", "-o", "platt.json", cwd=folder)
    succeed("apply", "platt.json", "distilled.sureness/student", "--top", 5, "-o", "top.parquet", cwd=folder)
    succeed("list-size", "distilled.sureness/student", "--max-size", 10, "-o", "lists.parquet", cwd=folder)
    assert (
        pl.read_parquet(folder / "top.parquet").height
        == 5 * open_run(folder / "distilled.sureness/student").source.n_users
    )


def test_what_is_told_is_what_the_runs_are_worth(folder):
    found = told(*QUICK, cwd=folder)
    assert list(found["models"]) == ["teacher alone", "student alone", "teacher", "student"]
    for role, n_factors in (("teacher", 8), ("student", 2)):
        row, opened = found["models"][role], open_run(folder / "distilled.sureness" / role)
        judged = told("evaluate", f"distilled.sureness/{role}", cwd=folder)
        assert row["test"] == {name: value for name, value in judged.items() if name not in ("run", "notes")}
        assert row["parameters"] == n_factors * (opened.source.n_users + opened.source.n_items)
        assert row["validation"] == pytest.approx(opened.source.best_metric_)
        assert row["validation"] >= found["models"][f"{role} alone"]["validation"]  # the start is one of the epochs
        assert opened.about["distilled"] == {"method": "bd", "role": role, "settings": found["settings"]}


@pytest.mark.parametrize("names", [METHODS, *(vars(kind()) for kind in (DistillationSettings, Direction))])
def test_the_document_explains_every_method_and_setting(names):
    text = (Path(__file__).parents[2] / "docs" / "distillation.md").read_text(encoding="utf-8")
    told = {
        name for row in re.findall(r"^\| (`.+?`) \|", text, flags=re.MULTILINE) for name in re.findall("`(.+?)`", row)
    }
    assert set(names) <= told


def test_the_same_command_gives_the_same_models(folder):
    for name in ("first", "second"):
        succeed(*QUICK, "-o", f"{name}.sureness", cwd=folder)
    for role in ("teacher", "student"):
        np.testing.assert_array_equal(*(scores(folder / f"{name}.sureness" / role) for name in ("first", "second")))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_leaves_who_is_fixed_alone(folder, method):
    found = told(*QUICK, "--method", method, cwd=folder)
    for role in ("teacher", "student"):
        if not found["settings"][f"{role}_learns"]:
            assert found["models"][role] == found["models"][f"{role} alone"]
    assert 1 <= found["epochs"] <= 4


def test_settings_come_from_words(folder):
    changes = ("--set", "to_student__weight=0.25", "--set", "to_teacher__labels=calibrated", "--seed", "3",
               "--set", "to_student__positives=2", "--set", "patience=9")  # fmt: skip
    found = told(*QUICK, *changes, "--teacher-set", "learning_rate=0.02", cwd=folder)
    settings = found["settings"]
    assert (settings["to_student"]["weight"], settings["to_student"]["positives"]) == (0.25, 2)
    assert (settings["to_teacher"]["labels"], settings["patience"], settings["seed"]) == ("calibrated", 9, 3)
    assert "learning_rate=0.02" in found["models"]["teacher"]["model"]
    assert "seed=3" in found["models"]["student"]["model"]


def test_without_pretraining_both_warm_up(folder):
    found = told(*QUICK, "--no-pretrain", "--set", "warm_up=3", cwd=folder)
    assert list(found["models"]) == ["teacher", "student"]
    assert found["warm_up"] == 3
    shown = succeed(*QUICK, "--no-pretrain", "--method", "one-way", "--set", "warm_up=3", cwd=folder)
    assert "teacher, fixed" in " ".join(shown.split())  # trained first, since it does not learn later


@pytest.mark.parametrize(("teacher", "student"), [("lightgcn:8", "neumf:2"), ("bpr:2", "cdae:8")])
def test_the_two_may_be_of_any_kind_and_size(folder, teacher, student):
    found = told(*DATA, "--teacher", teacher, "--student", student, *ALONE, *TOGETHER, cwd=folder)
    assert found["models"]["student"]["parameters"] > 0
    assert open_run(folder / "distilled.sureness/teacher").source.name == teacher.split(":")[0]


def test_earlier_runs_are_where_both_start(folder):
    trained(folder, "large", "--factors", "8")
    trained(folder, "small", "--factors", "2")
    before = scores(folder / "large.sureness")
    alone = told("evaluate", "large.sureness", "--metric", "hit@50", cwd=folder)["hit@50"]
    found = told(*DATA, "--teacher", "large.sureness", "--student", "small.sureness/source", *TOGETHER, cwd=folder)
    assert found["models"]["teacher alone"]["test"]["hit@50"] == alone
    np.testing.assert_array_equal(before, scores(folder / "large.sureness"))
    whole = told(*PAIR, *ALONE, *TOGETHER, "-o", "whole.sureness", cwd=folder)
    assert found["models"] == whole["models"]  # two commands or three


def test_a_fixed_source_that_knows_some_items_only(folder):
    trained(folder, "large", "--factors", "8")
    opened = open_run(folder / "large.sureness").source
    factors = opened.source_
    items = IdMap(opened.items.at(np.arange(40)))
    some = FactorSource(factors.user_factors, factors.item_factors[:40], users=opened.users, items=items)
    some.save(folder / "source.sureness")
    words = ("--teacher", "source.sureness", "--student", "bpr:2", "--method", "one-way")
    found = told(*DATA, *words, *ALONE[4:], *TOGETHER, cwd=folder)
    teacher, student = found["models"]["teacher"], found["models"]["student"]
    assert teacher["parameters"] == 8 * (opened.n_users + 40)  # factors count themselves
    assert teacher["test"]["users"] == student["test"]["users"]  # what it does not know counts against it
    assert teacher["test"]["hit@50"] < 1
    assert open_run(folder / "distilled.sureness/teacher").source.n_items == 40
    assert open_run(folder / "distilled.sureness/student").source.n_items == opened.n_items


def killed_when_there_is(checkpoint, words, folder, output, how=signal.SIGKILL):
    """Start the command, and end it as soon as a checkpoint is written; returns what it said."""
    process = subprocess.Popen([*COMMAND, *words, "-o", output, "--checkpoint-seconds", "0"], cwd=folder,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    place = folder / f"{output}.checkpoints" / checkpoint
    for _ in range(1200):
        time.sleep(0.05)
        if place.exists():
            break
    process.send_signal(how)
    _, said = process.communicate()
    assert place.exists()
    return said


LONG = (*DATA, "--teacher", "neumf:8", "--student", "bpr:2", "--teacher-set", "epochs=15", "--set", "epochs=25",
        "--set", "patience=30")  # fmt: skip


def test_a_killed_command_resumes_to_the_same_models(folder):
    succeed(*LONG, "-o", "whole.sureness", cwd=folder)
    killed_when_there_is("teacher", LONG, folder, "killed.sureness")
    said = killed_when_there_is("both", LONG, folder, "killed.sureness", signal.SIGINT)
    assert "stopped; " in " ".join(said.split())
    assert told(*LONG, "-o", "killed.sureness", cwd=folder)["resumed"]
    for role in ("teacher", "student"):
        np.testing.assert_array_equal(*(scores(folder / f"{name}.sureness" / role) for name in ("whole", "killed")))
    assert sorted(path.name for path in folder.iterdir()) == ["killed.sureness", "log.csv", "whole.sureness"]


def test_checkpoints_of_another_command_are_refused(folder):
    killed_when_there_is("teacher", LONG, folder, "killed.sureness")
    for change, word in {
        ("--no-pretrain",): "another teacher, student or start",
        ("--teacher", "lightgcn:8"): "another teacher, student or start",
        ("--teacher", "neumf:4"): "n_factors",
    }.items():
        refused(run(*LONG, *change, "-o", "killed.sureness", cwd=folder), CheckpointError, word)


def test_files_of_others_beside_the_checkpoints_stay(folder):
    (folder / "distilled.sureness.checkpoints").mkdir()
    (folder / "distilled.sureness.checkpoints" / "mine.txt").write_text("hello")
    succeed(*QUICK, cwd=folder)
    assert [path.name for path in (folder / "distilled.sureness.checkpoints").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("words", "error", "word"),
    [
        (["--teacher", "bpr:x"], SettingError, "bpr:x"),
        (["--teacher", "bpr:"], SettingError, "bpr:50"),
        (["--teacher", "bpr:0"], DataError, "n_factors"),
        (["--teacher", "als:50"], SettingError, "lightgcn"),
        (["--student", "nowhere"], SettingError, "student"),
        (["--teacher", "empty"], SettingError, "empty"),
        (["--method", "magic"], DataError, "magic"),
        (["--set", "speed=3"], SettingError, "speed"),
        (["--set", "to_student=3"], SettingError, "to_student__weight"),
        (["--set", "epochs=many"], SettingError, "epochs"),
        (["--set", "epochs"], SettingError, "name=value"),
        (["--set", "to_student__scheme=best"], DataError, "tanh"),
        (["--teacher-set", "speed=3"], SettingError, "speed"),
        (["--student", "neumf:2", "--set", "student_start=svd"], DataError, "svd"),
        (["--student", "ubpr:2", "--method", "teacher-positives"], DataError, "UBPR"),
        (["--set", "teacher_learns=false", "--set", "student_learns=false"], DataError, "fixed"),
        (["--device", "abacus"], SurenessError, "device"),
        (["--seed", "-1"], DataError, "seed"),
        (["-o", "log.csv"], OutputError, "log.csv"),
        (["-o", "empty"], OutputError, "folder"),
    ],
)
def test_bad_input_gets_one_sentence_before_anything_is_trained(folder, words, error, word):
    (folder / "empty").mkdir()
    refused(run(*PAIR, *words, cwd=folder), error, word)
    assert sorted(path.name for path in folder.iterdir()) == ["empty", "log.csv"]


def test_a_missing_log_is_named(folder):
    words = ("--teacher", "bpr:8", "--student", "bpr:2")
    refused(run("distill", "nothing.csv", *words, cwd=folder), FileError, "nothing.csv")


def test_a_saved_model_that_cannot_be_used_gets_one_sentence(folder):
    trained(folder, "large", "--factors", "8")
    trained(folder, "other", "--factors", "8", "--seed", "1")
    for words, error in {
        ("--teacher", "large.sureness", "-o", "large.sureness"): OutputError,
        ("--teacher", "large.sureness/source", "-o", "large.sureness"): OutputError,
        ("--teacher", "large.sureness", "--teacher-set", "l2=0.1"): SettingError,
        ("--teacher", "other.sureness"): LeakError,
        ("--teacher", "large.sureness/source", "--split", "per_user=5"): DataError,
    }.items():
        refused(run(*DATA, "--student", "bpr:2", *words, cwd=folder), error)


def test_the_metrics_are_those_of_the_split(folder):
    """As `train` and `evaluate` choose them, and not always those of leave-one-out."""
    for protocol, metrics in {
        "ratio": ["hit@50", "ndcg@50", "recall@50"],
        "leave-one-out": ["hit@50", "ndcg@50", "hit@100", "ndcg@100"],
    }.items():
        found = told(*QUICK, "--split", protocol, cwd=folder)
        assert list(found["models"]["student"]["test"]) == ["users", *metrics]


def test_named_data_start_from_the_best_settings_known_and_are_judged_in_their_own_way(data_folder, tmp_path):
    found = told("distill", "coat", "--from", data_folder, "--teacher", "bpr:8", "--student", "bpr:2",
                 "--student-set", "l2=0.2", *ALONE, *TOGETHER, cwd=tmp_path)  # fmt: skip
    assert "learning_rate=0.0005" in found["models"]["teacher"]["model"]
    assert "l2=0.2" in found["models"]["student"]["model"]
    assert {"ndcg@1", "recall@5"} < set(found["models"]["student"]["test"])
