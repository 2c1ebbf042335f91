"""The forms of PerK: how each gets its probabilities and its expected utility, and how well they are calibrated."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

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
from sureness.list_size import ExpectedUtility, Lists, ListSizePolicy, expected_utility
from sureness.metrics import expected_calibration_error
from sureness.numerics import sigmoid
from sureness.pipeline import ConfidentRecommender, Target
from sureness.sources import fitted_to
from sureness_reproduction.list_size.runs import Opened
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.types import FloatArray, IntArray


@dataclass(frozen=True)
class Form:
    """A way to get probabilities, and how the expected utility is computed from them."""

    calibrator: Callable[[], PerUserCalibrator | Calibrator]
    expected_relevant: Target = "carried"
    terms: int | None = None  # M of the dissertation's approximate utility; None: the exact one
    rescaled: bool = False  # probabilities multiplied as in the notebook of the dissertation

    def policy(self, utility: str, max_size: int) -> ListSizePolicy:
        """Sizes by the expected utility of this form."""
        if self.terms is None:
            return ExpectedUtility(utility, max_size=max_size)
        return Truncated(utility, max_size=max_size, terms=self.terms)


class Truncated(ExpectedUtility):
    """The approximate form with a number of terms."""

    def __init__(self, utility: str, *, min_size: int = 1, max_size: int = 50, terms: int = 2_000) -> None:
        super().__init__(utility, min_size=min_size, max_size=max_size, method="approximate")
        self.terms = terms

    def expected(self, lists: Lists) -> FloatArray:
        return expected_utility(
            np.asarray(lists.probabilities), self.utility, max_size=self.max_size, lengths=lists.lengths,
            tail=lists.tail, method="approximate", terms=self.terms,
        )  # fmt: skip


def published_map() -> PerUserPlatt:
    """A map for each user as the dissertation has it: over all candidates, without a prior."""
    return PerUserPlatt(top=None, unlabelled_positives=False, prior_width=np.inf)


OURS, DEFAULT = "PerK, shrunk line", "PerK, default"
PUBLISHED, NOTEBOOK = "PerK as published", "PerK, notebook"
UNCALIBRATED, GLOBAL, USER_WISE = "uncalibrated", "global", "user-wise"
EXACT, TERMS = "exact", (5, 10, 20, 50, 100, 500, 2_000, 3_000)  # the dissertation has 2,000, its notebook 3,000
FORMS = {
    OURS: Form(PerUserPlatt),
    DEFAULT: Form(PerUserCalibrator),
    PUBLISHED: Form(published_map, "fitted", 2_000),
    NOTEBOOK: Form(published_map, "fitted", 3_000, rescaled=True),
    UNCALIBRATED: Form(SigmoidCalibrator, "fitted"),
    GLOBAL: Form(PlattCalibrator, "fitted"),
    USER_WISE: Form(published_map, "fitted"),
    EXACT: Form(published_map, "fitted"),
    **{f"{terms}": Form(published_map, "fitted", terms) for terms in TERMS},
}
"""A shrunk line for each user, and the library's default, whose shape is learned; the dissertation's maps on all
candidates, as printed and as in its notebook; its ablation, all in one form; its maps with other numbers of terms."""


def form_of(method: str) -> Form:
    """A form by name, or PerK with a map of one's own or of the package; a policy of one's own has the shrunk line."""
    if method in FORMS:
        return FORMS[method]
    if own_policy(method) is not None:
        return FORMS[OURS]
    return Form(load_own(method) if is_own(method) else partial(make_calibrator, method))


def own_policy(method: str) -> type[ListSizePolicy] | None:
    """A policy of one's own by its name, if it is one."""
    found = load_own(method) if is_own(method) else None
    return found if inspect.isclass(found) and issubclass(found, ListSizePolicy) else None


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
    for_all = isinstance(calibrator, Calibrator)
    if for_all:
        calibrator.fit_source(made.source, validation, seen=train)
    recommender = ConfidentRecommender(
        made.source, calibrator, ExpectedUtility(max_size=max_size), expected_relevant=form.expected_relevant
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the kept", SurenessWarning)  # that is what the ablation is about
        return recommender.fit(train, validation, refit=not for_all)


def _rescaled(recommender: ConfidentRecommender, made: Opened, lists: Lists) -> Lists:
    """Probabilities times (sum p + sum p of the validation items) / sum p, at most 1: what the notebook does."""
    held_out, gone = fitted_to(made.source, made.split.validation, "validation"), np.zeros(lists.n_users)
    for block, probabilities in _probabilities(recommender):
        gone[block] = [probabilities[row, held_out.items_of(user)].sum() for row, user in enumerate(block)]
    listed, tail = np.asarray(lists.probabilities), np.asarray(lists.tail)
    left = np.where(np.arange(lists.width) < lists.lengths[:, None], listed, 0.0).sum(axis=1) + tail[:, 0]
    factor = (1 + gone[lists.users] / np.maximum(left, 1e-12))[:, None]
    powers = np.minimum.accumulate(tail * factor ** np.arange(1, tail.shape[1] + 1), axis=1)  # as if none were above 1
    return replace(lists, probabilities=np.minimum(listed * factor, 1.0), tail=powers)


def _probabilities(recommender: ConfidentRecommender) -> Iterator[tuple[IntArray, FloatArray]]:
    """Of all items for blocks of users; a map for the top is asked about all of them here."""
    for block, scores in block_scores(recommender.source, np.arange(recommender.source.n_users)):
        yield block, sigmoid(recommender.mapped_.log_odds(scores, block) + recommender.summaries_.shift[block][:, None])


def calibration_of(fitted: Fitted, test: Interactions) -> dict[str, float]:
    """ECE over all candidates, and over the candidates of the longest lists."""
    lists = fitted.lists
    known = np.arange(lists.width) < lists.lengths[:, None]
    shown = expected_calibration_error(np.asarray(lists.hits)[known], np.asarray(lists.probabilities)[known])
    return {"ece": _of_all(fitted.recommender, test), "ece of the top": float(shown)}


def _of_all(recommender: ConfidentRecommender, test: Interactions, n_bins: int = 15) -> float:
    """ECE over every candidate of every user, block by block."""
    sums, seen, relevant = np.zeros((n_bins, 3)), recommender.seen_, fitted_to(recommender.source, test, "test")
    for block, p in _probabilities(recommender):
        candidate, labels = np.ones(p.shape, dtype=bool), np.zeros(p.shape, dtype=bool)
        for row, user in enumerate(block):
            candidate[row, seen.items_of(user)] = False
            labels[row, relevant.items_of(user)] = True
        bins = np.minimum((p[candidate] * n_bins).astype(np.int64), n_bins - 1)
        for column, weights in enumerate((None, p[candidate], labels[candidate])):
            sums[:, column] += np.bincount(bins, weights, n_bins)
    return float(np.abs(sums[:, 1] - sums[:, 2]).sum() / sums[:, 0].sum())
