from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import sureness as sn
from sureness._settings import clone
from sureness.calibration.calibration_set import CalibrationSet
from sureness.errors import IdError, SurenessWarning


def segmented(n_pairs, difference, seed=0, n_segments=4):
    rng = np.random.default_rng(seed)
    segments = rng.choice([f"domain {i}" for i in range(n_segments)], n_pairs)
    level = np.linspace(-difference, difference, n_segments)[[int(s[-1]) for s in segments]]
    scores = rng.normal(size=n_pairs)
    truth = expit(-1 + level + scores)
    return scores, (rng.random(n_pairs) < truth).astype(int), segments, truth


@pytest.mark.parametrize("base", [sn.PlattCalibrator(), sn.GaussianCalibrator(), sn.IsotonicCalibrator()], ids=repr)
def test_segments_that_differ_get_their_own_map(base):
    scores, labels, segments, truth = segmented(20_000, 1.5)
    own = sn.SegmentCalibrator(base).fit(scores, labels, segments=segments)
    overall = clone(base).fit(scores, labels)
    error = np.abs(own.probability(scores, segments=segments) - truth).mean()
    assert error < 0.2 * np.abs(overall.probability(scores) - truth).mean()
    assert min(own.shares_.values()) > 0.9


def test_small_segments_that_do_not_differ_are_shrunk_to_the_global_map():
    scores, labels, segments, _ = segmented(600, 0.0)
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=segments)
    assert max(fitted.shares_.values()) < 0.5


def test_a_segment_never_seen_gets_the_global_map():
    scores, labels, segments, _ = segmented(3_000, 1.0)
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=segments)
    with pytest.warns(SurenessWarning, match="elsewhere"):
        found = fitted.probability([0.3], segments=["elsewhere"])
    assert_allclose(found, fitted.global_.probability([0.3]))


def test_a_segment_with_one_class_gets_the_global_map():
    scores, labels, segments, _ = segmented(3_000, 1.0)
    segments[:20], labels[:20] = "new", 0
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=segments)
    assert "new" not in fitted.maps_
    assert_allclose(fitted.probability([0.3], segments=["new"]), fitted.global_.probability([0.3]))


@pytest.mark.parametrize("strength", [0.0, 50.0])
def test_a_given_strength_is_used(strength):
    scores, labels, segments, _ = segmented(2_000, 1.0)
    fitted = sn.SegmentCalibrator(strength=strength).fit(scores, labels, segments=segments)
    positives = labels[segments == "domain 0"].sum()
    assert fitted.shares_["domain 0"] == pytest.approx(positives / (positives + strength))
    inside = segments == "domain 0"
    own = sn.PlattCalibrator().fit(scores[inside], labels[inside]).probability(scores[inside])
    share = fitted.shares_["domain 0"]
    mixed = share * own + (1 - share) * fitted.global_.probability(scores[inside])
    assert_allclose(fitted.probability(scores[inside], segments=segments[inside]), mixed, atol=1e-12)


def test_the_ranking_inside_a_segment_stays():
    scores, labels, segments, _ = segmented(3_000, 1.0)
    fitted = sn.SegmentCalibrator(sn.GammaCalibrator()).fit(scores, labels, segments=segments)
    grid = np.linspace(-6, 6, 500)
    for name in np.unique(segments):
        assert np.diff(fitted.probability(grid, segments=np.full(500, name))).min() >= 0


def test_the_level_of_the_set_is_that_of_every_segment():
    scores, labels, segments, _ = segmented(6_000, 1.0)
    data = CalibrationSet.from_pairs(scores, labels, base_rate=0.05)
    fitted = sn.SegmentCalibrator().fit(data, segments=segments)
    assert fitted.probability(scores, segments=segments).mean() == pytest.approx(0.05, abs=0.01)


def test_saving_and_loading_changes_nothing(tmp_path):
    scores, labels, segments, _ = segmented(3_000, 1.0)
    for strength in ("auto", np.inf):
        fitted = sn.SegmentCalibrator(sn.GaussianCalibrator(risk="naive"), strength=strength)
        fitted.fit(scores, labels, segments=segments).save(tmp_path / "map.json")
        loaded = sn.load(tmp_path / "map.json")
        assert repr(loaded.base) == repr(fitted.base)
        assert_array_equal(loaded.probability(scores, segments=segments), fitted.probability(scores, segments=segments))


def test_numbers_serve_as_segments_too(tmp_path):
    scores, labels, segments, _ = segmented(3_000, 1.0)
    numbers = np.array([int(s[-1]) for s in segments])
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=numbers)
    fitted.save(tmp_path / "map.json")
    assert_array_equal(
        sn.load(tmp_path / "map.json").probability(scores, segments=numbers),
        fitted.probability(scores, segments=numbers),
    )


def test_bad_input_is_named():
    with pytest.raises(sn.errors.DataError, match="segments"):
        sn.SegmentCalibrator().fit([0.0, 1.0], [0, 1], segments=["a"])
    with pytest.raises(sn.errors.NotFittedError):
        sn.SegmentCalibrator().probability([0.0], segments=["a"])
    with pytest.raises(sn.errors.SettingError, match="strength"):
        sn.SegmentCalibrator(strength=-1.0).fit([0.0, 1.0, 0.5, 0.6], [0, 1, 1, 0], segments=["a"] * 4)


@pytest.mark.parametrize("name", ["kind", "number", "base", "ü|;", ""])
def test_segments_may_have_any_name(name, tmp_path):
    scores, labels, segments, _ = segmented(2_000, 1.0)
    segments = np.where(segments == "domain 0", name, segments)
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=segments)
    fitted.save(tmp_path / "map.json")
    assert_array_equal(
        sn.load(tmp_path / "map.json").probability(scores, segments=segments),
        fitted.probability(scores, segments=segments),
    )


# --- segments are ids -----------------------------------------------------------------------------------------------


def numbered(n_pairs=3_000):
    scores, labels, segments, _ = segmented(n_pairs, 1.5)
    return scores, labels, np.array([int(name[-1]) for name in segments])


AS_OTHER_TYPES = {
    "floats": lambda numbers: numbers.astype(float),
    "narrow floats": lambda numbers: numbers.astype(np.float32),
    "bytes": lambda numbers: numbers.astype(np.int8),
    "unsigned": lambda numbers: numbers.astype(np.uint64),
    "objects": lambda numbers: numbers.astype(object),
    "a list": lambda numbers: numbers.tolist(),
    "polars": lambda numbers: pl.Series(numbers, dtype=pl.Int16),
    "128 bits": lambda numbers: pl.Series(numbers.tolist(), dtype=pl.Int128),
}


@pytest.mark.parametrize("convert", AS_OTHER_TYPES.values(), ids=AS_OTHER_TYPES)
@pytest.mark.parametrize("saved", [False, True], ids=["fitted", "opened"])
def test_segments_of_another_number_type_are_the_same(convert, saved, tmp_path):
    scores, labels, numbers = numbered()
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=numbers)
    expected = fitted.probability(scores, segments=numbers)
    assert np.abs(expected - fitted.global_.probability(scores)).max() > 0.1
    asked = fitted
    if saved:
        fitted.save(tmp_path / "map.json")
        asked = sn.load(tmp_path / "map.json")
    assert_array_equal(asked.probability(scores, segments=convert(numbers)), expected)
    other = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=convert(numbers))
    assert_array_equal(other.probability(scores, segments=numbers), expected)


def test_categories_and_text_are_the_same():
    scores, labels, segments, _ = segmented(2_000, 1.0)
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=segments)
    categories = pl.Series(segments.tolist(), dtype=pl.Categorical)
    assert_array_equal(fitted.probability(scores, segments=categories), fitted.probability(scores, segments=segments))


def test_true_and_false_serve_as_segments(tmp_path):
    scores, labels, numbers = numbered()
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=numbers > 1)
    assert set(fitted.maps_) == {"true", "false"}
    fitted.save(tmp_path / "map.json")
    opened = sn.load(tmp_path / "map.json")
    assert_array_equal(
        opened.probability(scores, segments=numbers > 1), fitted.probability(scores, segments=numbers > 1)
    )
    with pytest.raises(IdError):
        fitted.probability(scores, segments=(numbers > 1).astype(int))


@pytest.mark.parametrize(
    ("fitted_on", "asked"),
    [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([1, 2], [True, False])],
    ids=["numbers", "text", "truth values"],
)
def test_segments_of_another_kind_are_refused(fitted_on, asked, tmp_path):
    scores, labels, numbers = numbered(400)
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=np.array(fitted_on)[numbers % 2])
    fitted.save(tmp_path / "map.json")
    for one in (fitted, sn.load(tmp_path / "map.json")):
        with pytest.raises(IdError):
            one.probability([0.0, 0.0], segments=asked)


@pytest.mark.parametrize(
    "segments",
    [[1, "1"], np.array([1, "1"], dtype=object), np.array(["2020-01-01", "2021-01-01"], dtype="M8[s]"), [0.5, 1.5],
     [1.0, np.nan], ["a", None]],
    ids=["mixed", "objects", "dates", "fractions", "missing number", "missing text"],
)  # fmt: skip
def test_segments_that_are_no_ids_are_refused(segments):
    scores, labels, numbers = numbered(400)
    chosen = [segments[number % 2] for number in numbers]
    given = chosen if isinstance(segments, list) else segments[numbers % 2]
    with pytest.raises(IdError):
        sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=given)
    numeric = not isinstance(segments[0], str)
    fitted = sn.SegmentCalibrator(strength=1.0).fit(
        scores, labels, segments=numbers if numeric else numbers.astype(str)
    )
    with pytest.raises(IdError):
        fitted.probability([0.0, 0.0], segments=segments)


def test_unknown_segments_are_counted_and_named(tmp_path):
    scores, labels, numbers = numbered()
    fitted = sn.SegmentCalibrator(strength=1.0).fit(scores, labels, segments=numbers)
    fitted.save(tmp_path / "map.json")
    for one in (fitted, sn.load(tmp_path / "map.json")):
        with pytest.warns(SurenessWarning, match="3 of 4 .* 2 segments .* 9, 8"):
            one.probability(np.zeros(4), segments=[9, 1, 8, 9])


def test_a_segment_without_a_map_of_its_own_is_known(tmp_path):
    scores, labels, segments, _ = segmented(3_000, 1.0)
    segments[:20], labels[:20] = "new", 0
    fitted = sn.SegmentCalibrator().fit(scores, labels, segments=segments)
    fitted.save(tmp_path / "map.json")
    for one in (fitted, sn.load(tmp_path / "map.json")):
        assert len(one.unknown_segments(["new"])) == 0
        assert_allclose(one.probability([0.3], segments=["new"]), fitted.global_.probability([0.3]))


def test_segments_of_items_keep_their_kind_in_a_file(tmp_path):
    segments = sn.calibration.Segments(np.array([2.0, 1.0, 2.0]))
    segments.save(tmp_path / "segments.sureness")
    opened = sn.load(tmp_path / "segments.sureness")
    assert opened.names.tolist() == segments.names.tolist() == [2, 1, 2]
    for names in ([1, "1"], ["a", None]):
        with pytest.raises(IdError):
            sn.calibration.Segments(names)
