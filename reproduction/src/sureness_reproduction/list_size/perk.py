"""The forms of PerK: how each gets its probabilities and its expected utility, and how well they are calibrated."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sureness as sn
from sureness.calibration import SigmoidCalibrator
from sureness.data import Interactions
from sureness.lists import ExpectedUtility, Lists, ListSizePolicy
from sureness.metrics import METRICS, Judged, cell_sums, expected_calibration_error
from sureness.numerics import once_gone, sigmoid, top_k
from sureness.recommender import ConfidentRecommender, Target
from sureness.sources import block_scores, fitted_to
from sureness_reproduction.list_size.approximate import ApproximateUtility
from sureness_reproduction.list_size.runs import Opened
from sureness_reproduction.own import is_own, kind_of, load_own


@dataclass(frozen=True)
class Form:
    """A way to get probabilities, and how the expected utility is computed from them."""

    calibrator: Callable[[], Any]  # for all users or for each; None: the default of the library
    expected_relevant: Target = "carried"
    terms: int | None = None  # M of the dissertation's approximate utility; None: the exact one
    rescaled: bool = False  # probabilities multiplied as in the notebook of the dissertation
    own: Any = None  # a user's own policy class, instead of the expected utility

    def policy(self, utility: str, max_size: int, before: Lists | None = None) -> ListSizePolicy:
        """Sizes by the expected utility, or a user's own policy with as much as it takes, fitted to past lists."""
        given: dict[str, Any] = {"utility": utility, "max_size": max_size}
        if self.own is not None:
            takes = inspect.signature(self.own).parameters
            policy: ListSizePolicy = self.own(**{name: given[name] for name in given if name in takes})
            return policy if before is None else policy.fit(before)
        if self.terms is not None:
            return ApproximateUtility(**given, terms=self.terms)
        return ExpectedUtility(**given)


OURS, DEFAULT = "PerK, shrunk line", "PerK, default"
PUBLISHED, NOTEBOOK = "PerK as published", "PerK, notebook"
_EACH = partial(sn.calibration.PerUserPlatt, prior_width=np.inf)
"""A map for each user as the dissertation has it: over all candidates, without a prior."""

FORMS = {
    OURS: Form(sn.calibration.PerUserPlatt),
    DEFAULT: Form(lambda: None),
    PUBLISHED: Form(_EACH, "fitted", 2_000),
    NOTEBOOK: Form(_EACH, "fitted", 3_000, rescaled=True),
    "uncalibrated": Form(SigmoidCalibrator, "fitted"),
    "global": Form(partial(sn.PlattCalibrator, scores_are="scores"), "fitted"),
    "user-wise": Form(_EACH, "fitted"),
    "exact": Form(_EACH, "fitted"),
}
"""A line for each user shrunk to that of all, and the library's default; the dissertation's maps, each user alone, as
printed (M = 2,000) and as in its notebook (3,000); its ablation, all in one form."""


def form_of(method: str) -> Form:
    """A form by name, or PerK with a user's own map or of the package; a user's own policy has the shrunk line.

    A number is the M of the approximate utility, with the maps of the dissertation.
    """
    if method in FORMS:
        return FORMS[method]
    if method.isdecimal():
        return Form(_EACH, "fitted", int(method))
    if kind_of(method) == "policy":
        return Form(sn.calibration.PerUserPlatt, own=load_own(method))
    return Form(
        load_own(method) if is_own(method) else partial(sn.calibration.make_calibrator, method, scores_are="scores")
    )


class Fitted(NamedTuple):
    """A form of PerK with the lists that the test judges."""

    method: str
    form: Form
    recommender: ConfidentRecommender
    lists: Lists


def fitted_forms(made: Opened, methods: Iterable[str], max_size: int) -> Iterator[Fitted]:
    """Fit the forms one after the other on the validation part; forms with the same maps share them."""
    known: dict[object, ConfidentRecommender] = {}
    for method in methods:
        form = form_of(method)
        maps = (form.calibrator, form.expected_relevant)
        if maps not in known:
            known = {maps: _recommender(made, form, max_size)}
        lists = known[maps].lists(labels=made.split.test)
        yield Fitted(method, form, known[maps], _rescaled(known[maps], made, lists) if form.rescaled else lists)


def _recommender(made: Opened, form: Form, max_size: int) -> ConfidentRecommender:
    """The fitted recommender of a form; a calibrator for all users is fitted on all candidates, as published."""
    calibrator, train, validation = form.calibrator(), made.split.train, made.split.validation
    for_all = isinstance(calibrator, sn.calibration.Calibrator)
    if for_all:
        calibrator.fit_source(made.source, validation, seen=train)
    recommender = ConfidentRecommender(
        made.source, calibrator, ExpectedUtility(max_size=max_size), expected_relevant=form.expected_relevant
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the kept", sn.errors.SurenessWarning)  # that is what the ablation is about
        return recommender.fit(train, validation, refit=not for_all)


def _rescaled(recommender: ConfidentRecommender, made: Opened, lists: Lists) -> Lists:
    """Probabilities times (sum p + sum p of the validation items) / sum p, at most 1: what the notebook does."""
    held_out, seen = fitted_to(made.source, made.split.validation, "validation"), recommender.seen_
    gone, left = np.zeros((2, lists.n_users))
    for block, every in _probabilities(recommender):
        gone[block] = [every[row, held_out.items_of(user)].sum() for row, user in enumerate(block)]
        left[block] = [every[row].sum() - every[row, seen.items_of(user)].sum() for row, user in enumerate(block)]
    listed, tail = np.asarray(lists.probabilities), np.asarray(lists.tail)
    factor = (1 + gone / np.maximum(left, 1e-12))[lists.users, None]
    powers = np.minimum.accumulate(tail * factor ** np.arange(1, tail.shape[1] + 1), axis=1)  # as if none were above 1
    return replace(lists, probabilities=np.minimum(listed * factor, 1.0), tail=powers)


def _probabilities(recommender: ConfidentRecommender) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Of all items for blocks of users, when lists are made; a map for the top is asked about all of them here."""
    source, mapped, trained = recommender.source, recommender.chances_.mapped, recommender.trained_
    as_fitted = recommender.expected_relevant == "fitted" or recommender.map_.horizon_.period is not None
    for block, scores in block_scores(source, np.arange(source.n_users)):
        seen = {} if trained is None else {"rows": block, "starts": trained.row_starts, "seen": trained.item_rows}
        _, best = top_k(scores.copy(), recommender.chances_.best, **seen)
        items = np.broadcast_to(np.arange(source.n_items), scores.shape)
        log_odds = mapped.log_odds(scores, block, items, best, mapped.histories(block))
        yield block, sigmoid(log_odds) if as_fitted else once_gone(log_odds)


def calibration_of(fitted: Fitted, test: Interactions) -> dict[str, float]:
    """ECE over every candidate of every user, and over the candidates of the longest lists."""
    lists, sums, seen = fitted.lists, np.zeros((15, 4)), fitted.recommender.seen_.matrix
    relevant = fitted_to(fitted.recommender.source, test, "test").matrix
    for block, p in _probabilities(fitted.recommender):
        candidate, labels = seen[block].toarray() == 0, relevant[block].toarray() > 0
        judged = Judged(labels[candidate], p[candidate], None)
        sums += cell_sums(METRICS["ece"].cells(judged, len(sums)), None)
    known = np.arange(lists.width) < lists.lengths[:, None]
    shown = expected_calibration_error(np.asarray(lists.hits)[known], np.asarray(lists.probabilities)[known])
    return {"ece": float(METRICS["ece"].finish(sums)), "ece of the top": float(shown)}
