# Written by `make stubs` from the table in __init__.py.
from sureness import errors as errors
from sureness import calibration as calibration
from sureness import data as data
from sureness import distillation as distillation
from sureness import lists as lists
from sureness import metrics as metrics
from sureness import models as models
from sureness import propensity as propensity
from sureness import recommender as recommender
from sureness import report as report
from sureness import saving as saving
from sureness import sources as sources
from sureness._progress import PrintedProgress as PrintedProgress
from sureness._progress import Progress as Progress
from sureness._progress import silent as silent
from sureness._registry import register as register
from sureness.activity import ActivityModel as ActivityModel
from sureness.calibration import CalibrationSet as CalibrationSet
from sureness.calibration import GammaCalibrator as GammaCalibrator
from sureness.calibration import GaussianCalibrator as GaussianCalibrator
from sureness.calibration import IsotonicCalibrator as IsotonicCalibrator
from sureness.calibration import ListCalibrator as ListCalibrator
from sureness.calibration import PlattCalibrator as PlattCalibrator
from sureness.calibration import SegmentCalibrator as SegmentCalibrator
from sureness.calibration import choose_calibrator as choose_calibrator
from sureness.calibration import prior_correction as prior_correction
from sureness.calibration import undo_sampling as undo_sampling
from sureness.data import IdMap as IdMap
from sureness.data import Interactions as Interactions
from sureness.data import SimulatorSettings as SimulatorSettings
from sureness.data import by_ratio as by_ratio
from sureness.data import by_time as by_time
from sureness.data import hold_out as hold_out
from sureness.data import leave_one_out as leave_one_out
from sureness.data import simulate as simulate
from sureness.distillation import BidirectionalDistillation as BidirectionalDistillation
from sureness.lists import ExpectedUtility as ExpectedUtility
from sureness.lists import FixedSize as FixedSize
from sureness.lists import RetrievalCutoff as RetrievalCutoff
from sureness.lists import Threshold as Threshold
from sureness.lists import allocate_budget as allocate_budget
from sureness.lists import allocate_domains as allocate_domains
from sureness.lists import expected_utility as expected_utility
from sureness.metrics import evaluate_ranking as evaluate_ranking
from sureness.metrics import expected_calibration_error as expected_calibration_error
from sureness.models import BPR as BPR
from sureness.numerics import ScoreHistogram as ScoreHistogram
from sureness.recommender import ConfidentRecommender as ConfidentRecommender
from sureness.recommender import backtest as backtest
from sureness.recommender import choose_list_sizes as choose_list_sizes
from sureness.report import write_report as write_report
from sureness.saving import load as load
from sureness.sources import CandidateSource as CandidateSource
from sureness.sources import FactorSource as FactorSource
from sureness.sources import MatrixSource as MatrixSource
from sureness.sources import source_of as source_of
from sureness.sources import svd_source as svd_source
from sureness.tables import Columns as Columns

__version__: str

__all__ = [
    "ActivityModel",
    "BPR",
    "BidirectionalDistillation",
    "CalibrationSet",
    "CandidateSource",
    "Columns",
    "ConfidentRecommender",
    "ExpectedUtility",
    "FactorSource",
    "FixedSize",
    "GammaCalibrator",
    "GaussianCalibrator",
    "IdMap",
    "Interactions",
    "IsotonicCalibrator",
    "ListCalibrator",
    "MatrixSource",
    "PlattCalibrator",
    "PrintedProgress",
    "Progress",
    "RetrievalCutoff",
    "ScoreHistogram",
    "SegmentCalibrator",
    "SimulatorSettings",
    "Threshold",
    "__version__",
    "allocate_budget",
    "allocate_domains",
    "backtest",
    "by_ratio",
    "by_time",
    "choose_calibrator",
    "choose_list_sizes",
    "errors",
    "evaluate_ranking",
    "expected_calibration_error",
    "expected_utility",
    "hold_out",
    "leave_one_out",
    "load",
    "prior_correction",
    "register",
    "silent",
    "simulate",
    "source_of",
    "svd_source",
    "undo_sampling",
    "write_report",
]
