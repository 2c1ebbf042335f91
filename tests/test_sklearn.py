"""The meta-estimator in scikit-learn's own world."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import sureness as sn
from sureness.calibration import make_calibrator
from sureness.sklearn import CalibratedClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning", "ignore::FutureWarning")


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([CalibratedClassifier()])
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    features, y = make_classification(4_000, n_informative=5, flip_y=0.2, random_state=0)
    return features[:2_000], y[:2_000], features[2_000:], y[2_000:]


@pytest.mark.parametrize("base", [GaussianNB(), LinearSVC(), RandomForestClassifier(30, random_state=0)], ids=repr)
@pytest.mark.parametrize("name", ["platt", "beta", "gaussian", "shape"])
def test_it_is_as_good_as_that_of_scikit_learn(base, name, data):
    features, y, new, came = data
    ours = CalibratedClassifier(base, calibrator=make_calibrator(name)).fit(features, y)
    theirs = CalibratedClassifierCV(base, ensemble=False).fit(features, y)
    assert log_loss(came, ours.predict_proba(new)) < log_loss(came, theirs.predict_proba(new)) * 1.06
    assert ours.score(new, came) > 0.7


def test_it_works_in_pipelines_with_pandas_grids_and_frozen_estimators(data):
    features, y, new, came = data
    frame = pd.DataFrame(features, columns=[f"feature {number}" for number in range(features.shape[1])])
    pipeline = make_pipeline(StandardScaler(), CalibratedClassifier(LogisticRegression())).set_output(
        transform="pandas"
    )
    labels = np.where(y == 1, "taken", "left")
    pipeline.fit(frame, labels)
    assert list(pipeline[-1].feature_names_in_) == list(frame.columns)
    assert pipeline.predict_proba(frame).shape == (2_000, 2)
    assert set(pipeline.predict(frame)) == {"taken", "left"}
    frozen = FrozenEstimator(GaussianNB().fit(features[:1_000], y[:1_000]))
    calibrated = CalibratedClassifier(frozen).fit(features[1_000:], y[1_000:])
    assert calibrated.estimator_ is frozen
    assert log_loss(came, calibrated.predict_proba(new)) < log_loss(came, frozen.predict_proba(new))
    grid = GridSearchCV(
        CalibratedClassifier(GaussianNB(), calibrator=sn.PlattCalibrator()),
        {"calibrator__scores_are": ["probabilities", "scores"]}, scoring="neg_log_loss", cv=3,
    )  # fmt: skip
    assert grid.fit(features, y).best_score_ > -0.6
    assert clone(calibrated).get_params()["cv"] == 5


def test_several_classes_sum_to_one_and_groups_stay_together():
    features, y = make_classification(1_500, n_informative=6, n_classes=3, flip_y=0.2, random_state=0)
    fitted = CalibratedClassifier(GaussianNB()).fit(features, y, groups=np.arange(1_500) // 3)
    assert len(fitted.calibrators_) == 3
    np.testing.assert_allclose(fitted.predict_proba(features).sum(axis=1), 1)


def test_labels_that_scores_separate_are_smoothed():
    features, y = np.linspace(-1, 1, 100)[:, None], np.arange(100) >= 50
    found = CalibratedClassifier(LogisticRegression()).fit(features, y).predict_proba(features)[:, 1]
    assert 0 < found[0] < 0.1 < 0.9 < found[-1] < 1
