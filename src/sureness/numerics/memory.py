"""Refuse sizes that no memory holds, before anything is allocated."""

from __future__ import annotations

import os
from functools import cache

from sureness.errors import SettingError


@cache
def physical_memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse what needs more memory than the machine has; `what` says which sizes were asked for.

    Examples
    --------
    >>> check_memory(8 * 1_000, "1,000 numbers")
    >>> check_memory(8 * 10**18, "10**18 numbers")
    Traceback (most recent call last):
    ...
    sureness.errors.SettingError: 10**18 numbers would need 8,000,000,000 GB of memory, more than this machine has; \
choose smaller sizes
    """
    if n_bytes > physical_memory():
        raise SettingError(
            f"{what} would need {n_bytes / 1e9:,.0f} GB of memory, more than this machine has; choose smaller sizes"
        )
