"""scikit-learn's own estimator checks, for every calibrator; checks that do not apply are named with their reason."""

from __future__ import annotations

import pickle
from contextlib import suppress
from unittest import SkipTest

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.base import clone as sklearn_clone
from sklearn.utils import ClassifierTags, estimator_checks

import sureness as sn
from sureness._settings import clone
from sureness.calibration import all_calibrators

if not hasattr(estimator_checks, "estimator_checks_generator"):
    pytest.skip("scikit-learn 1.6 or later lists its checks", allow_module_level=True)

# scikit-learn draws small sets whose scores may separate the classes or rank the wrong way; other tests look at that
pytestmark = pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning", "ignore::FutureWarning")

EVERY = {type(calibrator).__name__: calibrator for calibrator in all_calibrators()}
every = pytest.mark.parametrize("calibrator", EVERY.values(), ids=EVERY)

WITHOUT_DATA = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
)

_COLUMNS = "a calibrator takes scores in one dimension, so columns are an affair of the adapter"
_WORDS = "the data are refused as asked, but the check wants scikit-learn's own words"
_CLASSES = "a calibrator gives probabilities of labels 0 and 1, not predicted classes"
EXCEPTIONS = {
    "check_array_api_input": "arrays of other libraries are converted to numpy",
    "check_classifier_not_supporting_multiclass": _CLASSES,
    "check_classifiers_regression_target": _CLASSES,
    "check_classifiers_train": _CLASSES,
    "check_complex_data": _WORDS,
    "check_dtype_object": "arrays of Python objects are refused, not guessed at",
    "check_estimator_sparse_array": _COLUMNS,
    "check_estimator_sparse_matrix": _COLUMNS,
    "check_estimator_sparse_tag": _COLUMNS,
    "check_estimators_empty_data_messages": _COLUMNS,
    "check_estimators_unfitted": "the error is our own, so that nothing imports scikit-learn to raise it",
    "check_fit1d": _COLUMNS,
    "check_fit2d_1sample": _WORDS,
    "check_fit2d_predict1d": _COLUMNS,
    "check_n_features_in_after_fitting": _COLUMNS,
    "check_requires_y_none": _WORDS,
    "check_supervised_y_2d": "labels in two dimensions are refused, not flattened with a warning",
}
"""Checks of scikit-learn that do not apply, and why."""


class OnColumns(BaseEstimator):
    """A calibrator of the sum of columns, in the shape that scikit-learn's checks need; checks nothing itself."""

    def __init__(self, calibrator=None):
        self.calibrator = calibrator

    def fit(self, X, y=None, sample_weight=None):  # noqa: N803
        self.n_features_in_ = np.asarray(X).shape[1]
        self.classes_, labels = (None, None) if y is None else np.unique(np.asarray(y), return_inverse=True)
        self.calibrator_ = clone(self.calibrator).fit(scores_of(X), labels, sample_weight=sample_weight)
        return self

    def predict_proba(self, X):  # noqa: N803
        positive = getattr(self, "calibrator_", self.calibrator).probability(scores_of(X))
        return np.c_[1 - positive, positive]

    def predict(self, X):  # noqa: N803
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = "classifier", True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def scores_of(X):  # noqa: N803
    """Scores that do not separate the classes, which parametric maps would refuse."""
    with np.errstate(invalid="ignore"):
        return np.cos(5 * np.asarray(X).sum(axis=1))


def checks_of(calibrator):
    """Every check that scikit-learn makes of such an estimator, by name; some are made several times."""
    return [(check.func.__name__, check) for _, check in estimator_checks.estimator_checks_generator(calibrator)]


ON_COLUMNS = {(name, number): check for number, (name, check) in enumerate(checks_of(OnColumns(sn.PlattCalibrator())))}
APPLYING = {f"{name}-{number}": check for (name, number), check in ON_COLUMNS.items() if name not in EXCEPTIONS}
FAILING = {f"{name}-{number}": check for (name, number), check in ON_COLUMNS.items() if name in EXCEPTIONS}


@every
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_checks_without_data_pass_on_the_calibrator_itself(calibrator, name):
    getattr(estimator_checks, name)(type(calibrator).__name__, clone(calibrator))


@every
def test_checks_with_data_pass_on_columns(calibrator):
    for check in APPLYING.values():
        with suppress(SkipTest):  # of checks that need a library which is not there
            check(OnColumns(clone(calibrator)))


@pytest.mark.parametrize("check", FAILING.values(), ids=FAILING)
def test_no_exception_is_named_in_vain(check):
    with pytest.raises((AssertionError, ValueError, TypeError, IndexError, SkipTest)):
        check(OnColumns(sn.PlattCalibrator()))


def test_most_checks_apply():
    assert {name for name, _ in ON_COLUMNS} >= set(EXCEPTIONS)
    assert len(APPLYING) > 35


@every
def test_pickles_copies_and_clones_of_scikit_learn(calibrator, pairs):
    fitted = clone(calibrator).fit(*pairs)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.probability(pairs[0]), fitted.probability(pairs[0]))
    fresh = sklearn_clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "estimand_")


@every
def test_read_only_memory_maps_are_scores_too(calibrator, pairs, tmp_path):
    mapped = []
    for number, values in enumerate(pairs):
        np.save(tmp_path / f"{number}.npy", values)
        mapped.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    found = clone(calibrator).fit(*mapped).probability(mapped[0])
    assert_array_equal(found, clone(calibrator).fit(*pairs).probability(pairs[0]))


@every
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([0j, 1 + 1j, 2j], [0, 1, 0]),
        (np.array([0.0, "one", 2.0], dtype=object), [0, 1, 0]),
        ([[0.0], [1.0], [2.0]], [0, 1, 0]),
        ([0.0, 1.0, 2.0], [[0], [1], [0]]),
        ([0.0, 1.0, 2.0], [0, 1, 2]),
        ([0.0, 1.0, 2.0], [0.1, 0.7, 0.2]),
        ([0.0], [1]),
        ([0.0, 1.0, 2.0], None),
    ],
    ids=["complex", "objects", "columns", "columns of labels", "classes", "continuous", "one pair", "no labels"],
)
def test_what_the_exceptions_are_about_is_refused_in_our_words(calibrator, scores, labels):
    with pytest.raises(sn.errors.DataError):
        clone(calibrator).fit(scores, labels)
