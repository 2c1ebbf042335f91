"""Sampling weights by the difference of two ranks: pure functions, one for each scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from sureness._types import FloatArray
from sureness.errors import SettingError

SchemeName = Literal["tanh", "exp", "rank-aware", "top", "uniform"]


class Scheme(NamedTuple):
    """How likely an item is to be drawn, given how much higher the guide ranks it than the learner does."""

    weights: Callable[[FloatArray, float], FloatArray]  # (gap, scale) -> weights, up to a common factor
    compared: bool  # whether the gap compares both ranks; False: it is the negated rank of the guide
    relative: bool = False  # whether shares depend only on differences between gaps


def tanh_weights(gap: FloatArray, scale: float) -> FloatArray:
    """tanh(max(gap * scale, 0)): broad, nearly the same for all items that the guide ranks much higher.

    Examples
    --------
    >>> tanh_weights(np.array([-10.0, 0.0, 10.0]), 0.1).round(3).tolist()
    [0.0, 0.0, 0.762]
    """
    return np.asarray(np.tanh(np.maximum(gap * scale, 0.0)))


def exp_weights(gap: FloatArray, scale: float) -> FloatArray:
    """exp(gap * scale), scaled to a maximum of 1: narrow, the items that differ most.

    With the guide's negated rank as the gap, this is the rank-aware sampling of collaborative distillation.

    Examples
    --------
    >>> exp_weights(np.array([-10.0, 0.0, 10.0]), 0.1).round(3).tolist()
    [0.135, 0.368, 1.0]
    """
    return np.asarray(np.exp((gap - gap.max()) * scale))


def equal_weights(gap: FloatArray, scale: float) -> FloatArray:
    """1 for every item.

    Examples
    --------
    >>> equal_weights(np.array([-10.0, 10.0]), 0.1).tolist()
    [1.0, 1.0]
    """
    return np.ones_like(gap)


SCHEMES: dict[SchemeName, Scheme] = {
    "tanh": Scheme(tanh_weights, compared=True),
    "exp": Scheme(exp_weights, compared=True, relative=True),
    "rank-aware": Scheme(exp_weights, compared=False),
    "uniform": Scheme(equal_weights, compared=False),
}
"""The schemes that draw at random; "top" takes the guide's best items instead."""


def weight_table(scheme: SchemeName, scale: float, n_items: int) -> FloatArray:
    """The weight of every difference of ranks, from -n_items to n_items.

    Examples
    --------
    >>> weight_table("uniform", 1e-4, 1).tolist()
    [1.0, 1.0, 1.0]
    """
    known = SCHEMES.get(scheme)
    if known is None:
        raise SettingError(f"the scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
    gap = np.arange(-n_items, n_items + 1, dtype=np.float64)
    return known.weights(gap if known.compared else np.minimum(gap, -1.0), scale)


def check_scheme(name: str) -> None:
    """Refuse an unknown scheme."""
    if name not in get_args(SchemeName):
        raise SettingError(f"the scheme must be one of {', '.join(get_args(SchemeName))}, got {name!r}")
