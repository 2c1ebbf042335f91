"""All calibrators by name."""

from __future__ import annotations

from sureness.calibration.base import Calibrator
from sureness.calibration.nonparametric import BBQCalibrator, HistogramCalibrator, IsotonicCalibrator
from sureness.calibration.parametric import (
    BetaCalibrator,
    GammaCalibrator,
    GaussianCalibrator,
    KanoulasCalibrator,
    ManmathaCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from sureness.calibration.rescaling import MinMaxCalibrator, SigmoidCalibrator
from sureness.numerics.checks import check_choice

CALIBRATORS: dict[str, type[Calibrator]] = {
    "minmax": MinMaxCalibrator,
    "sigmoid": SigmoidCalibrator,
    "histogram": HistogramCalibrator,
    "isotonic": IsotonicCalibrator,
    "bbq": BBQCalibrator,
    "temperature": TemperatureCalibrator,
    "platt": PlattCalibrator,
    "beta": BetaCalibrator,
    "gaussian": GaussianCalibrator,
    "gamma": GammaCalibrator,
    "manmatha": ManmathaCalibrator,
    "kanoulas": KanoulasCalibrator,
}
"""The methods of chapter 2, in the order of its tables."""


def all_calibrators() -> list[Calibrator]:
    """One of each, with default settings.

    Examples
    --------
    >>> [type(calibrator).__name__ for calibrator in all_calibrators()][-3:]
    ['GammaCalibrator', 'ManmathaCalibrator', 'KanoulasCalibrator']
    """
    return [kind() for kind in CALIBRATORS.values()]


def make_calibrator(name: str, **settings: object) -> Calibrator:
    """A calibrator by name; settings that it does not have are left out.

    Examples
    --------
    >>> make_calibrator("gamma", risk="naive")
    GammaCalibrator(risk='naive')
    >>> make_calibrator("sigmoid", risk="naive")
    SigmoidCalibrator()
    """
    kind = CALIBRATORS[check_choice(name, "method", tuple(CALIBRATORS))]
    known = set(kind().get_params(deep=False))
    return kind(**{key: value for key, value in settings.items() if key in known})
