from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from dataclasses import replace
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import polars as pl
import pytest

from sureness.data import movielens as movielens_recipes
from sureness.data.recipes import Address, recipe_names
from sureness.errors import ColumnError, DataError, FileError, SettingError, SurenessError
from tests.cli.runner import refused, run, succeed, told


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SURENESS_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def log(tmp_path):
    """A file as people have them: other names, repeated rows, a missing id, times as text and out of order."""
    rng = np.random.default_rng(0)
    users = [f"üser {user}" for user in rng.integers(0, 30, 600)]
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 1), eager=True).sample(
        600, with_replacement=True, seed=0
    )
    table = pl.DataFrame({"who": [None, *users[1:]], "what": rng.integers(0, 40, 600), "when": days.cast(pl.String)})
    table.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


@pytest.fixture
def movielens(tmp_path, monkeypatch):
    """The recipe of MovieLens 1M, served over loopback."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((25, 60)) < 0.6)
    rows = "".join(
        f"{u + 1}::{i + 1}::{rng.integers(1, 6)}::{9**9 + k}\n"
        for k, (u, i) in enumerate(zip(users, items, strict=True))
    )
    (tmp_path / "www").mkdir()
    with zipfile.ZipFile(tmp_path / "www" / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/ratings.dat", rows)

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "www")))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    checksum = hashlib.sha256((tmp_path / "www" / "ml-1m.zip").read_bytes()).hexdigest()
    address = Address(f"http://127.0.0.1:{server.server_port}/ml-1m.zip", "ml-1m.zip", f"sha256:{checksum}")
    monkeypatch.setattr(movielens_recipes, "ML_1M", replace(movielens_recipes.ML_1M, addresses=(address,)))
    yield len(users)
    server.shutdown()
    server.server_close()
    thread.join()


# --- list ----------------------------------------------------------------------------------------------------------


def test_every_recipe_is_listed(tmp_path):
    shown = succeed("data", "list", cwd=tmp_path)
    for name in recipe_names():
        assert name in shown
    assert "no redistribution" in shown


def test_the_list_says_where_each_would_come_from(tmp_path, monkeypatch):
    (tmp_path / "data" / "coat").mkdir(parents=True)
    (tmp_path / "data" / "coat" / "interactions.tsv").write_text("user\titem\n1\t1\n")
    monkeypatch.setenv("SURENESS_DATA", str(tmp_path / "data"))
    listed = {each["name"]: each for each in json.loads(succeed("data", "list", "--json", cwd=tmp_path))["datasets"]}
    assert listed["coat"]["found"] == "folder"
    assert listed["coat"]["place"] == str(tmp_path / "data" / "coat")
    assert listed["ml-1m"]["found"] == "download"
    assert listed["yahoo-r3"]["found"] == "by hand"
    assert listed["ml-100k"]["interactions"] == 100_000


def test_a_damaged_download_does_not_stop_the_list(tmp_path):
    (tmp_path / "cache" / "ml-1m").mkdir(parents=True)
    (tmp_path / "cache" / "ml-1m" / "ml-1m.zip").write_text("half an archive")
    listed = {each["name"]: each for each in json.loads(succeed("data", "list", "--json", cwd=tmp_path))["datasets"]}
    assert listed["ml-1m"]["found"] == "damaged"


# --- fetch ---------------------------------------------------------------------------------------------------------


def test_a_set_is_fetched_into_the_cache_and_then_used(tmp_path, movielens):
    fetched = json.loads(succeed("data", "fetch", "ml-1m", "--json", cwd=tmp_path))
    assert fetched["place"] == str(tmp_path / "cache" / "ml-1m")
    described = json.loads(succeed("data", "describe", "ml-1m", "--json", cwd=tmp_path))
    assert described["statistics"]["interactions"] == movielens
    assert "ml-1m is in" in succeed("data", "fetch", "ml-1m", cwd=tmp_path)


def test_describing_fetches_what_is_missing(tmp_path, movielens):
    shown = succeed("data", "describe", "ml-1m", cwd=tmp_path)
    assert "Split by the protocol ratio, seed 0" in shown
    assert "no redistribution" in shown


def test_a_set_can_be_copied_from_a_folder(tmp_path, movielens):
    place = succeed("data", "fetch", "ml-1m", "--from", tmp_path / "www", "--to", "mine", "--json", cwd=tmp_path)
    assert json.loads(place)["place"] == "mine"
    assert (tmp_path / "mine" / "ml-1m.zip").exists()
    described = json.loads(succeed("data", "describe", "ml-1m", "--from", "mine", "--json", cwd=tmp_path))
    assert described["statistics"]["interactions"] == movielens


@pytest.mark.parametrize(
    ("words", "error", "word"),
    [
        (["fetch", "ml1m"], DataError, "ml-1m"),
        (["fetch", "yahoo-r3"], SurenessError, "R3"),
        (["fetch", "coat", "--from", "."], FileError, "train.ascii"),
        (["describe", "nothing.csv"], FileError, "nothing.csv"),
        (["describe", "coats"], DataError, "coat?"),
        (["describe", "coat", "--from", "nowhere"], FileError, "nowhere"),
        (["describe", "citeulike-bd", "--option", "artefact"], SettingError, "artefact"),
        (["describe", "citeulike-bd", "--option", "artefact=maybe"], DataError, "maybe"),
        (["describe", "citeulike-bd", "--option", "colour=red"], DataError, "colour"),
        (["describe", "open-bandit-small"], DataError, "interactions"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, words, error, word):
    refused(run("data", *words, cwd=tmp_path), error, word)


# --- describe ------------------------------------------------------------------------------------------------------


def test_any_file_can_be_described(tmp_path, log):
    columns = ["--columns", "user_id=who", "--columns", "item_id=what", "--columns", "time=when"]
    described = json.loads(succeed("data", "describe", log, *columns, "--json", cwd=tmp_path))
    assert described["statistics"]["users"] == 30
    assert described["notes"][0] == "1 of 600 rows had no user or no item and were dropped"
    assert "repeated a pair; the latest one was kept" in described["notes"][1]
    assert sum(part["interactions"] for part in described["split"]["parts"]) == described["statistics"]["interactions"]
    shown = succeed("data", "describe", log, *columns, "--split", "leave-one-out", cwd=tmp_path)
    assert "Split by the protocol leave-one-out" in shown


def test_a_file_is_described_as_cut_by_time(tmp_path, log):
    words = ("data", "describe", log, "--columns", "user_id=who", "--columns", "item_id=what")
    timed = (*words, "--columns", "time=when")
    assert any("ignores the times" in note for note in told(*timed, cwd=tmp_path)["notes"])
    cuts = ("--split", "time", "--split", "validation_from=2020-02-01", "--split", "test_from=2020-02-15")
    table = pl.read_csv(log, try_parse_dates=True).drop_nulls("who")
    part = pl.sum_horizontal(pl.col("when") >= start for start in (date(2020, 2, 1), date(2020, 2, 15)))
    table = table.with_columns(part=part)
    parts = table.unique(["who", "what", "part"]).group_by("part").len().sort("part")["len"].to_list()
    found = told(*timed, *cuts, cwd=tmp_path)["split"]
    assert found["protocol"] == "time"
    assert [each["interactions"] for each in found["parts"]] == parts  # distinct in each part
    ordered = told(*timed, "--split", "time", "--split", "share_of=user", "--split", "test_share=0.1", cwd=tmp_path)[
        "split"
    ]
    assert ordered["parts"][2]["interactions"] / table.height == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--split", "time"], ColumnError),
        (["--split", "ratio", "--split", "test_share=0.2"], SettingError),
        (["--split", "test_from=2020-02-01"], SettingError),
        (["--columns", "time=when", "--split", "time", "--split", "test_from=soon"], SettingError),
        (["--columns", "time=when", "--split", "time", "--split", "test_from=2021-02-01"], SettingError),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_cut_there_gets_one_sentence(tmp_path, log, words, error):
    named = ("--columns", "user_id=who", "--columns", "item_id=what")
    refused(run("data", "describe", log, *named, *words, cwd=tmp_path), error)


def test_a_set_too_small_for_its_filter_is_still_described(tmp_path):
    (tmp_path / "citeulike-a").mkdir()
    (tmp_path / "citeulike-a" / "users.dat").write_text("2 1 2\n1 1\n")
    described = json.loads(succeed("data", "describe", "citeulike-a", "--from", ".", "--json", cwd=tmp_path))
    assert described["statistics"]["interactions"] == 3
    assert described["split"]["parts"] == []
    assert described["notes"][-1].startswith("not split: expected interactions that pass the filter")
    assert "not split" in succeed("data", "describe", "citeulike-a", "--from", ".", cwd=tmp_path)
    words = ("data", "describe", "citeulike-a", "--from", ".", "--split", "ratio")
    refused(run(*words, cwd=tmp_path), DataError, "19")


def test_a_file_with_other_columns_says_which_option_helps(tmp_path, log):
    refused(run("data", "describe", log, cwd=tmp_path), DataError, "--columns user_id=")
    words = ("data", "describe", log, "--columns", "user_id=who", "--columns", "item_id=what", "--split", "given")
    refused(run(*words, cwd=tmp_path), DataError, "given")
    assert run("data", "describe", log, "--split", "random", cwd=tmp_path).returncode == 2


def test_a_real_set_is_described(tmp_path, data_folder):
    described = json.loads(succeed("data", "describe", "coat", "--from", data_folder, "--json", cwd=tmp_path))
    assert described["parts"]["train"]["interactions"] == 6_960
    assert "366 pairs are in both train and test" in described["notes"]
    kept = succeed("data", "describe", "citeulike-bd", "--from", data_folder, "--option", "artefact=true", cwd=tmp_path)
    assert "130,788" in kept


# --- registering ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["list", "fetch", "describe"])
def test_commands_are_found_by_all_their_words(tmp_path, word):
    assert run(word, cwd=tmp_path).returncode == 2
    assert "Usage" in succeed("data", word, "--help", cwd=tmp_path)
    refused(run("fit", word, "-o", "x.json", cwd=tmp_path), FileError, word)


def test_the_help_names_all_commands(tmp_path):
    shown = succeed("data", "--help", cwd=tmp_path)
    assert all(word in shown for word in ("list", "fetch", "describe", "simulate"))
