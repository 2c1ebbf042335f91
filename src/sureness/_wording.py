"""Numbers with the noun that they count, and text that is safe to show."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed


def counted(number: int, one: str, more: str | None = None) -> str:
    """A number and its noun, in the plural unless there is exactly one.

    A verb that follows belongs to both forms: `counted(n, "user has", "users have")`.

    Examples
    --------
    >>> counted(1, "experiment"), counted(1_200, "user"), counted(0, "pair")
    ('1 experiment', '1,200 users', '0 pairs')
    >>> counted(1, "entry", "entries"), counted(2, "entry", "entries")
    ('1 entry', '2 entries')
    """
    return f"{number:,} {agreeing(number, one, f'{one}s' if more is None else more)}"


def agreeing(number: int, one: str, more: str) -> str:
    """The form of a word that agrees with a number.

    Examples
    --------
    >>> [f"{n} of 9 pairs {agreeing(n, 'has', 'have')} no score" for n in (1, 2)]
    ['1 of 9 pairs has no score', '2 of 9 pairs have no score']
    """
    return one if number == 1 else more


def visible(text: str) -> str:
    r"""Text with its control characters written out, so that no name in a table can steer a terminal.

    Examples
    --------
    >>> print(visible("no column 'a\x1b[31mb'"))
    no column 'a\x1b[31mb'
    """
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
