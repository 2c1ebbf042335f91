"""What a probability is about is shown wherever a map is, and a test of another length is said."""

from __future__ import annotations

import polars as pl
import pytest

import sureness as sn
from tests.cli.runner import run, succeed, told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose test holds three times as much as its validation part."""
    folder = tmp_path_factory.mktemp("horizon")
    world = sn.simulate(sn.SimulatorSettings(n_users=120, n_items=50, preference_rate=0.4, seed=3))
    log = sn.Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = sn.by_ratio(log, (0.6, 0.1, 0.3), seed=0)
    sn.recommender.Run(sn.svd_source(split.train, n_factors=4), **split.parts).save(folder / "run.sureness")
    return folder


def test_a_fitted_map_says_what_it_is_about(folder):
    found = told("fit", "run.sureness", "--method", "platt", "-o", "map.json", cwd=folder)
    assert found["horizon"]["log_share"] == pytest.approx(0.1, abs=0.03)
    assert found["horizon"]["population"] == "unseen"
    assert told("inspect", "map.json", cwd=folder)["about"]["horizon"] == found["horizon"]
    words = " ".join(succeed("inspect", "map.json", cwd=folder).split())
    assert "of the log" in words
    assert "unseen pairs" in words


def test_lists_that_are_judged_by_a_longer_test_say_so(folder):
    done = run("list-size", "run.sureness", "-o", "lists.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("so what they promise is converted to") == 1


def test_a_page_says_what_its_maps_are_about(folder):
    succeed("fit", "run.sureness", "--method", "platt", "-o", "map.json", cwd=folder)
    run_ = sn.load(folder / "run.sureness")
    pairs = sn.CalibrationSet.from_source(run_.source, run_.validation, seen=run_.train).gather()
    table = {"user_id": pairs.users, "score": pairs.scores, "label": pairs.labels.astype(int)}
    pl.DataFrame(table).write_csv(folder / "pairs.csv")
    succeed("report", "pairs.csv", "map.json", "-o", "page.html", cwd=folder)
    assert "unseen pairs, in a period" in (folder / "page.html").read_text()
