"""What policies and allocations were worth on held-out labels, compared on the same users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sureness._printing import card
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, EmptyError, SettingError
from sureness.lists.lists import Lists
from sureness.lists.policies import ListSizePolicy
from sureness.metrics.resampling import paired_difference
from sureness.metrics.utility import Utility, at_sizes, named_utility, utility_at_every_size


@dataclass(frozen=True, eq=False)
class PolicyComparison:
    """The realised utility of every policy for every user with a relevant item.

    Examples
    --------
    >>> from sureness.lists.policies import FixedSize
    >>> lists = Lists.of(hits=[[True, False], [True, True], [False, False]])
    >>> compared = compare_policies({"one": FixedSize(1), "two": FixedSize(2)}, lists, "f1", reference="one")
    >>> compared.table.select("policy", "f1", "mean_size").rows()
    [('one', 0.8333333333333333, 1.0), ('two', 0.8333333333333333, 2.0)]
    """

    utility: str
    reference: str | None  # the policy that the others are compared with
    users: IntArray  # (n,) rows of the users with a relevant item
    sizes: dict[str, IntArray]  # by policy
    values: dict[str, FloatArray]  # by policy, the realised utility

    @property
    def table(self) -> pl.DataFrame:
        """One row per policy: mean utility and size, and the paired difference to the reference with its p-value."""
        return pl.DataFrame([self._row(name) for name in self.values])

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {values.mean():.4f}" for name, values in self.values.items())
        return f"PolicyComparison({counted(len(self.users), 'user')}, {self.utility}: {means})"

    def _repr_html_(self) -> str:
        policies, users = counted(len(self.values), "policy", "policies"), counted(len(self.users), "user")
        title, table = f"{self.utility} of {policies}, {users}", self.table
        return card(title, columns=table.columns, rows=table.rows())

    def difference(self, policy: str, reference: str) -> tuple[float, float]:
        """Mean paired difference of two policies, and the p-value of a paired t-test (1 if they never differ)."""
        found = paired_difference(self.values[policy] - self.values[reference])
        return found.value, 1.0 if len(self.users) < 2 else found.p_value

    def _row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {
            "policy": name,
            self.utility: float(self.values[name].mean()),
            "mean_size": float(self.sizes[name].mean()),
        }
        if self.reference is not None:
            row["difference"], row["p_value"] = self.difference(name, self.reference)
        return row


def compare_policies(
    policies: Mapping[str, ListSizePolicy], lists: Lists, utility: str | Utility, *, reference: str | None = None
) -> PolicyComparison:
    """Apply fitted policies to the same lists, and compare the utility on their labels.

    Parameters
    ----------
    policies : mapping from name to ListSizePolicy
    lists : Lists
        With hits and n_relevant; users without a relevant item are left out.
    utility : str or Utility
        The utility to compare.
    reference : str, optional
        The name of the policy that the others are compared with.
    """
    if reference is not None and reference not in policies:
        raise SettingError(f"the reference must be one of the policies {', '.join(policies)}, got {reference!r}")
    chosen = named_utility(utility)
    judged = lists.take(np.flatnonzero(lists.needed("n_relevant", "a comparison") > 0))
    if not judged.n_users:
        raise EmptyError("no user has a relevant item in these lists, so there is nothing to judge")
    every = utility_at_every_size(judged.needed("hits", "a comparison"), judged.n_relevant, chosen)  # type: ignore[arg-type]
    sizes = {name: policy.sizes(judged) for name, policy in policies.items()}
    too_long = [name for name, cut in sizes.items() if cut.max(initial=0) > judged.width]
    if too_long:
        raise DataError(
            f"the lists have {counted(judged.width, 'item')}, but {too_long[0]} shows more; make longer lists"
        )
    return PolicyComparison(
        chosen.name, reference, judged.users, sizes, {name: at_sizes(every, cut) for name, cut in sizes.items()}
    )


@dataclass(frozen=True, kw_only=True)
class AllocationComparison:
    """Held-out utility of an allocation compared with another one, paired by user."""

    n_users: int
    value: float  # mean over users of the total over their lists
    reference: float  # the same for the reference sizes
    difference: float  # value - reference
    standard_error: float  # of the difference; NaN for a single user
    p_value: float  # of a two-sided paired t-test; NaN for a single user


def compare_worth(own: FloatArray, other: FloatArray) -> AllocationComparison:
    """Compare what two allocations were worth to each user."""
    found = paired_difference(own - other)
    return AllocationComparison(
        n_users=len(own),
        value=float(own.mean()),
        reference=float(other.mean()),
        difference=found.value,
        standard_error=found.standard_error,
        p_value=found.p_value,
    )
