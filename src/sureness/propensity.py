"""How likely a pair was to be seen: relative propensities from popularity, and given ones."""

from __future__ import annotations

import warnings
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import AnyArray, FloatArray
from sureness.errors import DataError, IdError, NotFittedError, SettingError, SurenessError, SurenessWarning
from sureness.numerics.checks import (
    as_array,
    brief,
    check_ids,
    check_propensity,
    check_rows,
    check_scores,
    check_share,
    one_dimension,
    same_length,
)

__all__ = [
    "GivenPropensity",
    "PopularityPropensity",
    "PropensityModel",
    "check_effective_sample_size",
    "effective_sample_size",
]

_SMALL_SAMPLE = 50.0


@runtime_checkable
class PropensityModel(Protocol):
    """Anything that estimates the probability that a user saw an item."""

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Probabilities in (0, 1], one for each pair."""
        ...


def effective_sample_size(weight: ArrayLike) -> float:
    """The number of equally weighted pairs that carry as much information (Kish).

    Examples
    --------
    >>> effective_sample_size([1, 1, 1, 1]), round(effective_sample_size([1, 1, 1, 10]), 2)
    (4.0, 1.64)
    """
    checked = check_scores(weight, "weight").astype(np.float64)
    squared = float(checked @ checked)
    return float(checked.sum() ** 2 / squared) if squared else 0.0


def check_effective_sample_size(effective: float, n_positive: float) -> None:
    """Warn if inverse propensities leave a small effective sample."""
    if n_positive and (effective < _SMALL_SAMPLE or effective < 0.1 * n_positive):
        warnings.warn(
            f"inverse propensities leave an effective sample of {effective:,.0f} from {n_positive:,.0f} positives; "
            "the probabilities will be uncertain: clip the propensities higher or collect more positives",
            SurenessWarning,
            stacklevel=4,
        )


class PopularityPropensity(Configurable):
    """Popular items are seen more: ``max(clip, (count / largest count) ** power)``.

    This is a *relative* propensity: only ratios between items are meaningful, so give a base rate or an anchor if the
    level of the probabilities matters.

    Parameters
    ----------
    power : float
    clip : float
        The smallest propensity, also used for items without interactions.

    Examples
    --------
    >>> model = PopularityPropensity().fit(items=["a", "a", "a", "a", "b"])
    >>> model.propensity(["u", "u", "u"], ["a", "b", "never seen"])
    array([1. , 0.5, 0.1])
    """

    relative: ClassVar[bool] = True
    items_: AnyArray  # (n_items,) sorted
    propensity_: FloatArray  # (n_items,)

    def __init__(self, *, power: float = 0.5, clip: float = 0.1) -> None:
        self.power = power
        self.clip = clip

    def fit(self, users: ArrayLike | None = None, items: ArrayLike | None = None) -> Self:
        """Count the interactions of every item; users are not needed."""
        if items is None:
            raise SettingError("popularity needs the items of the interactions, got none; give items=")
        check_share(self.clip, "clip")
        if not self.power >= 0:
            raise SettingError(f"power must be 0 or more, got {self.power}; a negative one would favour rare items")
        known = one_dimension(items, "items")
        try:
            self.items_, counts = np.unique(check_ids(known, len(known), "items"), return_counts=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, SurenessError):
                raise
            raise IdError(f"items must be numbers or text, got {brief(known[0])}; convert them first") from error
        self.propensity_ = np.maximum((counts / counts.max()) ** self.power, self.clip)
        return self

    def propensity(self, users: ArrayLike | None, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair; unknown items get `clip`."""
        if not hasattr(self, "propensity_"):
            raise NotFittedError("PopularityPropensity is not fitted yet; call fit first")
        wanted = np.atleast_1d(as_array(items, "items"))
        if users is not None:
            same_length(np.atleast_1d(as_array(users, "users")), len(wanted), "users")
        if len(wanted) and (wanted.dtype.kind in "iuf") != (self.items_.dtype.kind in "iuf"):
            raise IdError(f"items must be of the type of the fitted ones, {self.items_.dtype}, got {wanted.dtype}")
        place = np.minimum(np.searchsorted(self.items_, wanted), len(self.items_) - 1)
        return np.asarray(np.where(self.items_[place] == wanted, self.propensity_[place], self.clip))


class GivenPropensity(Configurable):
    """Given propensities: a matrix of users and items, or one value per item.

    Examples
    --------
    >>> GivenPropensity(np.array([[0.5, 0.1], [0.3, 1.0]])).propensity([0, 1], [1, 0])
    array([0.1, 0.3])
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values = values

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair; users and items are row and column numbers."""
        values = as_array(self.values, "propensities")
        if values.ndim not in (1, 2) or values.dtype.kind not in "iuf":
            raise DataError(
                f"propensities must be numbers, one for each item or a matrix of users and items, got shape "
                f"{values.shape} of {values.dtype}; for one value for all pairs give np.full(n_items, value)"
            )
        inside = f"must lie inside the given {values.shape} propensities, {{}}"
        columns = check_rows(items, values.shape[-1], "items", inside)
        same_length(np.atleast_1d(as_array(users, "users")), len(columns), "users")
        rows = check_rows(users, len(values), "users", inside) if values.ndim == 2 else columns
        found = values[columns] if values.ndim == 1 else values[rows, columns]
        return np.asarray(check_propensity(found, len(found))) if len(found) else found
