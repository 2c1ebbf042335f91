"""How sure is your recommender?

`sureness` turns the ranking scores of any recommender into calibrated probabilities, without changing the ranking,
and shows each user as many items as are worth showing.
It trains six recommenders of its own, and takes the fitted ones of other libraries.
The names below are loaded when they are first used, so importing the package stays light.
"""

from sureness import errors as errors
from sureness._lazy import lazy_names

__version__ = "0.2.0.dev0"

__getattr__, _, _lazy_names = lazy_names(
    __name__,
    {
        "_progress": ["PrintedProgress", "Progress", "silent"],
        "_registry": ["register"],
        "saving.inspecting": ["inspect"],
        "saving.objects": ["load"],
        "calibration.base": ["Calibrator", "make_calibrator"],
        "calibration.calibration_set": ["CalibrationSet"],
        "calibration.choosing": ["choose_calibrator", "cross_validate"],
        "calibration.maps": ["ProbabilityMap", "Segments"],
        "calibration.multi_segment": ["MultiSegmentCalibrator"],
        "calibration.nonparametric": ["HistogramCalibrator", "IsotonicCalibrator"],
        "calibration.parametric": [
            "BetaCalibrator", "GammaCalibrator", "GaussianCalibrator", "PlattCalibrator", "TemperatureCalibrator",
        ],
        "calibration.per_segment": ["SegmentCalibrator"],
        "calibration.lists": ["ListCalibrator"],
        "calibration.per_user": ["PerUserGamma", "PerUserGaussian", "PerUserPlatt"],
        "calibration.shape": ["ShapeCalibrator"],
        "calibration.top_n": ["TopNCalibrator"],
        "tables.columns": ["Columns"],
        "data.filtering": ["k_core"],
        "data.ids": ["IdMap"],
        "data.interactions": ["Interactions"],
        "data.recipes": ["load_dataset", "prepare"],
        "data.scored_pairs": ["ScoredPairs"],
        "data.simulator": ["SimulatorSettings", "simulate"],
        "data.splitting": ["Split", "by_ratio", "hold_out", "leave_one_out"],
        "data.time_splitting": ["by_time"],
        "distillation.bidirectional": ["BidirectionalDistillation"],
        "distillation.methods": ["distillation_method"],
        "distillation.settings": ["Direction", "DistillationSettings"],
        "errors": [
            "DataError", "FileError", "MissingExtraError", "NotFittedError", "SurenessError", "SurenessWarning",
        ],
        "evaluation.ranking": ["evaluate_ranking"],
        "lists.allocation": ["allocate_budget", "allocate_domains"],
        "lists.base": ["ListSizePolicy"],
        "lists.comparing": ["compare_policies"],
        "lists.expectation": ["expected_utility"],
        "lists.policies": ["BestFixedSize", "ExpectedUtility", "FixedSize", "Threshold", "ValidationBest"],
        "metrics": [
            "brier_score", "expected_calibration_error", "interval", "maximum_calibration_error",
            "negative_log_likelihood", "reliability_curve", "top_n_calibration_error",
        ],
        "metrics.utility": ["Utility"],
        "models.base": ["Recommender"],
        "models.bpr": ["BPR"],
        "models.catalogue": ["make_recommender"],
        "models.cdae": ["CDAE"],
        "models.cml": ["CML"],
        "models.lightgcn": ["LightGCN"],
        "models.neumf": ["NeuMF"],
        "models.tuning": ["tune"],
        "models.ubpr": ["UBPR"],
        "numerics.histogram": ["ScoreHistogram"],
        "recommender.choosing": ["choose_list_sizes", "ways_to_decide"],
        "recommender.confident": ["ConfidentRecommender"],
        "recommender.runs": ["Run", "open_run"],
        "propensity": ["PopularityPropensity"],
        "report": ["write_report"],
        "sources.adapters": ["source_of"],
        "sources.base": ["FactorSource", "MatrixSource", "ScoreSource"],
        "sources.candidates": ["CandidateSource"],
        "sources.function": ["FunctionSource"],
        "sources.svd": ["svd_source"],
        "sources.torch_model": ["TorchSource"],
    },
)  # fmt: skip

__all__ = sorted([*_lazy_names, "__version__", "errors"])


def __dir__() -> list[str]:
    return __all__
