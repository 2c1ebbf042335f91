"""Monotone families: the mathematics of every parametric calibrator, as pure functions.

Each family is ``p = sigmoid(intercept + sum_j coef_j * basis_j(score))``. Every basis function is non-decreasing, so
the map keeps the ranking exactly when no coefficient is negative. Outside the fitted range each basis function
continues along its tangent.

Basis functions are written once against a few operations, so the same formula runs on numpy arrays and makes the tree
of an expression, for databases and polars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sureness._types import FloatArray
from sureness.expressions import nodes

# scores in any of three worlds: a plain number, a numpy array, a node of a tree
Column = Any


class Operations(NamedTuple):
    """The few functions a basis needs beyond + - * /."""

    log: Callable[[Column], Column]
    exp: Callable[[Column], Column]
    clip: Callable[[Column, float, float], Column]
    absolute: Callable[[Column], Column]
    choose: Callable[[Column, Iterable[float], Iterable[Column]], Column]  # the branch between two edges
    asinh: Callable[[Column], Column]
    named: Callable[[str, Column], Column]  # a value that is used more than once


class ScoreRange(NamedTuple):
    """The scores a map was fitted on, and how far Gamma moves them from zero."""

    low: float
    high: float
    shift: float = 0.0  # in units of the scores; the smallest fitted score becomes this

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class MonotoneFamily:
    """A named pair of functions; one `fit` serves them all."""

    name: str
    basis: Callable[[Column, ScoreRange, Operations], list[Column]]  # non-decreasing columns
    natural: Callable[[float, FloatArray, ScoreRange], dict[str, float]]  # the parameters of the dissertation
    has_intercept: bool = True

    def design(self, scores: FloatArray, fitted: ScoreRange) -> FloatArray:
        """The columns of the fit, with ones first if there is an intercept; shape (n, k)."""
        columns = self.columns(scores, fitted)
        return columns if self.has_intercept else columns[:, 1:]

    def columns(self, scores: FloatArray, fitted: ScoreRange) -> FloatArray:
        """Ones and the basis functions at each score; shape (n, 1 + n_coefficients)."""
        return np.stack([np.ones(len(scores)), *self.basis(scores, fitted, NUMPY)], axis=1)

    def split(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Intercept and coefficients out of the parameters of `design`."""
        return (float(theta[0]), theta[1:]) if self.has_intercept else (0.0, theta)

    def logit(
        self, scores: Column, intercept: float, coef: FloatArray, fitted: ScoreRange, operations: Operations
    ) -> Column:
        """The log-odds of the map."""
        columns = self.basis(scores, fitted, operations)
        result = columns[0] * float(coef[0])
        for column, value in zip(columns[1:], coef[1:], strict=True):
            result = result + column * float(value)
        return result + intercept


def sigmoid_of(logit: Column, operations: Operations) -> Column:
    """``1 / (1 + exp(-z))``."""
    return 1.0 / (operations.exp(logit * -1.0) + 1.0)


# --- the basis functions -------------------------------------------------------------------------------------------


def _identity(s: Column, fitted: ScoreRange, _: Operations) -> list[Column]:
    return [s * 1.0]


def _unit(s: Column, fitted: ScoreRange, _: Operations) -> list[Column]:
    return [(s - fitted.low) * (1.0 / fitted.width)]


def _beta(s: Column, _: ScoreRange, operations: Operations) -> list[Column]:
    """Ln q and -ln(1 - q) for q = sigmoid(s), in a form that neither overflows nor rounds to zero."""
    magnitude = operations.absolute(s)
    tail = operations.log(operations.exp(magnitude * -1.0) + 1.0)
    return [(s - magnitude) * 0.5 - tail, (s + magnitude) * 0.5 + tail]


def _end_slopes(s: Column, fitted: ScoreRange, operations: Operations) -> list[Column]:
    """Slopes that fall from 1 to 0 and rise from 0 to 1 over the fitted range."""
    u = (s - fitted.low) * (1.0 / fitted.width)
    inside = operations.clip(u, 0.0, 1.0)
    beyond = u - inside
    half = inside * inside * 0.5
    # each slope is exactly 0 at one end, so that far outside the other one is not lost in rounding
    return [inside - half + (1.0 - inside) * beyond, half + inside * beyond]


def _top_slope_and_curvature(s: Column, fitted: ScoreRange, operations: Operations) -> list[Column]:
    """A constant slope, and one that falls from 1 to 0: increasing and concave."""
    falling, rising = _end_slopes(s, fitted, operations)
    return [falling + rising, falling]


def _gamma_slopes(s: Column, fitted: ScoreRange, operations: Operations) -> list[Column]:
    """The slope a/v + b as a mixture of its values at both ends, with v = score - low + shift."""
    first, last = _gamma_ends(fitted)
    v = s - (fitted.low - fitted.shift)
    inside = operations.clip(v, first, last)
    beyond = v - inside
    mixing = 1.0 / (1.0 / first - 1.0 / last)
    inverse, moved = 1.0 / inside, inside - first
    falling = (operations.log(inside * (1.0 / first)) - moved * (1.0 / last)) * mixing
    # each slope is exactly 0 at one end, so that far outside the other one is not lost in rounding
    falling_slope, rising_slope = (inverse - 1.0 / last) * mixing, (1.0 / first - inverse) * mixing
    scale = 1.0 / fitted.width
    return [(falling + falling_slope * beyond) * scale, (moved - falling + rising_slope * beyond) * scale]


def _kanoulas(s: Column, fitted: ScoreRange, operations: Operations) -> list[Column]:
    """Slope g(v)/v with g concave: its values at both ends and its curvature are the coefficients."""
    first, last = _gamma_ends(fitted)
    v = s - (fitted.low - fitted.shift)
    inside = operations.clip(v, first, last)
    beyond = v - inside
    grown = operations.log(inside * (1.0 / first))
    moved = inside - first
    # integrals of (last - v)/v, (v - first)/v and (v - first)(last - v)/v from `first`
    at_first = grown * last - moved
    at_last = moved - grown * first
    curved = (inside * inside - first * first) * -0.5 + moved * (first + last) - grown * (first * last)
    slopes = [last / inside - 1.0, 1.0 - first / inside, (inside - first) * (last - inside) / inside]
    scales = [1.0 / fitted.width, 1.0 / fitted.width, 1.0 / fitted.width**2]
    return [
        (value + slope * beyond) * scale
        for value, slope, scale in zip([at_first, at_last, curved], slopes, scales, strict=True)
    ]


def _gamma_ends(fitted: ScoreRange) -> tuple[float, float]:
    return fitted.shift, fitted.width + fitted.shift


# --- the parameters of the dissertation -----------------------------------------------------------------------------


def _natural_temperature(_: float, coef: FloatArray, __: ScoreRange) -> dict[str, float]:
    return {"temperature": float(1.0 / coef[0]) if coef[0] else float("inf")}


def _natural_platt(intercept: float, coef: FloatArray, fitted: ScoreRange) -> dict[str, float]:
    b = coef[0] / fitted.width
    return _named(b=b, c=intercept - b * fitted.low)


def _natural_beta(intercept: float, coef: FloatArray, _: ScoreRange) -> dict[str, float]:
    return _named(a=coef[0], b=coef[1], c=intercept)


def _natural_gaussian(intercept: float, coef: FloatArray, fitted: ScoreRange) -> dict[str, float]:
    a = (coef[1] - coef[0]) / (2 * fitted.width**2)
    slope = coef[0] / fitted.width  # at the lowest score
    return _named(a=a, b=slope - 2 * a * fitted.low, c=intercept - slope * fitted.low + a * fitted.low**2)


def _natural_manmatha(intercept: float, coef: FloatArray, fitted: ScoreRange) -> dict[str, float]:
    return _natural_gaussian(intercept, np.array([coef[0] + coef[1], coef[0]]), fitted)


def _natural_gamma(intercept: float, coef: FloatArray, fitted: ScoreRange) -> dict[str, float]:
    first, last = _gamma_ends(fitted)
    at_first, at_last = coef / fitted.width
    a = (at_first - at_last) / (1 / first - 1 / last)
    b = at_last - a / last
    return _named(a=a, b=b, c=intercept - a * np.log(first) - b * first)


def _natural_kanoulas(intercept: float, coef: FloatArray, fitted: ScoreRange) -> dict[str, float]:
    first, last = _gamma_ends(fitted)
    at_first, at_last, curvature = coef / np.array([fitted.width, fitted.width, fitted.width**2])
    a = -curvature / 2
    b = at_last - at_first + curvature * (first + last)
    log_weight = at_first * last - at_last * first - curvature * first * last
    return _named(
        a=a, b=b, b_log=log_weight, c=intercept - a * first**2 - b * first - log_weight * np.log(first)
    )  # fmt: skip


def _named(**values: float) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


TEMPERATURE = MonotoneFamily("temperature", _identity, _natural_temperature, has_intercept=False)
PLATT = MonotoneFamily("platt", _unit, _natural_platt)
BETA = MonotoneFamily("beta", _beta, _natural_beta)
GAUSSIAN = MonotoneFamily("gaussian", _end_slopes, _natural_gaussian)
GAMMA = MonotoneFamily("gamma", _gamma_slopes, _natural_gamma)
MANMATHA = MonotoneFamily("manmatha", _top_slope_and_curvature, _natural_manmatha)
KANOULAS = MonotoneFamily("kanoulas", _kanoulas, _natural_kanoulas)


# --- the three worlds ----------------------------------------------------------------------------------------------


def _choose(column: FloatArray, edges: Iterable[float], branches: Iterable[FloatArray | float]) -> FloatArray:
    place, known = np.searchsorted(np.fromiter(edges, float), column, side="right"), list(branches)
    return np.select([place == number for number in range(len(known))], known)


def _as_it_is(_: str, value: Column) -> Column:
    return value


NUMPY = Operations(np.log, np.exp, np.clip, np.abs, _choose, np.arcsinh, _as_it_is)
TREE = Operations(nodes.log, nodes.exp, nodes.clip, nodes.absolute, nodes.choose, nodes.asinh, nodes.Named)

Formula = Callable[[Column, Operations], Column]
"""A formula of scores, written once for all worlds."""
