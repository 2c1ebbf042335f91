# Written by `make stubs` from the table in __init__.py.
from sureness import errors as errors
from sureness._progress import PrintedProgress as PrintedProgress
from sureness._progress import Progress as Progress
from sureness._progress import silent as silent
from sureness._registry import register as register
from sureness.calibration.base import Calibrator as Calibrator
from sureness.calibration.base import make_calibrator as make_calibrator
from sureness.calibration.calibration_set import CalibrationSet as CalibrationSet
from sureness.calibration.choosing import choose_calibrator as choose_calibrator
from sureness.calibration.choosing import cross_validate as cross_validate
from sureness.calibration.lists import ListCalibrator as ListCalibrator
from sureness.calibration.maps import ProbabilityMap as ProbabilityMap
from sureness.calibration.maps import Segments as Segments
from sureness.calibration.multi_segment import MultiSegmentCalibrator as MultiSegmentCalibrator
from sureness.calibration.nonparametric import HistogramCalibrator as HistogramCalibrator
from sureness.calibration.nonparametric import IsotonicCalibrator as IsotonicCalibrator
from sureness.calibration.parametric import BetaCalibrator as BetaCalibrator
from sureness.calibration.parametric import GammaCalibrator as GammaCalibrator
from sureness.calibration.parametric import GaussianCalibrator as GaussianCalibrator
from sureness.calibration.parametric import PlattCalibrator as PlattCalibrator
from sureness.calibration.parametric import TemperatureCalibrator as TemperatureCalibrator
from sureness.calibration.per_segment import SegmentCalibrator as SegmentCalibrator
from sureness.calibration.per_user import PerUserGamma as PerUserGamma
from sureness.calibration.per_user import PerUserGaussian as PerUserGaussian
from sureness.calibration.per_user import PerUserPlatt as PerUserPlatt
from sureness.calibration.shape import ShapeCalibrator as ShapeCalibrator
from sureness.calibration.top_n import TopNCalibrator as TopNCalibrator
from sureness.data.filtering import k_core as k_core
from sureness.data.ids import IdMap as IdMap
from sureness.data.interactions import Interactions as Interactions
from sureness.data.recipes import load_dataset as load_dataset
from sureness.data.recipes import prepare as prepare
from sureness.data.scored_pairs import ScoredPairs as ScoredPairs
from sureness.data.simulator import SimulatorSettings as SimulatorSettings
from sureness.data.simulator import simulate as simulate
from sureness.data.splitting import Split as Split
from sureness.data.splitting import by_ratio as by_ratio
from sureness.data.splitting import hold_out as hold_out
from sureness.data.splitting import leave_one_out as leave_one_out
from sureness.data.time_splitting import by_time as by_time
from sureness.distillation.bidirectional import BidirectionalDistillation as BidirectionalDistillation
from sureness.distillation.methods import distillation_method as distillation_method
from sureness.distillation.settings import Direction as Direction
from sureness.distillation.settings import DistillationSettings as DistillationSettings
from sureness.errors import DataError as DataError
from sureness.errors import FileError as FileError
from sureness.errors import MissingExtraError as MissingExtraError
from sureness.errors import NotFittedError as NotFittedError
from sureness.errors import SurenessError as SurenessError
from sureness.errors import SurenessWarning as SurenessWarning
from sureness.evaluation.ranking import evaluate_ranking as evaluate_ranking
from sureness.lists.allocation import allocate_budget as allocate_budget
from sureness.lists.allocation import allocate_domains as allocate_domains
from sureness.lists.base import ListSizePolicy as ListSizePolicy
from sureness.lists.comparing import compare_policies as compare_policies
from sureness.lists.expectation import expected_utility as expected_utility
from sureness.lists.policies import BestFixedSize as BestFixedSize
from sureness.lists.policies import ExpectedUtility as ExpectedUtility
from sureness.lists.policies import FixedSize as FixedSize
from sureness.lists.policies import Threshold as Threshold
from sureness.lists.policies import ValidationBest as ValidationBest
from sureness.metrics import brier_score as brier_score
from sureness.metrics import expected_calibration_error as expected_calibration_error
from sureness.metrics import interval as interval
from sureness.metrics import maximum_calibration_error as maximum_calibration_error
from sureness.metrics import negative_log_likelihood as negative_log_likelihood
from sureness.metrics import reliability_curve as reliability_curve
from sureness.metrics import top_n_calibration_error as top_n_calibration_error
from sureness.metrics.utility import Utility as Utility
from sureness.models.base import Recommender as Recommender
from sureness.models.bpr import BPR as BPR
from sureness.models.catalogue import make_recommender as make_recommender
from sureness.models.cdae import CDAE as CDAE
from sureness.models.cml import CML as CML
from sureness.models.lightgcn import LightGCN as LightGCN
from sureness.models.neumf import NeuMF as NeuMF
from sureness.models.tuning import tune as tune
from sureness.models.ubpr import UBPR as UBPR
from sureness.numerics.histogram import ScoreHistogram as ScoreHistogram
from sureness.propensity import PopularityPropensity as PopularityPropensity
from sureness.recommender.choosing import choose_list_sizes as choose_list_sizes
from sureness.recommender.choosing import ways_to_decide as ways_to_decide
from sureness.recommender.confident import ConfidentRecommender as ConfidentRecommender
from sureness.recommender.runs import Run as Run
from sureness.recommender.runs import open_run as open_run
from sureness.report import write_report as write_report
from sureness.saving.inspecting import inspect as inspect
from sureness.saving.objects import load as load
from sureness.sources.adapters import source_of as source_of
from sureness.sources.base import FactorSource as FactorSource
from sureness.sources.base import MatrixSource as MatrixSource
from sureness.sources.base import ScoreSource as ScoreSource
from sureness.sources.candidates import CandidateSource as CandidateSource
from sureness.sources.function import FunctionSource as FunctionSource
from sureness.sources.svd import svd_source as svd_source
from sureness.sources.torch_model import TorchSource as TorchSource
from sureness.tables.columns import Columns as Columns

__version__: str

__all__ = [
    "BPR",
    "BestFixedSize",
    "BetaCalibrator",
    "BidirectionalDistillation",
    "CDAE",
    "CML",
    "CalibrationSet",
    "Calibrator",
    "CandidateSource",
    "Columns",
    "ConfidentRecommender",
    "DataError",
    "Direction",
    "DistillationSettings",
    "ExpectedUtility",
    "FactorSource",
    "FileError",
    "FixedSize",
    "FunctionSource",
    "GammaCalibrator",
    "GaussianCalibrator",
    "HistogramCalibrator",
    "IdMap",
    "Interactions",
    "IsotonicCalibrator",
    "LightGCN",
    "ListCalibrator",
    "ListSizePolicy",
    "MatrixSource",
    "MissingExtraError",
    "MultiSegmentCalibrator",
    "NeuMF",
    "NotFittedError",
    "PerUserGamma",
    "PerUserGaussian",
    "PerUserPlatt",
    "PlattCalibrator",
    "PopularityPropensity",
    "PrintedProgress",
    "ProbabilityMap",
    "Progress",
    "Recommender",
    "Run",
    "ScoreHistogram",
    "ScoreSource",
    "ScoredPairs",
    "SegmentCalibrator",
    "Segments",
    "ShapeCalibrator",
    "SimulatorSettings",
    "Split",
    "SurenessError",
    "SurenessWarning",
    "TemperatureCalibrator",
    "Threshold",
    "TopNCalibrator",
    "TorchSource",
    "UBPR",
    "Utility",
    "ValidationBest",
    "__version__",
    "allocate_budget",
    "allocate_domains",
    "brier_score",
    "by_ratio",
    "by_time",
    "choose_calibrator",
    "choose_list_sizes",
    "compare_policies",
    "cross_validate",
    "distillation_method",
    "errors",
    "evaluate_ranking",
    "expected_calibration_error",
    "expected_utility",
    "hold_out",
    "inspect",
    "interval",
    "k_core",
    "leave_one_out",
    "load",
    "load_dataset",
    "make_calibrator",
    "make_recommender",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "open_run",
    "prepare",
    "register",
    "reliability_curve",
    "silent",
    "simulate",
    "source_of",
    "svd_source",
    "top_n_calibration_error",
    "tune",
    "ways_to_decide",
    "write_report",
]
