"""Numbers with the noun that they count."""

from __future__ import annotations


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
