"""Pure functions on arrays: no tables, no torch, no files."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "checks": [
            "LARGEST", "check_choice", "check_ids", "check_labels", "check_probabilities", "check_probability_rows",
            "check_propensity", "check_rate", "check_rows", "check_scores", "check_share", "check_weight",
            "one_dimension", "same_length",
        ],
        "grouping": ["fold_of_groups", "group_codes", "ranks_within", "top_n"],
        "histogram": ["ScoreHistogram", "WeightedScores", "require_both_classes"],
        "intensity": ["once_gone", "over_periods", "over_shares"],
        "logistic": ["GaussianPrior", "fit_logistic", "logit", "sigmoid"],
        "poisson": ["fit_poisson"],
        "poisson_binomial": ["Gains", "expected_gains", "log_odds_shifts", "poisson_binomial_pmf", "power_sums"],
        "ranking": ["NOTHING", "draw_absent", "draw_by_ranks", "exact_ranks", "members", "ranks_of", "top_k"],
        "ratios": ["holm", "ratio_of_sums"],
        "small_logistic": ["fit_small_logistics"],
        "threads": ["at_most_threads"],
    },
)  # fmt: skip
