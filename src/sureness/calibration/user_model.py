"""What all users have in common: the shape of their maps, and how far levels and slopes differ between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.artefacts.packed import JSON
from sureness.calibration.base import Calibrator
from sureness.calibration.behind import curve_behind, labelled_points, some_of
from sureness.calibration.candidates import CandidateBlock
from sureness.calibration.families import NUMPY, TREE, ScoreRange, rising_curve
from sureness.calibration.parametric import (
    GammaCalibrator,
    GaussianCalibrator,
    ParametricCalibrator,
    PlattCalibrator,
)
from sureness.calibration.shape import ShapeCalibrator
from sureness.errors import EmptyError
from sureness.expressions.nodes import Node
from sureness.numerics.logistic import sigmoid
from sureness.numerics.predictive import predictive_rows
from sureness.numerics.rising_curve import Personal, RisingCurve, learn_curve, refine_curve
from sureness.numerics.row_logistic import EM_STEPS, Prior, Rows, estimate_prior, fit_rows

Shape = Literal["learned", "line", "gaussian", "gamma"]
SHAPES: tuple[Shape, ...] = get_args(Shape)

_WEAK = 100.0  # width of a prior that only keeps maps finite
_FIRST_WIDTH = 0.7  # where the search for the prior's width starts
_FOLDS = 5
_REFINING_ROUNDS, _REFINING_STEPS = 2, 8
_FAMILIES: dict[str, type[ParametricCalibrator]] = {
    "line": PlattCalibrator,
    "gaussian": GaussianCalibrator,
    "gamma": GammaCalibrator,
}


class Basis(Protocol):
    """Rising functions of standardised scores; a user's log-odds are a level plus a positive mixture of them."""

    def columns(self, standardised: FloatArray) -> list[FloatArray]:
        """Their values."""

    def trees(self, standardised: Node) -> list[Node]:
        """The same as trees of an expression."""

    def plain_map(self, intercept: float, coef: FloatArray) -> Calibrator:
        """One mixture as a calibrator of standardised scores."""

    def plain(self) -> dict[str, JSON]:
        """As JSON."""


@dataclass(frozen=True, eq=False)
class FamilyBasis:
    """The basis of a parametric family."""

    shape: str
    fitted: ScoreRange

    @classmethod
    def of(cls, shape: str, low: float, high: float) -> FamilyBasis:
        """For standardised scores of a range."""
        return cls(shape, _FAMILIES[shape]().range_of(low, high))

    def columns(self, standardised: FloatArray) -> list[FloatArray]:
        """The columns of the family."""
        return _FAMILIES[self.shape].family.basis(standardised, self.fitted, NUMPY)

    def trees(self, standardised: Node) -> list[Node]:
        """The columns of the family."""
        return _FAMILIES[self.shape].family.basis(standardised, self.fitted, TREE)

    def plain_map(self, intercept: float, coef: FloatArray) -> Calibrator:
        """A calibrator of the family."""
        return _FAMILIES[self.shape].of_coefficients(intercept, coef, self.fitted)

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        return {"shape": self.shape, "range": list(self.fitted)}


@dataclass(frozen=True, eq=False)
class CurveBasis:
    """One learned curve."""

    curve: RisingCurve

    def columns(self, standardised: FloatArray) -> list[FloatArray]:
        """The curve."""
        return [self.curve.values(standardised)]

    def trees(self, standardised: Node) -> list[Node]:
        """The curve."""
        return [rising_curve(standardised, self.curve.knots, self.curve.slopes, TREE)]

    def plain_map(self, intercept: float, coef: FloatArray) -> Calibrator:
        """A calibrator with the shape of the curve."""
        return ShapeCalibrator.of_curve(replace(self.curve, intercept=intercept, slopes=coef[0] * self.curve.slopes))

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        return {"shape": "learned", **self.curve.plain()}


def basis_of(plain: dict[str, JSON]) -> Basis:
    """Out of what `plain` of a basis returned."""
    known = dict(plain)
    shape = str(known.pop("shape"))
    if shape == "learned":
        return CurveBasis(RisingCurve.of(known))
    return FamilyBasis(shape, ScoreRange(*known["range"]))  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Traits:
    """What is known of users beside their labels: how much to expect of them, and how far their scores are spread.

    A recommender that tells a user's items well apart spreads their scores; standardised scores no longer show it.
    """

    mean: FloatArray  # (2,) over the sample
    low: FloatArray  # (2,) no user is taken to lie beyond all but one in a hundred of the sample
    high: FloatArray

    @classmethod
    def of(cls, expected: FloatArray, spread: FloatArray) -> Traits:
        """Out of a sample of users."""
        values = _logarithms(expected, spread)
        low, high = np.quantile(values, [0.01, 0.99], axis=0)
        return cls(np.clip(values, low, high).mean(axis=0), low, high)

    def values(self, expected: FloatArray, spread: FloatArray) -> FloatArray:
        """On the scale of log-odds, from the mean of the sample; shape (n, 2)."""
        return np.asarray(np.clip(_logarithms(expected, spread), self.low, self.high) - self.mean)


def _logarithms(expected: FloatArray, spread: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(np.stack([expected, spread], axis=1), [1e-3, 1e-300])))


class UserFits(NamedTuple):
    """What is learned about some users; all of shape (n,) but the parameters."""

    theta: FloatArray  # (n, 1 + d) level and coefficients in standard units
    location: FloatArray
    scale: FloatArray
    n_positive: IntArray  # held-out items among the points
    last: FloatArray  # the standardised score of the last point
    within: FloatArray  # how many held-out items are expected among the points


@dataclass(frozen=True, eq=False)
class UserModel:
    """A basis in standard units, the parameters of all users pooled, and the prior of each user's."""

    basis: Basis
    centre: FloatArray  # (d,) weighted mean of each column
    units: FloatArray  # (d,) and its standard deviation
    overall: FloatArray  # (1 + d,)
    prior: Prior
    prior_width: float | Literal["auto"]
    traits: Traits
    unlabelled_positives: bool
    score_range: tuple[float, float]  # of the standardised scores
    n_pairs: int
    behind: RisingCurve | None = None  # of scores below a user's last candidate, measured from there

    @property
    def bounded(self) -> BoolArray:
        """Which parameters must not be negative: all but the level."""
        return np.arange(len(self.overall)) > 0

    def rows(self, block: CandidateBlock) -> Rows:
        """Features of the points and of the positives of a block, in standard units."""
        return Rows(
            self._features(block.standardised),
            block.weight,
            self._features(block.standardised_positives),
            block.positive_starts,
            unlabelled_positives=self.unlabelled_positives,
        )

    def _features(self, standardised: FloatArray) -> FloatArray:
        columns = self.basis.columns(standardised)
        units = [(c - m) / u for c, m, u in zip(columns, self.centre, self.units, strict=True)]
        return np.stack([np.ones_like(units[0]), *units], axis=-1)

    def natural(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intercept and coefficients on the basis, out of those in standard units."""
        coef = np.maximum(theta[:, 1:], 0.0) / self.units
        return theta[:, 0] - coef @ self.centre, coef

    def likely(self, rows: Rows, known: FloatArray) -> FloatArray:
        """The parameters of each user that are most likely under the prior; shape (n, 1 + d)."""
        return fit_rows(rows, self.prior, self.bounded, known)[0]

    def fitted(self, rows: Rows, known: FloatArray) -> FloatArray:
        """The parameters whose probabilities are those to expect, given how unsure the most likely ones are.

        With a prior that was given these are the most likely ones themselves; with one map for all, those of all.
        """
        if self.prior_width == 0:
            return np.repeat(self.overall[None], len(rows.weight), axis=0)
        theta, curvature = fit_rows(rows, self.prior, self.bounded, known)
        if self.prior_width != "auto":
            return theta
        return predictive_rows(rows, theta, curvature, self.bounded)

    def users(self, block: CandidateBlock, expected: FloatArray, own: BoolArray) -> UserFits:
        """The maps of the users of a block: that of all, except for those who have held-out items of their own."""
        rows = self.rows(block)
        theta = np.repeat(self.overall[None], len(block.users), axis=0)
        if self.prior_width != 0 and own.any():
            theta[own] = self.fitted(rows, self.traits.values(expected, block.scale))[own]
        return UserFits(theta, block.location, block.scale, np.diff(rows.starts), block.last, self.within(rows, theta))

    def within(self, rows: Rows, theta: FloatArray) -> FloatArray:
        """How many held-out items each user is expected to have among the points."""
        chance = sigmoid(np.einsum("npd,nd->np", rows.features, theta))
        held_out = chance / (1.0 + chance) if self.unlabelled_positives else chance
        return np.asarray((rows.weight * held_out).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Learner:
    """Learns what users have in common from a sample of them."""

    sample: CandidateBlock  # only users with held-out items
    expected: FloatArray  # (n,) how many items to expect of each of them
    behind: Callable[[IntArray], CandidateBlock] | None  # what lies behind the candidates of users, if anything
    shape: Shape
    prior_width: float | Literal["auto"]
    unlabelled_positives: bool
    seed: int

    def model(self) -> UserModel:
        """The shape, the global map and the prior."""
        low, high = self.score_range
        if low == high:
            raise EmptyError("every user has the same score for all candidates; check the recommender")
        if self.shape != "learned":
            return self._with_prior(FamilyBasis.of(self.shape, low, high))
        curve = self._pooled_curve()
        if np.isfinite(curve.strength) and self.prior_width != 0:
            curve = self._of_some()._refined(curve)
        model = self._with_prior(CurveBasis(curve))
        return model if self.behind is None else self._of_some()._continued(model, curve, self.behind)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """Of the standardised scores."""
        there = self.sample.standardised[self.sample.weight > 0]
        return float(there.min()), float(there.max())

    @cached_property
    def traits(self) -> Traits:
        """What is known of users, in the units of the sample."""
        return Traits.of(self.expected, self.sample.scale)

    @cached_property
    def known(self) -> FloatArray:
        """The traits of the sample; shape (n, 2)."""
        return self.traits.values(self.expected, self.sample.scale)

    def _pooled(self, basis: Basis) -> UserModel:
        """All users as one, with a prior that only keeps the map finite."""
        weight, total = self.sample.weight, self.sample.weight.sum()
        columns = basis.columns(self.sample.standardised)
        centre = np.array([(weight * column).sum() / total for column in columns])
        spread = [(weight * (c - m) ** 2).sum() / total for c, m in zip(columns, centre, strict=True)]
        units = np.maximum(np.sqrt(spread), 1e-12)
        d = 1 + len(columns)
        weak = Prior(np.zeros(d), _WEAK**2 * np.eye(d))
        model = UserModel(
            basis, centre, units, np.zeros(d), weak, self.prior_width, self.traits, self.unlabelled_positives,
            self.score_range, int(total),
        )  # fmt: skip
        return replace(model, overall=fit_rows(model.rows(self.sample).pooled(), model.prior, model.bounded)[0][0])

    def _with_prior(self, basis: Basis, steps: int = EM_STEPS) -> UserModel:
        """The global map, and the prior as given or estimated."""
        model = self._pooled(basis)
        d = len(model.overall)
        width = _FIRST_WIDTH if self.prior_width == "auto" else min(float(self.prior_width), _WEAK)
        prior = Prior(model.overall, max(width, 1e-9) ** 2 * np.eye(d))
        if self.prior_width == "auto":
            prior = estimate_prior(model.rows(self.sample), prior, model.bounded, self.known, steps=steps)
        return replace(model, prior=prior)

    def _pooled_curve(self) -> RisingCurve:
        """The shape that all users pooled suggest, in folds of users."""
        low, high = self.score_range
        pooled = self._pooled(FamilyBasis.of("line", low, high))
        intercept, coef = pooled.natural(pooled.overall[None])
        slope = float(coef[0, 0]) / (high - low)
        fold = np.random.default_rng(self.seed).integers(0, _FOLDS, len(self.sample.users))
        return learn_curve(
            labelled_points(self.sample, self.unlabelled_positives, fold), (float(intercept[0]) - slope * low, slope)
        )

    def _refined(self, curve: RisingCurve) -> RisingCurve:
        """The shape that remains once users have levels and slopes of their own.

        Pooled users blur the shape: where many are shown little, only those with a high level have high scores.
        """
        labelled = labelled_points(self.sample, self.unlabelled_positives)
        for _ in range(_REFINING_ROUNDS):
            model = self._with_prior(CurveBasis(curve), _REFINING_STEPS)
            theta = model.likely(model.rows(self.sample), self.known)
            curve = refine_curve(labelled, curve, _personal(model, theta, self.sample))
        return curve

    def _continued(
        self, model: UserModel, curve: RisingCurve, behind: Callable[[IntArray], CandidateBlock]
    ) -> UserModel:
        """The model with a curve for what lies behind the candidates; all else stays.

        How steep the first curve is differs between users; how soon positives become rare behind hardly does.
        """
        theta = model.fitted(model.rows(self.sample), model.traits.values(self.expected, self.sample.scale))
        level, stretch = model.natural(theta)
        begin = level + stretch[:, 0] * curve.values(self.sample.last)
        slope = curve.rise / float(curve.knots[-1] - curve.knots[0])
        found = curve_behind(behind, self.sample, begin, slope, unlabelled_positives=self.unlabelled_positives)
        return replace(model, behind=found)

    def _of_some(self) -> Learner:
        """The same with as many users as the shape takes into account."""
        places = some_of(len(self.sample.users))
        if places is None:
            return self
        return replace(self, sample=self.sample.take(places), expected=self.expected[places])


def _personal(model: UserModel, theta: FloatArray, block: CandidateBlock) -> Personal:
    """How each point of a block follows the curve of the model, given the parameters of its users."""
    level, stretch = model.natural(theta)
    points, positives = np.nonzero(block.weight > 0)[0], block.positive_rows
    return Personal(level[points], stretch[points, 0], level[positives], stretch[positives, 0])
