"""Scored and labelled pairs of users and items, checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.errors import DataError, EmptyError, IdError
from sureness.numerics.checks import check_ids, check_labels, check_propensity, check_scores, check_weight, same_length


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs with a score and a label; immutable. Build it with `of`, which checks everything."""

    scores: FloatArray  # (n,)
    labels: BoolArray  # (n,)
    users: AnyArray | None = None  # (n,) ids
    items: AnyArray | None = None  # (n,) ids
    weight: FloatArray | None = None  # (n,) None: all 1
    propensity: FloatArray | None = None  # (n,) None: every pair was seen

    __repr__ = fields_repr

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        users: ArrayLike | None = None,
        items: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        part: bool = False,
    ) -> Self:
        """Check array-likes of equal length and store them; a `part` of a larger set may have zero weight.

        Examples
        --------
        >>> ScoredPairs.of([0.3, -1.2], [1, 0], users=["ann", "bob"]).n_positive
        1
        """
        checked = check_scores(scores)
        n_pairs = len(checked)
        checked_labels = check_labels(labels)
        same_length(checked_labels, n_pairs, "labels")
        return cls(
            scores=checked,
            labels=checked_labels,
            users=None if users is None else check_ids(users, n_pairs, "user_id"),
            items=None if items is None else check_ids(items, n_pairs, "item_id"),
            weight=check_weight(sample_weight, n_pairs, may_vanish=part),
            propensity=check_propensity(propensity, n_pairs),
        )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.labels))

    @property
    def weights(self) -> FloatArray:
        """The weight of each pair, 1 if none was given."""
        return np.ones(len(self)) if self.weight is None else self.weight.astype(np.float64)

    def take(self, chosen: IntArray | BoolArray) -> Self:
        """The chosen pairs."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {name: None if column is None else column[chosen] for name, column in columns.items()}
        return replace(self, **taken)

    def with_weight(self, weight: FloatArray) -> Self:
        """The same pairs with other weights."""
        return replace(self, weight=check_weight(weight, len(self)))


def concatenate(parts: list[ScoredPairs]) -> ScoredPairs:
    """All pairs of all parts; a column must be in all of them or in none."""
    if not parts:
        raise EmptyError("expected at least one pair, got none; check the filter or the file")
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, AnyArray | None] = {}
    for field in fields(ScoredPairs):
        values = [getattr(part, field.name) for part in parts]
        missing = sum(value is None for value in values)
        if 0 < missing < len(values):
            raise DataError(f"{field.name} must be given for all chunks or for none, got it for {len(values) - missing}"
                            f" of {len(values)}")  # fmt: skip
        join = _joined_ids if field.name in ("users", "items") else np.concatenate
        columns[field.name] = None if missing else join(values)
    return ScoredPairs(**columns)  # type: ignore[arg-type]


def _joined_ids(parts: list[AnyArray]) -> AnyArray:
    """Ids of all parts; refused where numpy would turn numbers into text, or whole numbers into rounded ones."""
    kinds = {part.dtype.kind for part in parts}
    joined = np.concatenate(parts)
    if len(kinds) == 1 and kinds != {"O"}:
        return joined
    if len(kinds) > 1 and joined.dtype.kind == "U":
        raise IdError("ids must be of one kind in all chunks, got text in some and numbers in others; convert one")
    return check_ids(joined, len(joined), "ids")
