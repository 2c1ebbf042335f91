"""What a user gains from a list of k items, for every k.

Every utility has one form: a relevant item at rank r adds ``discount(r) * gain``, an irrelevant one takes
``discount(r) * loss`` away, and the sum may be divided by the best that was possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError

Normaliser = Literal["none", "ideal", "smaller", "mean"]
NORMALISERS: tuple[Normaliser, ...] = ("none", "ideal", "smaller", "mean")


def _logarithmic(rank: IntArray) -> FloatArray:
    return np.asarray(1.0 / np.log2(1.0 + rank))


def _even(rank: IntArray) -> FloatArray:
    return np.ones(len(rank))


@dataclass(frozen=True, repr=False)
class Utility:
    """What a list is worth to a user; `UTILITIES` has the usual ones.

    With m relevant items among the candidates, the sum over a list of k items is divided by

    - "none": nothing;
    - "ideal": the sum of the best list, which has min(k, m) relevant items first;
    - "smaller": min(k, m);
    - "mean": (k + m) / 2.

    A normalised utility is 0 where nothing is relevant.

    Parameters
    ----------
    name : str
    discount : function of an array of ranks (from 1), or a sequence with one value a rank
    gain : float
        What a relevant item adds.
    loss : float
        What an irrelevant item takes away; only without a normaliser.
    normaliser : {"none", "ideal", "smaller", "mean"}

    Examples
    --------
    >>> mine = Utility("mine", discount=lambda rank: 0.9**rank, gain=1.0, loss=0.2)
    >>> utility_at_every_size([[True, False]], [1], mine).round(3)
    array([[0.9  , 0.738]])
    """

    name: str
    discount: Callable[[IntArray], FloatArray] | Sequence[float] = _even
    gain: float = 1.0
    loss: float = 0.0
    normaliser: Normaliser = "none"

    def __post_init__(self) -> None:
        if self.normaliser not in NORMALISERS:
            raise DataError(f"normaliser must be one of {', '.join(NORMALISERS)}, got {self.normaliser!r}")
        if self.loss and self.normaliser != "none":
            raise DataError(f"a utility with a loss cannot be normalised, got normaliser={self.normaliser!r}")
        for name in ("gain", "loss"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value):
                raise DataError(f"{name} must be a finite number, got {value!r}")
        if self.normaliser != "none" and self.gain <= 0:
            raise DataError(f"a normalised utility needs a gain above 0, got {self.gain}")
        if not callable(self.discount):  # as plain numbers, so that utilities can be compared and saved
            try:
                values = np.asarray(self.discount, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise DataError(f"the discount of {self.name} must be numbers, one a rank: {error}") from error
            if values.ndim != 1:
                raise DataError(f"the discount of {self.name} must have one value a rank, got shape {values.shape}")
            object.__setattr__(self, "discount", tuple(values.tolist()))

    def __repr__(self) -> str:
        return f"Utility({self.name!r})"

    def discounts(self, max_size: int) -> FloatArray:
        """The discount of each rank from 1 to `max_size`."""
        ranks = np.arange(1, max_size + 1)
        try:
            values = np.asarray(self.discount(ranks) if callable(self.discount) else self.discount, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the discount of {self.name} must be numbers, one a rank: {error}") from error
        if values.ndim != 1 or len(values) < max_size:
            raise DataError(f"the discount of {self.name} must have {max_size} values, one a rank, got {values.shape}")
        if not np.isfinite(values).all():
            raise DataError(f"the discount of {self.name} must be finite at every rank")
        if self.normaliser == "ideal" and (
            values[0] <= 0 or np.any(np.diff(values[:max_size]) > 0) or values.min() < 0
        ):
            raise DataError(f"the discount of {self.name} must fall and not be negative, or no list is the ideal one")
        return values[:max_size]

    def inverse_scale(self, max_size: int, max_relevant: int) -> FloatArray:
        """What the sum is multiplied with, as a function of one number; 0 at 0.

        That number is min(k, m) for "ideal" and "smaller", and k + m for "mean".
        """
        if self.normaliser == "mean":
            return _inverse(np.arange(max_size + max_relevant + 1) / 2)
        if self.normaliser == "smaller":
            return _inverse(np.arange(max_size + 1.0))
        best = np.concatenate([[0.0], np.cumsum(self.discounts(max_size))]) * self.gain
        return _inverse(best) if self.normaliser == "ideal" else np.ones(max_size + 1)

    def plain(self, max_size: int) -> dict[str, Any]:
        """What JSON can hold, enough for lists of up to `max_size` items."""
        if UTILITIES.get(self.name) == self:
            return {"name": self.name}
        discount = self.discounts(max_size).tolist()
        return {"name": self.name, "discount": discount, "gain": float(self.gain), "loss": float(self.loss),
                "normaliser": self.normaliser}  # fmt: skip


UTILITIES: dict[str, Utility] = {
    "ndcg": Utility("ndcg", _logarithmic, normaliser="ideal"),
    "pdcg": Utility("pdcg", _logarithmic, loss=1.0),
    "f1": Utility("f1", normaliser="mean"),
    "tp": Utility("tp", normaliser="smaller"),
    "dcg": Utility("dcg", _logarithmic),
}
"""NDCG, penalised DCG, F1, truncated precision and DCG."""


def named_utility(utility: str | Utility) -> Utility:
    """The utility of a name.

    Examples
    --------
    >>> named_utility("F1").normaliser
    'mean'
    """
    if isinstance(utility, Utility):
        return utility
    if not isinstance(utility, str) or utility.lower() not in UTILITIES:
        raise DataError(f"utility must be one of {', '.join(UTILITIES)} or a Utility of your own, got {utility!r}")
    return UTILITIES[utility.lower()]


def utility_of(plain: dict[str, Any]) -> Utility:
    """The utility that `Utility.plain` described."""
    if set(plain) == {"name"}:
        return named_utility(plain["name"])
    return Utility(plain["name"], tuple(plain["discount"]), plain["gain"], plain["loss"], plain["normaliser"])


def utility_at_every_size(hits: ArrayLike, n_relevant: ArrayLike, utility: str | Utility) -> FloatArray:
    """The utility of the first k items of each list, for every k.

    Parameters
    ----------
    hits : array of shape (n_users, max_size)
        Whether the item at each rank is relevant.
    n_relevant : array of shape (n_users,)
        How many relevant items there are, in the list or not.
    utility : str or Utility

    Returns
    -------
    array of shape (n_users, max_size)
        Column k - 1 is the utility of a list of k items.

    Examples
    --------
    >>> utility_at_every_size([[True, False, True]], [2], "f1").round(3)
    array([[0.667, 0.5  , 0.8  ]])
    >>> utility_at_every_size([[True, False, True]], [2], "pdcg").round(3)
    array([[1.   , 0.369, 0.869]])
    """
    chosen, found, total = named_utility(utility), np.asarray(hits, dtype=bool), _counts(hits, n_relevant)
    max_size = found.shape[1]
    discount = chosen.discounts(max_size)
    worth = np.cumsum(np.where(found, chosen.gain, -chosen.loss) * discount, axis=1)
    if chosen.normaliser == "none":
        return np.asarray(worth)
    sizes, relevant = np.arange(1, max_size + 1), total[:, None]
    inverse = chosen.inverse_scale(max_size, int(total.max(initial=0)))
    place = sizes + relevant if chosen.normaliser == "mean" else np.minimum(sizes, relevant)
    return np.asarray(np.where(relevant > 0, worth * inverse[place], 0.0))


def at_sizes(values: FloatArray, sizes: IntArray) -> FloatArray:
    """The utility of each user's own list size, out of that of every size; a list of 0 items is worth 0.

    Examples
    --------
    >>> at_sizes(np.array([[0.5, 0.8], [0.1, 0.2]]), np.array([2, 0]))
    array([0.8, 0. ])
    """
    picked = np.take_along_axis(values, np.maximum(sizes, 1)[:, None] - 1, axis=1)[:, 0]
    return np.asarray(np.where(sizes > 0, picked, 0.0))


def _inverse(scale: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(scale > 0, 1.0 / scale, 0.0))


def _counts(hits: ArrayLike, n_relevant: ArrayLike) -> IntArray:
    found: BoolArray = np.asarray(hits, dtype=bool)
    total = np.asarray(n_relevant)
    if found.ndim != 2 or found.shape[1] == 0:
        raise DataError(f"hits must have one row a user and at least one rank, got shape {found.shape}")
    if total.shape != (len(found),) or total.dtype.kind not in "iu":
        raise DataError(f"n_relevant must be {len(found):,} whole numbers, one a user, got shape {total.shape}")
    if np.any(total < found.sum(axis=1)):
        raise DataError("n_relevant must count the relevant items in the list as well, got fewer than are in it")
    return total
