"""How sure is your recommender?

`sureness` turns the ranking scores of any recommender into calibrated probabilities, without changing the ranking,
and shows each user as many items as are worth showing.
It trains six recommenders of its own, and takes the fitted ones of other libraries.
The names below are loaded when they are first used, so importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0.dev0"

_HOME = {
    "calibration.base": ["Calibrator"],
    "calibration.calibration_set": ["CalibrationSet"],
    "calibration.catalogue": ["all_calibrators", "make_calibrator"],
    "calibration.chain": ["MapChain"],
    "calibration.choosing": ["Choice", "choose_calibrator", "cross_validate"],
    "calibration.maps": ["Horizon", "ProbabilityMap", "Segments"],
    "calibration.nonparametric": ["BBQCalibrator", "HistogramCalibrator", "IsotonicCalibrator"],
    "calibration.parametric": [
        "BetaCalibrator", "GammaCalibrator", "GaussianCalibrator", "KanoulasCalibrator", "ManmathaCalibrator",
        "PlattCalibrator", "TemperatureCalibrator",
    ],
    "calibration.per_segment": ["SegmentCalibrator"],
    "calibration.per_user": ["PerUserCalibrator", "PerUserGamma", "PerUserGaussian", "PerUserPlatt"],
    "calibration.rescaling": ["MinMaxCalibrator", "SigmoidCalibrator"],
    "artefacts.saving": ["load"],
    "calibration.top_n": ["TopNCalibrator"],
    "data.filtering": ["at_least", "k_core", "rating_above"],
    "data.ids": ["IdMap"],
    "data.interactions": ["Interactions"],
    "data.recipes": ["Dataset", "load_dataset", "prepare"],
    "data.scored_pairs": ["ScoredPairs"],
    "data.simulator": ["SimulatorSettings", "World", "simulate"],
    "data.splitting": ["Split", "by_ratio", "hold_out", "leave_one_out"],
    "errors": [
        "ArtefactError", "CheckpointError", "ChecksumError", "ColumnError", "DamagedError", "DataError",
        "DivergedError", "EmptyError", "FileError", "IdError", "KindError", "LeakError", "MissingExtraError",
        "NoMinimumError", "NotFittedError", "OutputError", "SettingError", "SurenessError", "SurenessWarning",
        "VersionError",
    ],
    "distillation.bidirectional": ["BidirectionalDistillation"],
    "distillation.methods": ["distillation_method"],
    "distillation.settings": ["Direction", "DistillationSettings"],
    "distillation.starts": ["truncated"],
    "evaluation.inference": ["inference_table"],
    "evaluation.rank_comparison": ["RankComparison", "RankScatter", "compare_ranks", "rank_scatter"],
    "evaluation.ranking": ["RankingQuality", "best_items", "evaluate_ranking", "evaluate_within"],
    "list_size.allocation": [
        "allocate_budget", "allocate_domains", "equal_budget", "equal_shares", "evaluate_allocation",
        "fill_with_trending",
    ],
    "list_size.base": ["ListSizePolicy"],
    "list_size.comparing": ["PolicyComparison", "compare_policies"],
    "list_size.expectation": ["expected_utilities", "expected_utility", "scale_odds", "shift_log_odds"],
    "list_size.lists": ["Lists"],
    "list_size.policies": [
        "BestFixedSize", "ExpectedUtility", "FixedSize", "Oracle", "RandomSize", "Threshold", "ValidationBest",
    ],
    "metrics": [
        "BrierSplit", "Interval", "ReliabilityCurve", "adaptive_calibration_error", "brier_score", "brier_split",
        "by_group", "debiased_calibration_error", "expected_calibration_error", "interval",
        "maximum_calibration_error", "negative_log_likelihood", "reliability_curve", "top_n_calibration_error",
    ],
    "metrics.utility": ["Utility", "utility_at_every_size"],
    "models.base": ["Recommender"],
    "models.bpr": ["BPR"],
    "models.catalogue": ["make_recommender"],
    "models.cdae": ["CDAE"],
    "models.cml": ["CML"],
    "models.lightgcn": ["LightGCN"],
    "models.neumf": ["NeuMF"],
    "models.recommended": ["recommended"],
    "models.runs": ["load_run"],
    "models.tuning": ["tune"],
    "models.ubpr": ["UBPR"],
    "numerics.histogram": ["ScoreHistogram"],
    "numerics.poisson_binomial": ["poisson_binomial_cdf", "poisson_binomial_pmf", "power_sums"],
    "pipeline.choosing": ["choose_list_sizes", "ways_to_decide"],
    "pipeline.recommender": ["ConfidentRecommender"],
    "propensity": [
        "GivenPropensity", "LogisticPropensity", "NaiveBayesPropensity", "PopularityPropensity", "RandomPropensity",
        "UniformPropensity", "effective_sample_size",
    ],
    "report": [
        "gather_distillation", "gather_list_sizes", "write_distillation_report", "write_list_size_report",
        "write_report",
    ],
    "sources.adapters": [
        "from_cornac", "from_implicit", "from_lenskit", "from_lightfm", "from_recbole", "from_surprise", "source_of",
    ],
    "sources.base": ["FactorSource", "MatrixSource", "PartialSource", "ScoreSource", "id_maps"],
    "sources.candidates": ["CandidateSource"],
    "sources.function": ["FunctionSource", "PartialFunctionSource"],
    "sources.saving": ["load_source", "save_source"],
    "sources.subset": ["subset_of"],
    "sources.svd": ["svd_source"],
    "sources.torch_model": ["TorchSource"],
    "truncation.attn_cut": ["AttnCut"],
    "truncation.mt_cut": ["MtCut"],
    "truncation.tuning": ["tune_cut"],
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
