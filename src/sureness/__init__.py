"""How sure is your recommender?

`sureness` turns the ranking scores of any recommender into calibrated probabilities, without changing the ranking.
It trains six recommenders of its own, and takes the fitted ones of other libraries.
The names below are loaded when they are first used, so importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "calibration.base": ["Calibrator"],
    "calibration.calibration_set": ["CalibrationSet"],
    "calibration.catalogue": ["all_calibrators", "make_calibrator"],
    "calibration.choosing": ["Choice", "choose", "cross_validate"],
    "calibration.nonparametric": ["BBQCalibrator", "HistogramCalibrator", "IsotonicCalibrator"],
    "calibration.parametric": [
        "BetaCalibrator", "GammaCalibrator", "GaussianCalibrator", "KanoulasCalibrator", "ManmathaCalibrator",
        "PlattCalibrator", "TemperatureCalibrator",
    ],
    "calibration.per_segment": ["SegmentCalibrator"],
    "calibration.rescaling": ["MinMaxCalibrator", "SigmoidCalibrator"],
    "calibration.saving": ["load"],
    "calibration.top_n": ["TopNCalibrator"],
    "data.filtering": ["at_least", "k_core", "rating_above"],
    "data.ids": ["IdMap"],
    "data.interactions": ["Interactions"],
    "data.recipes": ["Dataset", "load_dataset", "prepare"],
    "data.scored_pairs": ["ScoredPairs"],
    "data.simulator": ["SimulatorSettings", "World", "simulate"],
    "data.splitting": ["Split", "by_ratio", "hold_out", "leave_one_out"],
    "errors": [
        "ArtefactError", "DataError", "FileError", "MissingExtraError", "NoMinimumError", "NotFittedError",
        "SurenessError", "SurenessWarning",
    ],
    "evaluation.ranking": ["RankingQuality", "best_items", "evaluate_ranking", "evaluate_within"],
    "metrics": [
        "BrierSplit", "Interval", "ReliabilityCurve", "adaptive_calibration_error", "brier_score", "brier_split",
        "by_group", "debiased_calibration_error", "expected_calibration_error", "interval",
        "maximum_calibration_error", "negative_log_likelihood", "reliability_curve", "top_n_calibration_error",
    ],
    "models.base": ["Recommender"],
    "models.bpr": ["BPR"],
    "models.catalogue": ["make_recommender"],
    "models.cdae": ["CDAE"],
    "models.cml": ["CML"],
    "models.lightgcn": ["LightGCN"],
    "models.neumf": ["NeuMF"],
    "models.recommended": ["recommended"],
    "models.runs": ["load_run"],
    "models.saving": ["load_model"],
    "models.tuning": ["tune"],
    "models.ubpr": ["UBPR"],
    "numerics.histogram": ["ScoreHistogram"],
    "propensity": [
        "GivenPropensity", "LogisticPropensity", "NaiveBayesPropensity", "PopularityPropensity", "RandomPropensity",
        "UniformPropensity", "effective_sample_size",
    ],
    "report": ["write_report"],
    "sources.adapters": [
        "from_cornac", "from_implicit", "from_lenskit", "from_lightfm", "from_recbole", "from_surprise", "source_of",
    ],
    "sources.base": ["FactorSource", "MatrixSource", "PartialSource", "ScoreSource", "id_maps"],
    "sources.candidates": ["CandidateSource"],
    "sources.function": ["FunctionSource", "PartialFunctionSource"],
    "sources.saving": ["load_source", "save_source"],
    "sources.svd": ["svd_source"],
    "sources.torch_model": ["TorchSource"],
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'sureness' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"sureness.{_MODULE_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from sureness.errors import MissingExtraError

        raise MissingExtraError(
            f"sureness.{name} needs torch; install it with: pip install 'sureness[models]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
