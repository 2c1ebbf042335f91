"""Whole jobs on tables, runs and saved things: frozen results, no printing."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "options": ["OneOf", "Usually"],
        "plain": ["Result", "plain"],
        "comparing": ("PERSONAL", "REFERENCE", "baselines", "compare_with_baselines"),
        "shared_pages": ("DomainLists", "DomainPage", "domain_lists", "share_page"),
    },
)
