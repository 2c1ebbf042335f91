"""A table of each user's best items beside a log of what happened later: no join by hand."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import EmptyError, IdError, SettingError, SurenessWarning
from sureness.jobs import FitOptions, apply, fit
from tests.cli.runner import run


@pytest.fixture(scope="module")
def shop():
    """The best 20 of 50 items of each user, the clicks of a later period, and the log of an earlier one."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(120, 50))
    clicked = rng.random(scores.shape) < 1 / (1 + np.exp(1.5 - 1.2 * scores))
    before = rng.random(scores.shape) < 0.1
    best = np.argsort(-scores, axis=1)[:, :20]
    users = np.repeat(np.arange(120), 20)
    table = pl.DataFrame({"user_id": users, "item_id": best.ravel(), "score": scores[users, best.ravel()]})
    logs = [pl.DataFrame(np.argwhere(kept), schema=["user_id", "item_id"]) for kept in (clicked, before)]
    return table, *logs


def joined(table: pl.DataFrame, clicks: pl.DataFrame, train: pl.DataFrame | None = None) -> pl.DataFrame:
    """What people had to write themselves."""
    keys = ["user_id", "item_id"]
    left = table if train is None else table.join(train, on=keys, how="anti")
    taken = clicks if train is None else clicks.join(train, on=keys, how="anti")
    return left.join(taken.unique().with_columns(label=1), on=keys, how="left").with_columns(
        pl.col("label").fill_null(0)
    )


def inside(clicks: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    return clicks.join(table, on=["user_id", "item_id"], how="semi")


def test_a_log_beside_a_table_labels_its_pairs(shop):
    table, clicks, _ = shop
    by_hand = fit(joined(table, clicks), FitOptions(method="platt"))
    with pytest.warns(SurenessWarning, match="not in the DataFrame"):
        found = fit(table, FitOptions(method="platt", held_out=clicks))
    assert found.n_pairs == by_hand.n_pairs == table.height
    assert found.parameters == pytest.approx(by_hand.parameters, rel=1e-5)  # a source holds its scores as float32
    assert found.calibrator.estimand_ == "interaction"


def test_pairs_of_the_training_log_are_no_candidates(shop):
    table, clicks, train = shop
    by_hand = fit(joined(table, clicks, train), FitOptions(method="platt"))
    with pytest.warns(SurenessWarning):
        found = fit(table, FitOptions(method="platt", held_out=clicks, seen=(train,)))
    assert found.n_pairs == by_hand.n_pairs < table.height
    assert found.parameters == pytest.approx(by_hand.parameters, rel=1e-5)


def test_what_is_left_out_is_counted_and_said(shop):
    table, clicks, train = shop
    stranger = pl.DataFrame({"user_id": [999, 0], "item_id": [0, 777]})
    known = inside(clicks, table)
    outside = clicks.join(table, on=["user_id", "item_id"], how="anti").head(30)
    log = pl.concat([known, known.head(7), outside, stranger])
    options = FitOptions(method="platt", held_out=log, seen=(train,))
    with pytest.warns(SurenessWarning) as said:
        fit(pl.concat([table, table.head(3)]), options)
    sentences = [str(each.message).replace(",", "") for each in said]
    n_known = known.height + outside.height
    for expected in (
        "the DataFrame: 3 of 2403 rows repeated a pair",
        f"held_out: 7 of {log.height} rows repeated a pair",
        f"held_out: 2 of {n_known + 2} pairs had an unknown user or item",
        f"30 of the {n_known} held-out pairs of known users and items are not in the DataFrame",
        f"{inside(log.unique(), train).height} of the {n_known} pairs of held_out are also in training",
    ):
        assert any(expected in each for each in sentences), (expected, sentences)


def test_maps_of_users_are_fitted_to_a_table_too(shop, tmp_path):
    table, clicks, train = shop
    options = FitOptions(method="per-user-platt", held_out=inside(clicks, table), seen=(train,))
    with pytest.warns(SurenessWarning, match="training"):
        found = fit(table, options, output=tmp_path / "maps.sureness")
    assert found.n_pairs == table.join(train, on=["user_id", "item_id"], how="anti").height
    assert apply(found.calibrator, table).frame["probability"].is_between(0, 1).all()


def test_a_map_for_lists_is_fitted_to_a_table_too(shop, tmp_path):
    table, clicks, train = shop
    options = FitOptions(method="lists", held_out=inside(clicks, table), seen=(train,))
    with pytest.warns(SurenessWarning, match="training"):
        found = fit(table, options, output=tmp_path / "lists.json")
    counts = train.group_by("user_id").len("history")
    asked = table.join(counts, on="user_id", how="left").with_columns(pl.col("history").fill_null(0))
    assert apply(found.calibrator, asked).frame["probability"].is_between(0, 1).all()
    with pytest.raises(sn.errors.ColumnError, match="no column history"):
        apply(found.calibrator, table)


def test_popularity_is_counted_in_the_training_log(shop):
    table, clicks, train = shop
    options = FitOptions(held_out=inside(clicks, table), seen=(train,), popularity_propensity=True, base_rate=0.2)
    with pytest.warns(SurenessWarning):
        assert fit(table, options).calibrator.estimand_ == "preference"


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({}, sn.errors.ColumnError, "label"),
        ({"seen": ("log",)}, SettingError, "held_out"),
        ({"popularity_propensity": True}, SettingError, "held_out"),
        ({"held_out": "log", "popularity_propensity": True}, EmptyError, "training log"),
        ({"held_out": "log", "sampling_rate": 0.1}, SettingError, "labels"),
        ({"held_out": "log", "training_pairs": "left_out"}, SettingError, "labels"),
        ({"held_out": "strangers"}, EmptyError, "positive"),
        ({"held_out": "words"}, IdError, "kind"),
        ({"method": "per-user-platt"}, SettingError, "held_out"),
    ],
)
@pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")
def test_what_cannot_be_is_refused(shop, options, error, word):
    logs = {
        "log": shop[1],
        "strangers": pl.DataFrame({"user_id": [-5], "item_id": [-7]}),
        "words": pl.DataFrame({"user_id": ["ann"], "item_id": ["film"]}),
    }
    given = {name: logs.get(value, value) if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises(error, match=word):
        fit(shop[0], FitOptions(**given))


def test_labels_from_two_places_are_refused(shop):
    table, clicks, _ = shop
    with pytest.raises(SettingError, match="label"):
        fit(joined(table, clicks), FitOptions(held_out=clicks))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_on_the_command_line(shop, tmp_path, ending):
    names = {"user_id": "customer", "item_id": "article"}
    for name, table in zip(("top20", "clicks", "log"), shop, strict=True):
        renamed = table.rename(names)
        path = tmp_path / f"{name}.{ending}"
        renamed.write_parquet(path) if ending == "parquet" else renamed.write_csv(path)
    columns = ["--columns", "user_id=customer", "--columns", "item_id=article"]
    files = [f"{name}.{ending}" for name in ("top20", "clicks", "log")]
    result = run(
        "fit", files[0], "--held-out", files[1], "--seen", files[2], "--method", "platt", *columns, "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    table, clicks, train = shop
    by_hand = fit(joined(table, clicks, train), FitOptions(method="platt"))
    found = json.loads(result.stdout)
    assert found["pairs"] == by_hand.n_pairs
    assert found["parameters"] == pytest.approx(by_hand.parameters, rel=1e-5)
    assert f"are not in {files[0]}" in result.stderr


@pytest.mark.parametrize("method", ["platt", "per-user-platt"])
def test_a_saved_top_n_source_has_the_pairs_of_its_table(shop, tmp_path, method):
    """Not users times items, most of which have no score."""
    table, clicks, _ = shop
    sn.CandidateSource.from_table(table).save(tmp_path / "top.sureness")
    with pytest.warns(SurenessWarning):
        found = fit(tmp_path / "top.sureness", FitOptions(method=method, held_out=clicks))
    assert found.n_pairs == table.height


def test_items_of_domains_with_the_same_numbers_are_other_items(tmp_path):
    rng = np.random.default_rng(0)
    ids = pl.DataFrame({"user_id": np.arange(60)}).join(pl.DataFrame({"domain": ["books", "music"]}), how="cross")
    top = ids.join(pl.DataFrame({"item_id": np.arange(10)}), how="cross").with_columns(
        score=pl.Series(rng.normal(size=1_200))
    )
    clicked = top.filter(pl.Series(rng.random(1_200)) < 1 / (1 + (2 - pl.col("score")).exp())).drop("score")
    found = fit(top, FitOptions(method="platt", held_out=clicked))
    labels = top.join(clicked.with_columns(label=1), on=["user_id", "domain", "item_id"], how="left").fill_null(0)
    expected = sn.PlattCalibrator().fit(labels["score"].cast(pl.Float32), labels["label"])
    assert found.n_pairs == 1_200
    np.testing.assert_allclose(found.calibrator.coef_, expected.coef_, rtol=1e-6)
