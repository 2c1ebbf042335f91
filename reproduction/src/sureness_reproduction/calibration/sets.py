"""What calibrators are fitted on: a few drawn pairs, or all candidates with the level from outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sureness.calibration import CalibrationSet
from sureness.data import Interactions, ScoredPairs, Split, hold_out, rated_above
from sureness.propensity import PopularityPropensity
from sureness.sources import ScoreSource, scores_of
from sureness_reproduction.own import is_own
from sureness_reproduction.types import BoolArray, FloatArray

HELD_OUT_SHARE = 0.1  # of the training positives, as in the dissertation
N_ANCHOR = 1_000  # uniformly exposed pairs that fix the level, and are then left out of the test

AS_LOGGED = "as many negatives per positive as the log has"
RATINGS = "held-out ratings, 3 and below as negatives"
CANDIDATES = "all candidates, propensities at their word"
WITH_BASE_RATE = "all candidates, level from a base rate"
WITH_ANCHOR = "all candidates, level from 1,000 uniform pairs"
_OF_RATINGS = (AS_LOGGED, RATINGS)


def negatives(count: int) -> str:
    """The set with a fixed number of negatives for each positive.

    Examples
    --------
    >>> negatives(1), negatives(13)
    ('1 negative per positive', '13 negatives per positive')
    """
    return f"{count} negative{'' if count == 1 else 's'} per positive"


def uses_anchor(pairs: str) -> bool:
    """Whether uniformly exposed labels enter the fit, which therefore cannot be sealed."""
    return pairs in (WITH_BASE_RATE, WITH_ANCHOR)


def can_build(pairs: str, data: str) -> bool:
    """Whether a data set has what a calibration set is made of; a log of one's own has no low ratings."""
    return not (is_own(data) and pairs in _OF_RATINGS)


def logged_ratio(log: Interactions, threshold: float) -> int:
    """How many ratings of the log are not positive for each that is, rounded; no test label is needed to know it.

    Examples
    --------
    >>> logged_ratio(Interactions.of([1, 1, 2, 2], [1, 2, 1, 2], ratings=[5, 2, 1, 3]), 3)
    3
    """
    positive = rated_above(log, threshold)
    n_positive = max(int(np.count_nonzero(positive)), 1)
    return max(1, round((len(positive) - n_positive) / n_positive))


def anchor_rows(n_test: int, seed: int) -> BoolArray:
    """Which test pairs serve as anchor; never more than a quarter of them."""
    chosen = np.zeros(n_test, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n_test)[: min(N_ANCHOR, n_test // 4)]] = True
    return chosen


def set_of(
    pairs: str,
    source: ScoreSource,
    split: Split,
    *,
    seed: int,
    log: Interactions | None = None,
    threshold: float = 3.0,
    anchor: ScoredPairs | None = None,
    propensity: Any = None,
) -> CalibrationSet:
    """A calibration set by name.

    Parameters
    ----------
    pairs : str
    source : ScoreSource
    split : Split
        Train and validation are looked at.
    seed : int
    log : Interactions, optional
        The ratings of the training part, for `RATINGS` and `AS_LOGGED`.
    threshold : float
    anchor : ScoredPairs, optional
        Uniformly exposed pairs, for the sets that use them.
    propensity : PropensityModel, optional
        By row and column; by default popularity in training.
    """
    omega = PopularityPropensity().fit(items=split.train.item_rows) if propensity is None else propensity
    train, held_out = split.train.matrix, split.validation.matrix
    if pairs == RATINGS:
        assert log is not None
        return _rated(source, split.validation, log, threshold, omega, seed)
    if "per positive" in pairs:
        ratio = _ratio(pairs, log, threshold)
        return CalibrationSet.from_sampled_negatives(
            source, held_out, negatives_per_positive=ratio, seen=train, propensity=omega, as_population=True, seed=seed
        )
    data = CalibrationSet.from_source(
        source, held_out, seen=train, propensity=omega, held_out_share=HELD_OUT_SHARE, estimand="preference"
    )
    if pairs == CANDIDATES:
        return data
    assert anchor is not None
    return replace(data, anchor=anchor) if pairs == WITH_ANCHOR else replace(
        data, base_rate=float(anchor.labels.mean())
    )  # fmt: skip


def _ratio(pairs: str, log: Interactions | None, threshold: float) -> int:
    if pairs != AS_LOGGED:
        return int(pairs.split()[0])
    assert log is not None
    return logged_ratio(log, threshold)


def _rated(
    source: ScoreSource, positives: Interactions, log: Interactions, threshold: float, omega: Any, seed: int
) -> CalibrationSet:
    """Held-out positives, and as large a share of the low ratings."""
    _, low = hold_out(log.keep(~rated_above(log, threshold)), HELD_OUT_SHARE, seed=seed)
    users, items = np.r_[positives.user_rows, low.user_rows], np.r_[positives.item_rows, low.item_rows]
    ratings: FloatArray = np.r_[np.full(len(positives), threshold + 1), np.asarray(low.ratings)]
    return CalibrationSet.from_ratings(
        scores_of(source, users, items), ratings, threshold=threshold, propensity=omega.propensity(users, items)
    )
