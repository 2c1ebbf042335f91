# Written by `make stubs` from the table in __init__.py.
from sureness.workflows.comparing import PERSONAL as PERSONAL
from sureness.workflows.comparing import REFERENCE as REFERENCE
from sureness.workflows.comparing import baselines as baselines
from sureness.workflows.comparing import compare_with_baselines as compare_with_baselines
from sureness.workflows.options import OneOf as OneOf
from sureness.workflows.options import Usually as Usually
from sureness.workflows.plain import Result as Result
from sureness.workflows.plain import plain as plain
from sureness.workflows.shared_pages import DomainLists as DomainLists
from sureness.workflows.shared_pages import DomainPage as DomainPage
from sureness.workflows.shared_pages import domain_lists as domain_lists
from sureness.workflows.shared_pages import share_page as share_page

__all__ = [
    "DomainLists",
    "DomainPage",
    "OneOf",
    "PERSONAL",
    "REFERENCE",
    "Result",
    "Usually",
    "baselines",
    "compare_with_baselines",
    "domain_lists",
    "plain",
    "share_page",
]
