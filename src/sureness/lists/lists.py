"""The best candidates of users, which list-size policies decide on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError
from sureness.numerics.checks import as_array, number_array
from sureness.sources.blocks import list_table

EMPTY = -1
"""Fills `items` if a user has fewer candidates than the longest list."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lists:
    """Ranked candidates of a block of users, best first, and what is known about them.

    Rows are as wide as the longest list that may be shown. `lengths` is smaller for users with fewer candidates;
    later entries do not count (score -inf, probability 0, no hit).

    Examples
    --------
    >>> lists = Lists.of(probabilities=[[0.9, 0.4], [0.2, 0.1]])
    >>> lists.n_users, lists.width, lists.lengths
    (2, 2, array([2, 2]))
    """

    users: IntArray  # (n,) rows of the users
    lengths: IntArray  # (n,) number of candidates of each list
    scores: FloatArray | None = None  # (n, width) falling
    probabilities: FloatArray | None = None  # (n, width) falling
    tail: FloatArray | None = None  # (n, n_powers) power sums of the probabilities of all other candidates
    hits: BoolArray | None = None  # (n, width) which items turned out to be relevant
    n_relevant: IntArray | None = None  # (n,) how many relevant items there were, in the list or not
    promised: FloatArray | None = None  # (n, width) probabilities of the period of the hits, if it is another one
    features: FloatArray | None = None  # (n, width, d) what else is known about each item, for learned policies
    there: FloatArray | None = None  # (n,) chance of being there, if probabilities are those of users who are
    repeated: BoolArray | None = None  # (n, width) which items the user has taken before, where these are candidates
    items: IntArray | None = None  # (n, width) rows of the items, EMPTY after the last
    places: IntArray | None = None  # (n, width) where each item stands in the scores that were given, best first
    sizes: IntArray | None = None  # (n,) how many items are shown, as a policy decided
    expected: FloatArray | None = None  # (n,) expected utility of the list; NaN if the policy does not compute it
    unsure: BoolArray | None = None  # (n,) whether no list is worth showing

    __repr__ = fields_repr

    @classmethod
    def of(
        cls,
        *,
        probabilities: ArrayLike | None = None,
        scores: ArrayLike | None = None,
        hits: ArrayLike | None = None,
        n_relevant: ArrayLike | None = None,
        users: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        tail: ArrayLike | None = None,
    ) -> Self:
        """From arrays with one row per user; by default lists are full and users are numbered from 0."""
        named = {"probabilities": probabilities, "scores": scores, "hits": hits}
        given = [number_array(value, name) for name, value in named.items() if value is not None]
        if not given:
            raise DataError("lists need probabilities, scores or hits, got none of them")
        shape = given[0].shape
        if len(shape) != 2 or any(value.shape != shape for value in given):
            raise DataError(f"lists must be matrices of one shape, one row per user, got {[v.shape for v in given]}")
        for name, value in (("users", users), ("lengths", lengths), ("n_relevant", n_relevant)):
            if value is not None and np.shape(value) != shape[:1]:
                raise DataError(
                    f"{name} must have one number for each of {counted(shape[0], 'user')}, got {np.shape(value)}"
                )
        found = None if hits is None else _labels(hits)
        total = n_relevant if n_relevant is not None or found is None else found.sum(axis=1)
        return cls(
            users=np.arange(shape[0]) if users is None else _whole(users, "users", shape[0]),
            lengths=np.full(shape[0], shape[1]) if lengths is None else _whole(lengths, "lengths", shape[0]),
            scores=None if scores is None else np.asarray(scores, dtype=np.float64),
            probabilities=None if probabilities is None else np.asarray(probabilities, dtype=np.float64),
            tail=None if tail is None else np.asarray(number_array(tail, "tail"), dtype=np.float64),
            hits=found,
            n_relevant=None if total is None else _whole(total, "n_relevant", shape[0]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate blocks of users; all must have the same columns and width."""
        names = [name for name, value in vars(parts[0]).items() if value is not None]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def width(self) -> int:
        """The longest list that can be shown."""
        for values in (self.probabilities, self.scores, self.hits):
            if values is not None:
                return int(values.shape[1])
        raise DataError("lists need probabilities, scores or hits, got none of them")

    @property
    def shown(self) -> BoolArray:
        """Which items a policy has decided to show; shape (n, width)."""
        return np.arange(self.width) < self.needed("sizes", "a decision")[:, None]

    def table(self, users: pl.Series, items: pl.Series) -> pl.DataFrame:
        """What a policy decided to show, one row for each item.

        Parameters
        ----------
        users : ids of the users, shape (n,)
        items : ids of the shown items, list after list

        Returns
        -------
        table with the columns user_id, rank, item_id, score, probability, list_size, expected_utility, unsure
            Where the chance of being there is known, also probability_in_period, after probability.
        """
        score = self.needed("scores", "a table").astype(np.float32)
        names = {
            "probability": "probabilities",
            "list_size": "sizes",
            "expected_utility": "expected",
            "unsure": "unsure",
        }
        decided = {name: self.needed(column, "a table") for name, column in names.items()}
        if self.there is not None:
            decided = {"probability": decided.pop("probability"), "probability_in_period": self.in_period, **decided}
        table = list_table(self.shown, users, items, score=score, **decided)
        return table.with_columns(pl.col("expected_utility").fill_nan(None))

    @property
    def in_period(self) -> FloatArray:
        """The probability of each item whether or not the user is there; shape (n, width)."""
        there = self.needed("there", "a probability in a period")
        return np.asarray(there[:, None] * self.needed("probabilities", "a probability in a period"))

    def take(self, rows: IntArray | BoolArray) -> Self:
        """Some of the users."""
        columns = {name: value[rows] for name, value in vars(self).items() if value is not None}
        return replace(self, **columns)

    def expected_hits(self, sizes: IntArray) -> FloatArray:
        """How many of each user's first items are expected to be relevant: the sum of their probabilities.

        Examples
        --------
        >>> Lists.of(probabilities=[[0.5, 0.25], [0.2, 0.1]]).expected_hits(np.array([2, 0])).tolist()
        [0.75, 0.0]
        """
        shown = self.needed("probabilities", self)[:, : max(1, sizes.max(initial=0))]
        sums = np.cumsum(shown, axis=1)  # added up in order, so that the sum does not depend on the width of the block
        return np.asarray(np.where(sizes > 0, sums[np.arange(len(sizes)), sizes - 1], 0.0))

    def promises(self, by: object) -> FloatArray:
        """The probability of a hit of each item: what is compared with hits."""
        return self.needed("probabilities", by) if self.promised is None else self.promised

    def needed(self, name: str, by: object) -> AnyArray:
        """One of the columns; refused with the name of the policy that needs it if it is missing."""
        values: AnyArray | None = getattr(self, name)
        if values is None:
            raise DataError(f"{by!r} needs the {name} of the lists, got none; {_REMEDIES[name]}")
        return values


def _whole(values: ArrayLike, name: str, n_users: int) -> IntArray:
    numbers = as_array(values, name)
    if numbers.shape != (n_users,) or numbers.dtype.kind not in "iu" or (n_users and numbers.min() < 0):
        raise DataError(
            f"{name} must be {counted(n_users, 'whole number')}, 0 or more, one per user, got {numbers.dtype} of shape "
            f"{numbers.shape}"
        )
    return numbers.astype(np.int64)


def _labels(hits: ArrayLike) -> BoolArray:
    values = np.asarray(hits)
    if values.dtype.kind not in "biuf" or not np.all((values == 0) | (values == 1)):  # NaN is neither
        raise DataError("hits must be 0 or 1, whether each item turned out to be relevant")
    return values.astype(bool)


_REMEDIES = {
    "scores": "give the scores that the items were ranked by",
    "probabilities": "calibrate the scores first",
    "hits": "give labels of a past period",
    "n_relevant": "give labels of a past period",
    "repeated": "make them with ConfidentRecommender.forward(repeats='count')",
    "there": "make them with ConfidentRecommender.forward",
    "sizes": "let a policy decide",
    "expected": "let a policy decide",
    "unsure": "let a policy decide",
    "tail": "give power sums of the other candidates",
    "features": "give numbers about each item, or leave them out of the settings",
}
