"""Policies that decide how many items a user sees: fit on lists of a past period, then sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from sureness._settings import Configurable, written
from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, EmptyError, NotFittedError, SettingError
from sureness.lists.expectation import LONGEST, expected_utility
from sureness.lists.lists import Lists
from sureness.metrics.utility import Utility, named_utility, utility_at_every_size, utility_of
from sureness.numerics.checks import check_whole
from sureness.saving.packed import Packed, Parts, Savable, kind_of


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

    def decide(self, lists: Lists) -> Lists:
        """The same lists with sizes, expected utilities if the policy computes them, and which users are unsure."""
        unknown = np.full(lists.n_users, np.nan)
        return replace(lists, sizes=self.sizes(lists), expected=unknown, unsure=lists.lengths == 0)

    def expected(self, lists: Lists) -> FloatArray:
        """The expected utility of the first k items for every k up to `max_size`, or to the longest list if shorter."""
        self.check()
        longest = max(1, min(self.max_size, lists.width))  # a run may have far fewer items than a list may hold
        return expected_utility(
            lists.needed("probabilities", self),
            self.utility,
            max_size=longest,
            lengths=np.minimum(lists.lengths, lists.width),
            tail=lists.tail,
        )

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
        policy.check()
        if state := {**packed.state, **packed.arrays}:
            policy.restore(state)
        return policy

    def check(self) -> None:
        """Refuse contradictory bounds."""
        check_whole(self.min_size, "min_size")
        check_whole(self.max_size, "max_size", 1, LONGEST)
        if self.max_size < self.min_size:
            raise SettingError(
                f"max_size={self.max_size} is less than min_size={self.min_size}; raise the one or lower the other"
            )


_TIE = 1e-12  # of utilities closer than this, the smaller list wins


class ExpectedUtility(ListSizePolicy):
    """As many items as maximise the expected utility (PerK).

    Parameters
    ----------
    utility : {"ndcg", "pdcg", "f1", "tp", "dcg"} or Utility
    min_size : int
        Shortest list; with 0 a user may see nothing if nothing is worth showing.
    max_size : int
        Longest list.
    unsure_below : float
        Users whose best list has at most this expected utility are marked `unsure`. The default of 0 matters only for
        utilities with a loss, such as PDCG, which can be negative.

    Examples
    --------
    >>> lists = Lists.of(probabilities=[[0.9, 0.8, 0.1, 0.1], [0.3, 0.1, 0.1, 0.1]])
    >>> ExpectedUtility("f1", max_size=4).sizes(lists)
    array([2, 1])
    >>> ExpectedUtility("pdcg", min_size=0, max_size=4).sizes(lists)
    array([2, 0])
    """

    title: ClassVar[str] = "PerK"

    def __init__(
        self,
        utility: str | Utility = "f1",
        *,
        min_size: int = 1,
        max_size: int = 50,
        unsure_below: float = 0.0,
    ) -> None:
        self.utility = utility
        self.min_size = min_size
        self.max_size = max_size
        self.unsure_below = unsure_below

    def _sizes(self, lists: Lists) -> IntArray:
        return best_sizes(self.expected(lists), self.min_size)

    def decide(self, lists: Lists) -> Lists:
        """The same lists with sizes, the expected utility of each, and which users are unsure."""
        expected = self.expected(lists)
        wanted = np.clip(best_sizes(expected, self.min_size), self.min_size, self.max_size)
        sizes = np.minimum(wanted, lists.lengths)
        value = np.where(sizes > 0, np.take_along_axis(expected, np.maximum(sizes, 1)[:, None] - 1, axis=1)[:, 0], 0.0)
        unsure = (expected.max(axis=1) <= self.unsure_below) | (lists.lengths == 0)
        return replace(lists, sizes=sizes, expected=value, unsure=np.asarray(unsure))


class JudgingPolicy(ListSizePolicy):
    """A policy that uses the realised utility of lists in a past period.

    Parameters
    ----------
    utility : {"ndcg", "pdcg", "f1", "tp", "dcg"} or Utility
    min_size, max_size : int
        Shortest and longest list.
    """

    def __init__(self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50) -> None:
        self.utility = utility
        self.min_size = min_size
        self.max_size = max_size


class FixedSize(ListSizePolicy):
    """The same number of items for everyone (Top-k).

    Examples
    --------
    >>> FixedSize(3).sizes(Lists.of(probabilities=[[0.5, 0.4], [0.3, 0.2]]))  # there are only two items
    array([2, 2])
    """

    def __init__(self, size: int = 10) -> None:
        self.size = size

    @property
    def max_size(self) -> int:  # type: ignore[override]
        return max(self.size, 1)

    @property
    def min_size(self) -> int:  # type: ignore[override]
        return self.size

    def _sizes(self, lists: Lists) -> IntArray:
        return np.full(lists.n_users, self.size)


class BestFixedSize(JudgingPolicy):
    """The list size that was best on average in the validation period, for all users.

    Examples
    --------
    >>> lists = Lists.of(hits=[[True, True, False], [True, False, False]])
    >>> BestFixedSize("f1", max_size=3).fit(lists).size_
    1
    """

    def fit(self, lists: Lists) -> Self:
        values = _realised(lists, self, self.utility, self.max_size)
        judged = lists.needed("n_relevant", self) > 0
        if not judged.any():
            raise EmptyError("no user has a relevant item in these lists, so no size can be preferred")
        self.size_ = int(best_sizes(values[judged].mean(axis=0, keepdims=True), max(self.min_size, 1))[0])
        return self

    def _sizes(self, lists: Lists) -> IntArray:
        return np.full(lists.n_users, _fitted(self, "size_"))

    def state(self) -> dict[str, AnyArray | int | float]:
        return {"size": self.size_} if hasattr(self, "size_") else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.size_ = int(state["size"])


class RandomSize(ListSizePolicy):
    """A random number of items, as the lower end of a comparison.

    Examples
    --------
    >>> sizes = RandomSize(max_size=3, seed=0).sizes(Lists.of(probabilities=np.zeros((100, 3))))
    >>> sorted(set(sizes.tolist()))
    [1, 2, 3]
    """

    def __init__(self, *, min_size: int = 1, max_size: int = 50, seed: int = 0) -> None:
        self.min_size = min_size
        self.max_size = max_size
        self.seed = seed

    def check(self) -> None:
        super().check()
        check_whole(self.seed, "seed")

    def _sizes(self, lists: Lists) -> IntArray:
        """The size depends only on the user, not on the block."""
        drawn = np.random.default_rng(self.seed).random(int(lists.users.max(initial=0)) + 1)
        width = self.max_size - self.min_size + 1
        return np.asarray(self.min_size + (drawn[lists.users] * width).astype(np.int64))


class ValidationBest(JudgingPolicy):
    """The list size that was best for each user in the validation period (Val-k).

    Users without a relevant item get the size that was best on average.

    Examples
    --------
    >>> lists = Lists.of(hits=[[True, True, False], [True, False, False]])
    >>> ValidationBest("f1", max_size=3).fit(lists).sizes(lists)
    array([2, 1])
    """

    def fit(self, lists: Lists) -> Self:
        values = _realised(lists, self, self.utility, self.max_size)
        judged = lists.needed("n_relevant", self) > 0
        overall = BestFixedSize(self.utility, min_size=self.min_size, max_size=self.max_size).fit(lists).size_
        self.size_of_user_ = np.full(int(lists.users.max(initial=0)) + 1, overall, dtype=np.int64)
        self.size_of_user_[lists.users[judged]] = best_sizes(values[judged], max(self.min_size, 1))
        self.size_ = overall
        return self

    def _sizes(self, lists: Lists) -> IntArray:
        known: IntArray = _fitted(self, "size_of_user_")
        met = (lists.users >= 0) & (lists.users < len(known))
        return np.where(met, known[np.where(met, lists.users, 0)], self.size_)

    def state(self) -> dict[str, AnyArray | int | float]:
        return {"size": self.size_, "size_of_user": self.size_of_user_} if hasattr(self, "size_") else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        sizes = np.asarray(state["size_of_user"])
        if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu":
            raise ValueError(f"expected the size of each user, got {sizes.dtype} of shape {sizes.shape}")
        self.size_, self.size_of_user_ = int(state["size"]), sizes


class Threshold(ListSizePolicy):
    """All items that are at least this likely to be relevant.

    Parameters
    ----------
    probability : float
    min_size : int
        Shortest list; with 0 a user without such an item sees nothing.
    max_size : int
        Longest list.

    Examples
    --------
    >>> Threshold(0.3).sizes(Lists.of(probabilities=[[0.9, 0.4, 0.2], [0.2, 0.1, 0.1]]))
    array([2, 1])
    >>> Threshold(0.3, min_size=0).sizes(Lists.of(probabilities=[[0.9, 0.4, 0.2], [0.2, 0.1, 0.1]]))
    array([2, 0])
    """

    def __init__(self, probability: float = 0.5, *, min_size: int = 1, max_size: int = 50) -> None:
        self.probability = probability
        self.min_size = min_size
        self.max_size = max_size

    def check(self) -> None:
        super().check()
        if isinstance(self.probability, str) or not 0 <= self.probability <= 1:
            raise SettingError(f"the threshold must lie in [0, 1], got {self.probability!r}")

    def decide(self, lists: Lists) -> Lists:
        """The same lists with sizes, and users without an item that is likely enough as `unsure`."""
        return replace(super().decide(lists), unsure=np.asarray((self._sizes(lists) == 0) | (lists.lengths == 0)))

    def _sizes(self, lists: Lists) -> IntArray:
        likely = lists.needed("probabilities", self) >= self.probability
        return np.asarray(np.where(likely.all(axis=1), likely.shape[1], np.argmin(likely, axis=1)))


class Oracle(JudgingPolicy):
    """The best list size of each user by the labels, as the upper end of a comparison.

    Examples
    --------
    >>> Oracle("f1", max_size=3).sizes(Lists.of(hits=[[False, True, False], [True, False, False]]))
    array([2, 1])
    """

    def _sizes(self, lists: Lists) -> IntArray:
        return best_sizes(_realised(lists, self, self.utility, self.max_size), self.min_size)


def best_sizes(values: FloatArray, min_size: int) -> IntArray:
    """The smallest size from `min_size` on with the highest utility; 0 items are worth 0.

    Examples
    --------
    >>> best_sizes(np.array([[0.1, 0.4, 0.4], [-1.0, -0.5, -2.0]]), 0)
    array([2, 0])
    """
    first = max(min_size, 1)
    allowed = values[:, min(first, values.shape[1]) - 1 :]
    best = allowed.max(axis=1, keepdims=True)
    sizes = np.argmax(allowed >= best - _TIE, axis=1) + first
    return np.asarray(np.where((best[:, 0] <= _TIE) & (min_size == 0), 0, sizes))


def _realised(lists: Lists, policy: ListSizePolicy, utility: str | Utility, max_size: int) -> FloatArray:
    """Realised utility of every list size; lists end with the user's candidates."""
    policy.check()
    hits, n_relevant = lists.needed("hits", policy), lists.needed("n_relevant", policy)
    width = min(max_size, lists.width)
    values = utility_at_every_size(np.asarray(hits[:, :width], dtype=bool), n_relevant, named_utility(utility))
    last = np.clip(lists.lengths, 1, width)[:, None] - 1
    return np.take_along_axis(values, np.minimum(np.arange(width), last), axis=1)


def _fitted(policy: ListSizePolicy, name: str) -> Any:
    if not hasattr(policy, name):
        raise NotFittedError(
            f"{written(policy)} is not fitted yet; call fit(lists) with lists of the validation period"
        )
    return getattr(policy, name)
