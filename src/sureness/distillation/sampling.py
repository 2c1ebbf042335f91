"""Which items one model shows the other: pure weights, one function for each scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from sureness._types import FloatArray
from sureness.errors import DataError

SchemeName = Literal["tanh", "exp", "rank-aware", "top", "uniform"]


class Scheme(NamedTuple):
    """How likely an item is to be drawn, given how much better the guide ranks it than the learner."""

    weights: Callable[[FloatArray, float], FloatArray]  # (gap, scale) -> weights of any common scale
    compared: bool  # False: the gap is the guide's rank alone, negated
    relative: bool = False  # shares depend on differences of gaps alone


def tanh_weights(gap: FloatArray, scale: float) -> FloatArray:
    """tanh(max(gap * scale, 0)): all that the guide ranks much higher, almost alike.

    Examples
    --------
    >>> tanh_weights(np.array([-10.0, 0.0, 10.0]), 0.1).round(3).tolist()
    [0.0, 0.0, 0.762]
    """
    return np.asarray(np.tanh(np.maximum(gap * scale, 0.0)))


def exp_weights(gap: FloatArray, scale: float) -> FloatArray:
    """exp(gap * scale), the largest 1: few items, where the guide differs most. Also rank-aware, on its rank alone.

    Examples
    --------
    >>> exp_weights(np.array([-10.0, 0.0, 10.0]), 0.1).round(3).tolist()
    [0.135, 0.368, 1.0]
    """
    return np.asarray(np.exp((gap - gap.max()) * scale))


def equal_weights(gap: FloatArray, scale: float) -> FloatArray:
    """One for every item."""
    return np.ones_like(gap)


SCHEMES: dict[SchemeName, Scheme] = {
    "tanh": Scheme(tanh_weights, compared=True),
    "exp": Scheme(exp_weights, compared=True, relative=True),
    "rank-aware": Scheme(exp_weights, compared=False),
    "uniform": Scheme(equal_weights, compared=False),
}
"""The schemes that draw; "top" takes the guide's first items as they are."""


def weight_table(scheme: SchemeName, scale: float, n_items: int) -> FloatArray:
    """The weight of every difference of ranks, from -n_items to n_items.

    Examples
    --------
    >>> weight_table("uniform", 1e-4, 1).tolist()
    [1.0, 1.0, 1.0]
    """
    known = SCHEMES.get(scheme)
    if known is None:
        raise DataError(f"the scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
    gap = np.arange(-n_items, n_items + 1, dtype=np.float64)
    return known.weights(gap if known.compared else np.minimum(gap, -1.0), scale)


def check_scheme(name: str) -> None:
    """Refuse a scheme that does not exist."""
    if name not in get_args(SchemeName):
        raise DataError(f"the scheme must be one of {', '.join(get_args(SchemeName))}, got {name!r}")
