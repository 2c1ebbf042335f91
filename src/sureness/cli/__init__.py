"""The command line: one file per command; each parses, calls a workflow, and presents its result."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_app": ["app", "commands"],
        "_start": ["main"],
        "_console": ["out", "present", "print_json", "print_table", "say", "shown_progress"],
        "_options": ["Json", "Spread", "spread"],
    },
)
