# Written by `make stubs` from the table in __init__.py.
from sureness.list_size.allocation import BudgetAllocation as BudgetAllocation
from sureness.list_size.allocation import DomainAllocation as DomainAllocation
from sureness.list_size.allocation import allocate_budget as allocate_budget
from sureness.list_size.allocation import allocate_domains as allocate_domains
from sureness.list_size.base import ListSizePolicy as ListSizePolicy
from sureness.list_size.comparing import PolicyComparison as PolicyComparison
from sureness.list_size.comparing import compare_policies as compare_policies
from sureness.list_size.equal_allocation import equal_budget as equal_budget
from sureness.list_size.equal_allocation import equal_shares as equal_shares
from sureness.list_size.expectation import MOST_RELEVANT as MOST_RELEVANT
from sureness.list_size.expectation import expected_utilities as expected_utilities
from sureness.list_size.expectation import expected_utility as expected_utility
from sureness.list_size.expectation import scale_odds as scale_odds
from sureness.list_size.expectation import shift_log_odds as shift_log_odds
from sureness.list_size.judging import AllocationComparison as AllocationComparison
from sureness.list_size.judging import evaluate_allocation as evaluate_allocation
from sureness.list_size.keeping import promise as promise
from sureness.list_size.lists import Lists as Lists
from sureness.list_size.pages import Pages as Pages
from sureness.list_size.pages import fill_with_trending as fill_with_trending
from sureness.list_size.policies import BestFixedSize as BestFixedSize
from sureness.list_size.policies import ExpectedUtility as ExpectedUtility
from sureness.list_size.policies import FixedSize as FixedSize
from sureness.list_size.policies import Oracle as Oracle
from sureness.list_size.policies import RandomSize as RandomSize
from sureness.list_size.policies import Threshold as Threshold
from sureness.list_size.policies import ValidationBest as ValidationBest
from sureness.list_size.policies import best_sizes as best_sizes
from sureness.list_size.ranked import ranked_lists as ranked_lists

__all__ = [
    "AllocationComparison",
    "BestFixedSize",
    "BudgetAllocation",
    "DomainAllocation",
    "ExpectedUtility",
    "FixedSize",
    "ListSizePolicy",
    "Lists",
    "MOST_RELEVANT",
    "Oracle",
    "Pages",
    "PolicyComparison",
    "RandomSize",
    "Threshold",
    "ValidationBest",
    "allocate_budget",
    "allocate_domains",
    "best_sizes",
    "compare_policies",
    "equal_budget",
    "equal_shares",
    "evaluate_allocation",
    "expected_utilities",
    "expected_utility",
    "fill_with_trending",
    "promise",
    "ranked_lists",
    "scale_odds",
    "shift_log_odds",
]
