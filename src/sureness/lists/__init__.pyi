# Written by `make stubs` from the table in __init__.py.
from sureness.lists.budgets import BudgetAllocation as BudgetAllocation
from sureness.lists.budgets import allocate_budget as allocate_budget
from sureness.lists.budgets import equal_budget as equal_budget
from sureness.lists.comparing import AllocationComparison as AllocationComparison
from sureness.lists.comparing import PolicyComparison as PolicyComparison
from sureness.lists.comparing import compare_policies as compare_policies
from sureness.lists.comparing import compare_worth as compare_worth
from sureness.lists.expectation import MOST_RELEVANT as MOST_RELEVANT
from sureness.lists.expectation import expected_utilities as expected_utilities
from sureness.lists.expectation import expected_utility as expected_utility
from sureness.lists.expectation import scale_odds as scale_odds
from sureness.lists.expectation import shift_log_odds as shift_log_odds
from sureness.lists.lists import Lists as Lists
from sureness.lists.pages import DomainAllocation as DomainAllocation
from sureness.lists.pages import allocate_domains as allocate_domains
from sureness.lists.pages import equal_shares as equal_shares
from sureness.lists.policies import BestFixedSize as BestFixedSize
from sureness.lists.policies import ExpectedUtility as ExpectedUtility
from sureness.lists.policies import FixedSize as FixedSize
from sureness.lists.policies import ListSizePolicy as ListSizePolicy
from sureness.lists.policies import Oracle as Oracle
from sureness.lists.policies import RandomSize as RandomSize
from sureness.lists.policies import Threshold as Threshold
from sureness.lists.policies import ValidationBest as ValidationBest
from sureness.lists.policies import best_sizes as best_sizes
from sureness.lists.promises import promise as promise
from sureness.lists.retrieval import Cutoff as Cutoff
from sureness.lists.retrieval import RetrievalCutoff as RetrievalCutoff

__all__ = [
    "AllocationComparison",
    "BestFixedSize",
    "BudgetAllocation",
    "Cutoff",
    "DomainAllocation",
    "ExpectedUtility",
    "FixedSize",
    "ListSizePolicy",
    "Lists",
    "MOST_RELEVANT",
    "Oracle",
    "PolicyComparison",
    "RandomSize",
    "RetrievalCutoff",
    "Threshold",
    "ValidationBest",
    "allocate_budget",
    "allocate_domains",
    "best_sizes",
    "compare_policies",
    "compare_worth",
    "equal_budget",
    "equal_shares",
    "expected_utilities",
    "expected_utility",
    "promise",
    "scale_odds",
    "shift_log_odds",
]
