from __future__ import annotations

import json
import time
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from sureness.errors import ColumnError, IdError, SettingError, SurenessWarning
from sureness.numerics.intensity import once_gone
from tests.recommender.worlds import shop

MARKETS, DEVICES = ("de", "fr", "it", "es"), ("desk", "phone")


def overlapping(n_pairs, seed=0, together=0.0):
    """Scores, labels, fields and truth: markets differ in level, devices in slope, popularity in both."""
    rng = np.random.default_rng(seed)
    market, device = rng.integers(0, 4, n_pairs), rng.integers(0, 2, n_pairs)
    popularity, scores = rng.lognormal(size=n_pairs), rng.normal(size=n_pairs)
    level = np.array([-1.0, -0.3, 0.3, 1.0])[market] + 0.4 * np.log(popularity)
    level = level + together * np.where((market == 0) == (device == 0), 1.0, -1.0)
    truth = expit(-1 + level + np.where(device == 1, 0.5, 1.5) * scores)
    fields = {"market": np.array(MARKETS)[market], "device": np.array(DEVICES)[device], "popularity": popularity}
    return scores, (rng.random(n_pairs) < truth).astype(int), fields, truth


@pytest.fixture(scope="module")
def fitted():
    scores, labels, fields, _ = overlapping(12_000)
    return sn.SegmentCalibrator().fit(scores, labels, segments=fields)


def error_of(calibrator, seed=1, **kwargs):
    scores, _, fields, truth = overlapping(20_000, seed, **kwargs)
    return np.abs(calibrator.probability(scores, segments=fields) - truth).mean()


def test_fields_that_overlap_are_told_apart(fitted):
    scores, _, _, truth = overlapping(20_000, 1)
    assert error_of(fitted) < 0.2 * np.abs(fitted.global_.probability(scores) - truth).mean()


def test_many_pairs_are_fitted_in_cells_with_the_same_result(monkeypatch):
    scores, labels, fields, _ = overlapping(20_000)
    exact = sn.SegmentCalibrator().fit(scores, labels, segments=fields)
    monkeypatch.setattr("sureness.calibration.field_effects._EXACT_PAIRS", 0)
    cells = sn.SegmentCalibrator().fit(scores, labels, segments=fields)
    difference = cells.probability(scores, segments=fields) - exact.probability(scores, segments=fields)
    assert np.abs(difference).max() < 0.005


def test_fields_that_act_together_need_interactions():
    scores, labels, fields, _ = overlapping(20_000, together=1.0)
    alone, paired = (
        sn.SegmentCalibrator(interactions=number).fit(scores, labels, segments=fields) for number in (1, 2)
    )
    assert error_of(paired, together=1.0) < 0.3 * error_of(alone, together=1.0)


def test_fields_that_make_no_difference_are_left_out():
    rng = np.random.default_rng(0)
    scores, fields = rng.normal(size=5_000), {name: rng.integers(0, 30, 5_000) for name in "abc"}
    fitted = sn.SegmentCalibrator().fit(scores, rng.random(5_000) < expit(scores - 1), segments=fields)
    asked = {name: values[:500] for name, values in fields.items()}
    difference = fitted.log_odds(scores[:500], segments=asked) - fitted.global_.log_odds(scores[:500])
    assert np.abs(difference).mean() < 0.06
    assert len(fitted.effects_.terms) < 5


def test_a_shape_that_fields_bend_is_learned_beside_them():
    """Popular items score high and are taken more often: over all pairs the score seems to say more than it does."""
    rng = np.random.default_rng(0)
    popular = rng.integers(0, 2, 30_000)
    scores = rng.normal(size=30_000) + 2.0 * popular
    truth = expit(-3 + 3.0 * popular + np.maximum(scores, 1.0))
    labels = rng.random(30_000) < truth
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments={"popular": popular})
    found = fitted.probability(scores, segments={"popular": popular})
    assert np.abs(found - truth).mean() < 0.01
    straight = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments={"popular": popular})
    assert np.abs(straight.probability(scores, segments={"popular": popular}) - truth).mean() > 0.015


def test_one_field_is_as_good_as_a_map_for_each_segment():
    scores, labels, fields, truth = overlapping(6_000)
    one = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments={"market": fields["market"]})
    own = sn.SegmentCalibrator().fit(scores, labels, segments=fields["market"])
    found, known = (
        one.probability(scores, segments=fields), own.probability(scores, segments=fields["market"]),
    )  # fmt: skip
    assert np.abs(found - known).mean() < 0.01
    assert np.abs(found - truth).mean() < 1.02 * np.abs(known - truth).mean()


def test_the_mean_probability_is_the_share_of_positives(fitted):
    scores, labels, fields, _ = overlapping(12_000)
    assert fitted.probability(scores, segments=fields).mean() == pytest.approx(labels.mean(), rel=2e-3)


# --- the ranking within a combination -------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(30, 300), st.integers(1, 3))
def test_the_order_within_a_combination_stays(seed, n_pairs, interactions):
    """Also where labels contradict the scores, and for combinations that were never seen."""
    rng = np.random.default_rng(seed)
    fields = {"a": rng.integers(0, 3, n_pairs), "b": rng.integers(0, 4, n_pairs), "c": rng.normal(size=n_pairs)}
    scores = rng.normal(size=n_pairs)
    labels = rng.random(n_pairs) < expit(2 * scores * np.where(fields["a"] == 0, -1, 1) + fields["c"])
    labels[:2] = 0, 1
    try:
        fitted = sn.SegmentCalibrator(sn.PlattCalibrator(), interactions=interactions).fit(
            scores, labels, segments=fields
        )
    except sn.errors.NoMinimumError:
        return
    grid = np.linspace(scores.min(), scores.max(), 40)
    for a, b, c in product(range(3), range(4), (-3.0, 0.0, 3.0)):
        try:
            found = fitted.log_odds(grid, segments={"a": a, "b": b, "c": c})
        except SurenessWarning:  # a value that the draw did not have
            continue
        assert np.isfinite(found).all()
        assert np.diff(found).min() >= 0


# --- values that were never seen, and missing ones ------------------------------------------------------------------


def test_a_combination_never_seen_is_the_sum_of_its_parts():
    scores, labels, fields, _ = overlapping(12_000)
    del fields["popularity"]
    kept = ~((fields["market"] == "es") & (fields["device"] == "phone"))
    some = {name: values[kept] for name, values in fields.items()}
    fitted = sn.SegmentCalibrator().fit(scores[kept], labels[kept], segments=some)
    level = [fitted.log_odds([0.0], segments={"market": m, "device": d})[0] for m, d in product(("de", "es"), DEVICES)]
    assert level[3] > level[1] + 1  # es phone above de phone, as es desk is above de desk
    assert level[2] > level[0] + 1


def test_a_value_never_seen_adds_nothing_and_is_said(fitted):
    fields = {"market": ["de", "xx", "xx"], "device": "phone", "popularity": 1.0}
    with pytest.warns(SurenessWarning, match="2 of 3 pairs have a 'market' .* 'xx'"):
        found = fitted.probability([0.3, 0.3, 0.3], segments=fields)
    between = [fitted.probability([0.3], segments={**fields, "market": market})[0] for market in MARKETS]
    assert min(between) < found[1] == found[2] < max(between)


def test_where_nothing_is_known_the_global_map_answers():
    scores, labels, fields, _ = overlapping(3_000)
    del fields["popularity"]
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=fields)
    with pytest.warns(SurenessWarning) as told:
        found = fitted.probability([0.3], segments={"market": "xx", "device": "yy"})
    assert len(told) == 2
    assert_allclose(found, fitted.global_.probability([0.3]))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_a_missing_value_is_a_value(missing):
    scores, labels, fields, _ = overlapping(12_000)
    market, popularity = fields["market"].astype(object), fields["popularity"].copy()
    market[fields["market"] == "de"] = missing
    popularity[::7] = np.nan
    fitted = sn.SegmentCalibrator().fit(
        scores, labels, segments={"market": market, "device": fields["device"], "popularity": popularity}
    )
    named = sn.SegmentCalibrator().fit(scores, labels, segments={**fields, "popularity": popularity})
    asked = {"device": "desk", "popularity": [1.0, np.nan, 5.0]}
    found = fitted.probability([0.1] * 3, segments={"market": missing, **asked})
    assert_allclose(found, named.probability([0.1] * 3, segments={"market": "de", **asked}), atol=1e-9)


def test_missing_values_where_the_fit_had_none_add_nothing_and_are_said(fitted):
    with pytest.warns(SurenessWarning, match="none at all"):
        found = fitted.probability([0.3], segments={"market": None, "device": "desk", "popularity": 2.0})
    assert 0 < found[0] < 1


def test_a_column_of_missing_values_alone_is_fine():
    scores, labels, fields, _ = overlapping(2_000)
    nothing = pl.Series([None] * 2_000)
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments={"a": nothing, "market": fields["market"]})
    assert np.isfinite(fitted.log_odds(scores, segments={"a": nothing, "market": fields["market"]})).all()


# --- what is given --------------------------------------------------------------------------------------------------


def as_pandas(fields):
    return pd.DataFrame(fields)


def as_polars(fields):
    return pl.DataFrame(fields)


def as_lists(fields):
    return {name: values.tolist() for name, values in fields.items()}


@pytest.mark.parametrize("convert", [as_pandas, as_polars, as_lists])
def test_any_table_serves(fitted, convert):
    scores, labels, fields, _ = overlapping(500)
    expected = fitted.probability(scores, segments=fields)
    assert_array_equal(fitted.probability(scores, segments=convert(fields)), expected)
    reordered = convert({"else": scores, **dict(reversed(fields.items()))})
    assert_array_equal(fitted.probability(scores, segments=reordered), expected)
    again = sn.SegmentCalibrator().fit(scores, labels, segments=convert(fields))
    same = sn.SegmentCalibrator().fit(scores, labels, segments=fields)
    assert_array_equal(again.probability(scores, segments=fields), same.probability(scores, segments=fields))


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-2.5, 2.5),
    st.sampled_from(MARKETS),
    st.sampled_from(DEVICES),
    st.floats(0.001, 1_000) | st.integers(1, 9),
)
def test_plain_values_and_lists_are_columns_of_one_row(fitted, score, market, device, popularity):
    fields = {"market": market, "device": [device], "popularity": popularity}
    alone, many = fitted.probability([score], segments=fields), fitted.probability(np.array([score]), segments=fields)
    assert_allclose(alone, many, rtol=1e-12)


def test_whole_numbers_are_values_unless_they_are_named_as_numeric():
    scores, labels, fields, _ = overlapping(6_000)
    counts = np.ceil(10 * fields["popularity"]).astype(int)
    named, grouped = (
        sn.SegmentCalibrator(numeric=numeric).fit(scores, labels, segments={"count": counts})
        for numeric in ((), ("count",))
    )
    assert named.effects_.coding.fields[0].values is not None
    assert grouped.effects_.coding.fields[0].n_codes < 65
    with pytest.warns(SurenessWarning, match="such as 1000000"):
        named.probability([0.0], segments={"count": [10**6]})
    assert grouped.probability([0.0], segments={"count": [10**6]}) > grouped.probability([0.0], segments={"count": 1})


@pytest.mark.parametrize(
    "base", [sn.PlattCalibrator(), sn.calibration.BetaCalibrator(), sn.IsotonicCalibrator()], ids=repr
)
def test_any_calibrator_serves_as_the_global_map(base):
    scores, labels, fields, _ = overlapping(12_000)
    fitted = sn.SegmentCalibrator(base).fit(scores, labels, segments=fields)
    assert not hasattr(base, "estimand_")
    assert error_of(fitted) < 0.05
    found = fitted.log_odds_of(
        np.array([-np.inf, 0.0]), fitted.who(2, segments={name: v[:2] for name, v in fields.items()})
    )
    assert found[0] == -np.inf
    assert np.isfinite(found[1])


def test_fitting_changes_nothing_that_was_given():
    scores, labels, fields, _ = overlapping(1_000)
    before = {name: values.copy() for name, values in {"scores": scores, "labels": labels, **fields}.items()}
    base = sn.PlattCalibrator()
    sn.SegmentCalibrator(base).fit(scores, labels, segments=fields)
    for name, values in {"scores": scores, "labels": labels, **fields}.items():
        assert_array_equal(values, before[name])
    assert vars(base) == vars(sn.PlattCalibrator())


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1_000), st.booleans())
def test_a_weight_equals_repeated_pairs(seed, in_cells):
    scores, labels, fields, _ = overlapping(600, seed)
    weight = np.random.default_rng(seed + 5_000).integers(0, 4, 600)
    repeated = {name: np.repeat(values, weight) for name, values in fields.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureness.calibration.field_effects._EXACT_PAIRS", 0 if in_cells else 20_000)
        weighted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=fields, sample_weight=weight)
        more = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(
            np.repeat(scores, weight), np.repeat(labels, weight), segments=repeated
        )
    assert_allclose(weighted.probability(scores, segments=fields), more.probability(scores, segments=fields), rtol=1e-5)


# --- what else is known ---------------------------------------------------------------------------------------------


def test_a_base_rate_is_met_over_all_combinations():
    scores, labels, fields, _ = overlapping(6_000)
    data = CalibrationSet.from_pairs(scores, labels, base_rate=0.05)
    fitted = sn.SegmentCalibrator().fit(data, segments=fields)
    assert fitted.probability(scores, segments=fields).mean() == pytest.approx(0.05, rel=1e-6)
    assert fitted.global_.probability(scores).mean() == pytest.approx(0.05, rel=1e-3)


def test_an_anchor_corrects_all_combinations():
    scores, labels, fields, truth = overlapping(12_000)
    rng = np.random.default_rng(1)
    some = rng.choice(12_000, 4_000, replace=False)
    halved = expit(np.log(truth / (1 - truth)) - 1)
    anchor = sn.data.ScoredPairs.of(scores[some], rng.random(4_000) < halved[some])
    fitted = sn.SegmentCalibrator().fit(CalibrationSet.from_pairs(scores, labels, anchor=anchor), segments=fields)
    found = fitted.probability(scores, segments=fields)
    assert found.mean() == pytest.approx(halved.mean(), rel=0.08)
    assert np.abs(found - halved).mean() < 0.04


def test_targets_over_propensities_are_trusted_less():
    scores, labels, fields, _ = overlapping(6_000)
    market = {"market": fields["market"]}
    sure = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=market)
    seen = np.random.default_rng(0).random(6_000) < 0.1
    unsure = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(
        scores, labels * seen, segments=market, propensity=np.full(6_000, 0.1)
    )
    assert unsure.estimand_ == "preference"
    assert unsure.effects_.terms[0].width[0] < 2 * sure.effects_.terms[0].width[0]
    assert unsure.probability(scores, segments=market).mean() == pytest.approx(labels.mean(), rel=0.25)


def test_masked_scores_and_pairs_without_weight_do_not_count():
    scores, labels, fields, _ = overlapping(3_000)
    weight = np.ones(3_000)
    weight[:100] = 0.0
    without = sn.SegmentCalibrator().fit(
        scores[100:], labels[100:], segments={name: values[100:] for name, values in fields.items()}
    )
    wild = {name: values.copy() for name, values in fields.items()}
    wild["popularity"][:100] = 1e9
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=wild, sample_weight=weight)
    assert_allclose(
        fitted.probability(scores, segments=fields), without.probability(scores, segments=fields), rtol=1e-9
    )


def test_it_is_fitted_to_the_candidates_of_a_recommender():
    small = shop(40, 30)
    segments = sn.calibration.Segments(np.arange(30) % 3)
    recommender = sn.ConfidentRecommender(small.source, sn.SegmentCalibrator(sn.PlattCalibrator()), segments=segments)
    table = recommender.fit(small.train, small.validation).recommend()
    odds = recommender.map_.log_odds(table["score"], segments=table["item_id"].to_numpy() % 3)
    assert_allclose(table["probability"], once_gone(odds), rtol=1e-6)


# --- saving ---------------------------------------------------------------------------------------------------------


def test_saving_and_loading_changes_nothing(tmp_path):
    scores, labels, fields, _ = overlapping(3_000)
    fields["market"] = fields["market"].astype(object)
    fields["market"][:50] = None
    data = CalibrationSet.from_pairs(scores, labels, base_rate=0.1)
    fitted = sn.SegmentCalibrator(sn.GaussianCalibrator(), numeric=["popularity"], interactions=3)
    fitted.fit(data, segments=fields).save(tmp_path / "map.json")
    opened = sn.load(tmp_path / "map.json", sn.SegmentCalibrator)
    assert repr(opened) == repr(fitted)
    assert_array_equal(opened.probability(scores, segments=fields), fitted.probability(scores, segments=fields))
    assert json.loads((tmp_path / "map.json").read_text())["kind"] == "map/segment"


# --- bad input ------------------------------------------------------------------------------------------------------


def test_bad_input_is_named(fitted):
    scores, labels, fields, _ = overlapping(300)
    with pytest.raises(sn.errors.NotFittedError):
        sn.SegmentCalibrator().probability([0.0], segments={"market": ["de"]})
    with pytest.raises(ColumnError, match="device"):
        fitted.probability([0.0], segments={"market": ["de"], "popularity": 1.0})
    with pytest.raises(SettingError, match="segments"):
        fitted.probability([0.0])
    with pytest.raises(sn.errors.DataError, match="market"):
        sn.SegmentCalibrator().fit(scores, labels, segments={"market": ["de"]})
    with pytest.raises(ColumnError, match="at least one"):
        sn.SegmentCalibrator().fit(scores, labels, segments={})
    with pytest.raises(SettingError, match="numeric"):
        sn.SegmentCalibrator(numeric=["age"]).fit(scores, labels, segments=fields)
    with pytest.raises(SettingError, match="numeric"):
        sn.SegmentCalibrator(numeric="popularity").fit(scores, labels, segments=fields)
    with pytest.raises(SettingError, match="interactions"):
        sn.SegmentCalibrator(interactions=0).fit(scores, labels, segments=fields)
    with pytest.raises(SettingError, match="labels"):
        sn.SegmentCalibrator().fit(scores, segments=fields)


@pytest.mark.parametrize(
    ("name", "values", "error"),
    [
        ("market", [1], IdError), ("market", [0.5], IdError), ("market", [["de"]], IdError),
        ("popularity", ["many"], sn.errors.DataError), ("popularity", [True], sn.errors.DataError),
        ("market", np.array(["2020-01-01"], dtype="M8[s]"), IdError),
    ],
    ids=["numbers for text", "fractions for text", "lists", "text for numbers", "truth values", "dates"],
)  # fmt: skip
def test_values_of_another_kind_are_refused(fitted, name, values, error):
    with pytest.raises(error, match=name):
        fitted.probability([0.0], segments={"market": "de", "device": "desk", "popularity": 1.0, name: values})


def test_values_of_several_kinds_are_refused():
    scores, labels, _, _ = overlapping(300)
    with pytest.raises(IdError, match="market"):
        sn.SegmentCalibrator().fit(scores, labels, segments={"market": [1, "1", 2] * 100})


def test_more_combinations_than_can_be_numbered_are_refused():
    scores, labels, _, _ = overlapping(1_000)
    fields = {f"field {number}": np.arange(1_000) for number in range(6)}
    with pytest.raises(sn.errors.DataError, match="combinations"):
        sn.SegmentCalibrator(interactions=1).fit(scores, labels, segments=fields)


# --- one field without a name ----------------------------------------------------------------------------------------


def segmented(n_pairs=3_000, n_segments=4):
    """Pairs whose level rises with the number of their segment."""
    rng = np.random.default_rng(0)
    numbers, scores = rng.integers(0, n_segments, n_pairs), rng.normal(size=n_pairs)
    truth = expit(-1 + np.linspace(-1.5, 1.5, n_segments)[numbers] + scores)
    return scores, rng.random(n_pairs) < truth, numbers, truth


@pytest.mark.parametrize("base", [sn.PlattCalibrator(), sn.IsotonicCalibrator(), None], ids=repr)
def test_segments_that_differ_get_their_own_map(base):
    scores, labels, numbers, truth = segmented(20_000)
    own = sn.SegmentCalibrator(base).fit(scores, labels, segments=numbers)
    overall = sn.PlattCalibrator().fit(scores, labels)
    error = np.abs(own.probability(scores, segments=numbers) - truth).mean()
    assert error < 0.2 * np.abs(overall.probability(scores) - truth).mean()
    assert own.reads() == ("score", "segment")


def test_many_values_are_fitted_at_once():
    """A fit of its own for each of so many took minutes."""
    scores, labels, numbers, truth = segmented(200_000, 5_000)
    start = time.process_time()
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=numbers)
    assert np.abs(fitted.probability(scores, segments=numbers) - truth).mean() < 0.06
    assert time.process_time() - start < 15


AS_OTHER_TYPES = {
    "floats": lambda numbers: numbers.astype(float),
    "bytes": lambda numbers: numbers.astype(np.int8),
    "unsigned": lambda numbers: numbers.astype(np.uint64),
    "a list": lambda numbers: numbers.tolist(),
    "polars": lambda numbers: pl.Series(numbers, dtype=pl.Int16),
    "128 bits": lambda numbers: pl.Series(numbers.tolist(), dtype=pl.Int128),
}


@pytest.mark.parametrize("convert", AS_OTHER_TYPES.values(), ids=AS_OTHER_TYPES)
def test_segments_of_another_number_type_are_the_same(convert, tmp_path):
    scores, labels, numbers, _ = segmented(1_000)
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=numbers)
    fitted.save(tmp_path / "map.json")
    expected = fitted.probability(scores, segments=numbers)
    assert_array_equal(sn.load(tmp_path / "map.json").probability(scores, segments=convert(numbers)), expected)
    other = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=convert(numbers))
    assert_array_equal(other.probability(scores, segments=numbers), expected)


@pytest.mark.parametrize(
    ("fitted_on", "asked"),
    [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([1, 2], [True, False])],
    ids=["numbers", "text", "truth values"],
)
def test_segments_of_another_kind_are_refused(fitted_on, asked):
    scores, labels, numbers, _ = segmented(400)
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=np.array(fitted_on)[numbers % 2])
    with pytest.raises(IdError):
        fitted.probability([0.0, 0.0], segments=asked)


@pytest.mark.parametrize("segments", [[1, "1"], np.array(["2020-01-01", "2021-01-01"], dtype="M8[s]")], ids=str)
def test_segments_that_are_not_ids_are_refused(segments):
    scores, labels, numbers, _ = segmented(400)
    given = [segments[number % 2] for number in numbers] if isinstance(segments, list) else segments[numbers % 2]
    with pytest.raises((IdError, sn.errors.DataError)):
        sn.SegmentCalibrator().fit(scores, labels, segments=given)


def many_segments(*, of_text, missing=False, n=10_000):
    rng = np.random.default_rng(7)
    levels = rng.normal(size=n)
    segments = np.arange(6 * n) % n
    scores = rng.normal(size=len(segments))
    labels = rng.random(len(segments)) < expit(scores + levels[segments])
    named = pl.Series("shop", segments).cast(pl.String) if of_text else pl.Series("shop", segments)
    named = named.set(pl.Series(segments % 97 == 0), None) if missing else named
    pairs = CalibrationSet.from_pairs(scores, labels, base_rate=0.1 if missing else None)
    return sn.SegmentCalibrator().fit(pairs, segments={"shop": named})


def test_a_field_with_too_many_values_for_an_expression_is_refused_at_once():
    fitted = many_segments(of_text=False)
    began = time.process_time()
    for ask in (
        lambda: fitted.expression("duckdb"), lambda: fitted.expression("polars"), lambda: fitted.query("duckdb", "t")
    ):  # fmt: skip
        with pytest.raises(SettingError, match=r"'shop' has 10,000 values, more than the 5,000 .* load table\(\)"):
            ask()
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(("of_text", "missing"), [(True, True), (False, False)])
def test_a_field_with_many_values_is_a_table_to_join(of_text, missing):
    fitted = many_segments(of_text=of_text, missing=missing)
    table = fitted.table()
    assert table.columns == ["shop", "level", "stretch"]
    assert table["shop"].null_count() == missing
    assert table["shop"].n_unique() == table.height
    asked = pl.concat(
        [table["shop"], pl.Series("shop", ["nowhere" if of_text else -7, None], dtype=table["shop"].dtype)]
    )
    pairs = pl.DataFrame({"shop": asked, "score": np.linspace(-3.0, 3.0, len(asked))})
    connection = duckdb.connect()
    connection.register("maps_of_shops", table)
    connection.register("pairs", pairs)
    query = fitted.query("duckdb", "pairs", maps="maps_of_shops")
    assert len(query) < 20_000
    found = connection.sql(query).pl()
    with pytest.warns(SurenessWarning, match="nowhere|-7"):
        wanted = fitted.probability(found["score"], segments={"shop": found["shop"]})
    assert_allclose(found["probability"], wanted, atol=1e-12)
    assert found.height == pairs.height


def test_the_table_of_several_fields_has_each_combination():
    scores, labels, fields, _ = overlapping(3_000)
    del fields["popularity"]
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=fields)
    table = fitted.table()
    assert table.height == table.select(fitted.fields_).n_unique()
    shown = fitted._base.log_odds([0.3])[0]
    wanted = fitted.probability(np.full(table.height, 0.3), segments=table.select(fitted.fields_))
    assert_allclose(expit(table["level"] + table["stretch"] * shown), wanted)
    with pytest.raises(SettingError, match=r"one field .*; leave maps= out"):
        fitted.query("duckdb", "pairs", maps="maps")


def test_a_field_that_the_table_cannot_have_is_named():
    scores, labels, fields, _ = overlapping(2_000)
    for field, sentence in [({"price": fields["popularity"]}, "'price' is numeric"), (
        {"Level": fields["market"]}, "'Level' of its own"
    )]:  # fmt: skip
        with pytest.raises(SettingError, match=sentence):
            sn.SegmentCalibrator(sn.PlattCalibrator()).fit(scores, labels, segments=field).table()
