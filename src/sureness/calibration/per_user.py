"""One map for each user, shrunk to the map of all as far as the user's own labels leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import BoolArray, Estimand, FloatArray, IntArray
from sureness.calibration.families import NUMPY, ScoreRange
from sureness.calibration.parametric import (
    GammaCalibrator,
    GaussianCalibrator,
    ParametricCalibrator,
    PlattCalibrator,
)
from sureness.data.interactions import Interactions
from sureness.errors import DataError, NotFittedError
from sureness.evaluation.ranking import block_scores, fitted_to, top_blocks
from sureness.numerics.checks import check_scores
from sureness.numerics.logistic import sigmoid
from sureness.numerics.ranking import members
from sureness.numerics.row_logistic import Prior, Rows, bin_scores, estimate_prior, fit_rows
from sureness.sources.base import PartialSource, ScoreSource, id_maps

Progress = Callable[[str, int, int], None]

_BLOCK_POINTS = 1_000_000  # points of a block of users, each with its features
_POINTS_PER_BIN = 8  # fewer on average, and bins would save nothing
_WEAK = 100.0  # width of a prior that only keeps maps finite
_FIRST_WIDTH = 0.7  # where the search for the prior's width starts


class PerUserCalibrator(Configurable):
    """A map of one monotone family for each user; use `PerUserPlatt`, `PerUserGaussian` or `PerUserGamma`.

    A map fitted over all candidates is decided by the thousands that nobody would show. By default it is therefore
    fitted where lists are made, on each user's best candidates, and what lies behind them enters as a number: how many
    relevant items are expected there.

    Scores are compared within a user: they enter in standard deviations from the mean of the user's fitted ones.

    Parameters
    ----------
    top : int or None
        Fit on so many of each user's best candidates; None: on all of them.
    hidden : bool
        Whether what will be relevant in the next period is already among the candidates, as much of it as was held out.
        It is then labelled 0 although it is just like the held-out items, and the map allows for that: it gives the
        probability that an item is relevant in the next period once the held-out items are gone. False: the
        probability that an item is one of the held-out ones.
    prior_width : float or "auto"
        How far the log-odds of users differ from the map of all. "auto" estimates it, for level and slope and with
        their correlation, from users with held-out items; 0 gives everyone the map of all; infinity leaves
        every user alone (with a prior just strong enough to keep the map finite).
    prior_users : int
        How many users the map of all and the prior are learned from, at most.
    n_bins : int
        Bins of each user's scores when all candidates are used; with up to eight times as many items there are none.
    seed : int
        Of the draw of these users.

    Attributes
    ----------
    global_ : ParametricCalibrator
        The map of all, of standardised scores: for users without held-out items and for users never seen.
    location_, scale_ : arrays of shape (n_users,)
        What a user's scores are standardised with.
    intercept_, coef_ : arrays of shape (n_users,) and (n_users, n_coefficients)
    n_positive_ : array of shape (n_users,)
        Held-out items among the fitted candidates.
    expected_relevant_ : array of shape (n_users,)
        How many relevant items a period like the held-out one has.
    beyond_ : array of shape (n_users,)
        How many of them are expected behind the fitted candidates.
    """

    base: ClassVar[type[ParametricCalibrator]]

    COLUMNS: ClassVar[dict[str, str]] = {
        "location_": "location", "scale_": "scale", "intercept_": "intercept", "n_positive_": "n_positive",
        "expected_relevant_": "expected_relevant", "beyond_": "expected_beyond",
    }  # fmt: skip
    """What is learned about each user, and the column it is saved in."""

    def __init__(
        self,
        *,
        top: int | None = 200,
        hidden: bool = True,
        prior_width: float | Literal["auto"] = "auto",
        prior_users: int = 5_000,
        n_bins: int = 256,
        seed: int = 0,
    ) -> None:
        self.top = top
        self.hidden = hidden
        self.prior_width = prior_width
        self.prior_users = prior_users
        self.n_bins = n_bins
        self.seed = seed

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        source: ScoreSource,
        held_out: Interactions,
        *,
        seen: Interactions | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the map of all, how far users differ from it, and the map of each user.

        Parameters
        ----------
        source : ScoreSource
        held_out : Interactions
            The positives; every other candidate is a negative.
        seen : Interactions, optional
            The training log, whose pairs are no candidates.
        progress : callable, optional
        """
        self._check_settings()
        candidates = _Candidates(
            source,
            fitted_to(source, held_out, "held_out"),
            None if seen is None else fitted_to(source, seen, "seen"),
            self.top,
            self.n_bins,
        )
        if not len(candidates.held_out):
            raise DataError("held_out must hold at least one positive that the source knows, got none")
        self.users_, _ = id_maps(source)
        self._learn_prior(candidates)
        self._learn_users(candidates, progress)
        self.estimand_: Estimand = "interaction"
        return self

    def _learn_prior(self, candidates: _Candidates) -> None:
        """The map of all, the units of the features and the prior, from a sample of the users."""
        learners = np.flatnonzero(candidates.held_out.user_degree)
        if len(learners) > self.prior_users:
            drawn = np.random.default_rng(self.seed).choice(learners, self.prior_users, replace=False)
            learners = np.sort(drawn)
        sample = _joined(list(candidates.blocks(learners)))
        if not len(sample.positive_scores):
            raise DataError(
                f"no held-out item is among the top {self.top} candidates of any user, so there is nothing to fit; "
                "raise top, or check that the scores are higher for better items"
            )
        known = sample.standardised[sample.weight > 0]
        if known.min() == known.max():
            raise DataError("every user has the same score for all candidates, so nothing tells items apart; check the "
                            "recommender")  # fmt: skip
        prototype = self.base()
        self.range_ = ScoreRange(float(known.min()), float(known.max()))
        if isinstance(prototype, GammaCalibrator):
            self.range_ = self.range_._replace(shift=prototype.shift * self.range_.width)
        columns, total = self._basis(sample.standardised), sample.weight.sum()
        self._centre = np.array([(sample.weight * column).sum() / total for column in columns])
        spread = [(sample.weight * (c - m) ** 2).sum() / total for c, m in zip(columns, self._centre, strict=True)]
        self._units = np.maximum(np.sqrt(spread), 1e-12)
        rows = self._rows(sample)
        d = 1 + len(columns)
        weak = Prior(np.zeros(d), _WEAK**2 * np.eye(d))
        self._overall = fit_rows(rows.pooled(), weak, self._bounded(d))[0][0]
        width = _FIRST_WIDTH if self.prior_width == "auto" else min(float(self.prior_width), _WEAK)
        self.prior_ = Prior(self._overall, max(width, 1e-9) ** 2 * np.eye(d))
        if self.prior_width == "auto":
            self.prior_ = estimate_prior(rows, self.prior_, self._bounded(d))
        self.global_ = self._plain_calibrator(*self._natural(self._overall[None]), int(total))

    def _learn_users(self, candidates: _Candidates, progress: Progress | None) -> None:
        """The map of every user, block by block, and how many relevant items there are."""
        n_users, d = candidates.source.n_users, len(self._overall)
        counts = candidates.held_out.user_degree
        theta = np.repeat(self._overall[None], n_users, axis=0)
        self.location_, self.scale_ = np.zeros(n_users), np.ones(n_users)
        self.n_positive_, within = np.zeros(n_users, dtype=np.int64), np.zeros(n_users)
        done = 0
        for block in candidates.blocks(np.arange(n_users)):
            rows = self._rows(block)
            own = counts[block.users] > 0
            if self.prior_width != 0 and own.any():
                fitted, _ = fit_rows(rows, self.prior_, self._bounded(d))
                theta[block.users[own]] = fitted[own]
            self.location_[block.users], self.scale_[block.users] = block.location, block.scale
            self.n_positive_[block.users] = np.diff(rows.starts)
            chance = sigmoid(np.einsum("npd,nd->np", rows.features, theta[block.users]))
            within[block.users] = (rows.weight * (chance / (1.0 + chance) if self.hidden else chance)).sum(axis=1)
            done += len(block.users)
            if progress is not None:
                progress("fitting a map for each user", done, n_users)
        self.intercept_, self.coef_ = self._natural(theta)
        self.expected_relevant_ = shrunk_counts(counts)
        self.beyond_ = np.where(candidates.reach_beyond(), np.maximum(self.expected_relevant_ - within, 0.0), 0.0)

    # --- using ------------------------------------------------------------------------------------------------------

    def probability(self, scores: ArrayLike, users: ArrayLike) -> FloatArray:
        """Probabilities of pairs, by score and user id; users never seen get the map of all; shape (n_pairs,)."""
        self._check_fitted()
        if np.size(scores) == 0:
            return np.empty(0)
        checked = check_scores(scores).astype(np.float64)
        rows = self.users_.rows(users)
        if len(rows) != len(checked):
            raise DataError(f"users must be one id for each of the {len(checked):,} scores, got {len(rows):,}")
        return self.probability_of_rows(checked[:, None], rows)[:, 0]

    def probability_of_rows(self, scores: FloatArray, rows: IntArray) -> FloatArray:
        """Probabilities of a block of scores, one row a user, given as row numbers (-1: never seen).

        A score of -inf, where there is no candidate, has the probability 0.
        """
        return sigmoid(self.log_odds(scores, rows))

    def log_odds(self, scores: FloatArray, rows: IntArray) -> FloatArray:
        """The same before the sigmoid; -inf where there is no candidate."""
        self._check_fitted()
        unknown = rows < 0
        location = np.where(unknown, self.location_.mean(), self.location_[rows])[:, None]
        scale = np.where(unknown, self.scale_.mean(), self.scale_[rows])[:, None]
        known = np.isfinite(scores)
        standardised = (np.where(known, scores, location) - location) / scale
        result = np.repeat(
            np.where(unknown, self.global_.intercept_, self.intercept_[rows])[:, None], scores.shape[1], 1
        )
        for number, column in enumerate(self._basis(standardised)):
            coef = np.where(unknown, self.global_.coef_[number], self.coef_[rows, number])
            result += coef[:, None] * column
        return np.where(known, result, -np.inf)

    def table(self) -> pl.DataFrame:
        """Everything that was learned about each user, as columns."""
        self._check_fitted()
        coefs = {f"coef_{number}": self.coef_[:, number] for number in range(self.coef_.shape[1])}
        learned = {column: getattr(self, name) for name, column in self.COLUMNS.items()}
        return pl.DataFrame({"user_id": self.users_.ids, **learned, **coefs})

    def save(self, folder: str | PathLike[str]) -> None:
        """Write maps and settings to a folder; `sureness.load` reads it back."""
        from sureness.calibration.saving import save_per_user

        save_per_user(self, folder)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _basis(self, scores: FloatArray) -> list[FloatArray]:
        return self.base.family.basis(np.asarray(scores, dtype=np.float64), self.range_, NUMPY)

    def _rows(self, block: _Block) -> Rows:
        """Features of the points and of the positives of a block, in standard units."""
        starts = np.searchsorted(block.positive_rows, np.arange(len(block.users) + 1))
        positives = (block.positive_scores - block.location[block.positive_rows]) / block.scale[block.positive_rows]
        return Rows(
            self._features(block.standardised), block.weight, self._features(positives), starts, hidden=self.hidden
        )

    def _features(self, standardised: FloatArray) -> FloatArray:
        columns = self._basis(standardised)
        units = [(c - m) / u for c, m, u in zip(columns, self._centre, self._units, strict=True)]
        return np.stack([np.ones_like(units[0]), *units], axis=-1)

    def _natural(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intercept and coefficients on the basis of the family, out of those on the standardised one."""
        coef = np.maximum(theta[:, 1:], 0.0) / self._units
        return theta[:, 0] - coef @ self._centre, coef

    def _plain_calibrator(self, intercept: FloatArray, coef: FloatArray, n_pairs: int) -> ParametricCalibrator:
        calibrator = self.base()
        calibrator._restore({"intercept": intercept[0], "coef": coef[0], "range": self.range_})
        calibrator.estimand_, calibrator.n_pairs_ = "interaction", n_pairs
        calibrator.score_range_ = (self.range_.low, self.range_.high)
        return calibrator

    @staticmethod
    def _bounded(d: int) -> Any:
        return np.arange(d) > 0

    def _check_settings(self) -> None:
        for name, least in (("top", 2), ("prior_users", 1), ("n_bins", 2)):
            value = getattr(self, name)
            if name == "top" and value is None:
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise DataError(f"{name} must be a whole number of at least {least}, got {value!r}")
        width = self.prior_width
        if width != "auto" and (isinstance(width, str) or not width >= 0):
            raise DataError(f"prior_width must be 0 or more, or 'auto', got {width!r}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit(source, held_out) first")


class PerUserPlatt(PerUserCalibrator):
    """A straight line inside the sigmoid for each user: ``p = sigmoid(b_u s + c_u)``.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 50))
    >>> relevant = rng.random((200, 50)) < 1 / (1 + np.exp(2 - scores))
    >>> held_out = Interactions.from_matrix(relevant)
    >>> calibrator = PerUserPlatt(top=None).fit(MatrixSource(scores), held_out)
    >>> low, high = calibrator.probability([0.0, 2.0], users=[7, 7])
    >>> bool(0 < low < high < 1)
    True
    """

    base = PlattCalibrator


class PerUserGaussian(PerUserCalibrator):
    """A parabola inside the sigmoid for each user, rising over all fitted scores.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> PerUserGaussian(top=100)
    PerUserGaussian(top=100)
    """

    base = GaussianCalibrator


class PerUserGamma(PerUserCalibrator):
    """A line and a logarithm inside the sigmoid for each user, rising over all fitted scores.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> PerUserGamma(prior_width=0.5)
    PerUserGamma(prior_width=0.5)
    """

    base = GammaCalibrator


PER_USER: dict[str, type[PerUserCalibrator]] = {
    "per-user-platt": PerUserPlatt, "per-user-gaussian": PerUserGaussian, "per-user-gamma": PerUserGamma,
}  # fmt: skip


def shrunk_counts(counts: IntArray) -> FloatArray:
    """The number of items to expect of each user, out of the number that came.

    Numbers that scatter as Poisson numbers of one mean do are replaced by that mean; the more they scatter beyond, the
    more each keeps of its own (the posterior mean under a Gamma prior that fits mean and variance).

    Examples
    --------
    >>> shrunk_counts(np.array([0, 10, 20, 90])).round(1)
    array([ 0.7, 10.5, 20.2, 88.6])
    """
    mean, variance = float(np.mean(counts)), float(np.var(counts))
    if variance <= mean:
        return np.full(len(counts), mean)
    excess = variance - mean
    return np.asarray((counts + mean * mean / excess) / (1.0 + mean / excess))


@dataclass(frozen=True, eq=False)
class _Block:
    """Candidates of some users as weighted points, and the scores of the positives among them."""

    users: IntArray  # (n,) rows
    scores: FloatArray  # (n, points)
    weight: FloatArray  # (n, points) 0 where there is no candidate
    positive_rows: IntArray  # place in `users` of each positive, ascending
    positive_scores: FloatArray

    @cached_property
    def location(self) -> FloatArray:
        """The mean score of each user; shape (n,)."""
        return np.asarray((self.weight * self.scores).sum(axis=1) / np.maximum(self.weight.sum(axis=1), 1e-300))

    @cached_property
    def scale(self) -> FloatArray:
        """The standard deviation of each user's scores, 1 where all are the same; shape (n,)."""
        squares = (self.weight * (self.scores - self.location[:, None]) ** 2).sum(axis=1)
        spread = np.sqrt(squares / np.maximum(self.weight.sum(axis=1), 1e-300))
        return np.where(spread > 1e-9 * np.abs(self.location), spread, 1.0)

    @cached_property
    def standardised(self) -> FloatArray:
        """Scores in standard deviations from the user's mean; shape (n, points)."""
        return (self.scores - self.location[:, None]) / self.scale[:, None]


def _joined(blocks: list[_Block]) -> _Block:
    starts = np.cumsum([0, *(len(block.users) for block in blocks)])
    return _Block(
        np.concatenate([block.users for block in blocks]),
        np.concatenate([block.scores for block in blocks]),
        np.concatenate([block.weight for block in blocks]),
        np.concatenate([block.positive_rows + start for block, start in zip(blocks, starts, strict=False)]),
        np.concatenate([block.positive_scores for block in blocks]),
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """What a source may show, with labels."""

    source: ScoreSource
    held_out: Interactions
    seen: Interactions | None
    top: int | None
    n_bins: int

    def reach_beyond(self) -> BoolArray:
        """Which users have candidates behind the fitted ones; shape (n_users,)."""
        source = self.source
        if isinstance(source, PartialSource):  # nobody knows what is not in the table
            return np.ones(source.n_users, dtype=bool)
        n_seen = 0 if self.seen is None else self.seen.user_degree
        return np.broadcast_to(source.n_items - n_seen, source.n_users) > (np.inf if self.top is None else self.top)

    def blocks(self, users: IntArray) -> Iterator[_Block]:
        """The best candidates of users, or all of them in bins."""
        n_items = self.source.n_items
        if self.top is None and n_items > _POINTS_PER_BIN * self.n_bins:
            return self._binned(users)
        return self._best(users, n_items if self.top is None else min(self.top, n_items))

    def _best(self, users: IntArray, top: int) -> Iterator[_Block]:
        for block, items, scores in top_blocks(self.source, users, top, self.seen, most=_BLOCK_POINTS // top):
            there = items >= 0
            hits = members(items, block, self.held_out.row_starts, self.held_out.item_rows) & there
            rows, places = np.nonzero(hits)
            known = np.where(there, scores, 0.0).astype(np.float64)
            yield _Block(block, known, there.astype(np.float64), rows, known[rows, places])

    def _binned(self, users: IntArray) -> Iterator[_Block]:
        hidden = (np.zeros(self.source.n_users + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
        starts, excluded = hidden if self.seen is None else (self.seen.row_starts, self.seen.item_rows)
        for block, scores in block_scores(self.source, users, most=_BLOCK_POINTS // self.n_bins):
            place = np.repeat(np.arange(len(block)), self.held_out.user_degree[block])
            items = np.concatenate([self.held_out.items_of(user) for user in block] or [excluded])
            positives = scores[place, items].astype(np.float64)
            again = members(items[:, None], block[place], starts, excluded)[:, 0]  # also in training: no candidate
            there = np.isfinite(positives) & ~again
            means, counts = bin_scores(scores, self.n_bins, rows=block, starts=starts, excluded=excluded)
            yield _Block(block, means, counts, place[there], positives[there])
