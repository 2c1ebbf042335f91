from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness._settings import clone
from sureness.calibration import BBQCalibrator, all_calibrators
from sureness.data.interactions import Interactions
from sureness.errors import SurenessWarning
from tests.attacks.masked_scores import Case, UserCase, attack, attack_users, cases, user_cases

FEW = [case for number, case in enumerate(cases()) if number % 7 == 0]  # 7 is prime to the other counts: all values

FEW_OF_USERS = [case for number, case in enumerate(user_cases()) if number % 7 == 0]


def test_there_are_at_least_288_fits():
    assert len(list(cases())) >= 288


@pytest.mark.parametrize("case", FEW, ids=str)
def test_no_fit_is_wrong_without_a_word(case: Case):
    assert attack(case) is None


@pytest.mark.parametrize("case", FEW_OF_USERS, ids=str)
def test_masked_candidates_are_no_candidates_of_maps_of_users(case: UserCase):
    assert attack_users(case) is None


@pytest.mark.parametrize("settings", [{"top": 20}, {"top": None}, {"top": None, "n_bins": 7}], ids=str)
def test_masked_scores_of_seen_items_change_nothing_and_are_not_worth_a_word(settings):
    rng = np.random.default_rng(0)
    scores, hidden = rng.normal(size=(50, 60)), rng.random((50, 60)) < 0.2
    held_out = Interactions.from_matrix((rng.random(scores.shape) < 1 / (1 + np.exp(1 - scores))) & ~hidden)
    seen = Interactions.from_matrix(hidden)
    real = sn.calibration.PerUserPlatt(**settings).fit(sn.MatrixSource(scores), held_out, seen=seen)
    scores[hidden] = -1e9
    found = sn.calibration.PerUserPlatt(**settings).fit(sn.MatrixSource(scores), held_out, seen=seen)
    np.testing.assert_allclose(found.coef_, real.coef_, rtol=0.1)


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_heavy_tails_of_users_are_not_called_masked(scale):
    rng = np.random.default_rng(0)
    scores = rng.standard_cauchy(size=(200, 60)) * np.exp(scale * rng.normal(size=(200, 1)))
    scores[:, ::3] = 0.0
    held_out = Interactions.from_matrix(rng.random(scores.shape) < 0.1)
    sn.calibration.PerUserPlatt(top=None).fit(sn.MatrixSource(scores), held_out)


@pytest.mark.parametrize("calibrator", all_calibrators(), ids=repr)
def test_masked_pairs_are_left_out_as_if_they_were_not_there(calibrator, pairs):
    scores, labels = pairs[0].copy(), pairs[1]
    masked = np.arange(len(scores)) % 3 == 0
    scores[masked] = -1e9
    with pytest.warns(SurenessWarning, match="1,000 of -1e\\+09"):
        found = clone(calibrator).fit(scores, labels)
    real = clone(calibrator).fit(scores[~masked], labels[~masked])
    assert (found.score_range_, found.n_pairs_) == (real.score_range_, real.n_pairs_)
    grid = np.linspace(-3, 3, 50)
    np.testing.assert_array_equal(found.probability(grid), real.probability(grid))


@pytest.mark.parametrize("calibrator", [sn.PlattCalibrator(), BBQCalibrator(), sn.GaussianCalibrator()], ids=repr)
def test_masked_pairs_are_left_out_of_a_stream_too(calibrator):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=60_000), rng.random(60_000)
    labels = (labels < 1 / (1 + np.exp(1 - scores))).astype(int)
    masked = rng.random(60_000) < 0.2
    scores[masked] = 1e30
    chunks = [
        sn.data.ScoredPairs.of(*part)
        for part in zip(np.split(scores, [3, 30_000]), np.split(labels, [3, 30_000]), strict=True)
    ]
    with pytest.warns(SurenessWarning, match="of 1e\\+30"):
        found = clone(calibrator).fit(sn.CalibrationSet.from_chunks(chunks))
    real = clone(calibrator).fit(scores[~masked], labels[~masked])
    grid = np.linspace(-2, 2, 50)
    np.testing.assert_allclose(found.probability(grid), real.probability(grid), atol=0.01)


def test_masked_pairs_are_left_out_where_pairs_are_gathered(pairs):
    scores, labels = pairs[0].copy(), pairs[1]
    users, segments = np.arange(len(scores)) % 50, np.arange(len(scores)) % 2
    masked = np.arange(len(scores)) % 5 == 0
    scores[masked] = 1e30  # would be the top of every user
    kept = ~masked
    for calibrator, more in (
        (sn.calibration.TopNCalibrator(n=5), {"users": users}),
        (sn.SegmentCalibrator(), {"segments": segments}),
    ):
        with pytest.warns(SurenessWarning, match="600 of 1e\\+30"):
            found = clone(calibrator).fit(scores, labels, **more)
        real = clone(calibrator).fit(scores[kept], labels[kept], **{name: ids[kept] for name, ids in more.items()})
        asked = {name: ids[:9] for name, ids in more.items() if name == "segments"}
        grid = np.linspace(-2, 2, 9)
        np.testing.assert_array_equal(found.probability(grid, **asked), real.probability(grid, **asked))


@pytest.mark.parametrize("value", [-1e9, 1e30])
@pytest.mark.parametrize("calibrator", [sn.PlattCalibrator(), sn.IsotonicCalibrator()], ids=repr)
def test_masked_pairs_do_not_decide_how_much_negatives_weigh(calibrator, value, pairs):
    scores, labels = pairs[0].copy(), pairs[1].copy()
    masked = np.arange(len(scores)) % 2 == 0
    scores[masked], labels[masked] = value, 0
    level = {"sampling_rate": None, "base_rate": 0.01}
    with pytest.warns(SurenessWarning, match="taken for masks"):
        found = clone(calibrator).fit(sn.CalibrationSet.from_pairs(scores, labels, **level))
    real = clone(calibrator).fit(sn.CalibrationSet.from_pairs(scores[~masked], labels[~masked], **level))
    grid = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(found.probability(grid), real.probability(grid), atol=1e-9)
    gathered = sn.CalibrationSet.from_pairs(scores, labels, **level).gather()
    negative = gathered.weight[~masked & (gathered.labels == 0)]
    assert gathered.weight[gathered.labels == 1].sum() / 0.01 == pytest.approx(
        gathered.weight[gathered.labels == 1].sum() + negative.sum()
    )
