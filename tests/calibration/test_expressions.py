"""The same map as arrays, as SQL in SQLite, and as an expression of polars; real servers are in tests/sql."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration import Calibrator, SegmentCalibrator
from sureness.calibration.families import NUMPY
from sureness.errors import NotFittedError, SettingError, SurenessWarning
from sureness.expressions import DIALECTS
from tests.sql.cases import (
    FIELDS,
    MAPS,
    SEGMENTS,
    difference,
    domain_of,
    expected,
    fitted,
    nasty,
    of_fields,
    of_segments,
)
from tests.sql.engines import Column, SQLite

NUMBERED = [float(number) for number in range(-5, 6)]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", ["double", "integer", "decimal"])
def test_polars_expressions_give_the_same_probabilities(name, kind):
    calibrator, column = fitted(name), nasty(kind)
    types = {"double": pl.Float64, "integer": pl.Int64, "decimal": pl.Decimal(30, 12)}
    frame = pl.DataFrame({"my score": pl.Series(column.values, dtype=types[kind], strict=True)})
    found = frame.select(calibrator.expression("polars", "my score"))
    assert found.columns == ["probability"]
    wanted = expected(calibrator.probability, column, domain_of(name))
    assert difference(found["probability"].to_list(), wanted) < 1e-12


@pytest.mark.parametrize("name", [name for name in MAPS if "base rate" not in name])
def test_formulas_of_arrays_are_the_maps(name):
    calibrator = fitted(name)
    scores = np.linspace(0.0, 1.0, 50) if name == "beta of probabilities" else np.linspace(-8, 8, 50)
    with np.errstate(over="ignore"):
        found = calibrator._formula()(scores, NUMPY)
    assert_allclose(found, expected(calibrator.probability, Column("double", scores)), atol=1e-12)


def test_scores_may_be_those_of_a_table_with_an_alias():
    """Table and column are quoted each; together they would be the name of one column."""
    engine = SQLite()
    engine.load("pairs", {"score": Column("double", NUMBERED)})
    calibrator = fitted("platt")
    for asked in (("t.score", None), ("score", "t")):
        expression = calibrator.expression("sqlite", asked[0], table=asked[1])
        found = [row[0] for row in engine.rows(f"SELECT {expression} FROM pairs AS t")]
        assert_allclose(found, calibrator.probability(NUMBERED), atol=1e-12)


def test_a_dot_in_the_name_of_a_column_is_part_of_it_beside_its_table():
    engine = SQLite()
    engine.connection.execute('CREATE TABLE t (`a.b ``c"` REAL)')
    engine.connection.execute("INSERT INTO t VALUES (0.5)")
    expression = fitted("platt").expression("sqlite", 'a.b `c"', table="t")
    found = engine.rows(f"SELECT {expression} FROM t")
    assert_allclose(found[0][0], fitted("platt").probability([0.5])[0], atol=1e-12)


def test_a_column_that_is_not_there_is_an_error_and_not_a_text():
    """In double quotes, SQLite would take the name itself for the score."""
    engine = SQLite()
    engine.load("t", {"score": Column("double", NUMBERED)})
    with pytest.raises(Exception, match="no such column"):
        engine.rows(f"SELECT {fitted('platt').expression('sqlite', 'scores')} FROM t")


def test_text_among_the_scores_of_sqlite_gets_no_probability():
    """SQLite would take text that is no number for 0."""
    engine = SQLite()
    engine.connection.execute("CREATE TABLE t (score)")
    engine.connection.executemany("INSERT INTO t VALUES (?)", [("",), ("abc",), ("1.5",), (b"1",)])
    assert engine.rows(f"SELECT {fitted('platt').expression('sqlite')} FROM t") == [(None,)] * 4


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", MAPS)
def test_no_dialect_lacks_a_function(name, dialect):
    """SQLite has no LEAST and GREATEST, the others no MIN and MAX of several values."""
    text = fitted(name).expression(dialect)
    absent = ("LEAST(", "GREATEST(") if dialect == "sqlite" else ("MIN(", "MAX(", "TYPEOF(")
    assert not any(function in text for function in absent)
    assert "inf" not in text.lower()
    assert "nan" not in text.lower()


def test_postgres_computes_with_doubles():
    """Decimal literals would be exact numbers, 14 to 26 times slower."""
    text = fitted("gaussian").expression("postgres")
    without = text.replace("::float8", "").split("'")[::2]  # the text outside of literals
    assert not any(character.isdigit() for character in "".join(without))


FLAT = [
    ("gaussian", 0, 1e100), ("gaussian", 1, -1e100), ("manmatha", 1, 1e100), ("gamma", 0, 1e100), ("gamma", 1, -1e100),
    ("kanoulas", 0, 1e100), ("kanoulas", 1, -1e100), ("kanoulas", 2, 1e100), ("kanoulas", 2, -1e100),
]  # fmt: skip


@pytest.mark.parametrize(("name", "coefficient", "far"), FLAT)
def test_a_flat_end_stays_flat_however_far(name, coefficient, far, pairs):
    """Beyond an end a constant must not become what rounding leaves of the other coefficients."""
    calibrator = sn.calibration.make_calibrator(name).fit(*pairs)
    calibrator.coef_ = np.eye(len(calibrator.coef_))[coefficient]
    at_the_end, far_outside = calibrator._log_odds(np.array([calibrator.score_range_[far > 0], far]))
    assert_allclose(far_outside, at_the_end, atol=1e-12)


def test_polars_takes_segments():
    calibrator = of_segments()
    frame = pl.DataFrame({"segment": [*SEGMENTS, "unknown", None], "score": [0.3] * 8})
    with pytest.warns(SurenessWarning, match="does not know"):
        wanted = calibrator.probability([0.3] * 8, segments=frame["segment"]).tolist()
    assert difference(frame.select(calibrator.expression("polars")).to_series().to_list(), wanted) < 1e-12


@pytest.mark.parametrize("base", ["shape", "histogram", "sigmoid"])
@pytest.mark.parametrize("missing", [True, False])
def test_maps_of_several_fields_in_polars(base, missing):
    values = list(product(*FIELDS.values(), [-2.0, 0.5, 4.0]))
    frame = pl.DataFrame(values, schema=[*FIELDS, "score"], orient="row", strict=False)
    calibrator = of_fields(base, missing=missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)
        wanted = calibrator.probability(frame["score"], segments=frame.select(*FIELDS))
    assert_allclose(frame.select(calibrator.expression("polars")).to_series(), wanted, atol=1e-12)


def test_fields_with_a_base_rate_or_of_probabilities_have_an_expression():
    rng = np.random.default_rng(0)
    scores, market = rng.random(2_000), rng.choice(["de", "fr"], 2_000)
    labels = rng.random(2_000) < np.where(market == "de", scores, scores**3)
    known = sn.CalibrationSet.from_pairs(scores, labels, base_rate=0.2)
    calibrator = sn.SegmentCalibrator(sn.calibration.BetaCalibrator(scores_are="probabilities"))
    calibrator.fit(known, segments={"market": market})
    frame = pl.DataFrame({"score": scores, "market": market})
    found = frame.select(calibrator.expression("polars")).to_series()
    assert_allclose(found, calibrator.probability(scores, segments=frame.select("market")), atol=1e-12)
    outside = pl.DataFrame({"score": [-0.1, 1.1, None], "market": "de"})
    assert outside.select(calibrator.expression("polars")).to_series().null_count() == 3


def test_what_cannot_be_answered_is_refused(pairs):
    with pytest.raises(SettingError, match="postgres"):
        fitted("platt").expression("sql")
    with pytest.raises(SettingError, match="table"):
        fitted("platt").expression("polars", table="t")
    with pytest.raises(NotFittedError):
        sn.PlattCalibrator().expression("duckdb")
    with pytest.raises(NotFittedError):
        sn.calibration.PerUserPlatt().query("duckdb", "t")


class WithoutFormula(Calibrator):
    """A calibrator of somebody else."""

    def _fit_points(self, points): ...
    def _probability(self, scores):
        return np.full(len(scores), 0.5)

    def _state(self):
        return {}

    def _restore(self, state): ...


@pytest.mark.filterwarnings("ignore:.*the same probability:sureness.errors.SurenessWarning")
def test_a_calibrator_without_a_formula_says_so(pairs):
    with pytest.raises(SettingError, match="WithoutFormula"):
        WithoutFormula().fit(*pairs).expression("duckdb")
    with pytest.raises(SettingError, match="WithoutFormula"):
        SegmentCalibrator(WithoutFormula()).fit(*pairs, segments=np.arange(3_000) % 3).expression("duckdb")
