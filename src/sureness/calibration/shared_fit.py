"""Fit one calibrator to the candidates of many users, each of whom has a level of their own.

The candidates hold the relevant items of the next period, labelled 0 although they are just like the held-out ones. So
the held-out items stand for them, and the odds of a score are the number of held-out items over that of candidates that
are *not* relevant in the next period. Which candidates are not is what the fit says, so it is repeated a few times. In
the same way a candidate of a user whose odds are twice as high counts twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sureness._settings import clone
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.behind import curve_behind, some_of
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.candidates import CandidateBlock, RankedBlock
from sureness.calibration.maps import Segments, Who
from sureness.calibration.multi_segment import MultiSegmentCalibrator
from sureness.calibration.pair_fields import Fields
from sureness.calibration.per_segment import SegmentCalibrator
from sureness.errors import SurenessWarning
from sureness.numerics.gains import log_odds_shifts, shift_log_odds
from sureness.numerics.logistic import fit_logistic, logit, sigmoid
from sureness.numerics.rising_curve import RisingCurve

Shareable = Calibrator | SegmentCalibrator | MultiSegmentCalibrator
"""Calibrators that look at scores and perhaps at segments, but not at users."""

_ROUNDS = 8
_DONE = 1e-3  # change of a probability
_LIKELIEST = 0.99  # so that no candidate stops counting
_SAME = 1e-6  # of the logarithms of numbers that are expected: there is no trend to see
_SUREST = 15.0  # log-odds that a curve goes on from
_FLATTEST = 0.05  # change of the log-odds over a standard deviation
_LEAST, _MOST = 1e-4, 0.95  # share of the candidates that may be expected to be relevant


@dataclass(frozen=True, eq=False)
class SharedFit:
    """The best candidates of some users, and how many of them are expected to be relevant in the next period."""

    block: RankedBlock
    wanted: FloatArray  # (n,)
    segments: Segments | Fields | None = None

    @cached_property
    def open(self) -> BoolArray:
        """Which candidates remain once the held-out items are gone; shape (n, top)."""
        return self.block.there & ~self.block.hits

    def calibrator(self, base: Shareable) -> Shareable:
        """The calibrator of standardised scores that gives the odds of the next period, for a user of level 0."""
        fitted = self._fitted(base, np.ones(self.block.items.shape))
        held_out = np.minimum(self.chance(fitted), _LIKELIEST)
        chance: FloatArray = held_out / (1.0 - held_out)  # the odds of having been held out
        before: FloatArray = np.zeros(self.block.items.shape)
        for _ in range(_ROUNDS):
            chance = np.minimum(chance, _LIKELIEST)
            level = self.levels(chance)
            relevant = shift_log_odds(chance, level)
            if np.abs(relevant - before).max() < _DONE:
                break
            fitted = self._again(base, np.where(self.block.hits, 1.0, np.exp(level)[:, None] * (1.0 - relevant)))
            chance, before = self.chance(fitted), relevant
        return fitted

    def _again(self, base: Shareable, weight: FloatArray) -> Shareable:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # the first fit said it
            return self._fitted(base, weight)

    def _fitted(self, base: Shareable, weight: FloatArray) -> Shareable:
        there, block = self.block.there, self.block
        scores, labels, users = block.standardised[there], block.hits[there], np.nonzero(there)[0]
        unfitted = clone(base)
        if isinstance(unfitted, Calibrator):
            return unfitted.fit_set(CalibrationSet.from_pairs(scores, labels, sample_weight=weight[there], users=users))
        return unfitted.fit(scores, labels, segments=self._told, sample_weight=weight[there], users=users)

    def chance(self, fitted: Shareable, standardised: FloatArray | None = None) -> FloatArray:
        """What a calibrator says of the candidates, or of other scores of them, 0 where there is none; (n, top)."""
        block = self.block
        numbers = None if self.segments is None else fitted.pair_numbers(self.segments)
        segments = None if numbers is None else numbers.of_rows(block.users, block.items)
        scores = block.standardised if standardised is None else standardised
        found = fitted.probability_of(scores, Who(len(block.users), segments=segments))
        return np.where(block.there, found, 0.0)

    def levels(self, chance: FloatArray) -> FloatArray:
        """What to add to each user's log-odds so that as many remaining candidates are relevant as expected."""
        remaining = np.where(self.open, chance, 0.0)
        certain, possible = (remaining == 1).sum(axis=1), (remaining > 0).sum(axis=1)
        room = possible - certain
        wanted = np.clip(self.wanted, certain + _LEAST * room, certain + _MOST * room)
        return log_odds_shifts(remaining, np.zeros(len(wanted)), np.where(room > 0, wanted, np.nan))

    def curve_behind(self, fitted: Shareable, behind: Callable[[IntArray], CandidateBlock]) -> RisingCurve | None:
        """How log-odds fall behind the best candidates; None if too few held-out items lie there.

        What lies behind is known in bins of scores, without items, so it goes on from the mean of the segments of the
        user's best candidates.
        """
        places = some_of(len(self.block.users))
        some = self if places is None else replace(self, block=self.block.take(places), wanted=self.wanted[places])
        there, standardised = some.block.there, some.block.standardised
        at_last = some.chance(fitted, np.broadcast_to(some.block.last[:, None], standardised.shape))
        level = some.levels(some.chance(fitted))
        begin = _bounded_logit(at_last.sum(axis=1) / np.maximum(there.sum(axis=1), 1))
        first = _bounded_logit(some.chance(fitted)[:, 0])
        slope = (first - begin).sum() / max((standardised[:, 0] - some.block.last).sum(), 1e-9)
        return curve_behind(behind, some.block, begin + level, max(slope, _FLATTEST), unlabelled_positives=True)

    @cached_property
    def _told(self) -> Any:
        """The segments or fields of the candidates that there are; one field has no name, for a map of several too."""
        assert self.segments is not None
        users = np.broadcast_to(self.block.users[:, None], self.block.items.shape)
        return self.segments.of_pairs(users[self.block.there], self.block.items[self.block.there])


def _bounded_logit(chance: FloatArray) -> FloatArray:
    return np.clip(logit(chance), -_SUREST, _SUREST)


def shares_within(n_within: IntArray, n_held_out: IntArray, expected: FloatArray, learners: IntArray) -> FloatArray:
    """Which share of a user's relevant items is among the best candidates, by how many are expected; (n_users,).

    Users of whom much is expected have more of it behind their first candidates.

    Parameters
    ----------
    n_within, n_held_out : arrays of shape (n_learners,)
    expected : array of shape (n_users,)
    learners : array of shape (n_learners,)
        Their rows.
    """
    share = n_within.sum() / n_held_out.sum()
    logarithm = np.log(np.maximum(expected, 1e-3))
    if share == 1 or np.ptp(logarithm[learners]) < _SAME:
        return np.full(len(expected), share)
    features = np.c_[np.ones(len(expected)), logarithm - logarithm[learners].mean()]
    weight = n_held_out + 1.0  # one more item per user with the share of all, so that the fit is finite
    found = fit_logistic(features[learners], weight, (n_within + share) @ features[learners], bounded=np.zeros(2, bool))
    return sigmoid(features @ found.theta)
