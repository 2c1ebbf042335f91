"""The score with a probability: of every monotone map, on arrays, on databases and per group."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration import ShapeCalibrator, TopNCalibrator, make_calibrator
from sureness.errors import SettingError

RISING = ("sigmoid", "temperature", "platt", "beta", "gaussian", "gamma", "manmatha", "kanoulas", "shape")
WANTED = (0.05, 0.2, 0.5, 0.9)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5_000)
    return scores, rng.random(5_000) < 1 / (1 + np.exp(1 - 2 * scores))


@pytest.mark.parametrize("name", RISING)
@pytest.mark.parametrize("wanted", WANTED)
def test_the_probability_of_the_score_is_the_one_asked_for(name, wanted, drawn):
    calibrator = make_calibrator(name).fit(*drawn)
    assert_allclose(calibrator.log_odds([calibrator.score_for(wanted)]), np.log(wanted / (1 - wanted)), atol=1e-8)
    assert abs(calibrator.probability([calibrator.score_for(wanted)])[0] - wanted) <= 1e-9


@pytest.mark.parametrize("wanted", WANTED)
def test_it_is_a_probability_for_maps_of_probabilities(wanted, drawn):
    q = 1 / (1 + np.exp(-drawn[0]))
    calibrator = make_calibrator("platt", scores_are="probabilities").fit(q, drawn[1])
    found = calibrator.score_for(wanted)
    assert 0 < found < 1
    assert abs(calibrator.probability([found])[0] - wanted) <= 1e-9


def test_top_n_has_one_too(drawn):
    scores, labels = drawn
    top = TopNCalibrator(n=5).fit(scores, labels, users=np.arange(5_000) // 20)
    assert abs(top.probability([top.score_for(0.3)])[0] - 0.3) <= 1e-9


@pytest.mark.parametrize(
    ("calibrator", "wanted", "sentence"),
    [
        (sn.calibration.HistogramCalibrator(), 0.3, "has steps or may fall"),
        (sn.calibration.BBQCalibrator(), 0.3, "has steps or may fall"),
        (sn.IsotonicCalibrator(), 1 - 1e-9, "never gives the probability 1: its probabilities lie between 0"),
        (sn.PlattCalibrator(), 0.0, "probability must lie strictly between 0 and 1"),
        (sn.PlattCalibrator(), 1.0, "probability must lie strictly between 0 and 1"),
    ],
)
def test_what_has_no_inverse_is_refused(calibrator, wanted, sentence, drawn):
    scores, labels = drawn
    fitted = calibrator.fit(scores, labels & (scores < 2.5))
    with pytest.raises(SettingError, match=sentence):
        fitted.score_for(wanted)


def test_a_map_that_is_flat_never_reaches_other_probabilities(drawn):
    flat = sn.PlattCalibrator().fit(*drawn)
    flat.coef_ = np.zeros(1)
    with pytest.raises(SettingError, match="PlattCalibrator never gives the probability 0.9"):
        flat.score_for(0.9)


def test_segments_and_groups_have_a_cut_off_each(drawn):
    scores, labels = drawn
    market = np.array(["de", "fr"])[np.arange(5_000) % 2]
    of_segments = sn.SegmentCalibrator(ShapeCalibrator()).fit(
        scores, labels & ((market == "de") | (np.arange(5_000) % 3 == 0)), segments=market
    )
    cut = of_segments.score_for(0.2, segments=["de", "fr"])
    assert cut[0] < cut[1]
    assert_allclose(of_segments.probability(cut, segments=["de", "fr"]), 0.2, atol=1e-9)
    queries = np.arange(5_000) // 25
    of_lists = sn.ListCalibrator().fit(scores * (1 + queries % 3), labels, groups=queries)
    stretched = scores * (1 + queries % 3)
    cuts = of_lists.score_for(0.3, stretched, groups=queries)
    assert cuts.columns == ["group", "score"]
    assert cuts["group"].to_list() == list(range(200))
    kept = stretched >= cuts["score"].to_numpy()[queries]
    probabilities = of_lists.probability(stretched, groups=queries)
    assert np.array_equal(kept, probabilities >= 0.3)


def test_databases_cut_where_python_does(drawn):
    duckdb = pytest.importorskip("duckdb")
    scores, labels = drawn
    calibrator = ShapeCalibrator().fit(scores, labels)
    rows = pl.DataFrame({"score": scores, "user_id": np.arange(5_000) // 25})
    found = duckdb.sql(f"SELECT score FROM rows WHERE {calibrator.condition('duckdb', 0.3)}").pl()["score"]
    assert sorted(found) == sorted(scores[calibrator.probability(scores) >= 0.3])
    # the expression at the score itself
    literal = calibrator.expression("duckdb").replace('"score"', f"{calibrator.score_for(0.3)!r}::DOUBLE")
    assert abs(duckdb.sql(f"SELECT {literal}").fetchall()[0][0] - 0.3) <= 1e-9
    lists = sn.ListCalibrator().fit(scores, labels, groups=rows["user_id"])
    cut = duckdb.sql(lists.cutoffs("duckdb", 0.3, "rows")).pl().sort("user_id")
    likely = rows.filter(pl.Series(lists.probability(scores, groups=rows["user_id"]) >= 0.3))
    assert cut.equals(likely.group_by("user_id").agg(pl.col("score").min()).sort("user_id"))
