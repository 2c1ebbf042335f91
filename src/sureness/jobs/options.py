"""What the annotation of an option may say besides its type: one sentence of help, its choices, its usual value.

The options of a job are the fields of a frozen dataclass. A door such as the command line reads these annotations, so
nothing about an option is written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sureness._registry import Family, names


@dataclass(frozen=True)
class OneOf:
    """The value is a registered name of these families, or one of the other words.

    Examples
    --------
    >>> OneOf(("utility",), others=("none",)).names()
    ('none', 'ndcg', 'pdcg', 'f1', 'tp', 'dcg')
    """

    families: tuple[Family, ...]
    others: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """All choices, also those that other packages have registered."""
        return (*self.others, *(name for family in self.families for name in names(family)))


@dataclass(frozen=True)
class Usually:
    """The value that None stands for."""

    value: Any
