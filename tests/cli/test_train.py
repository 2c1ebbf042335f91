"""From a log on disk to lists with probabilities, by commands alone."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest

from sureness.errors import CheckpointError, DataError, EmptyError, FileError, OutputError, SettingError, SurenessError
from sureness.recommender.run import Run, open_run
from sureness.saving.objects import load
from sureness.sources.base import FactorSource
from tests.cli.runner import COMMAND, refused, run, succeed, told

QUICK = ("--set", "epochs=6", "--set", "validate_every=2", "--factors", "8")


@pytest.fixture
def trained(log_folder):
    succeed("train", "log.csv", "--model", "bpr", "-o", "run.sureness", *QUICK, cwd=log_folder)
    return log_folder


def test_a_log_becomes_lists_with_probabilities_by_four_commands(trained, log):
    judged = told("evaluate", "run.sureness", "--metric", "ndcg@10", cwd=trained)
    succeed("fit", "run.sureness", "--method", "platt", "-o", "platt.json", cwd=trained)
    succeed("apply", "platt.json", "run.sureness", "--top", 5, "-o", "top.parquet", cwd=trained)

    lists = pl.read_parquet(trained / "top.parquet")
    assert 0.05 < judged["ndcg@10"] < 1
    assert lists.columns == ["user_id", "rank", "item_id", "score", "probability"]
    assert lists.group_by("user_id").len()["len"].max() == 5
    assert lists["probability"].is_between(0, 1).all()
    opened = open_run(trained / "run.sureness")
    seen = opened.seen().table().select("user_id", "item_id")
    assert lists.join(seen, on=["user_id", "item_id"], how="semi").is_empty()
    assert len(opened.train) + len(opened.validation) + len(opened.test) == log.height


def test_the_same_command_gives_the_same_model(trained):
    succeed("train", "log.csv", "--model", "bpr", "-o", "again.sureness", *QUICK, cwd=trained)
    first, second = (
        open_run(trained / name).source.score_block(np.arange(3)) for name in ("run.sureness", "again.sureness")
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("model", ["ubpr", "neumf", "cml", "lightgcn", "cdae"])
def test_every_model_trains_and_is_judged(log, tmp_path, model):
    log.write_parquet(tmp_path / "log.parquet")
    found = told("train", "log.parquet", "--model", model, "-o", "run.sureness", *QUICK, cwd=tmp_path)
    assert found["epochs"] == 6
    assert 0 < found["test"]["ndcg@50"] <= 1
    assert found["parameters"] > 0


def test_an_odd_log_is_cleaned_and_it_is_said_what_went(log, tmp_path):
    odd = log.select(
        user_id=pl.format("Zoë {}", "user_id"), item_id=pl.format("薔薇/{}", "item_id"),
        time=pl.Series(np.random.default_rng(0).permutation(log.height)),
    )  # fmt: skip
    once = pl.DataFrame({"user_id": ["single"], "item_id": ["薔薇/1"], "time": [5]})
    nobody = pl.DataFrame({"user_id": [None], "item_id": ["薔薇/1"], "time": [6]}, schema=odd.schema)
    pl.concat([odd, once, nobody, odd.head(40)]).write_csv(tmp_path / "odd.csv")

    shown = succeed(
        "train", "odd.csv", "-o", "run.sureness", "--split", "leave-one-out", *QUICK, cwd=tmp_path
    )  # fmt: skip

    said = " ".join(shown.split())
    assert "1 of 555 rows had no user or no item" in said
    assert "40 of 554 rows repeated a pair" in said
    assert "fewer than 3" in said
    opened = open_run(tmp_path / "run.sureness")
    assert "single" in opened.source.users.ids.to_list()
    users = opened.test.table()["user_id"]
    assert len(users) == users.n_unique()
    last = odd.sort("time").group_by("user_id").last().filter(pl.col("user_id").is_in(users.implode()))
    both = opened.test.table().join(last.select("user_id", "item_id"), on=["user_id", "item_id"], how="inner")
    assert len(both) == len(users)


def killed_once_there_is_a_checkpoint(words, folder, output):
    """Start a training, and kill it as soon as it has written down where it is."""
    process = subprocess.Popen([*COMMAND, *words, "-o", output, "--checkpoint-seconds", "0"], cwd=folder)
    checkpoint = folder / f"{output}.checkpoints" / "model"
    for _ in range(600):
        time.sleep(0.05)
        if checkpoint.exists():
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists()


def test_a_killed_training_resumes_to_the_same_model(log, tmp_path):
    log.write_csv(tmp_path / "log.csv")
    words = ["train", "log.csv", "--model", "cdae", "--factors", "8", "--set", "epochs=150"]
    succeed(*words, "-o", "whole.sureness", cwd=tmp_path)
    killed_once_there_is_a_checkpoint(words, tmp_path, "killed.sureness")
    assert told(*words, "-o", "killed.sureness", cwd=tmp_path)["resumed"]
    whole, killed = (
        open_run(tmp_path / f"{name}.sureness").source.score_block(np.arange(5)) for name in ("whole", "killed")
    )
    np.testing.assert_array_equal(whole, killed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.sureness", "log.csv", "whole.sureness"]


def test_tuning_tries_settings_and_leaves_nothing_beside_the_run(log, tmp_path):
    log.write_csv(tmp_path / "log.csv")
    first, second = (told("train", "log.csv", "--tune", 2, *QUICK, cwd=tmp_path) for _ in range(2))
    assert len(first["trials"]) == 2
    for trial in (*first["trials"], *second["trials"]):
        trial.pop("seconds")
    assert first["trials"] == second["trials"]
    assert first["trials"][0]["metric"] >= first["trials"][1]["metric"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "run.sureness"]


def test_a_saved_source_is_judged_and_calibrated(trained):
    opened = open_run(trained / "run.sureness")
    factors = opened.source.source_
    FactorSource(
        factors.user_factors, factors.item_factors, users=opened.source.users, items=opened.source.items
    ).save(trained / "source.sureness")  # fmt: skip
    parts = {name: f"{name}.parquet" for name in ("train", "validation", "test")}
    for name, path in parts.items():
        getattr(opened, name).table().write_parquet(trained / path)
    own = told("evaluate", "run.sureness", "--metric", "ndcg@10", cwd=trained)
    given = told(
        "evaluate", "source.sureness", "--test", parts["test"], "--seen", parts["train"], "--seen",
        parts["validation"], "--metric", "ndcg@10", cwd=trained,
    )  # fmt: skip
    assert given["ndcg@10"] == own["ndcg@10"]
    logs = ("--held-out", parts["validation"], "--seen", parts["train"])
    from_run = told("fit", "run.sureness", "-o", "a.json", cwd=trained)
    from_source = told("fit", "source.sureness", *logs, "-o", "b.json", cwd=trained)
    assert from_run["parameters"] == from_source["parameters"]


def test_the_source_of_a_run_is_a_part_of_its_file(trained):
    source = open_run(trained / "run.sureness/source")
    assert isinstance(source, Run)
    assert source.test is None
    whole = open_run(trained / "run.sureness").source
    np.testing.assert_array_equal(source.source.score_block(np.arange(3)), whole.score_block(np.arange(3)))


def test_preference_is_estimated_with_popularity_and_a_base_rate(trained):
    found = told(
        "fit", "run.sureness", "--set", "popularity_propensity=true", "--base-rate", 0.12, "-o", "c.json", cwd=trained
    )
    assert found["estimand"] == "preference"


@pytest.mark.parametrize(
    ("words", "error", "word"),
    [
        (["train", "nothing.csv"], FileError, "nothing.csv"),
        (["train", "ml-1n"], DataError, "ml-1m"),
        (["train", "log.csv", "--set", "speed=3"], SettingError, "speed"),
        (["train", "log.csv", "--set", "epochs=many"], SettingError, "epochs"),
        (["train", "log.csv", "--set", "epochs"], SettingError, "name=value"),
        (["train", "log.csv", "--device", "abacus"], SurenessError, "device"),
        (["train", "log.csv", "--columns", "user_id=who"], DataError, "'who'"),
        (["train", "log.csv", "--seed", "-1"], DataError, "seed"),
        (["train", "log.csv", "--option", "pair=x"], SettingError, "option"),
        (["train", "log.csv", "-o", "log.csv"], OutputError, ".sureness"),
        (["train", "log.csv", "-o", "folder"], OutputError, "folder"),
        (["train", "log.csv", "-o", "log.csv/run.sureness"], OutputError, "log.csv"),
        (["evaluate", "nowhere.sureness"], FileError, "nowhere.sureness"),
        (["evaluate", "folder"], FileError, "folder"),
        (["evaluate", "run.sureness", "--metric", "luck@5"], DataError, "luck@5"),
        (["evaluate", "run.sureness/source"], EmptyError, "test"),
        (["fit", "run.sureness/source"], EmptyError, "held_out"),
        (["fit", "run.sureness", "--columns", "segment=x"], SettingError, "segments"),
        (["fit", "log.csv", "--seen", "log.csv"], SettingError, "seen"),
        (["fit", "run.sureness", "--sampling-rate", "0.1"], SettingError, "sampling_rate"),
    ],
)
def test_bad_input_gets_one_sentence(trained, words, error, word):
    (trained / "folder").mkdir()
    before = sorted(trained.rglob("*"))
    refused(run(*words, cwd=trained), error, word)
    assert sorted(trained.rglob("*")) == before


def test_a_folder_of_an_earlier_version_is_refused(trained):
    model = trained / "old" / "model"
    model.mkdir(parents=True)
    (model / "manifest.json").write_text(json.dumps({"format": "sureness-model", "schema": 1}))
    for words in (["evaluate", "old"], ["fit", "old"], ["list-size", "old", "-o", "lists.csv"]):
        refused(run(*words, cwd=trained), FileError, "old")


@pytest.mark.parametrize("name", ["{}", "u{}"])
def test_ids_of_a_text_file_take_the_kind_of_the_run(log, tmp_path, name):
    """In a CSV file 7 may be a number or a name: which, the run decides and not the few rows of the other file."""
    named = log.with_columns(user_id=pl.format(name, "user_id"))
    pl.concat([named, named.head(1).with_columns(user_id=pl.lit("7"))]).write_csv(tmp_path / "log.csv")
    succeed("train", "log.csv", "-o", "run.sureness", *QUICK, cwd=tmp_path)
    seen = [*log.filter(user_id=7)["item_id"], log["item_id"][0]]  # by the user 7, whichever of the two it is
    items = log.filter(~pl.col("item_id").is_in(seen))["item_id"].unique().sort().head(2).to_list()
    pl.DataFrame({"user_id": ["7", "7"], "item_id": items}).write_csv(tmp_path / "known.csv")
    pl.DataFrame({"user_id": ["7", "007"], "item_id": items}).write_csv(tmp_path / "half.csv")

    known, half = (
        told("evaluate", "run.sureness", "--test", f"{file}.csv", cwd=tmp_path) for file in ("known", "half")
    )

    assert known["users"] == half["users"] == 1
    assert known["notes"] == []
    assert half["notes"] == ["1 of 2 pairs had an unknown user or item and were dropped"]


def test_what_is_not_known_of_other_logs_is_told(trained):
    pl.DataFrame({"user_id": [0, 99_999], "item_id": [1, 1]}).write_csv(trained / "seen.csv")
    judged = told("evaluate", "run.sureness", "--seen", "seen.csv", cwd=trained)
    assert judged["notes"] == ["seen.csv: 1 of 2 pairs had an unknown user or item and were dropped"]
    succeed("fit", "run.sureness", "--method", "platt", "-o", "platt.json", cwd=trained)
    done = run("apply", "platt.json", "run.sureness", "--seen", "seen.csv", "-o", "top.csv", cwd=trained)
    assert done.returncode == 0
    assert "1 of 2 pairs had an unknown user or item" in " ".join(done.stderr.split())


def test_domains_are_read_from_their_column_by_every_command(log, tmp_path):
    shops = log.with_columns(shop=pl.when(pl.col("item_id") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b")))
    shops.write_csv(tmp_path / "log.csv")
    succeed("train", "log.csv", "--columns", "domain=shop", "-o", "run.sureness", *QUICK, cwd=tmp_path)
    words = ("evaluate", "run.sureness", "--test", "log.csv", "--columns", "domain=shop", "--json")
    assert json.loads(succeed(*words, cwd=tmp_path))["notes"] == []


def test_a_test_item_that_training_never_meets_is_told(tmp_path):
    rows = [(user, item, user * 10 + item) for user in range(8) for item in range(6)] + [(0, 99, 10_000)]
    pl.DataFrame(rows, schema=["user_id", "item_id", "time"], orient="row").write_csv(tmp_path / "log.csv")
    words = ("train", "log.csv", "--split", "leave-one-out", "-o", "run.sureness", "--json", *QUICK)
    notes = json.loads(succeed(*words, cwd=tmp_path))["notes"]
    assert any(note.startswith("2 items of the test have no training pair") for note in notes)


def test_a_log_is_trained_on_its_past(log, tmp_path):
    times = np.random.default_rng(0).permutation(log.height)
    log.with_columns(time=pl.Series(times)).write_csv(tmp_path / "log.csv")
    words = ("--split", "time", "--split", "validation_from=300", "--split", "test_from=400")
    found = told("train", "log.csv", *words, "-o", "run.sureness", *QUICK, cwd=tmp_path)
    assert found["data"]["test_from"] == "400"
    opened = open_run(tmp_path / "run.sureness")
    assert opened.train.times.max() < 300 <= opened.validation.times.min()
    assert opened.test.times.min() >= 400
    succeed("fit", "run.sureness", "--method", "platt", "-o", "platt.json", cwd=tmp_path)
    assert load(tmp_path / "platt.json").horizon_.period == 100


def test_a_checkpoint_of_another_run_is_refused(trained):
    words = ["train", "log.csv", "--model", "neumf", "--set", "epochs=400", "--factors"]
    killed_once_there_is_a_checkpoint([*words, "8"], trained, "other.sureness")
    refused(run(*words, "4", "-o", "other.sureness", cwd=trained), CheckpointError, "n_factors")
