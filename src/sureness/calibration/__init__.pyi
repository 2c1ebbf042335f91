# Written by `make stubs` from the table in __init__.py.
from sureness.calibration.base import Calibrator as Calibrator
from sureness.calibration.base import all_calibrators as all_calibrators
from sureness.calibration.base import make_calibrator as make_calibrator
from sureness.calibration.calibration_set import CalibrationSet as CalibrationSet
from sureness.calibration.choosing import Choice as Choice
from sureness.calibration.choosing import choose_calibrator as choose_calibrator
from sureness.calibration.choosing import cross_validate as cross_validate
from sureness.calibration.families import NUMPY as NUMPY
from sureness.calibration.families import MonotoneFamily as MonotoneFamily
from sureness.calibration.families import ScoreRange as ScoreRange
from sureness.calibration.fields import Fields as Fields
from sureness.calibration.horizon import Horizon as Horizon
from sureness.calibration.known_sampling import prior_correction as prior_correction
from sureness.calibration.known_sampling import undo_sampling as undo_sampling
from sureness.calibration.list_sample import ListSample as ListSample
from sureness.calibration.list_sample import sample_lists as sample_lists
from sureness.calibration.lists import ListCalibrator as ListCalibrator
from sureness.calibration.maps import Observed as Observed
from sureness.calibration.maps import ProbabilityMap as ProbabilityMap
from sureness.calibration.maps import Segments as Segments
from sureness.calibration.maps import Who as Who
from sureness.calibration.nonparametric import BBQCalibrator as BBQCalibrator
from sureness.calibration.nonparametric import HistogramCalibrator as HistogramCalibrator
from sureness.calibration.nonparametric import IsotonicCalibrator as IsotonicCalibrator
from sureness.calibration.nonparametric import MinMaxCalibrator as MinMaxCalibrator
from sureness.calibration.nonparametric import SigmoidCalibrator as SigmoidCalibrator
from sureness.calibration.parametric import BetaCalibrator as BetaCalibrator
from sureness.calibration.parametric import GammaCalibrator as GammaCalibrator
from sureness.calibration.parametric import GaussianCalibrator as GaussianCalibrator
from sureness.calibration.parametric import KanoulasCalibrator as KanoulasCalibrator
from sureness.calibration.parametric import ManmathaCalibrator as ManmathaCalibrator
from sureness.calibration.parametric import ParametricCalibrator as ParametricCalibrator
from sureness.calibration.parametric import PlattCalibrator as PlattCalibrator
from sureness.calibration.parametric import TemperatureCalibrator as TemperatureCalibrator
from sureness.calibration.per_user import PerUserGamma as PerUserGamma
from sureness.calibration.per_user import PerUserGaussian as PerUserGaussian
from sureness.calibration.per_user import PerUserPlatt as PerUserPlatt
from sureness.calibration.segments import SegmentCalibrator as SegmentCalibrator
from sureness.calibration.shape import ShapeCalibrator as ShapeCalibrator
from sureness.calibration.top_n import TopNCalibrator as TopNCalibrator

__all__ = [
    "BBQCalibrator",
    "BetaCalibrator",
    "CalibrationSet",
    "Calibrator",
    "Choice",
    "Fields",
    "GammaCalibrator",
    "GaussianCalibrator",
    "HistogramCalibrator",
    "Horizon",
    "IsotonicCalibrator",
    "KanoulasCalibrator",
    "ListCalibrator",
    "ListSample",
    "ManmathaCalibrator",
    "MinMaxCalibrator",
    "MonotoneFamily",
    "NUMPY",
    "Observed",
    "ParametricCalibrator",
    "PerUserGamma",
    "PerUserGaussian",
    "PerUserPlatt",
    "PlattCalibrator",
    "ProbabilityMap",
    "ScoreRange",
    "SegmentCalibrator",
    "Segments",
    "ShapeCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "TopNCalibrator",
    "Who",
    "all_calibrators",
    "choose_calibrator",
    "cross_validate",
    "make_calibrator",
    "prior_correction",
    "sample_lists",
    "undo_sampling",
]
