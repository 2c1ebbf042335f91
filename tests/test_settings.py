from __future__ import annotations

import pytest
import sklearn.base

import sureness as sn
from sureness._settings import clone
from sureness.calibration import SigmoidCalibrator


@pytest.mark.parametrize("copy", [clone, sklearn.base.clone], ids=["ours", "scikit-learn"])
@pytest.mark.parametrize(
    "configured",
    [
        sn.GammaCalibrator(shift=0.1, risk="naive"),
        sn.calibration.TopNCalibrator(sn.PlattCalibrator(monotone=False), n=3),
        sn.SegmentCalibrator(sn.IsotonicCalibrator(risk="naive")),
        sn.SegmentCalibrator(sn.PlattCalibrator(), numeric=["popularity"], interactions=1),
        sn.propensity.PopularityPropensity(power=1.0),
        SigmoidCalibrator(),
    ],
    ids=repr,
)
def test_a_clone_has_the_settings_and_nothing_learned(copy, configured):
    again = copy(configured)
    assert again is not configured
    assert repr(again) == repr(configured)
    assert not [name for name in vars(again) if name.endswith("_")]


def test_only_changed_settings_are_shown():
    assert repr(sn.GammaCalibrator()) == "GammaCalibrator()"
    assert (
        repr(sn.calibration.TopNCalibrator(sn.PlattCalibrator(), n=3)) == "TopNCalibrator(base=PlattCalibrator(), n=3)"
    )


def test_nested_settings_can_be_read_and_set():
    calibrator = sn.calibration.TopNCalibrator(sn.GammaCalibrator(), n=3)
    assert calibrator.get_params()["base__shift"] == 0.01
    calibrator.set_params(n=5, base__shift=0.2)
    assert (calibrator.n, calibrator.base.shift) == (5, 0.2)
    assert "base__shift" not in calibrator.get_params(deep=False)


def test_unknown_settings_are_refused():
    with pytest.raises(sn.errors.SettingError, match="PlattCalibrator has no setting 'speed'; it has monotone, risk"):
        sn.PlattCalibrator().set_params(speed=3)


def test_a_clone_shares_no_part_with_its_original():
    original = sn.SegmentCalibrator(sn.calibration.TopNCalibrator(sn.PlattCalibrator()))
    copied = clone(original)
    assert repr(copied) == repr(original)
    assert copied.base is not original.base
    assert copied.base.base is not original.base.base
