"""How many items to show: expected utility, policies, and slots shared between domains or users."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocation": ["BudgetAllocation", "DomainAllocation", "allocate_budget", "allocate_domains"],
        "base": ["ListSizePolicy"],
        "comparing": ["PolicyComparison", "compare_policies"],
        "equal_allocation": ["equal_budget", "equal_shares"],
        "expectation": ["MOST_RELEVANT", "expected_utilities", "expected_utility", "scale_odds", "shift_log_odds"],
        "judging": ["AllocationComparison", "evaluate_allocation"],
        "lists": ["Lists"],
        "pages": ["Pages", "fill_with_trending"],
        "ranked": ["ranked_lists"],
        "policies": [
            "BestFixedSize", "ExpectedUtility", "FixedSize", "Oracle", "RandomSize", "Threshold",
            "ValidationBest", "best_sizes",
        ],
        "keeping": ["promise"],
    },
)  # fmt: skip
