"""Test labels that cannot be read while settings are chosen; the only way from experiments to data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from typing import Any

from sureness import data as library
from sureness.data import Dataset, Interactions, Split
from sureness.errors import SurenessError

_SEALED: ContextVar[bool] = ContextVar("sealed", default=False)


class SealedError(SurenessError):
    """Test labels were asked for while settings are chosen."""

    code = "sealed"


class SealedSplit(Split):
    """Train and validation; asking for the test raises.

    Examples
    --------
    >>> from sureness.data.splitting import leave_one_out
    >>> split = leave_one_out(Interactions.of([1] * 4, [1, 2, 3, 4]))
    >>> SealedSplit(split.train, split.validation).test
    Traceback (most recent call last):
    sureness_reproduction.sealing.SealedError: test labels are sealed while choices are made
    """

    def __init__(self, train: Interactions, validation: Interactions) -> None:
        object.__setattr__(self, "train", train)
        object.__setattr__(self, "validation", validation)

    @property
    def test(self) -> Interactions:
        """Raises SealedError."""
        raise SealedError("test labels are sealed while choices are made")

    def __repr__(self) -> str:
        return f"SealedSplit({self.train!r}, {self.validation!r})"


@contextmanager
def sealing_tests(sealed: bool = True) -> Iterator[None]:
    """Within the block `prepare` gives splits without a test part, and `load_dataset` refuses.

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
    """Whether test labels cannot be read now."""
    return _SEALED.get()


def load_dataset(name: str, folder: str | PathLike[str] | None = None, **options: Any) -> Dataset:
    """The library's `load_dataset`; refused while labels are sealed, because a whole data set holds test labels."""
    if labels_are_sealed():
        raise SealedError(
            f"{name} as a whole holds test labels, which are sealed while choices are made; use `prepare`"
        )
    return library.load_dataset(name, folder, **options)


def prepare(name: str | Interactions, protocol: str | None = None, **options: Any) -> Split:
    """The library's `prepare`; without the test part while labels are sealed."""
    split = library.prepare(name, protocol, **options)  # type: ignore[arg-type]
    return SealedSplit(split.train, split.validation) if labels_are_sealed() else split


def split_own(path: str, protocol: str | None, *, seed: int = 0, per_user: int | None = None, **_: Any) -> Split:
    """A log of the user's own, split in the study's way; all its rows are positives.

    Where a study needs a uniformly exposed test, which a log does not have, 60/20/20 of each user take its place.
    """
    log = Interactions.from_table(path)
    protocol = "ratio" if protocol in (None, "preference") else protocol
    options = {} if per_user is None else {"per_user": per_user}
    return prepare(log, protocol, seed=seed, positive_above=None, **options)
