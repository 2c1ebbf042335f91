"""sureness list-size as a user runs it: on tables of probabilities, and on folders with a recommender."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.data.splitting import by_ratio
from sureness.errors import DamagedError, DataError, EmptyError, FileError, OutputError, SettingError, SurenessError
from sureness.jobs import blocks
from sureness.jobs.deciding import Tally, decide_block
from sureness.lists.expectation import expected_utility
from sureness.lists.policies import ExpectedUtility
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.run import Run, open_run
from tests.cli.runner import refused, run, succeed


def told(*words, cwd):
    return json.loads(succeed("list-size", *words, "--json", cwd=cwd))


def candidates(n_users=30, n_items=40, seed=0):
    """All candidates of some users, the best first; everyone has seen another number of items."""
    rng = np.random.default_rng(seed)
    parts = []
    for user in range(n_users):
        length = n_items - user % 7
        p = np.sort(rng.beta(0.6, 5, length))[::-1]
        parts.append(pl.DataFrame({"user_id": user, "item_id": rng.permutation(n_items)[:length], "probability": p}))
    return pl.concat(parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = candidates().with_columns(title=pl.format("item {}", "item_id"))
    table.write_parquet(folder / "p.parquet")
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(folder / "shuffled.parquet")
    table.write_csv(folder / "p.csv")
    table.filter(pl.col("probability").rank("ordinal", descending=True).over("user_id") <= 10).write_parquet(
        folder / "top10.parquet"
    )
    return folder


# --- tables ---------------------------------------------------------------------------------------------------------


def test_what_was_seen_is_left_out_of_a_table(folder, tmp_path):
    pl.read_parquet(folder / "p.parquet").head(5).select("user_id", "item_id").write_csv(tmp_path / "seen.csv")
    words = (folder / "p.parquet", "-o", "lists.parquet", "--threshold", "0.001")
    everything, unseen = told(*words, cwd=tmp_path), told(*words, "--seen", "seen.csv", cwd=tmp_path)
    assert unseen["left_out"] == 5
    assert everything["rows"] - unseen["rows"] == 5
    refused(run("list-size", *words, "--test", "seen.csv", cwd=tmp_path), SettingError, "--test")


def test_lists_are_those_of_the_library(folder, tmp_path):
    result = told(folder / "p.parquet", "-o", "lists.parquet", "--max-size", "20", cwd=tmp_path)
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists.columns == ["user_id", "item_id", "probability", "title", "rank", "list_size", "expected_utility",
                             "expected_hits"]  # fmt: skip
    for (user,), mine in pl.read_parquet(folder / "p.parquet").group_by("user_id"):
        worth = expected_utility(mine["probability"].to_numpy()[None], "f1", max_size=20)[0]
        found = lists.filter(user_id=user)
        assert found.height == np.argmax(worth) + 1
        assert found["item_id"].to_list() == mine["item_id"].to_list()[: found.height]
        assert found["rank"].to_list() == list(range(1, found.height + 1))
        assert_allclose(found["expected_utility"], worth.max())
    assert result["users"] == 30
    assert result["rows"] == lists.height
    assert_allclose(result["list_size"]["mean"], lists.height / 30)


@pytest.mark.parametrize("batch", [1, 7, 50, 100_000])
def test_a_sorted_table_is_read_in_batches_whatever_their_size(folder, tmp_path, monkeypatch, batch):
    monkeypatch.setattr(blocks, "BATCH_ROWS", batch)
    result = told(folder / "p.parquet", "-o", "lists.parquet", cwd=tmp_path)
    assert result["read"] == "in batches"
    monkeypatch.undo()
    told(folder / "p.parquet", "-o", "whole.parquet", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "lists.parquet").equals(pl.read_parquet(tmp_path / "whole.parquet"))


def test_a_shuffled_table_gives_the_same_lists_and_it_is_said(folder, tmp_path):
    succeed("list-size", folder / "p.parquet", "-o", "a.parquet", cwd=tmp_path)
    done = run("list-size", folder / "shuffled.parquet", "-o", "b.parquet", cwd=tmp_path)
    assert done.returncode == 0
    assert "30 users" in done.stderr
    assert "read into memory: the rows are not sorted by user" in " ".join(done.stdout.split())
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))


def test_equal_probabilities_stay_in_the_order_of_the_file(tmp_path):
    table = pl.DataFrame({"user_id": ["u"] * 3, "item_id": ["c", "a", "b"], "probability": [0.5, 0.5, 0.9]})
    table.write_csv(tmp_path / "t.csv")
    succeed("list-size", "t.csv", "-o", "o.csv", "--policy", "min_size=3", cwd=tmp_path)
    assert pl.read_csv(tmp_path / "o.csv")["item_id"].to_list() == ["b", "c", "a"]


def test_one_user_is_no_plural(tmp_path):
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "probability": [0.2, 0.9]}).write_csv(tmp_path / "t.csv")
    assert "the rows of 1 user were" in run("list-size", "t.csv", "-o", "o.csv", cwd=tmp_path).stderr


def test_columns_keep_their_names(folder, tmp_path):
    table = pl.read_parquet(folder / "p.parquet").rename({"user_id": "who", "item_id": "what", "probability": "p"})
    table.write_csv(tmp_path / "t.tsv", separator="\t")
    columns = ("--columns", "user_id=who", "--columns", "item_id=what", "--columns", "probability=p")
    succeed("list-size", "t.tsv", *columns, "-o", "o.parquet", cwd=tmp_path)
    succeed("list-size", folder / "p.csv", "-o", "same.parquet", cwd=tmp_path)
    mine, same = pl.read_parquet(tmp_path / "o.parquet"), pl.read_parquet(tmp_path / "same.parquet")
    assert mine.columns[:3] == ["who", "what", "p"]
    assert mine.rows() == same.rows()
    succeed("list-size", "t.tsv", *columns, "-o", "s.parquet", "--sizes-only", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "s.parquet").columns == [
        "who",
        "list_size",
        "expected_utility",
        "expected_hits",
        "unsure",
    ]


def test_nobody_is_missing_from_the_sizes_and_users_not_worth_it_are_unsure(folder, tmp_path):
    words = (folder / "p.parquet", "--utility", "pdcg", "--policy", "min_size=0")
    result = told(*words, "-o", "sizes.csv", "--sizes-only", cwd=tmp_path)
    sizes = pl.read_csv(tmp_path / "sizes.csv")
    assert sizes["user_id"].to_list() == list(range(30))
    none = sizes.filter(list_size=0)
    assert 0 < none.height < 30
    assert none["unsure"].all()
    assert none["expected_utility"].to_list() == [0.0] * none.height
    told(*words, "-o", "lists.csv", cwd=tmp_path)
    shown = pl.read_csv(tmp_path / "lists.csv")["user_id"].unique()
    assert set(shown) == set(sizes.filter(pl.col("list_size") > 0)["user_id"])
    assert result["without_list"] == result["unsure"] == none.height


def test_lists_end_where_the_candidates_end(tmp_path):
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "probability": [0.9, 0.8]}).write_parquet(
        tmp_path / "t.parquet"
    )
    result = told("t.parquet", "-o", "o.parquet", "--policy", "min_size=5", "--max-size", "500", cwd=tmp_path)
    assert result["list_size"] == {"mean": 2.0, "smallest": 2.0, "median": 2.0, "largest": 2.0}


def test_a_number_of_relevant_items_and_a_column_of_them_are_the_same(folder, tmp_path):
    told(folder / "top10.parquet", "-o", "bare.parquet", cwd=tmp_path)
    told(folder / "top10.parquet", "-o", "option.parquet", "--expected-relevant", "12", cwd=tmp_path)
    table = pl.read_parquet(folder / "top10.parquet").with_columns(expected_relevant=pl.lit(12))
    table.write_parquet(tmp_path / "t.parquet")
    told("t.parquet", "-o", "column.parquet", cwd=tmp_path)
    bare, option, column = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("bare", "option", "column"))
    assert option.equals(column.drop("expected_relevant"))
    assert option.height > bare.height  # the more there is to find, the longer the lists
    told("t.parquet", "-o", "over.parquet", "--expected-relevant", "50", cwd=tmp_path)  # the option wins
    assert pl.read_parquet(tmp_path / "over.parquet").height > column.height


def test_a_table_whose_tail_is_missing_gets_a_note(folder, tmp_path):
    def note(*words):
        return " ".join(run("list-size", *words, "-o", "o.parquet", cwd=tmp_path).stderr.split())

    assert "looks like the best 10 items of each user" in note(folder / "top10.parquet")
    assert note(folder / "top10.parquet", "--utility", "pdcg") == ""  # PDCG does not ask what is missed
    assert note(folder / "top10.parquet", "--expected-relevant", "20") == ""
    assert note(folder / "p.parquet") == ""
    whole = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [1, 2, 1, 2], "probability": [0.5, 0.4, 0.3, 0.2]})
    whole.write_parquet(tmp_path / "whole.parquet")  # everybody has every item: nothing is missing
    assert note("whole.parquet") == ""


def test_more_listed_than_said_to_be_relevant_is_taken_with_a_note(folder, tmp_path):
    table = pl.read_parquet(folder / "p.parquet")
    listed = table.group_by("user_id").agg(pl.col("probability").sum())
    n_more = listed.filter(pl.col("probability") > 4).height
    assert 0 < n_more < 30
    done = run("list-size", folder / "p.parquet", "--expected-relevant", "4", "-o", "o.parquet", cwd=tmp_path)
    assert done.returncode == 0
    assert f"{n_more} of 30 users" in " ".join(done.stderr.split())
    own = listed.select("user_id", expected_relevant=pl.max_horizontal("probability", pl.lit(4.0)) * (1 + 1e-14))
    table.join(own, on="user_id", maintain_order="left").write_parquet(tmp_path / "own.parquet")
    assert run("list-size", "own.parquet", "-o", "same.parquet", cwd=tmp_path).stderr == ""
    found, same = (pl.read_parquet(tmp_path / name) for name in ("o.parquet", "same.parquet"))
    assert found["item_id"].equals(same["item_id"])
    assert_allclose(found["expected_utility"], same["expected_utility"])


# --- thresholds and fixed sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.05, 0.4])
def test_a_threshold_keeps_all_that_is_likely_enough(folder, tmp_path, threshold):
    result = told(folder / "p.parquet", "--threshold", threshold, "-o", "lists.parquet", cwd=tmp_path)
    told(folder / "p.parquet", "--threshold", threshold, "--sizes-only", "-o", "sizes.parquet", cwd=tmp_path)
    lists, sizes = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("lists", "sizes"))
    likely = pl.read_parquet(folder / "p.parquet").filter(pl.col("probability") >= threshold)
    assert lists.select("user_id", "item_id").equals(likely.select("user_id", "item_id"))
    assert lists["expected_utility"].null_count() == lists.height
    hits = dict(likely.group_by("user_id").agg(pl.col("probability").sum()).iter_rows())
    assert_allclose(sizes["expected_hits"], [hits.get(user, 0.0) for user in sizes["user_id"]])
    assert_allclose(lists["expected_hits"], [hits[user] for user in lists["user_id"]])
    assert sizes["unsure"].to_list() == (sizes["list_size"] == 0).to_list()
    assert result["rows"] == likely.height
    assert_allclose(result["expected_hits"], likely["probability"].sum())
    assert result["expected_utility"] is None
    assert result["without_list"] == result["unsure"] == 30 - len(hits)
    assert "Threshold" in result["policy"]


def test_a_threshold_keeps_more_than_the_longest_list_of_a_utility(tmp_path):
    table = pl.DataFrame({"item_id": range(80)}).select(pl.lit(1).alias("user_id"), "item_id", probability=0.5)
    table.write_parquet(tmp_path / "t.parquet")
    assert told("t.parquet", "--threshold", "0.5", "-o", "o.parquet", cwd=tmp_path)["rows"] == 80
    assert told("t.parquet", "--threshold", "0.5", "--max-size", "7", "-o", "o.parquet", cwd=tmp_path)["rows"] == 7


def test_the_number_of_items_and_the_expected_hits_are_printed(folder, tmp_path):
    likely = pl.read_parquet(folder / "top10.parquet").filter(pl.col("probability") >= 0.05)
    done = run("list-size", folder / "top10.parquet", "--threshold", "0.05", "-o", "o.parquet", cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    assert f"{likely.height:,}" in shown
    assert f"{likely['probability'].sum():,.1f}, " in shown
    assert "expected f1" not in shown
    assert done.stderr == ""  # the note on missing items belongs to utilities


def test_a_fixed_size_is_a_policy_too(folder, tmp_path):
    for words in (("--policy", "size=3"), ("--policy", "fixed,size=3")):
        result = told(folder / "top10.parquet", *words, "-o", "o.parquet", cwd=tmp_path)
        assert result["list_size"] == {"mean": 3.0, "smallest": 3.0, "median": 3.0, "largest": 3.0}


def test_expected_hits_of_a_utility_are_those_of_its_lists(folder, tmp_path):
    result = told(folder / "p.parquet", "--policy", "expected-utility", "-o", "o.parquet", cwd=tmp_path)
    lists = pl.read_parquet(tmp_path / "o.parquet")
    assert_allclose(result["expected_hits"], lists["probability"].sum())
    assert_allclose(lists.filter(rank=1)["expected_hits"].sum(), lists["probability"].sum())


# --- a slow reference -----------------------------------------------------------------------------------------------


def slow_f1(probabilities):
    """Expected F1 of every size, over all outcomes."""
    worth = np.zeros(len(probabilities))
    for outcome in itertools.product([0, 1], repeat=len(probabilities)):
        chance = np.prod([p if hit else 1 - p for p, hit in zip(probabilities, outcome, strict=True)])
        n_relevant = sum(outcome)
        for size in range(1, len(probabilities) + 1):
            worth[size - 1] += chance * (2 * sum(outcome[:size]) / (size + n_relevant) if n_relevant else 0.0)
    return worth


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5), min_size=1, max_size=4), st.randoms())
def test_every_user_gets_the_best_size_whatever_the_order(rows, random):
    pairs = [(user, item, p) for user, own in enumerate(rows) for item, p in enumerate(own)]
    by_user = [[pair for pair in pairs if pair[0] == user] for user in range(len(rows))]
    for own in by_user:
        random.shuffle(own)
    table = pl.DataFrame([*itertools.chain(*by_user)], schema=["user_id", "item_id", "probability"], orient="row")
    tally = Tally()
    found = decide_block(table, ExpectedUtility("f1", max_size=4), None, tally, sizes_only=False)
    for user, own in enumerate(rows):
        ranked = sorted(own, reverse=True)
        worth = slow_f1(ranked)[:4]
        mine = found.filter(user_id=user)
        assert_allclose(mine["expected_utility"], worth.max(), atol=1e-9)
        assert_allclose(worth[mine.height - 1], worth.max(), atol=1e-9)
        assert_allclose(mine["probability"], ranked[: mine.height])
    assert tally.summary()["n_users"] == len(rows)
    assert tally.summary()["n_rows"] == found.height


# --- bad tables -----------------------------------------------------------------------------------------------------


def spoiled(**changes):
    return pl.DataFrame({"user_id": ["a", "a", "b"], "item_id": [1, 2, 1], "probability": [0.5, 0.4, 0.3]} | changes)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"probability": [0.5, 1.5, 0.3]}, "(1.5) for user a and item 2"),
        ({"probability": [0.5, 0.4, -0.1]}, "(-0.1) for user b and item 1"),
        ({"probability": [0.5, np.nan, 0.3]}, "(nan) for user a and item 2"),
        ({"probability": [0.5, None, 0.3]}, "column probability"),
        ({"probability": ["x", "y", "z"]}, "probabilities"),
        ({"item_id": [1, 1, 1]}, "item 1 several times for user a"),
        ({"item_id": [1, 2, None]}, "column item_id"),
        ({"user_id": ["a", "a", None]}, "column user_id"),
        ({"expected_relevant": [-0.5, -0.5, 5.0]}, "user a"),
        ({"expected_relevant": [5.0, 6.0, 5.0]}, "user a"),
        ({"expected_relevant": [5.0, 5.0, np.inf]}, "user b"),
        ({"expected_relevant": [5.0, 5.0, None]}, "expected_relevant"),
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]], ids=["sorted", "not sorted"])
def test_bad_columns(tmp_path, changes, word, order):
    spoiled(**changes)[order].write_parquet(tmp_path / "t.parquet")
    refused(run("list-size", "t.parquet", "-o", "o.parquet", cwd=tmp_path), DataError, word)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_an_unknown_utility_is_answered_with_the_names(tmp_path):
    """A `Utility` of one's own is for Python."""
    spoiled().write_parquet(tmp_path / "t.parquet")
    done = run("list-size", "t.parquet", "--utility", "happiness", "-o", "o.parquet", cwd=tmp_path)
    refused(done, SettingError, "utility must be one of ndcg, pdcg, f1, ")
    assert "your own" not in done.stderr


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("--utility", "happiness"), "utility"),
        (("--policy", "min_size=5", "--max-size", "3"), "--max-size=3 is less than --policy min_size=5; raise the one"),
        (("--max-size", "0"), "--max-size must be a whole number of at least 1, got 0"),
        (("--policy", "min_size=-1"), "min_size"),
        (("--expected-relevant", "-1"), "expected_relevant"),
        (("--threshold", "1.5"), "1.5"),
        (("--threshold", "0.5", "--utility", "f1"), "utility"),
        (("--threshold", "0.5", "--policy", "size=3"), "size"),
        (("--threshold", "0.5", "--expected-relevant", "3"), "expected_relevant"),
        (("--policy", "threshold"), "needs a threshold"),
        (("--policy", "fixed", "--threshold", "0.5"), "threshold"),
        (("--policy", "best-fixed"), "run"),
        (("--expected-relevant", "nan"), "expected_relevant"),
        (("--expected-relevant", "carried"), "expected_relevant"),
        (("--expected-relevant", "fitted"), "expected_relevant"),
        (("--calibrator", "platt"), "--calibrator"),
        (("--report", "page.html"), "--report"),
        (("--columns", "user_id=who"), "'who'"),
    ],
)
def test_bad_options(tmp_path, words, word):
    spoiled().write_parquet(tmp_path / "t.parquet")
    refused(run("list-size", "t.parquet", *words, "-o", "o.parquet", cwd=tmp_path), DataError, word)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_bad_files(tmp_path):
    spoiled().write_parquet(tmp_path / "t.parquet")
    before = (tmp_path / "t.parquet").read_bytes()
    spoiled().drop("probability").write_parquet(tmp_path / "bare.parquet")
    spoiled().clear().write_parquet(tmp_path / "none.parquet")
    (tmp_path / "cut.parquet").write_bytes(before[:200])
    for words, error in {
        ("t.parquet", "-o", "t.parquet"): OutputError,
        ("t.parquet", "-o", "o.xlsx"): OutputError,
        ("t.parquet", "-o", "."): OutputError,
        ("bare.parquet", "-o", "o.csv"): DataError,
        ("none.parquet", "-o", "o.csv"): DataError,
        ("cut.parquet", "-o", "o.csv"): FileError,
        ("missing.parquet", "-o", "o.csv"): FileError,
    }.items():
        refused(run("list-size", *words, cwd=tmp_path), error)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bare.parquet",
        "cut.parquet",
        "none.parquet",
        "t.parquet",
    ]
    assert (tmp_path / "t.parquet").read_bytes() == before


def test_a_bad_value_late_in_a_table_leaves_the_old_output(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BATCH_ROWS", 50)
    table = pl.read_parquet(folder / "p.parquet")
    table[-1, "probability"] = 2.0
    table.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "o.csv").write_text("old")
    refused(run("list-size", "t.parquet", "-o", "o.csv", cwd=tmp_path), DataError, "t.parquet: ")
    assert (tmp_path / "o.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.csv", "t.parquet"]


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def split():
    world = sn.simulate(sn.SimulatorSettings(n_users=250, n_items=60, preference_rate=0.3, seed=3))
    matrix = (world.train + world.held_out).tolil()
    matrix[7] = 1  # this user has seen everything before the test
    return by_ratio(Interactions.from_matrix(matrix.tocsr()), (0.6, 0.2, 0.2), seed=0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, split):
    """A run as `sureness train` leaves it; user 7 has no candidates once the test is known too."""
    folder = tmp_path_factory.mktemp("runs")
    source = sn.svd_source(split.train, n_factors=4)
    Run(source, **split.parts, about={"protocol": "ratio"}).save(folder / "run.sureness")
    source.save(folder / "alone.sureness")
    return folder


def fitted(runs, split, **settings):
    source = open_run(runs / "run.sureness").source
    return ConfidentRecommender(source, **settings).fit(split.train, split.validation)


def test_a_run_gets_the_lists_of_the_library_and_a_comparison(runs, split, tmp_path):
    result = told(runs / "run.sureness", "-o", "lists.parquet", cwd=tmp_path)
    recommender = fitted(runs, split)
    assert pl.read_parquet(tmp_path / "lists.parquet").equals(recommender.recommend())
    rows = {row["policy"]: row for row in result["comparison"]}
    assert {"PerK", "best fixed k", "Val-k", "Top-1", "Top-50", "Rand", "Oracle"} <= set(rows)
    assert rows["best fixed k"]["p_value"] == 1.0
    assert all(rows["Oracle"]["f1"] >= row["f1"] for row in rows.values())
    values = recommender.evaluate(split.test).values["this"]
    assert_allclose(rows["PerK"]["f1"], values.mean())
    assert result["users"] == 250
    assert result["rows"] == recommender.sizes()["list_size"].sum()


def test_the_comparison_is_shown_with_p_values(runs, tmp_path):
    shown = succeed(
        "list-size", runs / "run.sureness", "-o", "lists.csv", "--utility", "ndcg", "--max-size", "10", cwd=tmp_path
    )
    assert "difference to best fixed size" in " ".join(shown.split())
    assert "< 0.001" in shown
    assert "10 for everybody" in shown
    assert "20 for everybody" not in shown
    assert not {"PerK", "Val-k", "Rand"} & set(shown.split())


def test_sizes_of_a_model_name_everyone(runs, split, tmp_path):
    result = told(runs / "run.sureness", "-o", "sizes.csv", "--sizes-only", cwd=tmp_path)
    sizes = pl.read_csv(tmp_path / "sizes.csv")
    assert sizes.columns == ["user_id", "list_size", "expected_utility", "expected_hits", "unsure", "expected_relevant"]
    assert sizes["list_size"].to_list() == fitted(runs, split).sizes()["list_size"].to_list()
    assert result["rows"] == sizes["list_size"].sum()


def test_users_without_candidates_get_no_list(runs, split, tmp_path):
    seen = pl.concat([split.train.table(), split.test.table()]).unique(["user_id", "item_id"])
    seen.write_parquet(tmp_path / "seen.parquet")
    result = told(runs / "run.sureness", "--seen", "seen.parquet", "-o", "lists.parquet", cwd=tmp_path)
    assert result["without_list"] >= 1
    assert 7 not in pl.read_parquet(tmp_path / "lists.parquet")["user_id"].to_list()
    told(runs / "run.sureness", "--seen", "seen.parquet", "-o", "sizes.csv", "--sizes-only", cwd=tmp_path)
    lost = pl.read_csv(tmp_path / "sizes.csv").filter(user_id=7)
    assert lost.select("list_size", "unsure").row(0) == (0, True)


def test_it_says_what_was_written(runs, tmp_path):
    words = ("--max-size", "5", "--save", "saved.sureness")
    done = run("list-size", runs / "run.sureness", *words, "-o", "a.csv", cwd=tmp_path)
    assert done.stdout.splitlines()[-2:] == ["wrote a.csv", "wrote saved.sureness"]


def test_a_saved_recommender_makes_the_same_lists_again(runs, tmp_path):
    words = ("--utility", "tp", "--max-size", "9", "--calibrator", "per-user-gamma", "--save", "saved.sureness")
    told(runs / "run.sureness", *words, "-o", "a.parquet", cwd=tmp_path)
    result = told("saved.sureness", "-o", "b.parquet", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))
    assert result["utility"] == "tp"
    assert "comparison" not in result
    for extra in (
        ("--utility", "f1"),
        ("--calibrator", "platt"),
        ("--expected-relevant", "3"),
        ("--test", "a.parquet"),
    ):
        word = extra[0].removeprefix("--").replace("-", "_")
        refused(run("list-size", "saved.sureness", *extra, "-o", "c.csv", cwd=tmp_path), SettingError, word)
    assert not (tmp_path / "c.csv").exists()


def test_fitted_calibrators_are_used_as_they_are(runs, split, tmp_path):
    recommender = fitted(runs, split, calibrator=sn.calibration.PerUserPlatt(prior_width=0.0))
    recommender.map_.save(tmp_path / "maps.sureness")
    told(runs / "run.sureness", "--calibrator", "maps.sureness", "-o", "maps.parquet", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "maps.parquet").equals(recommender.recommend())
    succeed("fit", runs / "run.sureness", "--method", "platt", "-o", "map.json", cwd=tmp_path)
    told(runs / "run.sureness", "--calibrator", "map.json", "-o", "file.parquet", cwd=tmp_path)
    kept = ConfidentRecommender(
        open_run(runs / "run.sureness").source, sn.load(tmp_path / "map.json", sn.calibration.Calibrator)
    )
    with pytest.warns(sn.errors.SurenessWarning, match="period of the labels"):
        kept.fit(split.train, split.validation, refit=False)
    found = pl.read_parquet(tmp_path / "file.parquet")
    assert_allclose(found["probability"], kept.recommend()["probability"])


def test_a_plain_calibrator_is_fitted_where_lists_are_made(runs, split, tmp_path):
    told(runs / "run.sureness", "--calibrator", "platt", "-o", "lists.parquet", cwd=tmp_path)
    recommender = fitted(runs, split, calibrator=sn.PlattCalibrator())
    assert_allclose(pl.read_parquet(tmp_path / "lists.parquet")["probability"], recommender.recommend()["probability"])


def test_what_became_of_the_promise_is_said(runs, split, tmp_path):
    result = told(runs / "run.sureness", "-o", "lists.parquet", "--save", "saved.sureness", cwd=tmp_path)
    recommender = fitted(runs, split)
    kept = result["promise"]
    assert kept["by_rank"] == recommender.promise(split.test).to_dicts()
    assert kept["by_probability"] == recommender.promise(split.test, by="probability").to_dicts()
    assert "next period" in kept["probability"]
    assert kept["test_by_time"] is False
    split.test.table().write_csv(tmp_path / "test.csv")
    judged = json.loads(succeed("evaluate", "saved.sureness", "--test", "test.csv", "--json", cwd=tmp_path))
    assert judged["promise"] == kept
    assert judged["users"] == np.count_nonzero(split.test.user_degree)
    shown = succeed("evaluate", "saved.sureness", "--test", "test.csv", cwd=tmp_path)
    assert "Promised and realised hits by rank" in shown
    assert "Promised and realised hits by probability" in shown
    refused(run("evaluate", "saved.sureness", "--test", "test.csv", "--seen", "test.csv", cwd=tmp_path), SettingError,
            "seen")  # fmt: skip


@pytest.mark.parametrize("target", ["fitted", "2.5"])
def test_the_number_of_relevant_items_is_a_choice(runs, split, tmp_path, target):
    told(runs / "run.sureness", "--expected-relevant", target, "-o", "s.csv", "--sizes-only", cwd=tmp_path)
    number = target if target == "fitted" else float(target)
    expected = fitted(runs, split, expected_relevant=number).sizes()
    assert_allclose(pl.read_csv(tmp_path / "s.csv")["expected_relevant"], expected["expected_relevant"])


def test_a_run_takes_other_policies(runs, split, tmp_path):
    run_ = (runs / "run.sureness",)
    result = told(*run_, "--threshold", "0.2", "-o", "lists.parquet", "--report", "page.html", cwd=tmp_path)
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists.equals(fitted(runs, split, policy=sn.Threshold(0.2, min_size=0)).recommend())
    assert result["rows"] == lists.height
    assert_allclose(result["expected_hits"], lists["probability"].sum())
    assert result["expected_utility"] is None
    told(*run_, "--threshold", "0.2", "--sizes-only", "-o", "sizes.parquet", cwd=tmp_path)
    assert_allclose(pl.read_parquet(tmp_path / "sizes.parquet")["expected_hits"].sum(), lists["probability"].sum())
    assert "BestFixedSize" in told(*run_, "--policy", "best-fixed", "-o", "o.parquet", cwd=tmp_path)["policy"]
    assert pl.read_parquet(tmp_path / "o.parquet")["list_size"].n_unique() == 1


def test_a_threshold_that_fills_the_longest_list_of_a_run_is_said(runs, tmp_path):
    words = ("list-size", runs / "run.sureness", "--threshold", "0", "-o", "o.parquet")
    assert "the longest list" in run(*words, cwd=tmp_path).stderr
    assert "the longest list" not in run(*words, "--max-size", "50", cwd=tmp_path).stderr


def test_auto_says_why(runs, tmp_path):
    result = told(runs / "run.sureness", "--calibrator", "auto", "-o", "lists.parquet", cwd=tmp_path)
    assert "best fixed size" in result["chosen_because"]
    done = run(
        "list-size",
        runs / "run.sureness",
        "--calibrator",
        "auto",
        "--policy",
        "min_size=2",
        "-o",
        "o.csv",
        cwd=tmp_path,
    )
    refused(done, SettingError, "min_size")


def test_a_source_alone_takes_its_logs_from_files(runs, split, tmp_path):
    for name, part in split.parts.items():
        part.table().write_csv(tmp_path / f"{name}.csv")
    logs = ("--seen", "train.csv", "--held-out", "validation.csv")
    alone = told(runs / "alone.sureness", *logs, "--test", "test.csv", "-o", "a.parquet", cwd=tmp_path)
    whole = told(runs / "run.sureness", "-o", "b.parquet", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))
    assert alone["comparison"] == whole["comparison"]
    assert "comparison" not in told(runs / "alone.sureness", *logs, "-o", "c.parquet", cwd=tmp_path)


def test_a_test_of_shown_items_does_not_judge_lists(runs, split, tmp_path):
    about = {"protocol": "preference", "positive_above": 3}
    Run(open_run(runs / "run.sureness").source, **split.parts, about=about).save(tmp_path / "run.sureness")
    done = run("list-size", "run.sureness", "-o", "lists.parquet", cwd=tmp_path)
    assert done.returncode == 0
    assert "cannot be judged" in " ".join(done.stderr.split())
    assert "What list sizes are worth" not in done.stdout


def test_the_page_has_every_section(runs, split, tmp_path):
    items = pl.DataFrame({"item_id": np.arange(60), "title": [f"Title {number}" for number in range(60)]})
    items.write_csv(tmp_path / "items.csv")
    words = ("--report", "page.html,figures=figures,items=items.csv")
    result = told(runs / "run.sureness", *words, "-o", "lists.parquet", cwd=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for section in ("list-sizes", "list-policies", "list-groups", "list-cases"):
        assert f'<section id="{section}">' in page
    assert result["headline"] in page
    assert "Title " in page
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists.columns[:4] == ["user_id", "rank", "item_id", "title"]
    assert lists["title"].to_list() == [f"Title {number}" for number in lists["item_id"]]
    assert {path.name for path in (tmp_path / "figures").iterdir()} >= {"list_sizes.png", "list_degree.svg"}


def test_titles_may_come_from_a_log_of_orders_with_names_of_its_own(runs, tmp_path):
    orders = pl.DataFrame({"article": np.arange(120) % 60, "name": [f"Title {n % 60}" for n in range(120)]})
    orders.write_csv(tmp_path / "orders.csv")
    words = ("--report", "page.html,items=orders.csv", "--columns", "item_id=article,title=name")
    told(runs / "run.sureness", *words, "-o", "lists.parquet", cwd=tmp_path)
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists["title"].to_list() == [f"Title {number}" for number in lists["item_id"]]


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("--calibrator", "magic"), "calibrator"),
        (("--calibrator", "missing.json"), "missing.json"),
        (("--expected-relevant", "0"), "0.0"),
        (("--policy", "min_size=5", "--max-size", "3"), "min_size=5"),
        (("--utility", "happiness"), "utility"),
        (("--test", "missing.csv"), "missing.csv"),
    ],
)
def test_bad_options_of_a_model(runs, tmp_path, words, word):
    done = run("list-size", runs / "run.sureness", *words, "-o", "o.parquet", cwd=tmp_path)
    refused(done, SurenessError, word)
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_is_no_number_is_wrong_usage(runs, tmp_path):
    words = ("list-size", runs / "run.sureness", "--expected-relevant", "many", "-o", "o.csv")
    assert run(*words, cwd=tmp_path).returncode == 2


def test_bad_runs(runs, tmp_path):
    refused(run("list-size", "nowhere.sureness", "-o", "o.csv", cwd=tmp_path), FileError, "nowhere")
    refused(run("list-size", runs / "alone.sureness", "-o", "o.csv", cwd=tmp_path), EmptyError, "validation")
    told(runs / "run.sureness", "-o", "a.parquet", "--save", "saved.sureness", cwd=tmp_path)
    saved = tmp_path / "saved.sureness"
    saved.write_bytes(saved.read_bytes()[:-100])
    refused(run("list-size", "saved.sureness", "-o", "o.csv", cwd=tmp_path), DamagedError, "saved")
    assert not (tmp_path / "o.csv").exists()


def test_lists_of_a_german_spreadsheet_open_in_it(tmp_path):
    text = "user_id;item_id;probability\n=1+1;1;0,75\n=1+1;2;0,5\n7;1;0,25\n"
    (tmp_path / "p.csv").write_text(text, encoding="utf-8-sig")
    succeed("list-size", "p.csv", "-o", "lists.csv", "--format", "formulas=escaped", cwd=tmp_path)
    found = (tmp_path / "lists.csv").read_bytes().decode("utf-8")
    assert found.startswith("\ufeffuser_id;item_id;probability;rank")
    assert "\n'=1+1;1;0,75;1;" in found
    pl.read_csv(tmp_path / "p.csv", separator=";", decimal_comma=True).write_parquet(tmp_path / "p.parquet")
    given = "separator=semicolon,decimal=comma,encoding=utf-8-sig,formulas=escaped"
    succeed("list-size", "p.parquet", "-o", "again.csv", "--format", given, cwd=tmp_path)
    assert (tmp_path / "again.csv").read_bytes().decode("utf-8") == found
    wrong = run("list-size", "p.csv", "-o", "x.csv", "--format", "formulas=x", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "formulas must be escaped" in " ".join(wrong.stderr.split())
