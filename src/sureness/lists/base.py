"""The contract of list-size policies: `fit` on lists of a past period, then `sizes`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from sureness._settings import Configurable
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, SettingError
from sureness.lists.expectation import LONGEST, expected_utility
from sureness.lists.lists import Lists
from sureness.metrics.utility import Utility, named_utility, utility_of
from sureness.numerics.checks import check_whole
from sureness.saving.packed import Packed, Parts, Savable, kind_of


class Decision(NamedTuple):
    """What a policy decides for each user; all of shape (n_users,)."""

    sizes: IntArray
    expected: FloatArray  # expected utility of the list; NaN if the policy does not compute it
    unsure: BoolArray  # whether no list is worth showing


class ListSizePolicy(Configurable, Savable):
    """Decides how many of each user's candidates are shown.

    Sizes lie between `min_size` and `max_size`, except that no list is longer than the user's candidates.
    """

    title: ClassVar[str] = "this policy"
    """What comparisons call it."""

    utility: str | Utility = "f1"
    """What a list is worth; policies that do not maximise one are judged by F1."""

    min_size: int = 1
    max_size: int = 50
    method: Literal["exact", "approximate"] = "exact"
    terms: int = 2_000

    def fit(self, lists: Lists) -> Self:
        """Learn from lists with `hits` of the validation period; policies without parameters learn nothing."""
        return self

    def sizes(self, lists: Lists) -> IntArray:
        """How many items each user sees; shape (n_users,)."""
        self.check()
        found = np.asarray(self._sizes(lists))
        if found.shape != (lists.n_users,) or found.dtype.kind not in "iu":
            raise DataError(
                f"_sizes of {self!r} must return {counted(lists.n_users, 'whole number')}, one per user, got "
                f"{found.dtype} of shape {found.shape}"
            )
        wanted = np.clip(found, self.min_size, self.max_size)
        return np.asarray(np.minimum(wanted, lists.lengths), dtype=np.int64)

    def decide(self, lists: Lists) -> Decision:
        """Sizes, and the expected utility of each list if the policy computes it."""
        unknown = np.full(lists.n_users, np.nan)
        return Decision(self.sizes(lists), unknown, np.asarray(lists.lengths == 0))

    def expected(self, lists: Lists) -> FloatArray:
        """The expected utility of the first k items for every k up to `max_size`, or to the longest list if shorter."""
        self.check()
        longest = max(1, min(self.max_size, lists.width))  # a run may have far fewer items than a list may hold
        return expected_utility(
            lists.needed("probabilities", self), self.utility, max_size=longest,
            lengths=np.minimum(lists.lengths, lists.width), tail=lists.tail, method=self.method, terms=self.terms,
        )  # fmt: skip

    @abstractmethod
    def _sizes(self, lists: Lists) -> IntArray:
        """Sizes before the bounds are applied."""

    def state(self) -> dict[str, AnyArray | int | float]:
        """Learned values as arrays and plain numbers; none before `fit`."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""

    def pack(self) -> Packed:
        settings = self.get_params(deep=False)
        if "utility" in settings:
            settings["utility"] = named_utility(settings["utility"]).plain(self.max_size)
        state = self.state()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in state.items() if name not in arrays}
        return Packed(kind=kind_of("policy", type(self)), settings=settings, state=numbers, arrays=arrays)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        settings = dict(packed.settings)
        if "utility" in settings:
            utility = utility_of(settings["utility"])
            settings["utility"] = utility.name if set(settings["utility"]) == {"name"} else utility
        policy = cls(**settings)
        if state := {**packed.state, **packed.arrays}:
            policy.restore(state)
        return policy

    def check(self) -> None:
        """Refuse contradictory bounds."""
        check_whole(self.min_size, "min_size")
        check_whole(self.max_size, "max_size", 0, LONGEST)
        if self.max_size < max(self.min_size, 1):
            raise SettingError(
                f"max_size must be at least 1 and at least min_size, got min_size={self.min_size} and "
                f"max_size={self.max_size}"
            )
