"""Fit where people look: each user's top items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from sureness._registry import Family
from sureness._settings import clone
from sureness._types import FloatArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.families import Formula
from sureness.calibration.level import Level
from sureness.calibration.maps import Who
from sureness.calibration.parametric import GaussianCalibrator
from sureness.calibration.usable import usable_pairs
from sureness.errors import SettingError
from sureness.expressions.nodes import Node, Reference
from sureness.numerics.checks import check_rate
from sureness.numerics.grouping import top_n
from sureness.numerics.histogram import WeightedScores


class TopNCalibrator(Calibrator):
    """One map for all users, fitted mostly on each user's top n items.

    A map that is right on average over all candidates is often wrong at the top, which is what people see. Here the
    pairs beyond the top n keep only a small part of the total weight, enough to hold the low end of the map in place.
    The map is still one increasing function of the score, so the ranking stays. Judge it by ECE@N.

    Parameters
    ----------
    base : Calibrator, optional
        What to fit; Gaussian by default.
    n : int
    rest : float
        Share of the total weight that the pairs beyond the top n keep, strictly between 0 and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users, scores = np.repeat(np.arange(200), 20), rng.normal(size=4_000)
    >>> labels = rng.random(4_000) < 1 / (1 + np.exp(2 - scores))
    >>> calibrator = TopNCalibrator(n=5).fit(scores, labels, users=users)
    >>> bool(np.all(np.diff(calibrator.probability([-1.0, 0.0, 1.0])) > 0))
    True
    """

    family_name: ClassVar[Family] = "map"

    def __init__(self, base: Calibrator | None = None, *, n: int = 10, rest: float = 0.1) -> None:
        self.base = base
        self.n = n
        self.rest = rest

    @property
    def monotone_by_design(self) -> bool:  # type: ignore[override]
        """Whether the fitted map never decreases."""
        return (self.base or GaussianCalibrator()).monotone_by_design

    def score_for(self, probability: float) -> float:
        self.check_fitted()
        return self.base_.score_for(probability)

    def fit_set(self, data: CalibrationSet, *, level: Level | None = None) -> Self:
        """`fit` for a calibration set that knows its users."""
        base: Calibrator = clone(self.base) if self.base is not None else GaussianCalibrator()
        pairs = usable_pairs(data.gather(data.resolve_risk(base.risk)))
        if pairs.users is None:
            raise SettingError("the top n of each user needs users, got none; give users=")
        top = top_n(pairs.users, pairs.scores, self.n)
        weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight.astype(np.float64)
        top_weight, rest_weight = float(weight[top].sum()), float(weight[~top].sum())
        if rest_weight:
            share = check_rate(self.rest, "rest")
            weight = np.where(top, weight, weight * (share / (1 - share) * top_weight / rest_weight))
        self.base_ = base.fit_set(data.with_pairs(pairs.with_weight(weight)), level=level)
        self.applied_level_ = base.applied_level_
        return self._learned(base.estimand_, base.horizon_, base.n_pairs_, base.score_range_)

    def _formula(self) -> Formula | None:
        return self.base_._formula()

    def _log_odds_formula(self) -> Formula | None:
        return self.base_._log_odds_formula()

    def where_taken(self, score: Reference, value: Node) -> Node:
        return self.base_.where_taken(score, value)

    def _where_defined(
        self, score: Reference, formula: Callable[[Node], Node], probability: Callable[[FloatArray], FloatArray]
    ) -> Node:
        return self.base_._where_defined(score, formula, probability)

    def _fit_points(self, points: WeightedScores) -> None:
        raise SettingError("the top n of each user needs users, which a histogram does not keep; fit on pairs")

    def _probability(self, scores: FloatArray) -> FloatArray:
        return self.base_.probability_of(scores, Who(len(scores)))

    def _state(self) -> dict[str, Any]:
        return {"base": self.base_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.base_ = state["base"]
        if not isinstance(self.base_, Calibrator):
            raise TypeError(f"its base is a {type(self.base_).__name__}")
