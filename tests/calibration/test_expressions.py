"""The same map as numpy, polars and SQL."""

from __future__ import annotations

import math
import sqlite3

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness._settings import clone
from sureness.calibration import (
    BBQCalibrator,
    MinMaxCalibrator,
    ShapeCalibrator,
    SigmoidCalibrator,
    all_calibrators,
)
from sureness.calibration.parametric import ParametricCalibrator

CLOSED = [
    *(c for c in all_calibrators() if isinstance(c, ParametricCalibrator)),
    MinMaxCalibrator(),
    ShapeCalibrator(),
    SigmoidCalibrator(),
]
GRID = np.r_[np.linspace(-30, 30, 601), -1e4, 1e4]


@pytest.mark.filterwarnings("ignore:.*far outside the scores")
@pytest.mark.parametrize("calibrator", CLOSED, ids=repr)
def test_polars_expressions_give_the_same_probabilities(calibrator, pairs):
    fitted = clone(calibrator).fit(*pairs)
    frame = pl.DataFrame({"my score": GRID.astype(np.float64)})
    found = frame.select(fitted.expression("polars", "my score"))
    assert found.columns == ["probability"]
    assert_allclose(found.to_series(), fitted.probability(GRID), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*far outside the scores")
@pytest.mark.parametrize("calibrator", CLOSED, ids=repr)
def test_sql_gives_the_same_probabilities_in_two_engines(calibrator, pairs):
    fitted = clone(calibrator).fit(*pairs)
    sql = fitted.expression("sql", 'a "score"')
    by_polars = pl.DataFrame({'a "score"': GRID}).select(pl.sql_expr(sql)).to_series()
    assert_allclose(by_polars, fitted.probability(GRID), atol=1e-12)
    with sqlite3.connect(":memory:") as engine:
        for name, function in {"LEAST": min, "GREATEST": max}.items():
            engine.create_function(name, 2, function)
        for name, one in {"EXP": math.exp, "LN": math.log}.items():
            engine.create_function(name, 1, one)
        engine.execute('CREATE TABLE pairs ("a ""score""" DOUBLE)')
        engine.executemany("INSERT INTO pairs VALUES (?)", [(float(value),) for value in GRID])
        by_sqlite = [row[0] for row in engine.execute(f"SELECT {sql} FROM pairs")]
    engine.close()
    assert_allclose(by_sqlite, fitted.probability(GRID), atol=1e-12)


def test_a_missing_score_stays_missing(pairs):
    fitted = sn.GaussianCalibrator().fit(*pairs)
    frame = pl.DataFrame({"score": [None, 0.0]})
    assert frame.select(fitted.expression("polars")).to_series()[0] is None
    assert frame.select(pl.sql_expr(fitted.expression("sql"))).to_series()[0] is None


@pytest.mark.parametrize("kind", [sn.HistogramCalibrator, sn.IsotonicCalibrator, BBQCalibrator])
def test_step_functions_have_no_closed_form(kind, pairs):
    with pytest.raises(sn.errors.SettingError, match="expression"):
        kind().fit(*pairs).expression("sql")


def test_other_languages_are_refused(pairs):
    with pytest.raises(sn.errors.SettingError, match="excel"):
        sn.PlattCalibrator().fit(*pairs).expression("excel")


def test_beta_of_probabilities_has_no_expression():
    fitted = sn.BetaCalibrator(scores_are="probabilities").fit([0.1, 0.5, 0.4, 0.8], [0, 0, 1, 1])
    with pytest.raises(sn.DataError, match="give it log-odds"):
        fitted.expression("sql")
