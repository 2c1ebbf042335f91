"""Scores that are probabilities already, with labels and without."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration import BetaCalibrator, PlattCalibrator, ShapeCalibrator, make_calibrator
from sureness.errors import DataError, SettingError, SurenessWarning
from sureness.metrics import expected_calibration_error, negative_log_likelihood

FAMILIES = ("temperature", "platt", "beta", "gaussian", "gamma", "manmatha", "kanoulas", "shape")
KEPT = (0.01, 0.1, 0.5)


def clicks(kept: float, n: int = 400_000, seed: int = 0):
    """What a click model says that was trained on a share of its negatives, what happened, and the truth."""
    rng = np.random.default_rng(seed)
    truth = 1 / (1 + np.exp(-rng.normal(-3.4, 1.2, n)))
    return truth / (truth + kept * (1 - truth)), rng.random(n) < truth, truth


def fitted(calibrator, q, labels):
    with pytest.warns(SurenessWarning, match="lie between 0 and 1"):
        return calibrator.fit(q, labels)


@pytest.mark.parametrize("kept", KEPT)
def test_a_click_model_with_labels_is_as_good_as_the_truth(kept):
    q, labels, _ = clicks(kept)
    new, came, truth = clicks(kept, seed=1)
    found = fitted(PlattCalibrator(), q, labels).probability(new)
    assert negative_log_likelihood(came, found) < 1.0005 * negative_log_likelihood(came, truth)
    assert expected_calibration_error(came, found) < expected_calibration_error(came, truth) + 0.002


@pytest.mark.parametrize("kept", KEPT)
def test_a_click_model_without_labels_has_the_right_mean(kept):
    q, _, truth = clicks(kept)
    assert_allclose(sn.undo_sampling(q, kept=kept), truth, rtol=1e-9)
    assert abs(sn.undo_sampling(q, kept=kept).mean() / truth.mean() - 1) < 0.02
    by_rate = sn.prior_correction(q, base_rate=float(truth.mean()))
    assert_allclose(by_rate.probability(q), truth, rtol=1e-6)


def test_log_odds_are_better_than_probabilities_as_they_are():
    """On a tenth of the negatives: ECE .0006 and NLL .18368, not .0033 and .18426; the truth has .0007 and .18369."""
    q, labels, truth = clicks(0.1)
    new, came, truth = clicks(0.1, seed=1)
    plain = PlattCalibrator(scores_are="scores").fit(q, labels).probability(new)
    of_log_odds = PlattCalibrator(scores_are="probabilities").fit(q, labels).probability(new)
    best = negative_log_likelihood(came, truth)
    assert negative_log_likelihood(came, plain) > 1.003 * best > 1.002 * negative_log_likelihood(came, of_log_odds)
    assert expected_calibration_error(came, plain) > 3 * expected_calibration_error(came, of_log_odds)


def test_the_sentence_says_what_is_assumed_and_why():
    q, labels, _ = clicks(0.1, 20_000)
    with pytest.warns(SurenessWarning) as said:
        PlattCalibrator().fit(q, labels)
    assert str(said[0].message).startswith(
        "all 20,000 scores lie between 0 and 1 and are taken for probabilities, which explains the labels better than "
        "scores (log loss 0.18"
    )
    assert len(said) == 1


def test_scores_that_only_happen_to_lie_between_0_and_1_stay_scores():
    """Stretched scores of a ranker: the ends are exactly 0 and 1, which are no log-odds."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(2 - 2 * scores))
    stretched = (scores - scores.min()) / np.ptp(scores)
    assert fitted(PlattCalibrator(), stretched, labels).scores_are_ == "scores"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_takes_probabilities_for_their_log_odds(name, tmp_path):
    q, labels, _ = clicks(0.1, 8_000)
    told = make_calibrator(name, scores_are="probabilities").fit(q, labels)
    log_odds = np.log(q / (1 - q))
    same = make_calibrator(name, scores_are="log_odds").fit(log_odds, labels)
    assert_allclose(told.probability(q), same.probability(log_odds), rtol=1e-6)
    found = fitted(make_calibrator(name), q, labels)
    assert found.scores_are_ == "probabilities"
    assert_allclose(found.probability(q), told.probability(q), rtol=1e-9)
    found.save(tmp_path / "map.json")
    opened = sn.load(tmp_path / "map.json")
    assert opened.scores_are_ == "probabilities"
    assert_allclose(opened.probability(q), found.probability(q), rtol=1e-12)
    assert opened.score_range_ == pytest.approx((q.min(), q.max()))
    with pytest.raises(DataError, match=r"scores must lie in \[0, 1\], got 1.2"):
        found.probability([1.2])


def test_nothing_is_assumed_of_other_scores_or_where_it_was_said(recwarn):
    q, labels, _ = clicks(0.1, 5_000)
    assert PlattCalibrator(scores_are="scores").fit(q, labels).scores_are_ == "scores"
    assert PlattCalibrator().fit(q * 3, labels).scores_are_ == "scores"
    assert sn.IsotonicCalibrator().fit(q, labels).scores_are_ == "scores"
    assert not recwarn


def test_a_shape_of_segments_takes_probabilities_too():
    q, labels, _ = clicks(0.1, 8_000)
    segments = np.where(np.arange(8_000) % 2, "a", "b")
    log_odds = np.log(q / (1 - q))
    told = sn.SegmentCalibrator(ShapeCalibrator(scores_are="probabilities")).fit(q, labels, segments=segments)
    same = sn.SegmentCalibrator(ShapeCalibrator()).fit(log_odds, labels, segments=segments)
    assert_allclose(told.probability(q, segments=segments), same.probability(log_odds, segments=segments), rtol=2e-3)
    one = told.probability([0.3], segments={"segment": "a"})
    assert_allclose(one, told.probability([0.3, 0.3], segments=["a", "a"])[:1], rtol=1e-9)


def test_words_of_older_files_are_understood():
    q, labels, _ = clicks(0.1, 5_000)
    packed = BetaCalibrator(scores_are="probabilities").fit(q, labels).pack()
    old = packed.__class__(**{**vars(packed), "about": {k: v for k, v in packed.about.items() if k != "scores_are"}})
    assert_allclose(
        BetaCalibrator.unpack(old, {}).probability([0.2]), BetaCalibrator.unpack(packed, {}).probability([0.2])
    )
    unbounded = PlattCalibrator().fit(q * 9, labels).pack()
    older = unbounded.__class__(**{**vars(unbounded), "settings": {**unbounded.settings, "scores_are": "unbounded"}})
    assert PlattCalibrator.unpack(older, {}).scores_are == "scores"


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: sn.undo_sampling([0.2, 1.3], kept=0.1), r"probabilities must lie in \[0, 1\]"),
        (lambda: sn.undo_sampling([0.2], kept=0), r"kept must lie in \(0, 1\]"),
        (lambda: sn.undo_sampling([0.2], {"a": 0.1}, segments=["b"]), "got none for 'b'; add it"),
        (lambda: sn.undo_sampling([0.2], {"a": 0.1}), "give segments=, one for each probability"),
        (lambda: sn.prior_correction(kept={"a": 2.0}), r"kept\['a'\] must lie in"),
        (lambda: sn.prior_correction([0.2], base_rate=1.0), "base_rate must lie strictly between 0 and 1"),
        (lambda: sn.prior_correction(base_rate=0.1), "give them first"),
        (lambda: sn.prior_correction(), "either kept= .* or base_rate="),
        (lambda: sn.prior_correction([0.2], base_rate={"a": 0.1, "b": 0.1}, segments=["a"]), "segment 'b', of which"),
        (lambda: PlattCalibrator(scores_are="odds").fit([0.1, 0.2], [0, 1]), "scores_are must be one of"),
        (lambda: PlattCalibrator().fit([1, 2], [0, 1], users=[1, 2], groups=[1, 2]), "users are one kind of groups"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_a_sentence(ask, sentence):
    with pytest.raises((DataError, SettingError), match=sentence):
        ask()


def test_a_correction_per_segment_is_a_map_like_any_other(tmp_path):
    correction = sn.prior_correction(kept={"de": 0.1, "fr": 1.0})
    correction.save(tmp_path / "map.json")
    duckdb = pytest.importorskip("duckdb")
    q, segments = np.linspace(0.01, 0.99, 50), np.array(["de", "fr"])[np.arange(50) % 2]
    expected = sn.undo_sampling(q, {"de": 0.1, "fr": 1.0}, segments=segments)
    assert_allclose(expected[1::2], q[1::2], rtol=1e-12)
    odds = q / (1 - q) * 0.1
    assert_allclose(expected[::2], (odds / (1 + odds))[::2], rtol=1e-12)
    import polars as pl

    scores = pl.DataFrame({"score": q, "segment": segments})
    found = duckdb.sql(f"SELECT {sn.load(tmp_path / 'map.json').expression('duckdb')} AS p FROM scores").pl()["p"]
    assert_allclose(found, expected, rtol=1e-12)
    assert len(scores)
