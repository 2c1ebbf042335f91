"""From a table of orders with times to a promise for the next window."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ColumnError, DataError, SettingError
from sureness.jobs.backtesting import BacktestOptions, run_backtest
from tests.recommender.returning import WINDOW, returning_log


@pytest.fixture(scope="module")
def orders():
    """Orders of a shop with dates."""
    rows = returning_log(n_users=500, again=0.3).every_row()
    times = np.datetime64("2024-01-01T00:00:00") + (rows.times * 86_400).astype("timedelta64[s]")
    return pl.DataFrame({"user_id": rows.user_rows, "item_id": rows.item_rows, "time": times.astype("datetime64[us]")})


def _options(**given):
    return BacktestOptions(
        **{"window": f"{WINDOW:.0f}d", "windows": 2, "learned": 2, "settings": ("n_factors=6",), **given}
    )


def test_it_judges_saves_and_shows(orders, tmp_path):
    page, saved = tmp_path / "page.html", tmp_path / "next.sureness"
    found = run_backtest(orders, _options(report=page, save=saved))
    plain = json.loads(json.dumps(found.plain()))
    assert [row["start"][:4] for row in plain["windows"]] == ["2024", "2024"]
    assert [row["what"] for row in plain["coming"]] == [
        "users there", "hits of shown items", "hits of a user who is there"]  # fmt: skip
    assert all(0 < row["low"] < row["high"] for row in plain["coming"])
    assert "What came of what was promised?" in page.read_text()
    opened = sn.load(saved)
    assert opened.coming().equals(found.found.recommender.coming())
    assert opened.cautions_ == found.found.recommender.cautions_
    assert "probability_in_period" in opened.recommend().columns


def test_a_page_escapes_what_it_is_told(orders, tmp_path):
    with pytest.raises(SettingError, match=r"window must be text such as 30d.*got '<script>'"):
        run_backtest(orders, _options(window="<script>", report=tmp_path / "page.html"))


def test_bad_input_is_refused_in_one_sentence(orders):
    with pytest.raises(ColumnError, match="needs a log with times"):
        run_backtest(orders.drop("time"), _options())
    with pytest.raises(DataError, match="take fewer or shorter ones"):
        run_backtest(orders, _options(window="300d"))
    with pytest.raises(SettingError, match="at least 2 windows, got 1"):
        run_backtest(orders, _options(windows=1))
    with pytest.raises(DataError, match="at least two different times"):
        run_backtest(orders.with_columns(time=pl.lit("2024-01-01")), _options())
    mixed = orders.head(2).with_columns(time=pl.Series(["2024-01-01T00:00:00", "2024-01-02T00:00:00+02:00"]))
    with pytest.raises(ColumnError, match="must all have a time zone or none"):
        run_backtest(mixed, _options())


def test_ratings_that_are_not_positive_are_left_out(orders):
    from sureness.jobs.logs import LogOptions

    rated = orders.with_columns(rating=pl.Series(np.arange(orders.height) % 2 + 1.0))
    some = run_backtest(rated, _options(), log=LogOptions(positive_above=1.5))
    every = run_backtest(rated, _options())
    assert some.found.table()["there_realised"].sum() < 0.8 * every.found.table()["there_realised"].sum()


def test_models_of_our_own_are_trained(orders):
    found = run_backtest(orders.head(4_000), _options(model="bpr", settings=("epochs=1",), window="5d"))
    assert found.found.table().height == 2
