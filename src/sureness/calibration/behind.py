"""How probabilities fall behind the candidates that a map was fitted on, for all users alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.calibration.candidates import CandidateBlock, RankedBlock
from sureness.numerics.rising_curve import Labelled, RisingCurve, curve_below

LEARNING_USERS = 1_000
"""How many users such a curve, and a shape, is learned from, at most."""


def some_of(n: int) -> IntArray | None:
    """As many of n users as shapes are learned from, spread evenly; None: all of them."""
    return None if n <= LEARNING_USERS else np.linspace(0, n - 1, LEARNING_USERS).round().astype(np.int64)


def curve_behind(
    behind: Callable[[IntArray], CandidateBlock],
    best: CandidateBlock | RankedBlock,
    begin: FloatArray,
    slope: float,
    *,
    unlabelled_positives: bool,
) -> RisingCurve | None:
    """How much log-odds fall below those of a user's last candidate; None if too few positives lie there.

    Parameters
    ----------
    behind : callable
        Gives what lies behind the best candidates of users.
    best : CandidateBlock or RankedBlock
        The best candidates of some users.
    begin : array of shape (n,)
        The log-odds of the last of them.
    slope : float
        What slopes are usual.
    unlabelled_positives : bool
        Whether as many positives again have no label.
    """
    rest, last = replace(behind(best.users), best=best), best.last
    labelled = labelled_points(rest, unlabelled_positives)
    points, positives = np.nonzero(rest.weight > 0)[0], rest.positive_rows
    measured = replace(
        labelled,
        scores=labelled.scores - last[points],
        positive_scores=labelled.positive_scores - last[positives],
    )
    return curve_below(measured, begin[points], begin[positives], slope)


def labelled_points(block: CandidateBlock, unlabelled_positives: bool, fold: IntArray | None = None) -> Labelled:
    """The points and positives of all users, in folds of users."""
    rows, places = np.nonzero(block.weight > 0)
    folds = np.zeros(len(block.users), dtype=np.int64) if fold is None else fold
    return Labelled(
        block.standardised[rows, places], block.weight[rows, places], folds[rows], block.standardised_positives,
        np.ones(len(block.positive_rows)), folds[block.positive_rows], unlabelled_positives,
    )  # fmt: skip
