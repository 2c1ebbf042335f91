"""How many items to show: expected utility, policies, and slots shared between domains or users."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "budgets": ["BudgetAllocation", "allocate_budget", "equal_budget"],
        "comparing": [
            "AllocationComparison",
            "PolicyComparison",
            "compare_policies",
            "compare_worth",
        ],
        "expectation": ["MOST_RELEVANT", "expected_utilities", "expected_utility", "scale_odds", "shift_log_odds"],
        "lists": ["Lists"],
        "pages": ["DomainAllocation", "allocate_domains", "equal_shares"],
        "policies": [
            "BestFixedSize",
            "ExpectedUtility",
            "FixedSize",
            "ListSizePolicy",
            "Oracle",
            "RandomSize",
            "Threshold",
            "ValidationBest",
            "best_sizes",
        ],
        "promises": ["promise"],
        "retrieval": ["Cutoff", "RetrievalCutoff"],
    },
)
