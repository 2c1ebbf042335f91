"""Whole jobs without extras: simulate, fit, apply, cut lists, allocate, inspect."""

from __future__ import annotations

import polars as pl
import pytest


@pytest.mark.parametrize("method", ["gaussian", "isotonic", "auto"])
def test_fit_and_apply_give_probabilities(base, world, method):
    table = world / "world" / "candidates.parquet"
    base.succeed("fit", table, "--method", method, "-o", "calibrator.json")
    base.succeed("apply", "calibrator.json", table, "-o", "out.parquet")
    found = pl.read_parquet(base.cwd / "out.parquet")
    assert found.height == pl.read_parquet(table).height
    assert found["probability"].is_between(0, 1).all()


def test_lists_are_cut_from_a_table(base, world):
    base.succeed("list-size", world / "probabilities.parquet", "-o", "lists.parquet")
    found = pl.read_parquet(base.cwd / "lists.parquet")
    sizes = found.group_by("user_id").agg(pl.len(), pl.col("list_size").first())
    assert (sizes["len"] == sizes["list_size"]).all()
    assert sizes["list_size"].n_unique() > 1


@pytest.mark.parametrize("how", [("--slots", 6), ("--budget", 400)])
def test_slots_and_budgets_are_allocated(base, world, how):
    items = pl.read_parquet(world / "world" / "items.parquet")
    pl.read_parquet(world / "probabilities.parquet").join(items, on="item_id").write_parquet(base.cwd / "table.parquet")
    base.succeed("allocate", "table.parquet", *how, "-o", "sizes.parquet")
    sizes = pl.read_parquet(base.cwd / "sizes.parquet")
    assert sizes["list_size"].sum() > 0


def test_data_sets_are_listed_and_described(base, world):
    assert base.result("data", "list")
    assert base.result("data", "describe", world / "world" / "train.parquet")


def test_a_saved_calibrator_and_a_saved_recommender_are_inspected(base, world, saved):
    assert base.result("inspect", world / "platt.json")["kind"] == "calibrator/platt"
    assert base.result("inspect", saved / "bpr.sureness")["kind"] == "saved/recommender"


def test_lists_are_made_from_a_saved_recommender_of_a_factor_model(base, saved):
    base.succeed("list-size", saved / "bpr.sureness", "-o", "lists.parquet")
    made = pl.read_parquet(base.cwd / "lists.parquet")
    expected = pl.read_parquet(saved / "bpr-lists.parquet")
    ours = made.filter(pl.col("user_id").is_in(expected["user_id"].unique().implode()))
    assert ours.sort("user_id", "rank")["item_id"].to_list() == expected.sort("user_id", "rank")["item_id"].to_list()
