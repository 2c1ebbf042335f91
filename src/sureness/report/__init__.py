"""Self-contained HTML pages on how good probabilities are, how long lists should be, and what distillation brings."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "contents": ["Contents", "gather_contents"],
        "distillation": [
            "Distillation", "DistilledModels", "Measuring", "TrainingRecord", "gather_distillation",
        ],
        "figures": ["PageFigure", "Plan"],
        "findings": ["Finding"],
        "formatting": ["MISSING", "chance", "count", "error", "percent", "plain", "points", "spoken_percent"],
        "inputs": ["Additions", "Background", "ExtraTable", "PageText"],
        "list_sizes": ["ListSizes", "gather_list_sizes"],
        "page": ["ReportSummary", "page_environment", "require_report", "write_report"],
        "part_pages": ["write_distillation_report", "write_list_size_report"],
    },
)  # fmt: skip
