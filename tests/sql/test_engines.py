"""Expressions run on real databases give what Python gives, for every kind of map and the nastiest scores."""

from __future__ import annotations

import os
from itertools import product

import numpy as np
import pytest

from sureness.expressions import dialect_named
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
from tests.sql.engines import ENGINES, Column, started, why_absent

KINDS = ("double", "single", "integer", "decimal")
TOLERANCE = 1e-12

pytestmark = pytest.mark.filterwarnings("ignore")  # of the drivers


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    if (reason := why_absent(request.param)) is not None:
        pytest.fail(reason) if os.environ.get("SURENESS_DATABASES") == "all" else pytest.skip(reason)
    with started(request.param) as running:
        for kind in KINDS:
            running.load(f"of_{kind}", numbered(nasty(kind)))
        yield running


@pytest.mark.parametrize("name", MAPS)
def test_every_map(engine, name):
    check_scores(engine, name, "double")


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", ["single", "integer", "decimal"])
def test_every_type_of_score(engine, name, kind):
    check_scores(engine, name, kind)


@pytest.mark.parametrize("name", ["sigmoid", "temperature", "platt", "beta", "gaussian", "gamma", "kanoulas", "shape"])
def test_the_score_of_a_probability_has_it(engine, name):
    """And the condition that an index serves keeps it, but not the score below."""
    calibrator = fitted(name)
    wanted = (0.1, 0.3, 0.7)
    cut = [calibrator.score_for(each) for each in wanted]
    table = f"of_cut_{name}"
    below = [float(np.nextafter(score, -np.inf)) for score in cut]
    engine.load(table, numbered(Column("double", [*cut, *below])))
    asked = engine.rows(f"SELECT id, {calibrator.expression(engine.dialect)} FROM {table} ORDER BY id")
    assert max(abs(found - each) for (_, found), each in zip(asked, wanted, strict=False)) <= 1e-9
    for place, each in enumerate(wanted):
        kept = engine.rows(f"SELECT id FROM {table} WHERE {calibrator.condition(engine.dialect, each)}")
        assert (place,) in kept
        assert (place + len(wanted),) not in kept


def test_spark_without_ansi(engine):
    """There, text that is no number becomes one without an error, so a name must never be read as text."""
    if engine.dialect != "spark":
        pytest.skip("only Spark has both")
    engine.session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        check_scores(engine, "platt", "double")
    finally:
        engine.session.conf.unset("spark.sql.ansi.enabled")


def check_scores(engine, name, kind):
    expression = fitted(name).expression(engine.dialect, "t.score")
    found = probabilities(engine, f"SELECT id, {expression} FROM of_{kind} AS t")
    wanted = expected(fitted(name).probability, nasty(kind), domain_of(name))
    assert difference(found, wanted) < TOLERANCE


def test_the_result_is_a_double(engine):
    found = probabilities(engine, fitted("histogram").query(engine.dialect, "of_integer"))
    assert {type(value) for value in found if value is not None} == {float}


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_maps_of_segments(engine, kind):
    calibrator = of_segments(kind)
    known = SEGMENTS if kind == "text" else [number + 2**60 for number in range(len(SEGMENTS))]
    segments, scores = crossed([*known, "unknown" if kind == "text" else 5, None])
    table = f"segments_{kind}"
    engine.load(table, {**numbered(scores), "segment": ids_of(segments)})
    wanted = expected(calibrator.probability, scores, segments=segments)
    assert difference(probabilities(engine, calibrator.query(engine.dialect, table)), wanted) < TOLERANCE
    engine.load(f"maps_of_{table}", {each.name: learned(each) for each in calibrator.table()})
    query = calibrator.query(engine.dialect, table, maps=f"maps_of_{table}")
    assert "JOIN" in query
    assert difference(probabilities(engine, query), wanted) < TOLERANCE


@pytest.mark.parametrize(("base", "missing"), [("shape", True), ("gaussian", False), ("isotonic", True)])
def test_maps_of_several_fields(engine, base, missing):
    calibrator = of_fields(base, missing=missing)
    values = list(zip(*product(*FIELDS.values(), [-1e308, -0.5, 0.0, 2.0, 1e308, None]), strict=True))
    fields, scores = dict(zip(FIELDS, map(list, values), strict=False)), Column("double", values[-1])
    kinds = {"market": "text", "shop no": "integer", "popularity": "double"}
    table = f"fields_{base}"
    columns = {engine_name(engine, name): Column(kinds[name], column) for name, column in fields.items()}
    engine.load(table, {**numbered(scores), **columns})

    def probability(asked):
        rows = [place for place, score in enumerate(scores.values) if score is not None]
        return calibrator.probability(asked, segments={n: [each[row] for row in rows] for n, each in fields.items()})

    found = probabilities(engine, calibrator.query(engine.dialect, table))
    assert difference(found, expected(probability, scores)) < TOLERANCE
    found = probabilities(engine, f"SELECT id, {calibrator.expression(engine.dialect, table='t')} FROM {table} AS t")
    assert difference(found, expected(probability, scores)) < TOLERANCE


def engine_name(engine, name):
    """A name with a blank, as a statement of the engine writes it; Spark's schemas too."""
    return dialect_named(engine.dialect).identifier(name)


def crossed(ids):
    """Every id with every score."""
    scores = [-1e308, -1.0, 0.0, 5e-324, 0.7, 1e308, None, float("nan")]
    return [each for each in ids for _ in scores], Column("double", scores * len(ids))


def numbered(scores):
    return {"id": Column("integer", range(len(scores.values))), "score": scores}


def ids_of(values):
    return Column("text" if isinstance(values[0], str) else "integer", values)


def learned(series):
    """A column of what was learned about each user."""
    return Column("double" if series.dtype.is_float() else ids_of(series.to_list()).kind, series.to_list())


def probabilities(engine, query):
    """The last column of a query, in the order of the first."""
    return [row[-1] for row in sorted(engine.rows(query), key=lambda row: row[0])]
