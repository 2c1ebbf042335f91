"""Test labels that cannot be asked for while choices are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sureness.data.interactions import Interactions
from sureness.data.splitting import Split
from sureness.errors import SurenessError

_SEALED: ContextVar[bool] = ContextVar("sealed", default=False)


class SealedError(SurenessError):
    """Test labels were asked for where choices are made."""


class SealedSplit(Split):
    """Train and validation; whoever asks for the test is told off.

    Examples
    --------
    >>> from sureness.data.splitting import leave_one_out
    >>> split = leave_one_out(Interactions.of([1] * 4, [1, 2, 3, 4]))
    >>> SealedSplit(split.train, split.validation).test
    Traceback (most recent call last):
    sureness.data.sealing.SealedError: test labels are sealed while choices are made
    """

    def __init__(self, train: Interactions, validation: Interactions) -> None:
        object.__setattr__(self, "train", train)
        object.__setattr__(self, "validation", validation)

    @property
    def test(self) -> Interactions:
        """Not here."""
        raise SealedError("test labels are sealed while choices are made")

    def __repr__(self) -> str:
        return f"SealedSplit({self.train!r}, {self.validation!r})"


@contextmanager
def sealing_tests(sealed: bool = True) -> Iterator[None]:
    """Meanwhile `prepare` gives splits without a test part, and `load_dataset` nothing at all.

    Examples
    --------
    >>> with sealing_tests():
    ...     labels_are_sealed()
    True
    """
    token = _SEALED.set(sealed)
    try:
        yield
    finally:
        _SEALED.reset(token)


def labels_are_sealed() -> bool:
    """Whether test labels may not be asked for now."""
    return _SEALED.get()


def sealed(split: Split) -> Split:
    """A split as it may be seen now."""
    return SealedSplit(split.train, split.validation) if labels_are_sealed() else split
