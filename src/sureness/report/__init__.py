"""Figures, and self-contained HTML pages on how good probabilities are and how long lists should be."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "contents": ["Additions", "Background", "Contents", "gather_contents"],
        "figures.distillation": ["draw_training_curves"],
        "figures.lists": [
            "ByDegree",
            "draw_confidence_by_degree",
            "draw_group_ratios",
            "draw_list_cut",
            "draw_promise",
            "draw_size_by_degree",
            "draw_size_distributions",
            "prepare_confidence_by_degree",
            "prepare_size_by_degree",
        ],
        "figures.reliability": ["ProbabilityBands", "draw_bands", "draw_reliability", "prepare_bands"],
        "figures.scores": [
            "draw_fitted_curves",
            "draw_metric_comparison",
            "draw_score_distributions",
            "draw_side_by_side",
        ],
        "figures.style": [
            "BLUE",
            "CYCLE",
            "DASHES",
            "GREY",
            "INK",
            "LIGHT_GREY",
            "MARKERS",
            "ORANGE",
            "SETTINGS",
            "drawing",
            "figure_svg",
            "legend_above",
            "save_figure",
            "short_name",
        ],
        "figures.windows": ["draw_windows"],
        "formatting": ["Finding", "chance", "count", "error", "percent", "points", "spoken_percent"],
        "list_sizes": ["ListSizes", "gather_list_sizes"],
        "page": ["ReportSummary", "require_report", "write_backtest_report", "write_list_size_report", "write_report"],
    },
)
