"""A rising curve of log-odds, learned from labels and pulled towards a straight line as far as these leave open.

The slope of the curve is straight between knots and constant beyond them, so the curve is smooth, rises everywhere and
is linear in its slopes at the knots. The wigglier it is, the more it is penalised; how much is decided by the
likelihood of labels that were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.numerics.logistic import sigmoid

STRENGTHS = (np.inf, 1e3, 1e2, 1e1, 1.0, 0.1, 0.01)
"""How strongly a curve may be pulled towards a straight line; infinite: it is one."""

_INNER = 10  # knots at equal shares of the positives, between the first and the last
_AT_THE_ENDS = (0.02, 0.05, 0.95, 0.98)  # more, towards both ends
_BEYOND = 5.0  # positives that lie beyond the first and the last knot
_FEWEST = 4  # knots without which there is only a line: three different scores have no shape
_APART = 0.01  # knots closer than this share of their range are joined
_LEAST = 20.0  # positives without which there is only a line
_FLATTEST = 0.02  # of the slope of the line: what keeps the order of all scores
_BELOW = 0.1  # strength of the pull where positives are rare
_CELLS, _FINE_CELLS = 400, 10_000  # groups of neighbouring scores: to compare strengths, and to fit the chosen one
_STEPS, _DONE = 100, 1e-12
_WEAK = 1e-6  # precision of the prior that keeps slopes finite


@dataclass(frozen=True, eq=False)
class Labelled:
    """Weighted scores, the positives among them, and a fold for each."""

    scores: FloatArray  # (n,)
    weight: FloatArray  # (n,)
    fold: IntArray  # (n,)
    positive_scores: FloatArray  # (m,)
    positives: FloatArray  # (m,) their weight
    positive_fold: IntArray  # (m,)
    unlabelled_positives: bool = False  # whether the scores hold as many positives again, without a label

    def take(self, points: BoolArray, positives: BoolArray) -> Labelled:
        """Some of the scores and some of the positives."""
        return Labelled(
            self.scores[points], self.weight[points], self.fold[points], self.positive_scores[positives],
            self.positives[positives], self.positive_fold[positives], self.unlabelled_positives,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Personal:
    """How the log-odds of each point follow the curve: ``level + stretch * g``."""

    level: FloatArray  # (n,)
    stretch: FloatArray  # (n,)
    positive_level: FloatArray  # (m,)
    positive_stretch: FloatArray  # (m,)


@dataclass(frozen=True, eq=False)
class RisingCurve:
    """Log-odds ``intercept + g(score)``, where g is 0 at the first knot and its slope is straight between knots."""

    intercept: float
    knots: FloatArray  # (k,) ascending
    slopes: FloatArray  # (k,) of g at the knots; constant beyond the first and the last
    strength: float  # of the pull towards a straight line; infinite: it is one

    @property
    def rise(self) -> float:
        """From the first knot to the last."""
        return float(np.diff(self.knots) @ (self.slopes[1:] + self.slopes[:-1]) / 2.0)

    def values(self, scores: FloatArray) -> FloatArray:
        """The curve g at scores in one or two dimensions; `sureness.calibration.families.rising_curve` is the formula.

        Examples
        --------
        >>> curve = RisingCurve(-3.0, np.array([0.0, 2.0]), np.array([1.0, 2.0]), 1.0)
        >>> curve.values(np.array([[-1.0, 1.0, 3.0]])).tolist()
        [[-1.0, 1.25, 5.0]]
        """
        from sureness.numerics import _curve_kernels  # loads the compiler

        rows = np.atleast_2d(np.ascontiguousarray(scores, dtype=np.float64))
        result = np.empty(rows.shape)
        _curve_kernels.curve_rows(rows, self.knots, self.slopes, result)
        return result.reshape(scores.shape)

    def plain(self) -> dict[str, Any]:
        """As numbers and lists."""
        return {**vars(self), "knots": self.knots.tolist(), "slopes": self.slopes.tolist()}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> RisingCurve:
        """Out of `plain`."""
        knots, slopes = (np.array(plain[name], dtype=np.float64) for name in ("knots", "slopes"))
        return cls(float(plain["intercept"]), knots, slopes, float(plain["strength"]))


def knots_of(scores: FloatArray, mass: FloatArray) -> FloatArray:
    """Where the slope of a curve may change: at equal shares of the positives, and more closely at both ends."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    reached = np.cumsum(mass[order])
    total = reached[-1]
    margin = min(_BEYOND / total, 0.25)
    inner = np.linspace(0.0, 1.0, _INNER + 1)[1:-1]
    shares = np.unique([margin, *inner, *_AT_THE_ENDS, 1.0 - margin])
    shares = shares[(shares >= margin) & (shares <= 1.0 - margin)]
    places = np.minimum(np.searchsorted(reached, shares * total * (1 - 1e-12)), len(ordered) - 1)
    found = ordered[places]
    kept = [found[0]]
    for knot in found[1:]:
        if knot - kept[-1] > _APART * (found[-1] - found[0]):
            kept.append(knot)
    return np.array(kept)


def curve_basis(scores: FloatArray, knots: FloatArray) -> FloatArray:
    """What each slope at a knot adds to the curve: integrals of hats, continued straight; shape (n, k).

    Examples
    --------
    >>> curve_basis(np.array([-1.0, 0.0, 1.0, 3.0]), np.array([0.0, 2.0])).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [0.75, 0.25], [1.0, 2.0]]
    """
    columns = np.zeros((len(scores), len(knots)))
    columns[:, 0] = np.minimum(scores - knots[0], 0.0)
    columns[:, -1] += np.maximum(scores - knots[-1], 0.0)
    for piece, (start, stop) in enumerate(pairwise(knots)):
        moved = np.clip(scores, start, stop) - start
        rising = moved * moved / (2.0 * (stop - start))
        columns[:, piece] += moved - rising
        columns[:, piece + 1] += rising
    return columns


def learn_curve(data: Labelled, line: tuple[float, float]) -> RisingCurve:
    """The straightest curve under which left-out labels are as likely as under the best, among those of all strengths.

    Parameters
    ----------
    data : Labelled
    line : (intercept, slope)
        The straight line that fits best.
    """
    straight = _straight(data, line)
    if data.positives.sum() < _LEAST or not line[1] > 0:
        return straight
    knots = knots_of(data.positive_scores, data.positives)
    if len(knots) < _FEWEST:
        return straight
    cells = _in_cells(data, _CELLS)
    losses = []
    for fold in np.unique(cells.fold):
        inside, positives = cells.fold == fold, cells.positive_fold == fold
        kept, left_out = _Problem.of(cells.take(~inside, ~positives), knots), cells.take(inside, positives)
        judged = _Problem.of(left_out, knots)
        theta = None
        losses.append([judged.risk(theta := kept.solved(strength, line, theta)) for strength in STRENGTHS])
    best = _strongest(np.array(losses))
    if np.isinf(best):
        return straight
    fine = _in_cells(replace(data, fold=0 * data.fold, positive_fold=0 * data.positive_fold), _FINE_CELLS)
    theta = _Problem.of(fine, knots).solved(best, line)
    return RisingCurve(float(theta[0]), knots, theta[1:], best)


def _strongest(losses: FloatArray) -> float:
    """The strongest pull that is as good as the best one, as far as folds can tell: within one standard error."""
    worse = losses - losses[:, [int(np.argmin(losses.sum(axis=0)))]]
    margin = worse.std(axis=0, ddof=1) * np.sqrt(len(losses)) if len(losses) > 1 else np.zeros(len(STRENGTHS))
    return float(STRENGTHS[int(np.argmax(worse.sum(axis=0) <= margin))])


def refine_curve(data: Labelled, curve: RisingCurve, personal: Personal) -> RisingCurve:
    """The curve again, with the same knots and pull, now that level and stretch of every point are known."""
    slope = float(curve.rise / (curve.knots[-1] - curve.knots[0]))
    line = (-slope * float(curve.knots[0]), slope)  # levels of points are known, so that it starts at 0
    problem = _Problem.of(data, curve.knots, personal)
    theta = problem.solved(curve.strength, line, np.asarray([0.0, *curve.slopes]))
    return RisingCurve(float(theta[0]), curve.knots, theta[1:], curve.strength)


def curve_below(data: Labelled, level: FloatArray, positive_level: FloatArray, slope: float) -> RisingCurve | None:
    """A curve for scores below 0 that ends there at 0, and is added to known levels; None if labels are too few.

    Parameters
    ----------
    data : Labelled
    level, positive_level : arrays of shape (n,) and (m,)
        The log-odds of each point and positive at 0.
    slope : float
        What slopes are usual.
    """
    there, positives = data.scores < 0, data.positive_scores < 0
    below = data.take(there, positives)
    if below.positives.sum() < _LEAST:
        return None
    found = knots_of(below.positive_scores, below.positives)
    knots = np.append(found[found < _APART * found[0]], 0.0)
    features, positive_features = (
        np.c_[np.zeros(len(scores)), curve_basis(scores, knots) - curve_basis(np.zeros(1), knots)]
        for scores in (below.scores, below.positive_scores)
    )
    problem = _Problem(
        features, below.weight, positive_features, below.positives, knots, below.unlabelled_positives, level[there],
        positive_level[positives],
    )  # fmt: skip
    theta = problem.solved(_BELOW, (-slope * float(knots[0]), slope))
    curve = RisingCurve(0.0, knots, theta[1:], _BELOW)
    return replace(curve, intercept=-curve.rise)


def _straight(data: Labelled, line: tuple[float, float]) -> RisingCurve:
    low, high = float(data.scores.min()), float(data.scores.max())
    return RisingCurve(line[0] + line[1] * low, np.array([low, high]), np.full(2, line[1]), np.inf)


def _in_cells(data: Labelled, n_cells: int) -> Labelled:
    """Neighbouring scores of one fold as one score, so that curves are quickly fitted."""
    if len(data.scores) + len(data.positives) <= 2 * n_cells:
        return data
    of_all = _quantiles(data.scores, data.weight, n_cells // 2)
    edges = np.unique([*of_all, *_quantiles(data.positive_scores, data.positives, n_cells // 2)])
    scores, weight, fold = _merged(data.scores, data.weight, data.fold, edges)
    positive_scores, positives, positive_fold = _merged(data.positive_scores, data.positives, data.positive_fold, edges)
    return Labelled(scores, weight, fold, positive_scores, positives, positive_fold, data.unlabelled_positives)


def _quantiles(scores: FloatArray, mass: FloatArray, number: int) -> FloatArray:
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(mass[order])
    wanted = np.linspace(0.0, 1.0, number + 1)[1:-1] * reached[-1]
    return np.asarray(scores[order][np.minimum(np.searchsorted(reached, wanted), len(scores) - 1)])


def _merged(
    scores: FloatArray, mass: FloatArray, fold: IntArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Mean score, mass and fold of what shares a cell and a fold."""
    n_folds = int(fold.max(initial=0)) + 1
    cell = np.searchsorted(edges, scores) * n_folds + fold
    total = np.bincount(cell, mass)
    there = np.flatnonzero(total > 0)
    mean = np.bincount(cell, mass * scores)[there] / total[there]
    return mean, np.asarray(total[there], dtype=np.float64), np.asarray(there % n_folds)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised risk of intercept and slopes, ``theta``."""

    features: FloatArray  # (n, 1 + k)
    weight: FloatArray  # (n,)
    positive_features: FloatArray  # (m, 1 + k)
    positives: FloatArray  # (m,)
    knots: FloatArray
    unlabelled: bool
    level: FloatArray | float = 0.0  # (n,) added to the log-odds
    positive_level: FloatArray | float = 0.0  # (m,)

    @classmethod
    def of(cls, data: Labelled, knots: FloatArray, personal: Personal | None = None) -> _Problem:
        features, positive_features = (
            np.c_[np.ones(len(scores)), curve_basis(scores, knots)] for scores in (data.scores, data.positive_scores)
        )
        problem = cls(features, data.weight, positive_features, data.positives, knots, data.unlabelled_positives)
        if personal is None:
            return problem
        features[:, 1:] *= personal.stretch[:, None]
        positive_features[:, 1:] *= personal.positive_stretch[:, None]
        return replace(problem, level=personal.level, positive_level=personal.positive_level)

    def _log_odds(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of the points and of the positives."""
        return self.features @ theta + self.level, self.positive_features @ theta + self.positive_level

    def risk(self, theta: FloatArray) -> float:
        """Minus the log-likelihood; see `sureness.numerics.row_logistic.fit_rows`."""
        z, own = self._log_odds(theta)
        if self.unlabelled:
            return float(self.weight @ np.log1p(sigmoid(z)) + self.positives @ np.logaddexp(0.0, -own))
        return float(self.weight @ np.logaddexp(0.0, z) - self.positives @ own)

    def derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slope and (expected) curvature of the risk."""
        z, own = self._log_odds(theta)
        p = sigmoid(z)
        first: FloatArray = self.weight * p
        second: FloatArray = first * (1.0 - p)
        share: FloatArray = np.ones(len(self.positives))
        if self.unlabelled:
            first, second = second / (1.0 + p), second * (1.0 - p) / (1.0 + p) ** 2
            share = 1.0 - sigmoid(own)
        slope = first @ self.features - (share * self.positives) @ self.positive_features
        return slope, (self.features * second[:, None]).T @ self.features

    def solved(self, strength: float, line: tuple[float, float], start: FloatArray | None = None) -> FloatArray:
        """The parameters of smallest penalised risk; Newton's method inside the bounds.

        A prior around the line, too weak to matter otherwise, keeps them finite where labels are separated.
        """
        k, slope = len(self.knots), max(line[1], 1e-12)
        centre = np.asarray([line[0] + line[1] * self.knots[0], *np.full(k, line[1])])
        lowest = np.asarray([-np.inf, *np.full(k, _FLATTEST * slope)])
        weak = _WEAK * np.diag([1.0, *np.full(k, 1.0 / (k * slope**2))])
        if np.isfinite(strength):
            first = centre if start is None else start
            return self._newton(first, centre, weak + strength / slope**2 * self._roughness(), lowest)
        together = np.zeros((1 + k, 2))  # one slope at all knots
        together[0, 0], together[1:, 1] = 1.0, 1.0
        folded = replace(self, features=self.features @ together, positive_features=self.positive_features @ together)
        return together @ folded._newton(centre[:2], centre[:2], together.T @ weak @ together, lowest[:2])

    def _roughness(self) -> FloatArray:
        """The integral of the squared second derivative, for a range of knots of 1, as a matrix."""
        steps = np.diff(np.eye(len(self.knots)), axis=0)
        whole = np.zeros((len(self.knots) + 1, len(self.knots) + 1))
        whole[1:, 1:] = steps.T @ (steps / np.diff(self.knots)[:, None]) * (self.knots[-1] - self.knots[0])
        return whole

    def _newton(self, theta: FloatArray, centre: FloatArray, penalty: FloatArray, lowest: FloatArray) -> FloatArray:
        def penalised(at: FloatArray) -> float:
            return self.risk(at) + 0.5 * float((at - centre) @ penalty @ (at - centre))

        value = penalised(theta)
        for _ in range(_STEPS):
            slope, curvature = self.derivatives(theta)
            slope, curvature = slope + penalty @ (theta - centre), curvature + penalty
            step = lowest_point(curvature, curvature @ theta - slope, lowest, theta) - theta
            promised = -float(slope @ step)
            if promised <= _DONE * max(1.0, abs(value)):
                return np.asarray(theta + step)
            share = 1.0
            while share > 1e-10:
                trial: FloatArray = theta + share * step
                found = penalised(trial)
                if found <= value - 1e-4 * share * promised:
                    break
                share *= 0.5
            else:
                return theta  # only rounding is left
            theta, value = trial, found
        return theta


def lowest_point(
    curvature: FloatArray, pull: FloatArray, lowest: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """The minimum of ``x @ curvature @ x / 2 - pull @ x`` with ``x >= lowest``, by Lawson and Hanson's active sets.

    It is found soonest from a start where the same coordinates are at their bounds.

    Examples
    --------
    >>> lowest_point(np.eye(2), np.array([1.0, -1.0]), np.zeros(2)).round(9).tolist()
    [1.0, 0.0]
    """
    units = 1.0 / np.sqrt(np.maximum(np.diag(curvature), 1e-300))
    matrix = curvature * units * units[:, None] + 1e-12 * np.eye(len(pull))
    right, bound = pull * units, lowest / units
    unbounded = np.linalg.solve(matrix, right)
    if np.all(unbounded >= bound):  # the usual case
        return np.asarray(unbounded * units)
    x = np.where(np.isinf(bound), 0.0, bound) if start is None else np.maximum(start / units, bound)
    free = np.isinf(bound) | (x > bound)
    for _ in range(20 * len(pull)):
        while True:  # go to the minimum on the free coordinates, and hold those that meet their bound on the way
            target = x.copy()
            rows = matrix[free]
            target[free] = np.linalg.solve(rows[:, free], right[free] - rows[:, ~free] @ x[~free])
            below = free & (target < bound)
            if not below.any():
                break
            share = float(np.min((x[below] - bound[below]) / (x[below] - target[below])))
            x = x + share * (target - x)
            free &= ~below | (x - bound > 1e-12 * (1.0 + np.abs(x)))
            x = np.where(free, x, bound)
        x = target
        gain = np.where(free, -np.inf, right - matrix @ x)
        if gain.max(initial=-np.inf) <= 1e-12 * (1.0 + np.abs(right).max()):
            break
        free[int(np.argmax(gain))] = True
    return x * units
