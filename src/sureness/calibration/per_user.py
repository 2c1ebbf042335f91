"""One map for each user, as in chapter 4 of Kweon (2024), with a prior around the map of all users."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sureness._progress import Progress, silent
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.families import NUMPY, ScoreRange
from sureness.calibration.fields import FieldTable
from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import Observed, ProbabilityMap, Who
from sureness.calibration.parametric import GammaCalibrator, GaussianCalibrator, ParametricCalibrator, PlattCalibrator
from sureness.calibration.usable import MaskedCandidates, Reach
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, IdError, SettingError, warn
from sureness.numerics.checks import check_whole
from sureness.numerics.logistic import GaussianPrior, fit_logistic, sigmoid
from sureness.numerics.ranking import NOTHING, members, top_k
from sureness.numerics.small_logistic import fit_small_logistics
from sureness.saving.packed import Packed, Parts, kind_of
from sureness.sources.aligned import Seen
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.blocks import block_scores

_WEAK = 100.0  # width of a prior that only keeps maps finite
_BLOCK_POINTS = 1_000_000  # points of a block of users
_FITTED_POINTS = 1 << 17  # points of the users that are fitted at once
_POOLED_POINTS = 1 << 16  # points of all users together, at most
_MOST_DEVIATIONS = 20.0  # from the mean score of a user: further away a score is strange


class _PerUserMap(ProbabilityMap):
    """The fit, the formula and the file that the maps per user share."""

    kind: ClassVar[type[ParametricCalibrator]]
    """The family of every user's map."""

    LEARNED: ClassVar[dict[str, str]] = {
        "location_": "location", "scale_": "scale", "intercept_": "intercept", "coef_": "coef",
        "n_held_out_": "n_held_out",
    }  # fmt: skip
    """What is learned about each user, and what it is called in files."""

    global_: ParametricCalibrator
    users_: IdMap
    location_: FloatArray
    scale_: FloatArray
    intercept_: FloatArray
    coef_: FloatArray
    n_held_out_: IntArray

    def __init__(self, *, top: int | None = None, prior_width: float = 1.0, n_bins: int = 256) -> None:
        self.top = top
        self.prior_width = prior_width
        self.n_bins = n_bins

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self, source: ScoreSource, held_out: Interactions, *, seen: Seen = None, progress: Progress = silent
    ) -> Self:
        """Learn the global map and the map of each user.

        Parameters
        ----------
        source : ScoreSource
        held_out : Interactions
            The positives; every other candidate is a negative.
        seen : Interactions or "nothing", optional
            The training log, whose pairs are not candidates; "nothing": every pair is one.
        progress : Progress
        """
        return self.fit_source(source, held_out, seen=seen, progress=progress)

    def _fit_observed(self, observed: Observed) -> Self:
        self._check_settings()
        if not len(observed.held_out):
            raise EmptyError("held_out must hold at least one positive that the source knows, got none")
        learner = copy.copy(self)  # a fit that fails or is stopped leaves what was learned before as it was
        learner.users_, _ = id_maps(observed.source)
        learner.n_held_out_ = np.asarray(observed.held_out.user_degree)
        masked = MaskedCandidates.of(observed.source.n_users)
        learner._learn(self._points(observed, masked), observed)
        masked.warn()
        vars(self).update(vars(learner))
        return self

    def _points(self, observed: Observed, masked: MaskedCandidates) -> list[_Points]:
        """The candidates of all users: the best ones, or all of them, in bins if there are more than `n_bins`."""
        source = observed.source
        if self.top is None and source.n_items > self.n_bins:
            blocks = _binned(observed, masked, self.n_bins)
        else:
            blocks = _best(observed, masked, min(self.top or source.n_items, source.n_items))
        found = []
        for block in blocks:
            found.append(block)
            observed.progress("scoring candidates", int(block.users[-1]) + 1, source.n_users)
        if not any(len(block.positive_rows) for block in found):
            which = "candidates" if self.top is None else f"top {self.top} candidates"
            raise EmptyError(
                f"no held-out item is among the {which} of any user, so there is nothing to fit; "
                "raise top, or check that the scores are higher for better items"
            )
        return found

    def _learn(self, blocks: list[_Points], observed: Observed) -> None:
        """The global map, then the map of each user with held-out items under a prior around it."""
        pooled = _Pooled.of(blocks)
        basis = _Basis.of(self.kind, pooled)
        positives = np.sum([basis.sums_of_positives(block).sum(axis=0) for block in blocks], axis=0)
        overall = basis.fit_all(pooled, positives)
        theta = np.repeat(overall[None], len(self.n_held_out_), axis=0)
        width = min(float(self.prior_width), _WEAK)
        if width > 0:
            prior = GaussianPrior(overall, np.eye(len(overall)) / width**2)
            self._fit_users(blocks, basis, prior, theta, observed.progress)
        self.location_ = np.concatenate([block.location for block in blocks])
        self.scale_ = np.concatenate([block.scale for block in blocks])
        self.intercept_, self.coef_ = basis.natural(theta)
        intercept, coef = basis.natural(overall[None])
        self.estimand_, self.horizon_ = "interaction", observed.horizon
        self.global_ = self.kind.of_coefficients(float(intercept[0]), coef[0], basis.fitted)
        self.global_._learned("interaction", self.horizon_, int(pooled.weight.sum()), (pooled.low, pooled.high))

    def _fit_users(
        self, blocks: list[_Points], basis: _Basis, prior: GaussianPrior, theta: FloatArray, progress: Progress
    ) -> None:
        """Fill in the parameters of users with held-out items."""
        n_left = 0
        for block in blocks:
            own = np.flatnonzero(self.n_held_out_[block.users] > 0)
            size = max(1, _FITTED_POINTS // block.scores.shape[1])
            linear = basis.sums_of_positives(block)
            for start in range(0, len(own), size):
                rows = own[start : start + size]
                features = basis.features(block.scores[rows])
                found, converged = fit_small_logistics(features, block.weight[rows], linear[rows], prior)
                theta[block.users[rows]] = found
                n_left += int(np.count_nonzero(~converged))
                progress("fitting a map for each user", int(block.users[rows[-1]]) + 1, len(theta))
        progress("fitting a map for each user", len(theta), len(theta))
        if n_left:
            warn(
                f"the maps of {counted(n_left, 'user')} did not converge, so their probabilities may be off; check the "
                "scores of those users for values far outside all others"
            )

    def _check_settings(self) -> None:
        check_whole(self.n_bins, "n_bins", 2)
        if self.top is not None:
            check_whole(self.top, "top", 2)
        width = self.prior_width
        if isinstance(width, str) or not width >= 0:
            raise SettingError(f"prior_width must be a number of 0 or more, got {width!r}")

    # --- using ------------------------------------------------------------------------------------------------------

    def who(self, n: int, users: ArrayLike | None = None, segments: FieldTable | ArrayLike | None = None) -> Who:
        if users is None:
            raise SettingError(f"{type(self).__name__} compares scores within a user; give users=, one id for each")
        rows = self.users_.rows(users) if n else np.empty(0, dtype=np.int64)
        if len(rows) != n:
            raise IdError(f"users must be one id for each of the {counted(n, 'score')}, got {len(rows):,}")
        return Who(n, users=rows)

    def reads(self) -> tuple[str, ...]:
        return ("score", "user_id")

    def fits(self, users: IdMap) -> bool:
        return self.users_.same_as(users)

    def reach(self) -> Reach | None:
        """Scores far outside those of all users are strange; with `top` only higher ones, since most are lower."""
        self.check_fitted()
        furthest = _MOST_DEVIATIONS * self.scale_
        low, high = float((self.location_ - furthest).min()), float((self.location_ + furthest).max())
        return Reach(low, high, self.global_.n_pairs_, upwards=self.top is not None)

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return sigmoid(self.log_odds_of(scores, who))

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        self.check_fitted()
        if who.users is None:
            raise SettingError("scores are compared within a user here; give users=")
        block = scores if scores.ndim == 2 else scores[:, None]
        known = np.isfinite(block)
        location = _at(self.location_, who.users, float(self.location_.mean()))
        scale = _at(self.scale_, who.users, float(self.scale_.mean()))
        standardised = (np.where(known, block, location) - location) / scale
        result = _at(self.intercept_, who.users, self.global_.intercept_)
        for number, column in enumerate(self.kind.family.basis(standardised, self.global_.fitted_range_, NUMPY)):
            result = result + _at(self.coef_[:, number], who.users, self.global_.coef_[number]) * column
        return np.where(known, result, -np.inf).reshape(scores.shape)

    # --- saving -----------------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), self.get_params(deep=False)
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        return Packed(
            kind=kind,
            settings=settings,
            arrays={name: getattr(self, attribute) for attribute, name in self.LEARNED.items()},
            parts={"global": self.global_.pack(), "users": self.users_.pack()},
            about={
                "estimand": self.estimand_, "horizon": self.horizon_.plain(), "users": len(self.users_),
                "pairs": self.global_.n_pairs_,
            },
        )  # fmt: skip

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        calibrator = cls(**packed.settings)
        if not packed.arrays:
            return calibrator
        for attribute, name in cls.LEARNED.items():
            setattr(calibrator, attribute, packed.arrays[name])
        calibrator.global_ = parts.opened("global", cls.kind)
        calibrator.users_ = parts.opened("users", IdMap)
        calibrator.estimand_, calibrator.horizon_ = "interaction", Horizon.of(packed.about["horizon"])
        return calibrator


class PerUserPlatt(_PerUserMap):
    """A straight line inside the sigmoid for each user: ``p = sigmoid(b_u z + c_u)``.

    The personalised calibration of chapter 4 of Kweon (2024): held-out items are positives, all other candidates of the
    user negatives. Scores are compared within a user: z is in standard deviations from the mean of the user's fitted
    candidates. The parameters of each user are the most likely ones under a Gaussian prior around the global map, that
    of all users together. Users without held-out items have the global map, and users never seen have it with the mean
    location and scale of all users.

    A probability is about the labelled period: that an item is one of the held-out ones.

    Parameters
    ----------
    top : int, optional
        Fit on this many of each user's best candidates; by default on all of them.
    prior_width : float
        Standard deviation of the prior, on log-odds: of the level at the mean score, and of what one standard deviation
        of each basis function adds. 0 gives everybody the global map. Infinity gives the maps as published, each user
        alone, with a prior just strong enough to keep a map finite.
    n_bins : int
        More candidates than this are put into as many bins of each user's scores.

    Attributes
    ----------
    global_ : Calibrator
        The global map, of standardised scores.
    location_, scale_ : arrays of shape (n_users,)
        What a user's scores are standardised with.
    intercept_, coef_ : arrays of shape (n_users,) and (n_users, n_coefficients)
    n_held_out_ : array of shape (n_users,)
        How many items were held out.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 50))
    >>> relevant = rng.random((200, 50)) < 1 / (1 + np.exp(2 - scores))
    >>> held_out = Interactions.from_matrix(relevant)
    >>> calibrator = PerUserPlatt().fit(MatrixSource(scores), held_out)
    >>> low, high = calibrator.probability([0.0, 2.0], users=[7, 7])
    >>> bool(0 < low < high < 1)
    True
    """

    kind = PlattCalibrator


class PerUserGaussian(_PerUserMap):
    """A parabola inside the sigmoid for each user, rising over all fitted scores.

    Parameters and attributes are those of `PerUserPlatt`.

    Examples
    --------
    >>> PerUserGaussian(top=100)
    PerUserGaussian(top=100)
    """

    kind = GaussianCalibrator


class PerUserGamma(_PerUserMap):
    """A line and a logarithm inside the sigmoid for each user, rising over all fitted scores.

    Parameters and attributes are those of `PerUserPlatt`.

    Examples
    --------
    >>> PerUserGamma(prior_width=0.5)
    PerUserGamma(prior_width=0.5)
    """

    kind = GammaCalibrator


@dataclass(frozen=True, eq=False)
class _Basis:
    """The functions of standardised scores that maps are made of, in units of their standard deviation over all points.

    Parameters in these units are comparable, so that one width of the prior suits all of them.
    """

    kind: type[ParametricCalibrator]
    fitted: ScoreRange  # of the standardised scores
    centre: FloatArray  # (d,) mean of each function over the points of all users
    units: FloatArray  # (d,) and its standard deviation

    @classmethod
    def of(cls, kind: type[ParametricCalibrator], points: _Pooled) -> _Basis:
        """For the points of all users."""
        fitted = kind().range_of(points.low, points.high)
        columns = np.stack(kind.family.basis(points.scores, fitted, NUMPY))
        share = points.weight / points.weight.sum()
        centre = columns @ share
        units = np.sqrt((columns - centre[:, None]) ** 2 @ share)
        return cls(kind, fitted, centre, np.maximum(units, 1e-12))

    def features(self, scores: FloatArray) -> FloatArray:
        """Ones and the functions in their units, for scores of shape (..., points); shape (..., 1 + d, points)."""
        columns = self.kind.family.basis(scores, self.fitted, NUMPY)
        return np.stack([np.ones_like(scores), *(
            (column - mean) / unit for column, mean, unit in zip(columns, self.centre, self.units, strict=True)
        )], axis=-2)  # fmt: skip

    def sums_of_positives(self, block: _Points) -> FloatArray:
        """The sum of the features of each user's positives; shape (n, 1 + d)."""
        n = len(block.users)
        features = self.features(block.positive_scores)
        return np.stack([np.bincount(block.positive_rows, each, n) for each in features], axis=1)

    def fit_all(self, points: _Pooled, positives: FloatArray) -> FloatArray:
        """The parameters of the global map, given the sum of the features of all positives."""
        features = self.features(points.scores).T
        k = features.shape[1]
        weak = GaussianPrior(np.zeros(k), np.eye(k) / _WEAK**2)
        theta = fit_logistic(features, points.weight, positives, bounded=np.arange(k) > 0, prior=weak).theta
        return np.concatenate([theta[:1], np.maximum(theta[1:], 0.0)])

    def natural(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intercepts and coefficients of the functions themselves."""
        coef = theta[:, 1:] / self.units
        return theta[:, 0] - coef @ self.centre, coef


class _Pooled(NamedTuple):
    """The standardised points of all users."""

    scores: FloatArray
    weight: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, blocks: list[_Points]) -> _Pooled:
        """In bins if they are many."""
        low, high = np.inf, -np.inf
        for block in blocks:
            there = block.weight > 0
            low = min(low, block.scores.min(where=there, initial=np.inf))
            high = max(high, block.scores.max(where=there, initial=-np.inf))
        if low == high:
            raise EmptyError("every user has the same score for all candidates; check the recommender")
        if sum(block.scores.size for block in blocks) <= _POOLED_POINTS:
            scores, weight = (np.concatenate([getattr(block, name).ravel() for block in blocks])
                              for name in ("scores", "weight"))  # fmt: skip
        else:
            scores, weight = np.zeros(_POOLED_POINTS), np.zeros(_POOLED_POINTS)
            for block in blocks:
                place = ((block.scores - low) * ((_POOLED_POINTS - 1) / (high - low))).astype(np.int64)
                place = np.clip(place, 0, _POOLED_POINTS - 1).ravel()  # points without a weight may lie outside
                weight += np.bincount(place, block.weight.ravel(), _POOLED_POINTS)
                scores += np.bincount(place, (block.weight * block.scores).ravel(), _POOLED_POINTS)
            scores /= np.maximum(weight, 1.0)
        there = weight > 0
        return cls(scores[there], weight[there], float(low), float(high))


def _at(values: FloatArray, rows: IntArray, otherwise: float) -> FloatArray:
    """The value of each row, another one where the row is unknown (-1); shape (n, 1).

    Examples
    --------
    >>> _at(np.array([0.5, 0.7]), np.array([1, -1]), 0.6).tolist()
    [[0.7], [0.6]]
    """
    return np.where(rows < 0, otherwise, values[rows])[:, None]


# --- the candidates of each user, as weighted points on a scale of the user's own ------------------------------------


@dataclass(frozen=True, eq=False)
class _Points:
    """Candidates of some users; scores are in standard deviations from the mean of the user's points."""

    users: IntArray  # (n,) rows
    location: FloatArray  # (n,) mean score of each user, 0 without a candidate
    scale: FloatArray  # (n,) standard deviation of each user's scores, 1 where all are the same
    scores: FloatArray  # (n, points) standardised
    weight: FloatArray  # (n, points) 0 where there is no candidate
    positive_rows: IntArray  # place in `users` of each positive, ascending
    positive_scores: FloatArray  # standardised

    @classmethod
    def of(
        cls, users: IntArray, scores: FloatArray, weight: FloatArray, rows: IntArray, positives: FloatArray
    ) -> _Points:
        """Standardise the scores of points, and those of the positives of these rows."""
        total = np.maximum(weight.sum(axis=1), 1e-300)
        location = (weight * scores).sum(axis=1) / total
        spread = np.sqrt((weight * (scores - location[:, None]) ** 2).sum(axis=1) / total)
        scale = np.where(spread > 1e-9 * np.abs(location), spread, 1.0)
        standardised = (scores - location[:, None]) / scale[:, None]
        return cls(users, location, scale, standardised, weight, rows, (positives - location[rows]) / scale[rows])


def _best(observed: Observed, masked: MaskedCandidates, top: int) -> Iterator[_Points]:
    """The best candidates of every user, one point each."""
    held_out, (starts, excluded) = observed.held_out, _excluded(observed)
    for users, every in _blocks(observed.source, top):
        items, scores = top_k(every, top, rows=users, starts=starts, seen=excluded)
        if masked.hide(users, every, scores, observed.seen):
            items, scores = top_k(every, top)
        there = items >= 0
        known = np.where(there, scores, 0.0).astype(np.float64)
        rows, places = np.nonzero(members(items, users, held_out.row_starts, held_out.item_rows) & there)
        yield _Points.of(users, known, there.astype(np.float64), rows, known[rows, places])


def _binned(observed: Observed, masked: MaskedCandidates, n_bins: int) -> Iterator[_Points]:
    """All candidates of every user in bins of equal width; positives keep their own scores."""
    held_out, (starts, excluded) = observed.held_out, _excluded(observed)
    for users, scores in _blocks(observed.source, n_bins):
        masked.hide(users, scores, np.array([scores.min(), scores.max()]), observed.seen)
        means, counts = bin_scores(scores, n_bins, rows=users, starts=starts, seen=excluded)
        first, last = held_out.row_starts[[users[0], users[-1] + 1]]
        rows = np.repeat(np.arange(len(users)), held_out.user_degree[users])
        positives = scores[rows, held_out.item_rows[first:last]].astype(np.float64)
        there = np.isfinite(positives)  # masked and unknown ones are not
        yield _Points.of(users, means, counts, rows[there], positives[there])


def _blocks(source: ScoreSource, n_points: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """All users in order, with the scores of all items."""
    return block_scores(source, np.arange(source.n_users), most=max(1, _BLOCK_POINTS // n_points))


def _excluded(observed: Observed) -> tuple[IntArray, IntArray]:
    """Seen items as sparse rows: starts and items."""
    if observed.seen is None:
        return np.zeros(observed.source.n_users + 1, dtype=np.int64), NOTHING
    return observed.seen.row_starts, observed.seen.item_rows


def bin_scores(
    block: FloatArray, n_bins: int, *, rows: IntArray, starts: IntArray, seen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and number of unseen scores in equally wide bins of each row; the block is overwritten.

    Parameters
    ----------
    block : float32 array of shape (n, n_columns)
        -inf where there is no score.
    n_bins : int
    rows, starts, seen : arrays
        Entries to leave out, as sparse rows; see `sureness.numerics.ranking.top_k`.

    Examples
    --------
    >>> nothing = {"rows": np.array([0]), "starts": np.array([0, 0]), "seen": np.empty(0, dtype=np.int64)}
    >>> bin_scores(np.array([[0.0, 1.0, 9.0, 10.0]], dtype=np.float32), 2, **nothing)
    (array([[0.5, 9.5]]), array([[2., 2.]]))
    """
    means, counts = np.zeros((len(block), n_bins)), np.zeros((len(block), n_bins))
    for place, row in enumerate(rows):
        block[place, seen[starts[row] : starts[row + 1]]] = -np.inf
        scores = block[place][block[place] > -np.inf].astype(np.float64)
        if not len(scores):
            continue
        low, high = scores.min(), scores.max()
        per_score = n_bins / (high - low) if high > low else 0.0
        bins = np.minimum((scores - low) * per_score, n_bins - 1).astype(np.int64)
        counts[place] = np.bincount(bins, minlength=n_bins)
        means[place] = np.bincount(bins, scores, n_bins) / np.maximum(counts[place], 1.0)
    return means, counts
