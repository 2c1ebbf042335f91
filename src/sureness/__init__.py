"""How sure is your recommender?

`sureness` turns the ranking scores of any recommender into calibrated probabilities, without changing the ranking,
and shows each user as many items as are worth showing.
It trains six recommenders of its own, and takes the fitted ones of other libraries.
The names and packages below are loaded when they are first used, so importing the package stays light. What most
programs need is at the top, `sn.PlattCalibrator`; everything else in its package, `sn.metrics.brier_score`.
"""

from sureness import errors as errors
from sureness._lazy import lazy_names

__version__ = "0.2.0.dev0"

__getattr__, _, _lazy_names = lazy_names(
    __name__,
    {
        "_progress": ["PrintedProgress", "Progress", "silent"],
        "_registry": ["register"],
        "saving": ["load"],
        "activity": ["ActivityModel"],
        "calibration": [
            "CalibrationSet",
            "GammaCalibrator",
            "GaussianCalibrator",
            "IsotonicCalibrator",
            "ListCalibrator",
            "PlattCalibrator",
            "SegmentCalibrator",
            "choose_calibrator",
            "prior_correction",
            "undo_sampling",
        ],
        "data": [
            "IdMap",
            "Interactions",
            "SimulatorSettings",
            "by_ratio",
            "by_time",
            "hold_out",
            "leave_one_out",
            "simulate",
        ],
        "distillation": ["BidirectionalDistillation"],
        "lists": [
            "ExpectedUtility",
            "FixedSize",
            "RetrievalCutoff",
            "Threshold",
            "allocate_budget",
            "allocate_domains",
            "expected_utility",
        ],
        "metrics": ["evaluate_ranking", "expected_calibration_error"],
        "models": ["BPR"],
        "numerics": ["ScoreHistogram"],
        "recommender": ["ConfidentRecommender", "backtest", "choose_list_sizes"],
        "report": ["write_report"],
        "sources": ["CandidateSource", "FactorSource", "MatrixSource", "source_of", "svd_source"],
        "tables": ["Columns"],
    },
    (
        "calibration",
        "data",
        "distillation",
        "lists",
        "metrics",
        "models",
        "propensity",
        "recommender",
        "report",
        "saving",
        "sources",
    ),
)

__all__ = sorted([*_lazy_names, "__version__", "errors"])


def __dir__() -> list[str]:
    return __all__
