"""A cut-off for retrieval, from a few dozen judged queries: what to keep, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit

from sureness._printing import fields_repr
from sureness._settings import Configurable, clone
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.choosing import Folds
from sureness.calibration.level import level_from_anchor
from sureness.calibration.lists import ListCalibrator
from sureness.errors import DataError, NotFittedError, SettingError
from sureness.lists.lists import Lists
from sureness.lists.policies import ExpectedUtility
from sureness.lists.ragged import Ragged, row_starts, similar_lengths
from sureness.metrics.intervals import Interval
from sureness.metrics.utility import Utility
from sureness.numerics.checks import check_ids, check_labels, check_rate, check_scores, same_length
from sureness.numerics.grouping import group_codes
from sureness.numerics.logistic import logit, sigmoid

_N_FOLDS = 10  # of queries, each judged by a fit on the others
_FEWEST = 10  # judged queries, of which a spread between queries can be told
_CERTAIN = 1e-9  # probabilities closer to 0 and 1 are taken for this in intervals
_ENDLESS = 10**9  # degrees of freedom
_TRIED = 300  # cut-offs to choose from
_CELLS = 2_000_000  # probabilities cut at a time


@dataclass(frozen=True, kw_only=True)
class Cutoff:
    """From which probability on candidates are kept, and what that gives.

    Precision is the share of relevant candidates among all that are kept, recall the share of the relevant candidates
    that is kept; both over all queries together, and over what was judged.
    """

    probability: float
    score: float | None  # the raw score; None: it differs between queries, see `ListCalibrator.score_for`
    precision: Interval
    recall: Interval
    kept: float  # candidates per query
    n_queries: int
    n_relevant: int
    __repr__ = fields_repr

    def __str__(self) -> str:
        return (
            f"keep from probability {self.probability:.3f} on: precision {_short(self.precision)}, recall "
            f"{_short(self.recall)}, {self.kept:.1f} candidates per query, from {self.n_queries:,} queries with "
            f"{self.n_relevant:,} relevant"
        )


def _short(found: Interval) -> str:
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


class RetrievalCutoff(Configurable):
    """Probabilities of retrieved candidates, and the cut-off with a precision or a recall, from few judged queries.

    30 to 50 queries with labels for their retrieved candidates are enough. Intervals count queries, not candidates.

    Parameters
    ----------
    calibrator : ListCalibrator or Calibrator, optional
        The map for lists by default. A calibrator of pairs, such as `PlattCalibrator`, gives one raw cut-off for all
        queries.
    level : float
        Of the intervals.

    Attributes
    ----------
    calibrator_ : ListCalibrator or Calibrator
        The fitted map; save it, or write it as SQL.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> queries, scores = np.repeat(np.arange(50), 20), rng.normal(size=1_000)
    >>> labels = rng.random(1_000) < 1 / (1 + np.exp(2 - 2 * scores))
    >>> found = RetrievalCutoff().fit(scores, labels, groups=queries)
    >>> cutoff = found.cutoff(precision=0.7)
    >>> cutoff.precision.low < 0.7 < cutoff.precision.high
    True
    >>> new = [2.5, 1.5, 0.1, -0.3, -1.0, -1.2]
    >>> found.keep(new, groups=["a new query"] * 6, cutoff=cutoff)
    array([ True,  True, False, False, False, False])
    """

    calibrator_: ListCalibrator | Calibrator

    def __init__(self, calibrator: ListCalibrator | Calibrator | None = None, *, level: float = 0.9) -> None:
        self.calibrator = calibrator
        self.level = level

    def fit(self, scores: ArrayLike, labels: ArrayLike, *, groups: ArrayLike | pl.Series) -> Self:
        """Learn from judged queries.

        Parameters
        ----------
        scores, labels, groups : array-like of shape (n_candidates,)
            All retrieved candidates of each judged query, 1 where one is relevant, and the query of each.
        """
        check_rate(self.level, "level")
        checked, relevant = check_scores(scores).astype(np.float64), check_labels(labels)
        same_length(relevant, len(checked), "labels")
        ids = check_ids(groups, len(checked), "groups")
        if (n_queries := group_codes(ids)[1]) < _FEWEST:
            raise DataError(f"a cut-off needs at least {_FEWEST} judged queries, got {n_queries}; judge more")
        calibrator = ListCalibrator() if self.calibrator is None else self.calibrator
        if not isinstance(calibrator, ListCalibrator | Calibrator):
            raise SettingError(f"calibrator must be ListCalibrator() or one of pairs, got {calibrator!r}")
        calibrator = clone(calibrator)
        data = CalibrationSet.from_pairs(checked, relevant, users=ids)
        folds = Folds.of(data, _N_FOLDS, 0)
        judged = folds.probability(calibrator)
        if isinstance(judged, str):
            raise DataError(judged)
        self.calibrator_ = calibrator.fit(data)
        assert folds.pairs.users is not None
        self._codes, self._n_queries = group_codes(folds.pairs.users)
        self._relevant, self._judged = folds.pairs.labels, judged
        self._order = np.argsort(-judged, kind="stable")
        self._falling = np.sort(self.probability(folds.pairs.scores, groups=folds.pairs.users))[::-1]
        self._level = level_from_anchor(judged, self._relevant.astype(np.float64), np.ones(len(judged)))
        self._spread()
        return self

    def _spread(self) -> None:
        """How far level and slope of the log-odds are open: a covariance that counts queries (a sandwich)."""
        judged = self._level(self._judged)
        z = _log_odds(self._judged)
        self._centre = float(z.mean())
        x = np.c_[np.ones(len(z)), z - self._centre]
        gradient = x * (self._relevant - judged)[:, None]
        by_query = np.stack([np.bincount(self._codes, column, self._n_queries) for column in gradient.T], axis=1)
        inverse = np.linalg.pinv(x.T @ (x * (judged * (1 - judged))[:, None]))
        n = self._n_queries
        self._covariance = inverse @ (by_query.T @ by_query) @ inverse * n / (n - 1)

    def probability(self, scores: ArrayLike, *, groups: ArrayLike | pl.Series) -> FloatArray:
        """The probability that each candidate is relevant, for queries judged or not."""
        calibrator = self._fitted()
        if isinstance(calibrator, ListCalibrator):
            return calibrator.probability(scores, groups=groups)
        return calibrator.probability(scores)

    def interval(self, scores: ArrayLike, *, groups: ArrayLike | pl.Series) -> pl.DataFrame:
        """The same with the columns probability, low and high: how far the judged queries leave it open.

        Examples
        --------
        >>> queries, scores = np.repeat(np.arange(30), 10), np.tile(np.arange(10.0), 30)
        >>> labels = np.random.default_rng(0).random(300) < scores / 15
        >>> RetrievalCutoff().fit(scores, labels, groups=queries).interval([9.0, 3.0], groups=[0, 0]).columns
        ['probability', 'low', 'high']
        """
        probability = self.probability(scores, groups=groups)
        z = _log_odds(probability)
        x = np.c_[np.ones(len(z)), z - self._centre]
        apart = _quantile(self.level, self._n_queries - 1) * np.sqrt(np.einsum("ni,ij,nj->n", x, self._covariance, x))
        low, high = (sigmoid(self._level.intercept + self._level.slope * z + side * apart) for side in (-1, 1))
        ends = {"low": np.minimum(low, probability), "high": np.maximum(high, probability)}
        return pl.DataFrame({"probability": probability, **ends})

    def cutoff(self, *, precision: float | None = None, recall: float | None = None, sure: bool = False) -> Cutoff:
        """The cut-off with a stated precision, which keeps the most, or with a stated recall, which keeps the fewest.

        Parameters
        ----------
        precision, recall : float
            One of them.
        sure : bool
            Take the low end of the interval for what is reached, not the value.
        """
        self._fitted()
        if (precision is None) == (recall is None):
            raise SettingError("a cut-off has either precision= or recall=; give one of them")
        name, stated = ("recall", recall) if precision is None else ("precision", precision)
        check_rate(stated, name)  # type: ignore[arg-type]
        found = self._choose(name, float(stated), sure)  # type: ignore[arg-type]
        if found is None:
            most = f"the {'low end of the ' if sure else ''}{name} is never as high"
            raise SettingError(
                f"no cut-off has {name} {stated:g}: {most} in {self._n_queries:,} judged queries with "
                f"{int(self._relevant.sum()):,} relevant; ask for less, or judge more queries"
            )
        return found

    def _choose(self, name: str, stated: float, sure: bool) -> Cutoff | None:
        """Of what is reached, the most for precision and the fewest for recall."""
        hits = np.cumsum(self._level(self._judged[self._order]))  # what comes: fits on fewer queries are too sure
        tried = np.arange(1, len(hits) + 1)
        reached = hits / tried if name == "precision" else hits / hits[-1]
        if sure:
            tried = np.unique(np.linspace(1, len(hits), _TRIED).astype(np.int64))
            low_ends = np.array([self._ratio(name, int(n_kept)).low for n_kept in tried])
            reached = np.minimum(low_ends, reached[tried - 1])
        enough = np.flatnonzero(reached >= stated - 1e-12)
        if not len(enough):
            return None
        return self.at(float(self._falling[tried[enough[-1 if name == "precision" else 0]] - 1]))

    def at(self, probability: float) -> Cutoff:
        """What a cut-off at a probability gives."""
        calibrator = self._fitted()
        n_kept = int(np.count_nonzero(self._falling >= probability))
        return Cutoff(
            probability=probability,
            score=None if isinstance(calibrator, ListCalibrator) else calibrator.score_for(probability),
            precision=self._ratio("precision", n_kept), recall=self._ratio("recall", n_kept),
            kept=n_kept / self._n_queries, n_queries=self._n_queries, n_relevant=int(self._relevant.sum()),
        )  # fmt: skip

    def _ratio(self, name: str, n_kept: int) -> Interval:
        """Precision or recall where so many of the judged candidates are kept, by fits on other queries."""
        kept = np.zeros(len(self._order), dtype=bool)
        kept[self._order[:n_kept]] = True
        of = kept if name == "precision" else self._relevant
        hits = np.bincount(self._codes[kept & self._relevant], minlength=self._n_queries)
        return ratio_interval(hits, np.bincount(self._codes[of], minlength=self._n_queries), self.level)

    def keep(self, scores: ArrayLike, *, groups: ArrayLike | pl.Series, cutoff: Cutoff | float) -> BoolArray:
        """Which candidates are kept: those from the cut-off on."""
        least = cutoff.probability if isinstance(cutoff, Cutoff) else check_rate(cutoff, "cutoff")
        return self.probability(scores, groups=groups) >= least

    def keep_best(
        self, scores: ArrayLike, *, groups: ArrayLike | pl.Series, utility: str | Utility = "f1", min_size: int = 0
    ) -> BoolArray:
        """Which candidates are kept where each query gets the length with the highest expected utility."""
        probability = self.probability(scores, groups=groups)
        codes, n_queries = group_codes(check_ids(groups, len(probability), "groups"))
        order = np.lexsort((-probability, codes))
        rows = Ragged(probability[order], row_starts(np.bincount(codes, minlength=n_queries)))
        lengths, sizes = rows.lengths, np.zeros(n_queries, dtype=np.int64)
        for some in similar_lengths(lengths, _CELLS):
            width = int(lengths[some].max())
            policy = ExpectedUtility(utility, min_size=min_size, max_size=max(width, 1))
            lists = Lists.of(probabilities=rows.take(some).padded(width), lengths=lengths[some])
            sizes[some] = policy.sizes(lists)
        place = np.arange(len(order)) - np.repeat(rows.starts[:-1], lengths)
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = place < np.repeat(sizes, lengths)
        return kept

    def _fitted(self) -> ListCalibrator | Calibrator:
        if not hasattr(self, "calibrator_"):
            raise NotFittedError("RetrievalCutoff is not fitted yet; call fit first")
        return self.calibrator_


def ratio_interval(hits: IntArray, trials: IntArray, level: float) -> Interval:
    """The share of hits among the trials of queries, with an interval that counts queries.

    Bounds of the Beta distribution for as many independent trials as the queries are worth (Korn and Graubard, 1998).

    Examples
    --------
    >>> print(ratio_interval(np.array([2, 1, 0, 3]), np.array([3, 3, 3, 3]), 0.9))
    0.5000 [0.0488, 0.9512]
    """
    n, total = int(np.count_nonzero(trials)), float(trials.sum())
    if n == 0:
        return Interval(float("nan"), 0.0, 1.0, level)
    share = float(hits.sum() / total)
    worth = float(n)  # where all queries agree, each is one trial
    if 0 < share < 1 and n > 1:
        apart = (hits - share * trials) / np.maximum(1 - trials / total, 1 / n)  # what leaving a query out changes
        variance = float((apart**2).sum()) * (n - 1) / n / total**2
        worth = min(total, share * (1 - share) / variance) if variance > 0 else total
        worth *= (_quantile(level, _ENDLESS) / _quantile(level, n - 1)) ** 2
    tail = (1 - level) / 2
    successes, failures = share * worth, (1 - share) * worth
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return Interval(share, low, high, level)


def _log_odds(probability: FloatArray) -> FloatArray:
    """Finite ones."""
    return logit(np.clip(probability, _CERTAIN, 1 - _CERTAIN))


def _quantile(level: float, freedom: int) -> float:
    """Of Student's t, for both ends."""
    return float(stdtrit(freedom, (1 + level) / 2))
