"""Draw results computed elsewhere; the only matplotlib import of the package.

Compute, then draw: a `prepare_*` function gives plain numbers, a `draw_*` function puts them on axes and returns these.
"""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bands": ["ProbabilityBands", "draw_bands", "prepare_bands"],
        "comparison": ["MetricComparison", "draw_metric_comparison", "prepare_metric_comparison"],
        "curves": ["FittedCurves", "draw_fitted_curves", "prepare_fitted_curves"],
        "degree": ["ConfidenceByDegree", "draw_confidence_by_degree", "prepare_confidence_by_degree"],
        "distillation": [
            "ROLE_COLOURS",
            "ROLE_MARKERS",
            "RankDifferences",
            "TrainingCurves",
            "draw_rank_differences",
            "draw_rank_scatter",
            "draw_side_by_side",
            "draw_training_curves",
            "prepare_model_comparison",
            "prepare_rank_differences",
            "prepare_training_curves",
        ],
        "distributions": [
            "ClassScores",
            "ScoreDistributions",
            "draw_score_distributions",
            "prepare_score_distributions",
        ],
        "list_cases": ["ListCut", "draw_list_cut", "prepare_list_cut"],
        "list_sizes": [
            "SizeByDegree",
            "SizeDistributions",
            "draw_size_by_degree",
            "draw_size_distributions",
            "prepare_size_by_degree",
            "prepare_size_distributions",
        ],
        "promises": [
            "GroupRatios",
            "PromiseBands",
            "draw_group_ratios",
            "draw_promise",
            "prepare_group_ratios",
            "prepare_promise",
        ],
        "reliability": ["draw_reliability"],
        "saving": ["FONTS", "figure_svg", "save_figure"],
        "style": [
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
            "legend_above",
            "require_matplotlib",
            "short_name",
        ],
        "tables": ["require_columns"],
    },
)
