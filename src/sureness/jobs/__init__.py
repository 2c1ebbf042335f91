"""Whole jobs on tables, runs and saved things: frozen results, no printing."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocating": ["AllocateOptions", "AllocateResult", "allocate"],
        "applying": ["ApplyOptions", "ApplyResult", "apply"],
        "backtesting": ["BacktestOptions", "BacktestResult", "run_backtest"],
        "cutting": ["CutResult", "PageOptions", "cut_run", "cut_table"],
        "datasets": ["Description", "WorldOptions", "describe", "fetch", "list_datasets", "write_world"],
        "distilling": ["DistillOptions", "DistillResult", "distill"],
        "exporting": ["export", "translate"],
        "fitting": ["FitOptions", "FitResult", "fit"],
        "judging": ["EvaluateOptions", "EvaluateResult", "evaluate", "judge", "usual_metrics"],
        "listing": [
            "CalibrationOptions",
            "ListOptions",
            "Listing",
            "PERSONAL",
            "REFERENCE",
            "baselines",
            "compare_with_baselines",
            "open_listing",
        ],
        "logs": ["LogOptions", "SplitLog", "read_log", "split_log"],
        "options": ["OneOf", "Result", "Usually", "plain"],
        "outputs": ["check_outputs"],
        "probabilities": ["ProbabilityQuality", "evaluate_table"],
        "reporting": ["ReportOptions", "report"],
        "training": ["TrainOptions", "TrainResult", "train"],
        "warming": ["warm"],
    },
)
