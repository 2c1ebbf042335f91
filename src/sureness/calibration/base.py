"""The contract of every calibrator: `fit`, `probability`, and the same manners as scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import Estimand, FloatArray, Risk
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate, level_from_anchor
from sureness.errors import DataError, NotFittedError
from sureness.numerics.checks import check_scores
from sureness.numerics.histogram import ScoreHistogram, WeightedScores, require_both_classes
from sureness.propensity.base import check_effective_sample_size


class Calibrator(Configurable, ABC):
    """Turns ranking scores into probabilities.

    A subclass stores its settings, learns from weighted scores in `_fit_points`, and maps scores in `_probability`.
    Learned values end in an underscore: ``estimand_`` says what the probabilities estimate, ``n_pairs_`` on how many
    pairs they were fitted, ``score_range_`` on which scores.
    """

    monotone_by_design: ClassVar[bool] = True
    """Whether the fitted map never decreases."""

    exact_pairs: ClassVar[int] = 20_000
    """Up to so many pairs the fit uses every pair; beyond, the bins of a histogram."""

    risk: Risk | None = None

    def fit(
        self,
        scores: ArrayLike | CalibrationSet | ScoreHistogram,
        labels: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,), CalibrationSet or ScoreHistogram
            Scores, or an object that already holds scores and labels.
        labels : array-like of shape (n_pairs,), optional
            0 or 1; needed with plain scores.
        sample_weight : array-like of shape (n_pairs,), optional
        propensity : array-like of shape (n_pairs,), optional
            Chance that the pair was seen; with it the probabilities estimate preference, not interaction. A label of 0
            then means not seen *or* not liked, over all candidates. In a log of impressions alone, where every pair
            was seen, give ``sample_weight=1 / propensity`` instead.
        users : array-like of shape (n_pairs,), optional
            Needed only by calibrators that look at each user's top items.

        Returns
        -------
        self
        """
        if isinstance(scores, ScoreHistogram):
            _refuse_extra(labels, sample_weight, propensity, users)
            return self._learn(scores.points(), scores.estimand)._corrected(UNCHANGED)
        if isinstance(scores, CalibrationSet):
            _refuse_extra(labels, sample_weight, propensity, users)
            return self.fit_set(scores)
        if labels is None:
            raise DataError("fit needs labels beside the scores, got none; give labels of 0 and 1")
        return self.fit_set(
            CalibrationSet.from_pairs(scores, labels, sample_weight=sample_weight, propensity=propensity, users=users)
        )

    def fit_set(self, data: CalibrationSet, *, level: Level | None = None) -> Self:
        """`fit` for a calibration set; a known correction of level and slope replaces that of the set."""
        risk = data.resolve_risk(self.risk)
        points = data.points(risk, exact_pairs=self.exact_pairs)
        if risk != "naive":
            check_effective_sample_size(points.effective_positives, points.n_positive)
        estimand: Estimand = "interaction" if risk == "naive" and not data.level_is_known else data.estimand
        self._learn(points, estimand)
        return self._corrected(self._level(points, data) if level is None else level)

    def probability(self, scores: ArrayLike) -> FloatArray:
        """Probabilities of scores, in the same order; shape (n_pairs,)."""
        self._check_fitted()
        if np.size(scores) == 0:
            return np.empty(0)
        return self._probability(check_scores(scores).astype(np.float64, copy=False))

    @overload
    def expression(self, kind: Literal["polars"], column: str = ...) -> pl.Expr: ...
    @overload
    def expression(self, kind: Literal["sql"], column: str = ...) -> str: ...
    def expression(self, kind: Literal["polars", "sql"], column: str = "score") -> pl.Expr | str:
        """The map as one polars or SQL expression of a column of scores; closed-form maps only."""
        raise DataError(
            f"{type(self).__name__} has no closed form, so it has no {kind} expression; "
            "use probability(), or a parametric calibrator"
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted calibrator to a JSON file; `sureness.load` reads it back."""
        from sureness.calibration.saving import save_calibrator

        save_calibrator(self, path)

    # --- what subclasses fill in ------------------------------------------------------------------------------------

    @abstractmethod
    def _fit_points(self, points: WeightedScores) -> None:
        """Learn from weighted scores; both classes are there and the scores differ."""

    @abstractmethod
    def _probability(self, scores: FloatArray) -> FloatArray:
        """Map checked float64 scores."""

    def _adjust(self, level: Level) -> None:
        """Take over a correction of level and slope; references that are not calibrated ignore it."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Learned values as plain numbers, lists and dictionaries."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Take over what `_state` returned."""

    # --- shared -----------------------------------------------------------------------------------------------------

    def _learn(self, points: WeightedScores, estimand: Estimand) -> Self:
        require_both_classes(points)
        self._fit_points(points)
        self.estimand_: Estimand = estimand
        self.n_pairs_: int = points.n_pairs
        self.score_range_: tuple[float, float] = (points.minimum, points.maximum)
        return self

    def _corrected(self, level: Level) -> Self:
        self.applied_level_: Level = level
        if level != UNCHANGED:
            self._adjust(level)
        return self

    def _level(self, points: WeightedScores, data: CalibrationSet) -> Level:
        if data.anchor is not None:
            anchor = data.anchor
            return level_from_anchor(
                self._probability(anchor.scores.astype(np.float64)), anchor.labels.astype(np.float64), anchor.weight,
                points, self._probability(points.scores),
            )  # fmt: skip
        if data.base_rate is not None:
            return level_for_base_rate(self._probability(points.scores), points.weight, data.base_rate)
        return UNCHANGED

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimand_"):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit(scores, labels) first")


def _refuse_extra(*extra: object) -> None:
    if any(value is not None for value in extra):
        raise DataError("a calibration set or histogram already holds labels, weights and propensities; give it alone")
