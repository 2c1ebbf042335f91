"""How many items to show: expected utility, policies, and slots shared between domains or users."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocation": [
            "AllocationComparison", "BudgetAllocation", "DomainAllocation", "Pages", "allocate_budget",
            "allocate_domains", "equal_budget", "equal_shares", "evaluate_allocation", "fill_with_trending",
        ],
        "base": ["ListSizePolicy"],
        "comparing": ["PolicyComparison", "compare_policies"],
        "expectation": ["MOST_RELEVANT", "expected_utilities", "expected_utility", "scale_odds", "shift_log_odds"],
        "lists": ["Lists"],
        "policies": [
            "BestFixedSize", "ExpectedUtility", "FixedSize", "Oracle", "RandomSize", "Threshold",
            "ValidationBest", "best_sizes",
        ],
    },
)  # fmt: skip
