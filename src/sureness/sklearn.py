"""A meta-estimator of scikit-learn that calibrates any classifier with the calibrators of sureness."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, check_cv, cross_val_predict
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from sureness._types import AnyArray, FloatArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.families import ScoreRange
from sureness.calibration.maps import Who
from sureness.calibration.parametric import PlattCalibrator
from sureness.errors import NoMinimumError, SurenessWarning
from sureness.numerics.logistic import logit


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are calibrated on folds that it was not trained on.

    The estimator is trained on all data; its calibrator on what it predicts of each fold when trained on the others. An
    estimator in a ``FrozenEstimator`` is not trained again: all data calibrate it. With more than two classes each has
    a map of its own, and the probabilities of a row are divided by their sum.

    Parameters
    ----------
    estimator : classifier, optional
        `LogisticRegression` by default.
    calibrator : Calibrator, optional
        `PlattCalibrator` by default. It gets the estimator's ``decision_function``, or else its probabilities, which a
        calibrator with ``scores_are=None`` takes as they are or as log-odds, whichever explains the labels better.
    cv : int, or splitter of scikit-learn
        Folds; with ``fit(groups=)`` groups are not split.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimator_ : classifier
    calibrators_ : list of Calibrator
        One for two classes, else one for each class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(2_000, flip_y=0.3, random_state=0)
    >>> calibrated = CalibratedClassifier(GaussianNB()).fit(X, y)
    >>> bool(abs(calibrated.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02)
    True
    """

    def __init__(self, estimator: Any = None, *, calibrator: Calibrator | None = None, cv: Any = 5) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:  # noqa: N803
        """Train the estimator and calibrate it.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
        groups : array-like of shape (n_rows,), optional
            Such as queries or users, which are not split between folds.
        """
        check_classification_targets(y)
        X, y = indexable(X, column_or_1d(y, warn=True))  # noqa: N806
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        base = LogisticRegression() if self.estimator is None else self.estimator
        labels = np.asarray(y)
        frozen = type(base).__name__ == "FrozenEstimator"
        passed = {} if weight is None or not has_fit_parameter(base, "sample_weight") else {"sample_weight": weight}
        if frozen:
            self.estimator_ = base
        else:
            self.estimator_ = clone(base).fit(X, y, **passed)
        self.classes_: AnyArray = self.estimator_.classes_
        if len(self.classes_) < 2:
            raise ValueError("a classifier is calibrated on at least two classes, got one class; add rows of another")
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._method = "decision_function" if hasattr(self.estimator_, "decision_function") else "predict_proba"
        if frozen:
            predicted = self._scores(X)
        else:
            folds = self.cv
            if groups is not None and isinstance(folds, int):
                folds = StratifiedGroupKFold(folds)
            predicted = cross_val_predict(
                base, X, y, cv=check_cv(folds, y, classifier=True), method=self._method, groups=groups, params=passed
            )
            predicted = self._columns(predicted)
        self.calibrators_ = [
            self._calibrated(scores, labels == label, weight)
            for scores, label in zip(predicted.T, self.classes_[-predicted.shape[1] :], strict=True)
        ]
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Probabilities of all classes, shape (n_rows, n_classes)."""
        check_is_fitted(self)
        scores = self._scores(X)
        found = np.stack(
            [
                each.probability_of(column, Who(len(column)))
                for each, column in zip(self.calibrators_, scores.T, strict=True)
            ],
            axis=1,
        )
        if found.shape[1] == 1:
            return np.concatenate([1 - found, found], axis=1)
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1 / found.shape[1])

    def predict(self, X: Any) -> AnyArray:  # noqa: N803
        """The most likely class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803
        return self._columns(getattr(self.estimator_, self._method)(X))

    def _columns(self, predicted: AnyArray) -> FloatArray:
        """One column for each calibrator: that of the second of two classes, or all."""
        values = np.asarray(predicted, dtype=np.float64)
        if values.ndim == 1:
            return values[:, None]
        return values[:, 1:] if values.shape[1] == 2 else values

    def _calibrated(self, scores: FloatArray, labels: AnyArray, weight: FloatArray | None) -> Calibrator:
        """A fitted calibrator; labels that the scores separate are smoothed, as Platt did."""
        calibrator: Calibrator = clone(PlattCalibrator() if self.calibrator is None else self.calibrator)
        weight = np.ones(len(scores)) if weight is None else weight
        if np.ptp(scores[weight > 0]) == 0:
            rate = (weight @ labels + 1) / (weight.sum() + 2)
            return _constant(float(rate), len(scores))
        try:
            with warnings.catch_warnings():
                if self._method == "predict_proba":  # which may lie between 0 and 1
                    warnings.filterwarnings("ignore", "all .* scores lie between 0 and 1", SurenessWarning)
                return calibrator.fit(scores, labels, sample_weight=weight)
        except NoMinimumError:
            positive, negative = weight @ labels, weight @ ~labels
            target = np.where(labels, (positive + 1) / (positive + 2), 1 / (negative + 2))
            twice = CalibrationSet.from_pairs(
                np.tile(scores, 2), np.repeat([True, False], len(scores)),
                sample_weight=np.concatenate([weight * target, weight * (1 - target)]),
            )  # fmt: skip
            return calibrator.fit(twice)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(LogisticRegression() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = base.input_tags.sparse
        return tags


def _constant(rate: float, n_pairs: int) -> Calibrator:
    fitted = PlattCalibrator.of_coefficients(float(logit(np.array(rate))), np.zeros(1), ScoreRange(-1.0, 1.0))
    return fitted._learned("interaction", CalibrationSet.from_pairs([0.0], [1]).horizon, n_pairs, (-1.0, 1.0))
