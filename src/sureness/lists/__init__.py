"""How many items to show: expected utility, policies, and slots shared between domains or users."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocation": ["BudgetAllocation", "DomainAllocation", "allocate_budget", "allocate_domains"],
        "comparing": [
            "AllocationComparison", "PolicyComparison", "compare_policies", "evaluate_allocation",
        ],
        "equal_allocation": ["equal_budget", "equal_shares"],
        "expectation": ["MOST_RELEVANT", "expected_utilities", "expected_utility", "scale_odds", "shift_log_odds"],
        "lists": ["Lists", "ranked_lists"],
        "pages": ["Pages", "fill_with_trending"],
        "policies": [
            "BestFixedSize", "ExpectedUtility", "FixedSize", "ListSizePolicy", "Oracle", "RandomSize", "Threshold",
            "ValidationBest", "best_sizes",
        ],
        "promises": ["promise"],
    },
)  # fmt: skip
