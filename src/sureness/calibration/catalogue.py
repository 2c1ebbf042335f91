"""All calibrators by name."""

from __future__ import annotations

from sureness._registry import find, names
from sureness.calibration.base import Calibrator


def all_calibrators() -> list[Calibrator]:
    """One of each, with default settings.

    Examples
    --------
    >>> [type(calibrator).__name__ for calibrator in all_calibrators()][-3:]
    ['ManmathaCalibrator', 'KanoulasCalibrator', 'ShapeCalibrator']
    """
    return [find("calibrator", name)() for name in names("calibrator")]


def make_calibrator(name: str, **settings: object) -> Calibrator:
    """A calibrator by name; settings that it does not have are left out.

    Examples
    --------
    >>> make_calibrator("gamma", risk="naive")
    GammaCalibrator(risk='naive')
    >>> make_calibrator("sigmoid", risk="naive")
    SigmoidCalibrator()
    """
    kind: type[Calibrator] = find("calibrator", name)
    known = set(kind().get_params(deep=False))
    return kind(**{key: value for key, value in settings.items() if key in known})
