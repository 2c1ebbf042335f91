"""Past windows are lived through again, and nothing that came later is looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sureness as sn
from sureness.data.time_splitting import window_of
from sureness.errors import DataError, SettingError
from sureness.recommender.backtesting import FIXED, PERSONAL
from sureness.recommender.choosing import SURE, sure_of_next
from tests.recommender.returning import WINDOW, returning_log


def _svd(log: sn.Interactions) -> sn.FactorSource:
    return sn.svd_source(log, n_factors=6)


@pytest.fixture(scope="module")
def found():
    return sn.backtest(returning_log(again=0.3), _svd, window=WINDOW, windows=3)


def test_each_window_has_its_promises_and_what_came(found):
    table = found.table()
    assert table.height == 3
    assert table["there_realised"].to_list() == table["period_realised"].to_list()
    assert table["there_ratio"].is_between(0.7, 1.4).all()
    assert (table["users_promised"] / table["users_there"]).is_between(0.7, 1.4).all()
    assert (table["f1_low"] <= table["f1"] - table["f1_fixed"]).all()
    assert np.diff(table["start"].to_numpy()) == pytest.approx([WINDOW, WINDOW])


@pytest.mark.filterwarnings("ignore:.* of the rows of the past windows repeat")
def test_a_window_agrees_with_a_recommender_made_at_its_start(found):
    log = returning_log(again=0.3)
    last = found.windows[-1]
    before, during = window_of(log, last.trained.start, last.trained.end)
    alone = sn.ConfidentRecommender.forward(before, _svd, window=WINDOW)
    with pytest.warns(UserWarning, match="also in training|does not know"):
        assert alone.promise(during)["ratio"][0] == pytest.approx(
            last.promises["there"].value, rel=0.02
        )  # windows end with its last event


def test_what_comes_later_changes_nothing_before():
    log = returning_log(n_users=300, n_windows=6)
    times = log.every_row().times
    end = float(np.nextafter(times.max(), np.inf))
    changed = log.keep_rows(
        (times < end - WINDOW) | (np.random.default_rng(0).random(len(times)) < 0.5) | (times == times.max())
    )
    first, second = (sn.backtest(each, _svd, window=WINDOW, windows=2, learned=2).table() for each in (log, changed))
    assert first.row(0) == second.row(0)
    assert first["there_promised"][0] == second["there_promised"][0]


def test_personal_sizes_are_kept_where_earlier_windows_make_sure_of_them(found):
    for number, window in enumerate(found.windows):
        for utility, kept in window.kept.items():
            earlier = [each.comparisons[utility] for each in found.windows[:number]]
            assert (kept == PERSONAL) == (sure_of_next(earlier, PERSONAL, FIXED) >= SURE)
    assert set(found.windows[0].kept.values()) == {FIXED}  # nothing was judged before it


def test_it_is_json(found):
    windows = json.loads(json.dumps(found.plain()))["windows"]
    assert set(windows[0]["there"]) >= {"promised", "realised", "low", "high"}
    assert windows[0]["f1"]["personal"] == found.table()["f1"][0]


def test_models_are_trained_once_for_each_window():
    lengths = []

    def train(log):
        lengths.append(len(log))
        return _svd(log)

    sn.backtest(returning_log(n_users=300), train, window=WINDOW, windows=2, learned=2)
    assert len(lengths) == 5  # and once for the window that comes
    assert lengths == sorted(lengths)


def test_too_few_and_too_many_windows_are_refused():
    log = returning_log(n_users=50)
    with pytest.raises(SettingError, match="at least 2 windows, got 1"):
        sn.backtest(log, _svd, window=WINDOW, windows=1)
    with pytest.raises(DataError, match="take fewer or shorter ones"):
        sn.backtest(log, _svd, window=WINDOW, windows=10)
