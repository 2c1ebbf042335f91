"""Sizes that no memory holds are refused in one sentence, before anything is allocated."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import sureness as sn
from sureness.errors import SettingError
from sureness.metrics import parse_measure
from sureness.numerics import checks
from sureness.numerics.checks import check_memory

SCORES = np.linspace(0.01, 0.99, 50)
LABELS = np.arange(50) % 2
HUGE = {
    "longest list": lambda size: sn.ExpectedUtility(max_size=size).check(),
    "expected utility": lambda size: sn.expected_utility(SCORES[None], max_size=size),
    "metric": lambda size: parse_measure(f"ndcg@{size}"),
    "bins of a metric": lambda size: sn.expected_calibration_error(LABELS, SCORES, n_bins=size),
    "bins of a calibrator": lambda size: sn.calibration.HistogramCalibrator(n_bins=size).fit(SCORES, LABELS),
    "factors": lambda size: sn.BPR(n_factors=size),
    "negatives": lambda size: sn.BPR(negatives=size),
    "threads": lambda size: sn.BPR(threads=size),
    "batch": lambda size: sn.BPR(batch_size=size * 10),
    "layers": lambda size: sn.models.LightGCN(layers=size),
    "users": lambda size: sn.simulate(sn.SimulatorSettings(n_users=size * 1_000)),
    "items": lambda size: sn.simulate(sn.SimulatorSettings(n_items=size * 1_000)),
}


@pytest.mark.parametrize("size", [10**9, 10**13])
@pytest.mark.parametrize("name", HUGE)
def test_huge_sizes_are_refused(name, size):
    with pytest.raises(SettingError):
        HUGE[name](size)


def test_a_negative_seed_of_a_world_is_refused():
    with pytest.raises(SettingError):
        sn.SimulatorSettings(seed=-1)


def test_what_does_not_fit_the_machine_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "physical_memory", lambda: 1_000)
    check_memory(1_000, "something")
    with pytest.raises(SettingError):
        check_memory(1_001, "something")
    with pytest.raises(SettingError):
        sn.expected_utility(SCORES[None], max_size=500)
    log = sn.Interactions.from_matrix(np.eye(8))
    with pytest.raises(SettingError):
        sn.BPR(n_factors=64).fit(log)


@pytest.mark.parametrize("kind", [sn.models.LightGCN, sn.BPR, sn.models.NeuMF, sn.models.CDAE])
def test_models_can_be_copied_with_all_they_learned(kind):
    log = sn.Interactions.from_matrix(np.random.default_rng(0).random((12, 9)) < 0.4)
    model = kind(n_factors=4, epochs=1).fit(log)
    copied = copy.deepcopy(model)
    users = np.arange(12)
    np.testing.assert_array_equal(copied.score_block(users), model.score_block(users))
    assert copied is not model


@pytest.mark.parametrize(
    "made",
    [
        sn.calibration.HistogramCalibrator(n_bins=np.int64(7)),
        sn.GaussianCalibrator(monotone=np.bool_(True), scores_are="scores"),
        sn.ExpectedUtility(max_size=np.int32(9), unsure_below=np.float32(0.5)),
        sn.Threshold(np.float64(0.25)),
        sn.BPR(n_factors=np.int16(4), learning_rate=np.float32(0.5), epochs=np.int64(1)),
    ],
    ids=lambda made: type(made).__name__,
)  # fmt: skip
def test_settings_given_as_numpy_numbers_are_saved(made, tmp_path):
    if isinstance(made, sn.BPR):
        made.fit(sn.Interactions.from_matrix(np.eye(8)))
    elif hasattr(made, "probability") and not isinstance(made, sn.Threshold):
        made.fit(SCORES, LABELS)
    path = tmp_path / f"made.{'json' if made.saved_as == 'json' else 'sureness'}"
    made.save(path)
    assert repr(sn.load(path).get_params()) == repr(
        {name: value.item() if isinstance(value, np.generic) else value for name, value in made.get_params().items()}
    )
