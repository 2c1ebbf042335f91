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


@pytest.mark.parametrize("by_time", [False, True])
def test_lists_and_pairs_of_a_run_say_why_their_probabilities_differ(folder, tmp_path, by_time):
    """A pair has one probability in the period of the labels, and another in the next one, which lists are for.

    Labels that were cut by time tell the next period as it is.
    """
    run_ = sn.load(folder / "run.sureness")
    if by_time:
        log = sn.data.union([run_.train, run_.validation, run_.test]).table()
        log = sn.Interactions.from_table(log.with_columns(time=pl.int_range(pl.len()).shuffle(seed=1)))
        split = sn.by_time(log, validation_from=len(log) * 6 // 10, test_from=len(log) * 8 // 10)
        run_ = sn.recommender.Run(sn.svd_source(split.train, n_factors=4), **split.parts)
    folder = tmp_path
    run_.save(folder / "run.sureness")
    succeed("fit", "run.sureness", "--method", "lists", "-o", "lists.json", cwd=folder)
    labelled, following = sn.calibration.Horizon().sentence, sn.calibration.Horizon().following().sentence
    applied = ("apply", "lists.json", "run.sureness", "-o", "top.parquet")
    cut = ("list-size", "run.sureness", "--calibrator", "lists.json", "-o", "lists.parquet")
    assert succeed(*applied, cwd=folder).splitlines()[1:] == (
        [] if by_time else [f"the lists of `sureness list-size` have other numbers, those of an item {following}"]
    )
    said = (
        f"a probability in these lists is that of an item {following}; `sureness apply` gives other numbers, those of "
        f"an item {labelled}\n"
    )
    assert succeed(*cut, cwd=folder).count(said) == (0 if by_time else 1)
    assert told(*cut, cwd=folder)["meaning"] == following
    keys = ["user_id", "item_id"]
    lists, pairs = (pl.read_parquet(folder / name) for name in ("lists.parquet", "top.parquet"))
    both = lists.join(pairs, on=keys, suffix="_of_pair")
    assert both.height > 100
    same = (both["probability"] - both["probability_of_pair"]).abs().max() < 1e-9
    assert same == by_time


def test_a_table_has_one_probability_of_a_pair(folder):
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "probability": [0.5, 0.2]}).write_csv(folder / "p.csv")
    assert "apply" not in succeed("list-size", "p.csv", "--utility", "tp", "-o", "o.csv", cwd=folder)


def test_a_page_says_what_its_maps_are_about(folder):
    succeed("fit", "run.sureness", "--method", "platt", "-o", "map.json", cwd=folder)
    run_ = sn.load(folder / "run.sureness")
    pairs = sn.CalibrationSet.from_source(run_.source, run_.validation, seen=run_.train).gather()
    table = {"user_id": pairs.users, "score": pairs.scores, "label": pairs.labels.astype(int)}
    pl.DataFrame(table).write_csv(folder / "pairs.csv")
    succeed("report", "pairs.csv", "map.json", "-o", "page.html", cwd=folder)
    assert "unseen pairs, in a period" in (folder / "page.html").read_text()
