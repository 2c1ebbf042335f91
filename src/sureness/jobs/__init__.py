"""Whole jobs on tables, runs and saved things: frozen results, no printing."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocating": ["AllocateOptions", "AllocateResult", "allocate"],
        "applying": ["ApplyOptions", "ApplyResult", "apply"],
        "comparing": ["PERSONAL", "REFERENCE", "baselines", "compare_with_baselines"],
        "cutting": ["CutResult", "PageOptions", "cut_run", "cut_table"],
        "datasets": ["DatasetList", "Description", "FetchResult", "Found", "describe", "fetch", "list_datasets"],
        "distilling": ["DistillOptions", "DistillResult", "JudgedModel", "distill"],
        "exporting": ["ExportResult", "SqlOptions", "SqlResult", "export", "translate"],
        "fitting": ["FitOptions", "FitResult", "fit"],
        "judging": ["EvaluateOptions", "EvaluateResult", "evaluate", "judge", "usual_metrics"],
        "listing": ["CalibrationOptions", "ListOptions", "Listing", "open_listing"],
        "logs": ["LogOptions", "SplitLog", "read_log", "split_log"],
        "options": ["OneOf", "Result", "Usually", "plain"],
        "outputs": ["check_outputs"],
        "reporting": ["ReportOptions", "ReportResult", "report"],
        "simulating": ["WorldOptions", "WorldResult", "write_world"],
        "training": ["TrainOptions", "TrainResult", "train"],
        "warming": ["WarmResult", "warm"],
    },
)
