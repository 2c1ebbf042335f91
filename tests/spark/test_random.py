"""Whatever the rows: what Spark finds is what one machine finds, or both refuse for the same reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sureness as sn
from sureness import jobs
from sureness.calibration.base import make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.errors import SurenessError
from sureness.spark import allocate, apply, fit, fit_segments, lists
from tests.spark.tables import frame_of, same_tables, table_of

few = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
quiet = pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")


@st.composite
def tables(draw, *, nulls: bool = True, least: int = 0):
    """Pairs of any kind: few or many users, ids of either kind, ties, outliers, weights, nulls, pairs twice."""
    n = draw(st.one_of(st.integers(least, 40), st.integers(400, 1_500), st.just(25_000)))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    users = rng.integers(0, draw(st.sampled_from([1, 7, 200])), n)
    scores = rng.normal(size=n) * draw(st.sampled_from([1e-6, 1.0, 40.0])) + draw(st.sampled_from([0.0, 0.0, 1_000.0]))
    if draw(st.booleans()):
        scores = np.round(scores, 2)
    if draw(st.booleans()) and n:
        scores[rng.integers(0, n, n // 50)] = -1e9
    standard = (scores - np.median(scores)) / (np.subtract(*np.quantile(scores, [0.75, 0.25])) or 1.0) if n else scores
    columns = {
        "user_id": users, "item_id": rng.integers(0, 30, n), "score": scores,
        "label": rng.random(n) < 1 / (1 + np.exp(np.clip(1 - standard, -30, 30))),
    }  # fmt: skip
    if draw(st.booleans()):
        columns["weight"] = rng.choice([0.0, 0.5, 3.0], n)
    if draw(st.booleans()):
        columns["propensity"] = rng.uniform(0.1, 1.0, n)
    table = pl.DataFrame(columns).with_columns(segment=pl.Series(rng.integers(0, 3, n)))
    if draw(st.booleans()):
        table = table.with_columns(pl.format("ü {}", "user_id").alias("user_id"), pl.col("segment").cast(pl.String))
    if nulls and n and draw(st.integers(0, 3)) == 0:
        missing = pl.Series(np.arange(n) == rng.integers(0, n))
        name = draw(st.sampled_from(["score", "label", *columns.keys() & {"weight", "propensity"}]))
        table = table.with_columns(pl.when(~missing).then(pl.col(name)).alias(name))
    return table


def outcome(call: Callable[[], object]) -> object:
    """What came back, or the class of what was raised."""
    try:
        return call()
    except SurenessError as error:
        return type(error)


@quiet
@few
@given(
    tables(), st.integers(1, 5), st.sampled_from(["platt", "gaussian", "beta", "isotonic"]),
    st.sampled_from([{}, {"sampling_rate": 0.2}, {"sampling_rate": None, "base_rate": 0.02}]),
)  # fmt: skip
def test_fits(spark, table, partitions, method, known):
    expected = outcome(lambda: make_calibrator(method).fit(CalibrationSet.from_table(table, **known)))
    found = outcome(lambda: fit(frame_of(spark, table, partitions), method, **known))
    if isinstance(expected, type):
        assert found is expected
        return
    assert (found.n_pairs_, found.score_range_) == (expected.n_pairs_, expected.score_range_)
    asked = table["score"].drop_nulls()
    np.testing.assert_allclose(found.probability(asked), expected.probability(asked), rtol=0, atol=1e-9)
    same = table_of(apply(frame_of(spark, table.select("item_id", "score")), expected)).drop_nulls()
    np.testing.assert_allclose(same["probability"], expected.probability(same["score"]), rtol=0, atol=1e-12)


@quiet
@few
@given(tables(nulls=False, least=30), st.integers(1, 5))
def test_maps_of_segments(spark, table, partitions):
    def locally():
        return sn.SegmentCalibrator().fit(CalibrationSet.from_table(table), segments=table["segment"])

    expected, found = outcome(locally), outcome(lambda: fit_segments(frame_of(spark, table, partitions)))
    if isinstance(expected, type):
        assert found is expected
        return
    asked = {"segments": table["segment"]}
    np.testing.assert_allclose(
        found.probability(table["score"], **asked), expected.probability(table["score"], **asked), rtol=0, atol=0.05
    )


@quiet
@few
@given(tables(nulls=False), st.integers(1, 5))
def test_lists_and_shares(spark, table, partitions):
    rows = table.select("user_id", "item_id", "score").unique(["user_id", "item_id"]).head(3_000)
    promised = rows.drop("score").with_columns(probability=1 / (1 + (-(rows["score"] % 7) + 4).exp()))
    frame = frame_of(spark, promised, partitions)
    if not promised.height:
        assert lists(frame).count() == 0
        return
    ordered = promised.sort("user_id", "probability", "item_id", descending=[False, True, False])
    expected = jobs.cut_table(ordered, options=jobs.ListOptions()).frame
    same_tables(table_of(lists(frame)), expected, ["user_id", "rank"])
    options = {"budget": float(promised.height // 5)}
    shared = jobs.allocate(promised, None, jobs.AllocateOptions(**options)).frame
    same_tables(table_of(allocate(frame, **options).table), shared, ["user_id"])
    domains = promised.with_columns(domain=pl.col("item_id") % 3)
    pages = jobs.allocate(domains, None, jobs.AllocateOptions(slots=4)).frame
    same_tables(table_of(allocate(frame_of(spark, domains, partitions), slots=4).table), pages, ["user_id", "domain"])


@quiet
@few
@given(tables(least=20), st.integers(1, 5), st.sampled_from([{}, {"sampling_rate": None, "base_rate": 0.02}]))
def test_maps_for_lists(spark, table, partitions, known):
    """Ties at the best-th place may be broken otherwise, so all candidates are among the best."""
    calibrator = sn.ListCalibrator(best=30_000)

    def locally():
        return sn.ListCalibrator(best=30_000).fit(CalibrationSet.from_table(table, **known))

    expected = outcome(locally)
    found = outcome(lambda: fit(frame_of(spark, table, partitions), calibrator, **known))
    if isinstance(expected, type):
        assert found is expected
        return
    assert (found.n_pairs_, found.score_range_) == (expected.n_pairs_, expected.score_range_)
    asked = table.drop_nulls().with_row_index("row")
    wanted = expected.probability(asked["score"], groups=asked["user_id"])
    np.testing.assert_allclose(found.probability(asked["score"], groups=asked["user_id"]), wanted, rtol=0, atol=1e-7)
    probable = table_of(apply(frame_of(spark, asked, partitions), expected)).sort("row")["probability"]
    np.testing.assert_allclose(probable, wanted, rtol=0, atol=1e-9)
