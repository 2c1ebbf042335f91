"""Weighted logistic regression with non-negative coefficients, and a test whether its risk has a minimum.

The risk is ``sum_i weight_i * softplus(x_i @ theta) - linear @ theta``, plus a Gaussian prior if one is given. It is
convex for any targets inside ``linear``, including targets above 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray

_MAX_ITERATIONS = 200
_CONVERGED = 1e-15  # Newton decrement: twice the distance to the smallest risk, for weights that sum to 1
_TRUSTED_CURVATURE = 1e-6  # where the risk is flatter, an apparent minimum may be rounding, so it is tested
_FLAT, _FAR = 1e-14, 1e9  # trace of the curvature and size of the parameters that show that Newton has diverged
_MAX_CUTS = 200
_NEARLY, _ROUNDED = 1e-13, 1e-9  # decrements so small that a step which gains nothing is the last, and the fit done
_OUTLYING = 100.0  # standard deviations from the mean that show that outliers decide both
_BLOCK = 1 << 13  # 64 KB of float64


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """A prior on the parameters, N(mean, inverse of precision); precision 0 leaves a parameter free."""

    mean: FloatArray  # (k,)
    precision: FloatArray  # (k, k) in the units of the weights

    __repr__ = fields_repr


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The parameters that minimise the risk, or a direction in which it falls without end."""

    theta: FloatArray  # (k,)
    risk: float
    curvature: FloatArray  # (k, k) Hessian of the risk at theta
    endless: FloatArray | None  # (k,) a direction along which the risk never rises; None if a minimum exists
    converged: bool  # whether the minimum was reached


def sigmoid(z: FloatArray) -> FloatArray:
    """``1 / (1 + exp(-z))``, exactly 0 and 1 far out; twice as fast as scipy's, and needs no slow import."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-z)))


def logit(probability: FloatArray) -> FloatArray:
    """Log-odds; minus or plus infinity at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(probability) - np.log1p(-probability)


def in_blocks(values: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """A function of blocks so small that what is computed on the way stays in the cache.

    Examples
    --------
    >>> in_blocks(np.array([1.0, 2.0]), np.square).tolist()
    [1.0, 4.0]
    """
    result = np.empty(len(values))
    for start in range(0, len(values), _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = function(values[part])
    return result


def fit_logistic(
    features: FloatArray,
    weight: FloatArray,
    linear: FloatArray,
    *,
    bounded: BoolArray,
    prior: GaussianPrior | None = None,
    start: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> LogisticFit:
    """Minimise the logistic risk; parameters that are `bounded` must not be negative.

    Parameters
    ----------
    features : array of shape (n, k)
        The first column is all ones if there is an intercept.
    weight : array of shape (n,)
    linear : array of shape (k,)
        Sum of weight times target times features.
    bounded : boolean array of shape (k,)
    prior : GaussianPrior, optional
    start : array of shape (k,), optional
        Parameters close to the best ones, from which these are found sooner; by default the mean of the prior.
    offset : array of shape (n,), optional
        Added to the log-odds of each row.

    Notes
    -----
    Newton's method, where each step minimises the quadratic model *inside the bounds*. Features are standardised first.
    """
    transform = _standardising(features, weight)
    total = weight.sum()
    standard = features @ transform
    problem = _Problem(
        features=np.ascontiguousarray(standard),
        weight=weight / total,
        linear=transform.T @ linear / total,
        bounded=bounded,
        penalty=np.zeros_like(transform) if prior is None else transform.T @ (prior.precision / total) @ transform,
        centre=np.zeros(len(transform)) if prior is None else np.linalg.solve(transform, prior.mean),
        offset=offset,
    )
    first = problem.centre if start is None else np.linalg.solve(transform, start)
    theta, converged = _newton(problem, first)
    risk, _, curvature = problem.at(theta)
    endless = None
    if prior is None and np.linalg.eigvalsh(curvature)[0] < _TRUSTED_CURVATURE:
        direction = _endless_direction(problem)
        if direction is None and np.abs(theta).max() > _FAR:
            direction = theta / np.abs(theta).max()
        endless = None if direction is None else transform @ direction
    back = np.linalg.inv(transform)
    return LogisticFit(
        theta=transform @ theta,
        risk=risk * total,
        curvature=back.T @ curvature @ back * total,
        endless=endless,
        converged=converged and endless is None,
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    """The standardised risk with weights that sum to 1."""

    features: FloatArray
    weight: FloatArray
    linear: FloatArray
    bounded: BoolArray
    penalty: FloatArray
    centre: FloatArray
    offset: FloatArray | None

    def at(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Risk, gradient and curvature."""
        z = self.features @ theta
        if self.offset is not None:
            z += self.offset
        shrunk = np.exp(-np.abs(z))  # one exponential serves softplus and sigmoid, and cannot overflow
        inverse = 1.0 / (1.0 + shrunk)
        first = self.weight * np.where(z >= 0.0, inverse, shrunk * inverse)
        second = self.weight * shrunk * inverse**2
        loss = self.weight @ (np.maximum(z, 0.0) + np.log1p(shrunk))
        away = theta - self.centre
        pull = self.penalty @ away
        risk = float(loss - self.linear @ theta + 0.5 * away @ pull)
        curvature = self.features.T @ (self.features * second[:, None])
        return risk, np.asarray(first @ self.features - self.linear + pull), np.asarray(curvature + self.penalty)

    def recession(self, direction: FloatArray) -> tuple[float, FloatArray]:
        """How fast the risk finally rises along a direction, and a subgradient of that."""
        along = self.features @ direction
        subgradient = (self.weight * (along > 0)) @ self.features - self.linear
        return float(subgradient @ direction), np.asarray(subgradient)


def _standardising(features: FloatArray, weight: FloatArray) -> FloatArray:
    """The matrix A for which features @ A has centred columns of unit variance (a first column of ones is kept)."""
    k = features.shape[1]
    share = weight / weight.sum()
    transform = np.eye(k)
    has_intercept = k > 1 and bool(np.all(features[:, 0] == 1.0))
    for column in range(1 if has_intercept else 0, k):
        values = features[:, column]
        mean = share @ values if has_intercept else 0.0
        scale = np.sqrt(share @ (values - mean) ** 2) or 1.0
        if max(values.max() - mean, mean - values.min()) > _OUTLYING * scale:
            mean, scale = _robust(values, share, mean, scale, centred=has_intercept)
        transform[column, column] = 1.0 / scale
        if has_intercept:
            transform[0, column] = -mean / scale
    return transform


def _robust(values: FloatArray, share: FloatArray, mean: float, scale: float, *, centred: bool) -> tuple[float, float]:
    """Location and scale of most values, which a few far ones do not move; as given where most values are equal."""
    distance = values if centred else np.abs(values)
    order = np.argsort(distance)
    place = np.searchsorted(np.cumsum(share[order]), [0.1, 0.5, 0.9])
    low, middle, high = distance[order[np.minimum(place, len(order) - 1)]]
    spread = (high - low) / 2.5 if centred else middle / 0.67  # both are 1 for a normal distribution
    if not spread > 0:
        return mean, scale
    return (float(middle) if centred else 0.0), float(spread)


def _newton(problem: _Problem, start: FloatArray) -> tuple[FloatArray, bool]:
    """The parameters where the risk is smallest, and whether they were reached."""
    theta = np.maximum(start, np.where(problem.bounded, 0.0, -np.inf))
    risk, gradient, curvature = problem.at(theta)
    decrement = np.inf
    for _ in range(_MAX_ITERATIONS):
        if np.trace(curvature) < _FLAT or np.abs(theta).max() > _FAR:
            return theta, False  # diverging
        step = _bounded_newton_step(curvature, gradient, theta, problem.bounded)
        decrement = -float(gradient @ step)
        if decrement <= _CONVERGED:
            return np.asarray(theta + step), True
        fraction = 1.0
        while (candidate := problem.at(theta + fraction * step))[0] > risk - 1e-4 * fraction * decrement:
            fraction *= 0.5
            if fraction < (1e-3 if decrement < _NEARLY else 1e-10):  # rounding hides any further descent
                return theta, decrement <= _ROUNDED
        theta = theta + fraction * step
        risk, gradient, curvature = candidate
    return theta, decrement <= _ROUNDED


def _bounded_newton_step(
    curvature: FloatArray, gradient: FloatArray, theta: FloatArray, bounded: BoolArray
) -> FloatArray:
    """The step that minimises the quadratic model while bounded parameters stay non-negative."""
    damped = curvature + 1e-13 * max(np.trace(curvature), 1e-300) * np.eye(len(theta))
    return bounded_minimum(damped, gradient, np.where(bounded, -theta, -np.inf))


def bounded_minimum(curvature: FloatArray, linear: FloatArray, lowest: FloatArray) -> FloatArray:
    """The x with the smallest ``x @ curvature @ x / 2 + linear @ x`` where no entry is below its lowest, 0 or less.

    The active-set method of Lawson and Hanson, from x = 0: entries at their lowest value are set free one at a time,
    the one that gains most first. An entry that would fall below goes back to it.

    Examples
    --------
    >>> bounded_minimum(np.eye(2), np.array([1.0, -2.0]), np.zeros(2))
    array([0., 2.])
    """
    free, x = lowest < 0, np.zeros(len(linear))
    tolerance = 1e-12 * float(np.abs(linear).max(initial=0.0))
    for _ in range(10 * len(linear) + 10):
        target = np.where(free, 0.0, lowest)
        rest = linear[free] + curvature[np.ix_(free, ~free)] @ target[~free]
        target[free] = -np.linalg.solve(curvature[np.ix_(free, free)], rest)
        below = free & (target < lowest)
        if below.any():
            steps = (x[below] - lowest[below]) / (x[below] - target[below])
            x = x + steps.min() * (target - x)
            free[np.flatnonzero(below)[steps <= steps.min()]] = False
            x[~free] = lowest[~free]
            continue
        x = target
        gains = np.where(free, -np.inf, -(curvature @ x + linear))
        if not gains.max(initial=-np.inf) > tolerance:
            break
        free[np.argmax(gains)] = True
    return x


def _endless_direction(problem: _Problem) -> FloatArray | None:
    """A feasible direction along which the risk never rises, or None if a minimum exists.

    The final rise is convex and positively homogeneous, so only the faces of the unit box need to be searched. On each
    face, cutting planes enclose the minimum of the rise, with a linear programme in k + 1 unknowns.
    """
    k = len(problem.linear)
    tolerance = 1e-12 * float(problem.weight @ np.abs(problem.features).max(axis=1))
    for coordinate in range(k):
        for sign in (1.0,) if problem.bounded[coordinate] else (1.0, -1.0):
            direction = _lowest_rise(problem, coordinate, sign, tolerance)
            if direction is not None:
                return direction
    return None


def _lowest_rise(problem: _Problem, coordinate: int, sign: float, tolerance: float) -> FloatArray | None:
    from scipy.optimize import linprog  # slow to import, and rarely needed

    k = len(problem.linear)
    bounds = [(0.0 if bound else -1.0, 1.0) for bound in problem.bounded]
    bounds[coordinate] = (sign, sign)
    direction = np.zeros(k)
    direction[coordinate] = sign
    cuts: list[FloatArray] = []
    for _ in range(_MAX_CUTS):
        rise, cut = problem.recession(direction)
        moves = float(problem.weight @ np.abs(problem.features @ direction)) > 1e-9
        if rise <= tolerance and moves:
            return direction
        cuts.append(cut)
        # minimise the height over all cuts: height >= cut @ direction
        solution = linprog(
            np.r_[np.zeros(k), 1.0],
            A_ub=np.c_[np.array(cuts), -np.ones(len(cuts))],
            b_ub=np.zeros(len(cuts)),
            bounds=[*bounds, (None, None)],
        )
        lowest, height = np.asarray(solution.x)[:k], float(np.asarray(solution.x)[k])
        if height > tolerance or abs(height - rise) < 0.1 * tolerance:
            return None
        direction = lowest
    return None
