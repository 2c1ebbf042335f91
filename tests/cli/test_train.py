"""From a log on disk to lists with probabilities, by commands alone."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest

from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.models.runs import load_run
from sureness.sources.base import FactorSource
from sureness.sources.saving import save_source
from tests.cli.runner import COMMAND, run, succeed

QUICK = ("--set", "epochs=6", "--set", "validate_every=2", "--factors", "8")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    world = simulate(SimulatorSettings(n_users=150, n_items=60, exposure_rate=0.3, seed=2))
    return Interactions.from_matrix(world.train).table()


@pytest.fixture
def trained(log, tmp_path):
    log.write_csv(tmp_path / "log.csv")
    succeed("train", "--data", "log.csv", "--model", "bpr", "-o", "run", *QUICK, cwd=tmp_path)
    return tmp_path


def test_a_log_becomes_lists_with_probabilities_by_four_commands(trained, log):
    judged = json.loads(succeed("evaluate", "run", "--metric", "ndcg@10", "--json", cwd=trained))
    succeed("fit", "run", "--method", "platt", "-o", "platt.json", cwd=trained)
    succeed("apply", "platt.json", "run", "--top", 5, "-o", "top.parquet", cwd=trained)

    lists = pl.read_parquet(trained / "top.parquet")
    assert 0.05 < judged["ndcg@10"] < 1
    assert lists.columns == ["user_id", "rank", "item_id", "score", "probability"]
    assert lists.group_by("user_id").len()["len"].max() == 5
    assert lists["probability"].is_between(0, 1).all()
    opened = load_run(trained / "run")
    seen = opened.seen().table().select("user_id", "item_id")
    assert lists.join(seen, on=["user_id", "item_id"], how="semi").is_empty()
    assert len(opened.train) + len(opened.validation) + len(opened.test) == log.height


def test_the_same_command_gives_the_same_model(trained):
    succeed("train", "--data", "log.csv", "--model", "bpr", "-o", "again", *QUICK, cwd=trained)
    first, second = (load_run(trained / name).source.score_block(np.arange(3)) for name in ("run", "again"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("model", ["ubpr", "neumf", "cml", "lightgcn", "cdae"])
def test_every_model_trains_and_is_judged(log, tmp_path, model):
    log.write_parquet(tmp_path / "log.parquet")
    told = json.loads(
        succeed("train", "--data", "log.parquet", "--model", model, "-o", "run", *QUICK, "--json", cwd=tmp_path)
    )
    assert told["epochs"] == 6
    assert 0 < told["test"]["ndcg@50"] <= 1
    assert told["parameters"] > 0


def test_an_odd_log_is_cleaned_and_it_is_said_what_went(log, tmp_path):
    odd = log.select(
        user_id=pl.format("Zoë {}", "user_id"), item_id=pl.format("薔薇/{}", "item_id"),
        time=pl.Series(np.random.default_rng(0).permutation(log.height)),
    )  # fmt: skip
    once = pl.DataFrame({"user_id": ["single"], "item_id": ["薔薇/1"], "time": [5]})
    nobody = pl.DataFrame({"user_id": [None], "item_id": ["薔薇/1"], "time": [6]}, schema=odd.schema)
    pl.concat([odd, once, nobody, odd.head(40)]).write_csv(tmp_path / "odd.csv")

    told = succeed(
        "train", "--data", "odd.csv", "-o", "run", "--protocol", "leave-one-out", *QUICK, cwd=tmp_path
    )  # fmt: skip

    said = " ".join(told.split())
    assert "1 of 555 rows had no user or no item" in said
    assert "40 of 554 rows repeated a pair" in said
    assert "fewer than 3" in said
    opened = load_run(tmp_path / "run")
    assert "single" in opened.source.users.ids.to_list()
    users = opened.test.table()["user_id"]
    assert len(users) == users.n_unique()
    last = odd.sort("time").group_by("user_id").last().filter(pl.col("user_id").is_in(users.implode()))
    both = opened.test.table().join(last.select("user_id", "item_id"), on=["user_id", "item_id"], how="inner")
    assert len(both) == len(users)


def killed_once_there_is_a_checkpoint(words, folder, output):
    """Start a training, and kill it as soon as it has written down where it is."""
    process = subprocess.Popen([*COMMAND, *words, "-o", output, "--checkpoint-seconds", "0"], cwd=folder)
    checkpoint = folder / output / "checkpoint"
    for _ in range(600):
        time.sleep(0.05)
        if checkpoint.exists():
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert checkpoint.exists()


def test_a_killed_training_goes_on_to_the_same_model(log, tmp_path):
    log.write_csv(tmp_path / "log.csv")
    words = ["train", "--data", "log.csv", "--model", "cdae", "--factors", "8", "--set", "epochs=150"]
    succeed(*words, "-o", "whole", cwd=tmp_path)
    killed_once_there_is_a_checkpoint(words, tmp_path, "killed")
    told = json.loads(succeed(*words, "-o", "killed", "--json", cwd=tmp_path))
    whole, killed = (load_run(tmp_path / name).source.score_block(np.arange(5)) for name in ("whole", "killed"))
    np.testing.assert_array_equal(whole, killed)
    assert told["resumed"]
    assert not (tmp_path / "killed" / "checkpoint").exists()


def test_tuning_tries_settings_and_remembers_them(log, tmp_path):
    log.write_csv(tmp_path / "log.csv")
    words = ("train", "--data", "log.csv", "-o", "run", "--tune", 2, *QUICK, "--json")
    first, second = (json.loads(succeed(*words, cwd=tmp_path)) for _ in range(2))
    assert len(first["trials"]) == 2
    assert first["trials"] == second["trials"]
    assert first["trials"][0]["metric"] >= first["trials"][1]["metric"]


def test_a_saved_source_is_judged_and_calibrated(trained):
    opened = load_run(trained / "run")
    save_source(
        FactorSource(
            opened.source.source_.user_factors, opened.source.source_.item_factors,
            users=opened.source.users, items=opened.source.items,
        ),
        trained / "source",
    )  # fmt: skip
    parts = {name: f"run/split/{name}.parquet" for name in ("train", "validation", "test")}
    own = json.loads(succeed("evaluate", "run", "--metric", "ndcg@10", "--json", cwd=trained))
    given = json.loads(
        succeed("evaluate", "source", "--test", parts["test"], "--seen", parts["train"], "--seen", parts["validation"],
                "--metric", "ndcg@10", "--json", cwd=trained)
    )  # fmt: skip
    assert given["ndcg@10"] == own["ndcg@10"]
    from_run = json.loads(succeed("fit", "run", "-o", "a.json", "--json", cwd=trained))
    from_source = json.loads(
        succeed("fit", "source", "--held-out", parts["validation"], "--train", parts["train"], "-o", "b.json", "--json",
                cwd=trained)
    )  # fmt: skip
    assert from_run["parameters"] == from_source["parameters"]


def test_preference_is_estimated_with_popularity_and_a_base_rate(trained):
    told = json.loads(
        succeed("fit", "run", "--popularity-propensity", "--base-rate", 0.12, "-o", "c.json", "--json", cwd=trained)
    )
    assert told["estimand"] == "preference"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "--data", "nothing.csv"], "there is no such file"),
        (["train", "--data", "ml-1n"], "ml-1m"),
        (["train", "--data", "log.csv", "--set", "speed=3"], "no setting 'speed'"),
        (["train", "--data", "log.csv", "--set", "epochs=many"], "epochs must be like"),
        (["train", "--data", "log.csv", "--set", "epochs"], "name=value"),
        (["train", "--data", "log.csv", "--device", "abacus"], "device must be"),
        (["train", "--data", "log.csv", "--user-column", "who"], "'who'"),
        (["evaluate", "nowhere"], "cannot read nowhere"),
        (["evaluate", "run", "--metric", "luck@5"], "'luck@5'"),
        (["evaluate", "run/model"], "no test part"),
        (["fit", "run/model"], "held_out"),
        (["fit", "run", "--segment-column", "x"], "segments"),
        (["fit", "log.csv", "--train", "log.csv"], "train"),
        (["fit", "run", "--sampling-rate", "0.1"], "sampling_rate"),
        (["train", "--data", "log.csv", "--seed", "-1"], "seed must be a whole number of 0 or more, got -1"),
        (["train", "--data", "log.csv", "--option", "pair=x"], "belong to a data set that is read by name"),
        (["train", "--data", "log.csv", "-o", "log.csv"], "it is a file; give the name of a folder"),
        (["evaluate", "nowhere"], "there is no such folder"),
    ],
)
def test_bad_input_gets_one_sentence(trained, words, expected):
    done = run(*words, cwd=trained)
    assert done.returncode == 1
    assert expected in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_folder_that_the_model_could_not_go_to_is_refused_before_training(trained):
    (trained / "busy" / "model").mkdir(parents=True)
    (trained / "busy" / "model" / "mine.txt").write_text("hello")
    done = run("train", "--data", "log.csv", "-o", "busy", *QUICK, cwd=trained)
    assert done.returncode == 1
    assert "other files (mine.txt)" in done.stderr
    assert [file.name for file in (trained / "busy").iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["{}", "u{}"])
def test_ids_of_a_text_file_take_the_kind_of_the_run(log, tmp_path, name):
    """In a CSV file 7 may be a number or a name: which, the run decides and not the few rows of the other file."""
    named = log.with_columns(user_id=pl.format(name, "user_id"))
    pl.concat([named, named.head(1).with_columns(user_id=pl.lit("7"))]).write_csv(tmp_path / "log.csv")
    succeed("train", "--data", "log.csv", "-o", "run", *QUICK, cwd=tmp_path)
    items = log["item_id"].head(2).to_list()
    pl.DataFrame({"user_id": ["7", "7"], "item_id": items}).write_csv(tmp_path / "known.csv")
    pl.DataFrame({"user_id": ["7", "007"], "item_id": items}).write_csv(tmp_path / "half.csv")

    known, half = (
        json.loads(succeed("evaluate", "run", "--test", f"{file}.csv", "--json", cwd=tmp_path))
        for file in ("known", "half")
    )

    assert known["users"] == half["users"] == 1
    assert known["notes"] == []
    assert half["notes"] == ["1 of 2 pairs had an unknown user or item and were dropped"]


def test_what_is_not_known_of_other_logs_is_told(trained):
    pl.DataFrame({"user_id": [0, 99_999], "item_id": [1, 1]}).write_csv(trained / "seen.csv")
    judged = json.loads(succeed("evaluate", "run", "--seen", "seen.csv", "--json", cwd=trained))
    assert judged["notes"] == ["seen.csv: 1 of 2 pairs had an unknown user or item and were dropped"]
    succeed("fit", "run", "--method", "platt", "-o", "platt.json", cwd=trained)
    done = run("apply", "platt.json", "run", "--seen", "seen.csv", "-o", "top.csv", cwd=trained)
    assert done.returncode == 0
    assert "1 of 2 pairs had a user or an item that is not known" in " ".join(done.stderr.split())


def test_domains_are_read_from_their_column_by_every_command(log, tmp_path):
    shops = log.with_columns(shop=pl.when(pl.col("item_id") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b")))
    shops.write_csv(tmp_path / "log.csv")
    succeed("train", "--data", "log.csv", "--domain-column", "shop", "-o", "run", *QUICK, cwd=tmp_path)
    words = ("evaluate", "run", "--test", "log.csv", "--domain-column", "shop", "--json")
    assert json.loads(succeed(*words, cwd=tmp_path))["notes"] == []


def test_a_test_item_that_training_never_meets_is_told(tmp_path):
    rows = [(user, item, user * 10 + item) for user in range(8) for item in range(6)] + [(0, 99, 10_000)]
    pl.DataFrame(rows, schema=["user_id", "item_id", "time"], orient="row").write_csv(tmp_path / "log.csv")
    words = ("train", "--data", "log.csv", "--protocol", "leave-one-out", "-o", "run", "--json", *QUICK)
    notes = json.loads(succeed(*words, cwd=tmp_path))["notes"]
    assert any(note.startswith("2 items of the test have no training pair") for note in notes)


def test_a_checkpoint_of_another_run_is_refused(trained):
    words = ["train", "--data", "log.csv", "--model", "neumf", "--set", "epochs=400", "--factors"]
    killed_once_there_is_a_checkpoint([*words, "8"], trained, "other")
    done = run(*words, "4", "-o", "other", cwd=trained)
    assert done.returncode == 1
    assert "n_factors" in done.stderr
