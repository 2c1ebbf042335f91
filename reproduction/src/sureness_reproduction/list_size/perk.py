"""The forms of PerK, and how well their probabilities are calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sureness.calibration import (
    Calibrator,
    PerUserCalibrator,
    PerUserPlatt,
    PlattCalibrator,
    SigmoidCalibrator,
    make_calibrator,
)
from sureness.data import Interactions
from sureness.errors import SurenessWarning
from sureness.evaluation import block_scores
from sureness.list_size import ExpectedUtility, Lists
from sureness.metrics import expected_calibration_error
from sureness.numerics import sigmoid
from sureness.pipeline import ConfidentRecommender, Run, Target
from sureness.sources import fitted_to
from sureness_reproduction.own import is_own, load_own


@dataclass(frozen=True)
class Form:
    """A way to get probabilities, and how the expected utility is computed from them."""

    calibrator: Callable[[], PerUserCalibrator | Calibrator]
    expected_relevant: Target = "carried"
    method: Literal["exact", "approximate"] = "exact"


def published_map() -> PerUserPlatt:
    """A map for each user as the dissertation has it: over all candidates, without a prior."""
    return PerUserPlatt(top=None, unlabelled_positives=False, prior_width=np.inf)


OURS, PUBLISHED, GLOBAL, UNCALIBRATED = "PerK, shrunk line", "PerK as published", "PerK, one map", "PerK, uncalibrated"
FORMS = {
    OURS: Form(PerUserPlatt),
    PUBLISHED: Form(published_map, "fitted", "approximate"),
    GLOBAL: Form(PlattCalibrator, "fitted"),
    UNCALIBRATED: Form(SigmoidCalibrator, "fitted"),
}
"""A shrunk line for each user; the dissertation's map for each user on all its candidates; the two baselines of its
ablation, which are fitted on all candidates too."""


def form_of(method: str) -> Form:
    """A form by name, or PerK with a map of one's own or of the package."""
    if method in FORMS:
        return FORMS[method]
    return Form(load_own(method) if is_own(method) else partial(make_calibrator, method))


def recommender_of(run: Run, form: Form, max_size: int) -> ConfidentRecommender:
    """The fitted recommender of a form; a calibrator for all users is fitted on all candidates, as published."""
    calibrator, train, validation = form.calibrator(), run.train, run.validation
    assert validation is not None
    for_all = isinstance(calibrator, Calibrator)
    if for_all:
        calibrator.fit_source(run.source, validation, seen=train)
    recommender = ConfidentRecommender(
        run.source, calibrator, ExpectedUtility(max_size=max_size), expected_relevant=form.expected_relevant
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the kept", SurenessWarning)  # that is what the ablation is about
        return recommender.fit(train, validation, refit=not for_all)


def calibration_of(recommender: ConfidentRecommender, test: Interactions, lists: Lists) -> dict[str, float]:
    """ECE over all candidates, and over the candidates of the longest lists."""
    hits, probabilities = np.asarray(lists.hits), np.asarray(lists.probabilities)
    known = np.arange(lists.width) < lists.lengths[:, None]
    shown = expected_calibration_error(hits[known], probabilities[known])
    return {"ece": _of_all(recommender, fitted_to(recommender.source, test, "test")), "ece of the top": float(shown)}


def _of_all(recommender: ConfidentRecommender, test: Interactions, n_bins: int = 15) -> float:
    """ECE over every candidate of every user, block by block; a map for the top is asked about all of them here."""
    sums = np.zeros((n_bins, 3))
    seen = recommender.seen_
    for block, scores in block_scores(recommender.source, np.arange(recommender.source.n_users)):
        z = recommender.mapped_.log_odds(scores, block) + recommender.summaries_.shift[block][:, None]
        p = sigmoid(z)
        candidate = np.ones(p.shape, dtype=bool)
        labels = np.zeros(p.shape, dtype=bool)
        for row, user in enumerate(block):
            candidate[row, seen.items_of(user)] = False
            labels[row, test.items_of(user)] = True
        bins = np.minimum((p[candidate] * n_bins).astype(np.int64), n_bins - 1)
        for column, weights in enumerate((None, p[candidate], labels[candidate])):
            sums[:, column] += np.bincount(bins, weights, n_bins)
    return float(np.abs(sums[:, 1] - sums[:, 2]).sum() / sums[:, 0].sum())
