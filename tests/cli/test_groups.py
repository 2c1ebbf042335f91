"""Groups that are queries, and tables without labels, on the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from tests.cli.runner import run, succeed


@pytest.fixture
def ranked(tmp_path):
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(200), 20)
    scores = rng.normal(size=4_000) * (1 + topic % 3)
    labels = (rng.random(4_000) < 1 / (1 + np.exp(2 - scores / (1 + topic % 3)))).astype(int)
    pl.DataFrame({"topic": topic, "doc": np.arange(4_000), "score": scores, "label": labels}).write_parquet(
        tmp_path / "ranked.parquet"
    )
    return tmp_path


def test_a_group_is_the_users_column_at_every_command_that_reads_one(ranked):
    succeed("fit", "ranked.parquet", "--group", "topic", "-o", "by_group.json", cwd=ranked)
    succeed("fit", "ranked.parquet", "--method", "lists", "--columns", "user_id=topic", "-o", "same.json", cwd=ranked)
    assert (ranked / "by_group.json").read_text() == (ranked / "same.json").read_text()
    succeed("apply", "by_group.json", "ranked.parquet", "--group", "topic", "-o", "new.parquet", cwd=ranked)
    table = pl.read_parquet(ranked / "new.parquet")
    expected = sn.load(ranked / "by_group.json").probability(table["score"], groups=table["topic"])
    assert_allclose(table["probability"], expected)
    query = run("sql", "by_group.json", "--dialect", "duckdb", "--table", "r", "--group", "topic", cwd=ranked)
    assert '"topic"' in query.stdout


def test_commands_promise_users_who_are_all_alike_what_they_get(tmp_path):
    """With a map for each user they promised 2,224 hits where 872 came."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3_000, 300))
    chance = 1 / (1 + np.exp(8.5 - 1.5 * scores))
    train, validation, test = (rng.random(scores.shape) < chance for _ in range(3))
    for name, labels, gone in (("fit", validation, train), ("new", test, train | validation)):
        users, items = np.nonzero(~gone)
        columns = {"user_id": users, "item_id": items, "score": scores[users, items]}
        columns |= {"history": train.sum(1)[users], "label": labels[users, items].astype(int)}
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    succeed("fit", "fit.parquet", "--method", "lists", "-o", "map.json", cwd=tmp_path)
    succeed("apply", "map.json", "new.parquet", "-o", "promised.parquet", cwd=tmp_path)
    succeed("list-size", "promised.parquet", "--policy", "fixed,size=50", "-o", "lists.parquet", cwd=tmp_path)
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists.height == 150_000
    assert lists["label"].sum() / lists["probability"].sum() == pytest.approx(1, abs=0.15)


def test_a_table_with_groups_is_fitted_by_the_map_for_lists_unless_something_else_is_asked_for(ranked):
    succeed("fit", "ranked.parquet", "--group", "topic", "-o", "lists.json", cwd=ranked)
    assert isinstance(sn.load(ranked / "lists.json"), sn.ListCalibrator)
    succeed("fit", "ranked.parquet", "--group", "topic", "--method", "platt", "-o", "platt.json", cwd=ranked)
    succeed("fit", "ranked.parquet", "--group", "topic", "--top-n", "5", "-o", "top.json", cwd=ranked)
    succeed("fit", "ranked.parquet", "-o", "pairs.json", cwd=ranked)
    assert isinstance(sn.load(ranked / "pairs.json"), sn.GaussianCalibrator)
    done = run("fit", "ranked.parquet", "--group", "topic", "--set", "scores_are=probabilities", cwd=ranked)
    assert "scores_are has no meaning for lists" in done.stderr


def test_a_query_id_is_recognised_and_said(ranked):
    pl.read_parquet(ranked / "ranked.parquet").rename({"topic": "qid"}).write_parquet(ranked / "trec.parquet")
    done = run("fit", "trec.parquet", "--method", "lists", cwd=ranked)
    assert done.returncode == 0
    assert "'qid' as user_id" in done.stderr


def test_group_and_user_id_are_one_column(ranked):
    done = run("fit", "ranked.parquet", "--group", "topic", "--columns", "user_id=doc", cwd=ranked)
    assert done.returncode == 1
    assert "are one column, got" in done.stderr


@pytest.mark.parametrize(
    ("known", "correction"),
    [
        (("--sampling-rate", "0.1"), lambda q: sn.prior_correction(kept=0.1)),
        (("--base-rate", "0.05"), lambda q: sn.prior_correction(q, base_rate=0.05)),
    ],
    ids=["kept", "base rate"],
)
def test_probabilities_without_labels_are_corrected_by_what_is_known(tmp_path, known, correction):
    q = np.linspace(0.01, 0.9, 40)
    pl.DataFrame({"score": q}).write_csv(tmp_path / "clicks.csv")
    succeed("fit", "clicks.csv", *known, "-o", "map.json", cwd=tmp_path)
    assert_allclose(sn.load(tmp_path / "map.json").probability(q), correction(q).probability(q), rtol=1e-9)


def test_scores_without_labels_are_no_probabilities(tmp_path):
    pl.DataFrame({"score": [0.2, 3.0]}).write_csv(tmp_path / "scores.csv")
    done = run("fit", "scores.csv", "--base-rate", "0.1", cwd=tmp_path)
    assert done.returncode == 1
    assert "scores of a table without labels must lie in [0, 1], got 0.2 to 3" in done.stderr


def test_a_cut_off_is_printed_for_all_or_for_each_group(ranked):
    succeed("fit", "ranked.parquet", "--method", "platt", "-o", "pairs.json", cwd=ranked)
    done = succeed("sql", "pairs.json", "--dialect", "duckdb", "--at-least", "0.3", cwd=ranked)
    score = sn.load(ranked / "pairs.json").score_for(0.3)
    assert done == f'"score" >= {score!r}e0\n'
    succeed("fit", "ranked.parquet", "--method", "lists", "--group", "topic", "-o", "lists.json", cwd=ranked)
    words = ("--dialect", "duckdb", "--at-least", "0.3", "--group", "topic", "--table", "ranked")
    assert succeed("sql", "lists.json", *words, cwd=ranked).endswith('GROUP BY "topic"\n')
