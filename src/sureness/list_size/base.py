"""The contract of every list-size policy: `fit` on lists of a period that is over, then `sizes`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from sureness._settings import Configurable
from sureness._types import IntArray
from sureness.errors import DataError
from sureness.list_size.lists import Lists


class ListSizePolicy(Configurable, ABC):
    """Decides how many of each user's candidates are shown.

    Sizes lie between `min_size` and `max_size`, except that no list is longer than the user's candidates.
    """

    kind: ClassVar[str]
    """The name under which the policy is saved and printed."""

    min_size: int = 1
    max_size: int = 50

    def fit(self, lists: Lists) -> Self:
        """Learn from lists with `hits`, those of the validation period, where there is anything to learn."""
        return self

    def sizes(self, lists: Lists) -> IntArray:
        """How many items each user sees; shape (n_users,)."""
        self._check()
        found = np.asarray(self._sizes(lists))
        if found.shape != (lists.n_users,) or found.dtype.kind not in "iu":
            raise DataError(
                f"_sizes of {self!r} must return {lists.n_users:,} whole numbers, one a user, got {found.dtype} of "
                f"shape {found.shape}"
            )
        wanted = np.clip(found, self.min_size, self.max_size)
        return np.asarray(np.minimum(wanted, lists.lengths), dtype=np.int64)

    @abstractmethod
    def _sizes(self, lists: Lists) -> IntArray:
        """Sizes before they are brought within the bounds."""

    def _state(self) -> dict[str, Any]:
        """Learned values as arrays and plain numbers."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over what `_state` returned."""

    def _check(self) -> None:
        for name in ("min_size", "max_size"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
                raise DataError(f"{name} must be a whole number, 0 or more, got {value!r}")
        if self.max_size < max(self.min_size, 1):
            raise DataError(
                f"max_size must be at least 1 and at least min_size, got min_size={self.min_size} and "
                f"max_size={self.max_size}"
            )
