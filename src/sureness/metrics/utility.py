"""The utility of a list of k items, for every k.

Every utility has one form: a relevant item at rank r adds ``discount(r) * gain``, an irrelevant one takes
``discount(r) * loss`` away, and the sum may be divided by the best that was possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from sureness._registry import find, names
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, SettingError
from sureness.saving.packed import JSON

Normaliser = Literal["none", "ideal", "smaller", "mean"]
NORMALISERS: tuple[Normaliser, ...] = ("none", "ideal", "smaller", "mean")


def _logarithmic(rank: IntArray) -> FloatArray:
    return np.asarray(1.0 / np.log2(1.0 + rank))


def _even(rank: IntArray) -> FloatArray:
    return np.ones(len(rank))


@dataclass(frozen=True, repr=False)
class Utility:
    """What a list is worth to a user. The usual ones are `NDCG`, `PDCG`, `F1`, `TP` and `DCG`.

    ``sureness.register("utility", "mine", utility)`` makes another one available by name everywhere.

    With m relevant items among the candidates, the sum over a list of k items is divided by

    - "none": nothing;
    - "ideal": the sum of the best list, which has min(k, m) relevant items first;
    - "smaller": min(k, m);
    - "mean": (k + m) / 2.

    A normalised utility is 0 where nothing is relevant.

    Parameters
    ----------
    name : str
    discount : function of an array of ranks (from 1), or a sequence with one value per rank
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
            raise SettingError(f"normaliser must be one of {', '.join(NORMALISERS)}, got {self.normaliser!r}")
        if self.loss and self.normaliser != "none":
            raise SettingError(f"a utility with a loss cannot be normalised, got normaliser={self.normaliser!r}")
        for name in ("gain", "loss"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value):
                raise SettingError(f"{name} must be a finite number, got {value!r}")
        if self.normaliser != "none" and self.gain <= 0:
            raise SettingError(f"a normalised utility needs a gain above 0, got {self.gain}")
        if not callable(self.discount):  # plain numbers, so that utilities can be compared and saved
            try:
                values = np.asarray(self.discount, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise SettingError(f"the discount of {self.name} must be numbers, one per rank: {error}") from error
            if values.ndim != 1:
                raise SettingError(
                    f"the discount of {self.name} must have one value per rank, got shape {values.shape}"
                )
            object.__setattr__(self, "discount", tuple(values.tolist()))

    def __repr__(self) -> str:
        return f"Utility({self.name!r})"

    def discounts(self, max_size: int) -> FloatArray:
        """The discount of each rank from 1 to `max_size`."""
        ranks = np.arange(1, max_size + 1)
        try:
            values = np.asarray(self.discount(ranks) if callable(self.discount) else self.discount, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SettingError(f"the discount of {self.name} must be numbers, one per rank: {error}") from error
        if values.ndim != 1 or len(values) < max_size:
            raise SettingError(
                f"the discount of {self.name} must have {counted(max_size, 'value')}, one per rank, got {values.shape}"
            )
        if not np.isfinite(values).all():
            raise SettingError(f"the discount of {self.name} must be finite at every rank")
        if self.normaliser == "ideal" and (
            values[0] <= 0 or np.any(np.diff(values[:max_size]) > 0) or values.min() < 0
        ):
            raise SettingError(
                f"the discount of {self.name} must fall with the rank and not be negative, or no list is ideal"
            )
        return values[:max_size]

    def inverse_scale(self, max_size: int, max_relevant: int) -> FloatArray:
        """The factor that normalises the sum, indexed by one number, and 0 at 0.

        That number is min(k, m) for "ideal" and "smaller", and k + m for "mean".
        """
        if self.normaliser == "mean":
            return _inverse(np.arange(max_size + max_relevant + 1) / 2)
        if self.normaliser == "smaller":
            return _inverse(np.arange(max_size + 1.0))
        best = np.concatenate([[0.0], np.cumsum(self.discounts(max_size))]) * self.gain
        return _inverse(best) if self.normaliser == "ideal" else np.ones(max_size + 1)

    def plain(self, max_size: int) -> dict[str, JSON]:
        """The utility as JSON, enough for lists of up to `max_size` items; only its name where that is registered."""
        if self.name in names("utility") and find("utility", self.name) == self:
            return {"name": self.name}
        discount = self.discounts(max_size).tolist()
        return {
            "name": self.name,
            "discount": discount,
            "gain": float(self.gain),
            "loss": float(self.loss),
            "normaliser": self.normaliser,
        }


NDCG = Utility("ndcg", _logarithmic, normaliser="ideal")
"""Normalised discounted cumulative gain."""

PDCG = Utility("pdcg", _logarithmic, loss=1.0)
"""Penalised DCG: an irrelevant item takes away what a relevant one adds."""

F1 = Utility("f1", normaliser="mean")
"""Harmonic mean of precision and recall."""

TP = Utility("tp", normaliser="smaller")
"""Truncated precision: hits, divided by the number of items or of relevant items, whichever is smaller."""

DCG = Utility("dcg", _logarithmic)
"""Discounted cumulative gain."""


def named_utility(utility: str | Utility) -> Utility:
    """The utility with a registered name (in any case); a `Utility` is returned as it is.

    Examples
    --------
    >>> named_utility("F1").normaliser
    'mean'
    """
    if isinstance(utility, Utility):
        return utility
    known = names("utility")
    if not isinstance(utility, str):
        raise SettingError(f"utility must be a Utility or one of {', '.join(known)}, got {utility!r}")
    if not {utility, utility.lower()} & set(known):
        raise SettingError(f"utility must be one of {', '.join(known)}, got {utility!r}")
    found = find("utility", utility if utility in known else utility.lower())
    if not isinstance(found, Utility):
        raise SettingError(f"the name {utility!r} must be registered for a Utility, got {type(found).__name__}")
    return found


def utility_of(plain: Mapping[str, JSON]) -> Utility:
    """The utility that `Utility.plain` described."""
    if set(plain) == {"name"}:
        return named_utility(str(plain["name"]))
    return Utility(**{**plain, "discount": tuple(cast(list[float], plain["discount"]))})  # type: ignore[arg-type]


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
    """Pick the utility of each user's own list size; a list of 0 items is worth 0.

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
        raise DataError(f"hits must have one row per user and at least one rank, got shape {found.shape}")
    if total.shape != (len(found),) or total.dtype.kind not in "iu":
        raise DataError(
            f"n_relevant must be {counted(len(found), 'whole number')}, one per user, got shape {total.shape}"
        )
    if np.any(total < found.sum(axis=1)):
        raise DataError("n_relevant must count the relevant items in the list as well, got fewer than are in it")
    return total
