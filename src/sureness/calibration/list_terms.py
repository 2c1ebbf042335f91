"""The additive model of a map for lists: what it is made of, how it is fitted, and how it is written down.

Log-odds are an intercept, plus curves that rise with the score, plus levels that depend on the group or the item alone.
Each rising curve has two forms, for groups with a light and with a heavy history; a group in between has a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.calibration._plain import curve_of
from sureness.calibration.level import Level
from sureness.numerics.logistic import GaussianPrior, fit_logistic
from sureness.numerics.ramps import Curve, knots_between, ramps
from sureness.saving.packed import real

HISTORY, SPREAD = "history", "spread"
"""What is known of every group; other levels are traits that the caller gives."""

FEWEST = 10
"""A group with fewer candidates has no place of its own for a score; the score itself has to do."""

SAME = 1e-9
"""Spreads below this share of the size of the scores are rounding."""


@dataclass(frozen=True, eq=False)
class Groups:
    """What a map for lists knows of the group of each row of scores."""

    count: IntArray  # (n,) its best candidates
    mean: FloatArray  # (n,) of their scores
    spread: FloatArray  # (n,) standard deviation of their scores; 0: all are the same
    history: FloatArray | None = None  # (n,) how many items of the group the recommender was trained on
    traits: Mapping[str, Any] = field(default_factory=dict)  # (n,) or the shape of the scores, by name

    __repr__ = fields_repr

    @classmethod
    def of_blocks(cls, best: FloatArray) -> Self:
        """From the best candidates of each group in a row; -inf where there is none.

        Examples
        --------
        >>> Groups.of_blocks(np.array([[3.0, 1.0, -np.inf]])).spread
        array([1.])
        """
        there = np.isfinite(best)
        count = np.count_nonzero(there, axis=1)
        known = np.where(there, best, 0.0)
        mean = known.sum(axis=1) / np.maximum(count, 1)
        away = np.where(there, known - mean[:, None], 0.0)
        spread = np.sqrt(np.einsum("ij,ij->i", away, away) / np.maximum(count, 1))
        return cls(count, mean, _more_than_rounding(spread, np.abs(known).max(axis=1, initial=0.0)))

    @classmethod
    def of_rows(cls, scores: FloatArray, codes: IntArray, best: BoolArray) -> Self:
        """From scores in any order, the number of each one's group, and which of them are among its best.

        Examples
        --------
        >>> found = Groups.of_rows(np.array([3.0, 1.0, 9.0]), np.array([0, 0, 1]), np.ones(3, dtype=bool))
        >>> found.mean, found.spread
        (array([2., 9.]), array([1., 0.]))
        """
        n_groups = int(codes.max(initial=-1)) + 1
        known, of = scores[best], codes[best]
        count = np.bincount(of, minlength=n_groups)
        mean = np.bincount(of, known, n_groups) / np.maximum(count, 1)
        spread = np.sqrt(np.bincount(of, (known - mean[of]) ** 2, n_groups) / np.maximum(count, 1))
        largest = np.zeros(n_groups)
        np.maximum.at(largest, of, np.abs(known))
        return cls(count, mean, _more_than_rounding(spread, largest))

    def take(self, rows: IntArray) -> Groups:
        """The groups of some rows, which may repeat."""
        history = None if self.history is None else self.history[rows]
        return Groups(self.count[rows], self.mean[rows], self.spread[rows], history, self.traits)


def _more_than_rounding(spread: FloatArray, largest: FloatArray) -> FloatArray:
    return np.where(spread > SAME * largest, spread, 0.0)


def among_best(scores: FloatArray, codes: IntArray, most: int) -> BoolArray:
    """Which scores are among the best `most` of their group; of equal ones the first.

    Examples
    --------
    >>> among_best(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), 2)
    array([False,  True,  True,  True])
    """
    order = np.lexsort((-scores, codes))
    starts = np.searchsorted(codes[order], np.arange(int(codes.max(initial=-1)) + 1))
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = np.arange(len(scores)) - starts[codes[order]]
    return ranks < most


_STEEP = 1e-4  # the least slope of a score, so that no two scores have one probability
_ROUNDS, _FIRST_WIDTH, _LEAST_WIDTH = 4, 0.5, 1e-2  # of the search for how widely the values of a category differ
_MOST_VALUES, _FEWEST_PAIRS = 200, 20  # of a category: rarer values add nothing


class Rising(NamedTuple):
    """A curve of the score, for groups with a light history and for those with a heavy one."""

    light: Curve
    heavy: Curve | None  # None: the history makes no difference, or is not known

    def values(self, x: FloatArray, activity: FloatArray | None) -> FloatArray:
        """What it adds to the log-odds; `activity` is 0 for a light history and 1 for a heavy one."""
        light = self.light.values(x)
        if self.heavy is None or activity is None:
            return light
        return light + activity * (self.heavy.values(x) - light)


class LevelCurve(NamedTuple):
    """What a number that is known of the group or the item adds: a curve that is flat beyond its ends."""

    curve: Curve
    missing: float  # what is added where the number is missing: the mean

    def values(self, x: FloatArray) -> FloatArray:
        """What it adds to the log-odds."""
        knots = self.curve.knots
        found = self.curve.values(np.clip(x, knots[0], knots[-1])) if len(knots) else np.zeros(np.shape(x))
        return np.where(np.isnan(x), self.missing, found)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the terms look at, by name; arrays that broadcast to one shape."""

    rising: Mapping[str, FloatArray]
    activity: FloatArray | None = None  # 0 to 1
    levels: Mapping[str, FloatArray] = field(default_factory=dict)  # NaN: missing
    names: Mapping[str, AnyArray] = field(default_factory=dict)  # values of categories, as text; "": missing


@dataclass(frozen=True, eq=False)
class TermPlan:
    """How many terms there are: fewer where little is known."""

    rising: Mapping[str, int]  # ramps of each
    levels: Mapping[str, int]
    by_history: bool  # whether curves differ between light and heavy histories


@dataclass(frozen=True, eq=False)
class Terms:
    """A fitted model."""

    intercept: float
    rising: dict[str, Rising]
    levels: dict[str, LevelCurve]
    effects: dict[str, dict[str, float]]  # what each value of a category adds; others add nothing

    def log_odds(self, inputs: Inputs) -> FloatArray:
        """The sum of all terms."""
        total: FloatArray = np.asarray(self.intercept)
        for name, level in self.levels.items():
            total = total + level.values(inputs.levels[name])
        for name, effects in self.effects.items():
            total = total + added_by(effects, inputs.names[name])
        for name, curve in self.rising.items():
            total = total + curve.values(inputs.rising[name], inputs.activity)
        return np.asarray(total)

    def adjusted(self, level: Level) -> Terms:
        """After a correction of level and slope."""
        by = level.slope
        return Terms(
            level.intercept + by * self.intercept,
            {name: Rising(*(None if each is None else _scaled(each, by) for each in curve))  # type: ignore[arg-type]
             for name, curve in self.rising.items()},
            {name: LevelCurve(_scaled(each.curve, by), by * each.missing) for name, each in self.levels.items()},
            {name: {value: by * effect for value, effect in each.items()} for name, each in self.effects.items()},
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        rising = {
            name: {"knots": curve.light.knots.tolist(), "light": curve.light.slopes.tolist()}
            | ({} if curve.heavy is None else {"heavy": curve.heavy.slopes.tolist()})
            for name, curve in self.rising.items()
        }
        levels = {
            name: {"knots": each.curve.knots.tolist(), "slopes": each.curve.slopes.tolist(), "missing": each.missing}
            for name, each in self.levels.items()
        }
        return {"intercept": self.intercept, "rising": rising, "levels": levels, "effects": self.effects}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Out of `plain`."""
        rising = {
            name: Rising(
                curve_of(each["knots"], each["light"]),
                curve_of(each["knots"], each["heavy"]) if "heavy" in each else None,
            )
            for name, each in plain["rising"].items()
        }
        levels = {
            name: LevelCurve(curve_of(each["knots"], each["slopes"]), real(each["missing"]))
            for name, each in plain["levels"].items()
        }
        effects = {
            name: {value: real(effect) for value, effect in each.items()} for name, each in plain["effects"].items()
        }
        return cls(real(plain["intercept"]), rising, levels, effects)


def added_by(effects: Mapping[str, float], values: AnyArray) -> FloatArray:
    """What each value of a category adds; 0 for values that were never or hardly seen.

    Examples
    --------
    >>> added_by({"de": 0.5}, np.array([["de", "fr"]]))
    array([[0.5, 0. ]])
    """
    different, places = np.unique(values, return_inverse=True)
    found = np.array([effects.get(value, 0.0) for value in different.tolist()])
    return np.asarray(found[places].reshape(values.shape))


def learn_terms(inputs: Inputs, plan: TermPlan, targets: FloatArray, weight: FloatArray) -> Terms:
    """The most likely terms under a weak prior, with slopes of the score that are not negative.

    Parameters
    ----------
    inputs : Inputs
        One row for each candidate.
    plan : TermPlan
    targets, weight : arrays of shape (n,)
        Labels, or labels over propensities; and how much each candidate counts.
    """
    blocks = list(_blocks(inputs, plan, targets > 0))
    columns = [np.ones(len(targets)), *(column for block in blocks for column in block.columns)]
    features = np.stack(columns, axis=1)
    bounded = np.concatenate([[False], *(np.full(len(block.columns), block.is_rising) for block in blocks)]).astype(
        bool
    )
    share = weight / weight.sum()
    variance = share @ features**2 - (share @ features) ** 2
    categories = np.array([-1, *(block.category for block in blocks for _ in block.columns)])
    linear = (weight * targets) @ features
    theta = _fitted(features, weight, linear, bounded, variance, categories)
    return _read(theta, blocks)


def _fitted(
    features: FloatArray, weight: FloatArray, linear: FloatArray, bounded: BoolArray, variance: FloatArray,
    categories: IntArray,
) -> FloatArray:  # fmt: skip
    """Curves are pulled to 0 by one unit of their standardised size, categories as far as their values are alike."""
    widths = np.full(categories.max(initial=-1) + 1, _FIRST_WIDTH)
    free = np.append(widths, np.inf)  # the last one belongs to what is no category
    start = None
    largest = np.abs(features).max(axis=0) ** 2
    least = 1e-12 * np.where(largest > 0, largest, 1.0)  # in the units of each column
    for _ in range(_ROUNDS if len(widths) else 1):
        precision = np.where(categories >= 0, 1.0 / free[categories] ** 2, np.maximum(variance, least))
        precision[0] = 0.0
        found = fit_logistic(
            features, weight, linear, bounded=bounded, prior=GaussianPrior(np.zeros(len(linear)), np.diag(precision)),
            start=start,
        )  # fmt: skip
        start = found.theta
        uncertain = np.diag(np.linalg.pinv(found.curvature))
        for number in range(len(widths)):
            of = categories == number
            free[number] = max(np.sqrt(np.mean(found.theta[of] ** 2 + uncertain[of])), _LEAST_WIDTH)
    assert start is not None
    return start


@dataclass(frozen=True, eq=False)
class _Block:
    """The columns of one input, and how their coefficients are read."""

    name: str
    columns: Sequence[FloatArray]
    is_rising: bool = False
    category: int = -1  # its number, if it is one
    knots: FloatArray = field(default_factory=lambda: np.empty(0))
    doubled: bool = False  # first all ramps for light histories, then all for heavy ones
    means: FloatArray = field(default_factory=lambda: np.empty(0))  # of a level's columns, for missing numbers
    values: Sequence[str] = ()


def _blocks(inputs: Inputs, plan: TermPlan, positive: BoolArray) -> Iterator[_Block]:
    for name, n_ramps in plan.rising.items():
        x = inputs.rising[name]
        knots = knots_between(x, x[positive], n_ramps)
        if len(knots) < 2:  # nearly all are the same
            knots = np.array([knots[0], knots[0] + 1.0])
        columns = ramps(x, knots)
        doubled = plan.by_history and inputs.activity is not None
        if doubled:
            heavy = inputs.activity
            columns = [column * (1.0 - heavy) for column in columns] + [column * heavy for column in columns]  # type: ignore[operator]
        yield _Block(name, columns, is_rising=True, knots=knots, doubled=doubled)
    for name, n_ramps in plan.levels.items():
        x = inputs.levels[name]
        known = ~np.isnan(x)
        if not (known & positive).any():
            continue
        low, high = np.quantile(x[known], [0.01, 0.99])
        knots = knots_between(np.clip(x[known], low, high), np.clip(x[known & positive], low, high), n_ramps)
        if len(knots) < 2:
            continue
        columns = ramps(np.clip(np.where(known, x, knots[0]), knots[0], knots[-1]), knots)
        means = np.array([column[known].mean() for column in columns])
        columns = [np.where(known, column, mean) for column, mean in zip(columns, means, strict=True)]
        yield _Block(name, columns, knots=knots, means=means)
    for number, (name, values) in enumerate(inputs.names.items()):
        different, counts = np.unique(values, return_counts=True)
        common = np.sort(np.argsort(-counts, kind="stable")[:_MOST_VALUES])
        kept = different[common[counts[common] >= _FEWEST_PAIRS]].tolist()
        yield _Block(name, [(values == value).astype(np.float64) for value in kept], category=number, values=kept)


def _read(theta: FloatArray, blocks: Sequence[_Block]) -> Terms:
    """The terms out of the coefficients of all columns."""
    rising: dict[str, Rising] = {}
    levels: dict[str, LevelCurve] = {}
    effects: dict[str, dict[str, float]] = {}
    place = 1
    for block in blocks:
        coef = theta[place : place + len(block.columns)]
        place += len(coef)
        if block.category >= 0:
            effects[block.name] = dict(zip(block.values, coef.tolist(), strict=True))
        elif block.is_rising:
            least = _STEEP if block.name == "score" else 0.0
            halves = np.split(np.maximum(coef, least), 2 if block.doubled else 1)
            curves = [Curve(block.knots, half) for half in halves]
            rising[block.name] = Rising(curves[0], curves[1] if block.doubled else None)
        else:
            levels[block.name] = LevelCurve(Curve(block.knots, coef), float(coef @ block.means))
    return Terms(float(theta[0]), rising, levels, effects)


def _scaled(curve: Curve, by: float) -> Curve:
    return Curve(curve.knots, by * curve.slopes)
