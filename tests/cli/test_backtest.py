"""sureness backtest, as it is typed."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tests.cli.runner import succeed
from tests.recommender.returning import returning_log


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    rows = returning_log(n_users=400).every_row()
    days = (np.datetime64("2024-01-01") + rows.times.astype(int)).astype(str)
    path = tmp_path_factory.mktemp("orders") / "orders.csv"
    pl.DataFrame({"customer": rows.user_rows, "sku": rows.item_rows, "day": days}).write_csv(path)
    return path


_TYPED = [
    "--columns",
    "user_id=customer,item_id=sku,time=day",
    "--window",
    "10d",
    "--windows",
    "2",
    "--set",
    "n_factors=6",
]


def test_people_read_tables(orders):
    printed = succeed("backtest", orders, *_TYPED, cwd=orders.parent)
    assert "What came of what was promised" in printed
    assert "users there" in printed


def test_machines_read_windows(orders):
    windows = json.loads(succeed("backtest", orders, *_TYPED, "--json", cwd=orders.parent))["windows"]
    assert [set(window) >= {"start", "end", "there", "period"} for window in windows] == [True, True]
    assert {"promised", "realised", "low", "high"} <= set(windows[0]["period"])
