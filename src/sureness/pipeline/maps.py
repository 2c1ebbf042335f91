"""What a recommender needs of a calibrator: probabilities of rows of scores, and what lies behind them."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np

from sureness._settings import Configurable
from sureness._types import FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.per_user import PerUserCalibrator, shrunk_counts
from sureness.data.interactions import Interactions
from sureness.errors import DataError, NotFittedError
from sureness.evaluation.ranking import fitted_to
from sureness.numerics.logistic import logit
from sureness.numerics.ranking import members
from sureness.sources.base import PartialSource, ScoreSource, user_blocks


@runtime_checkable
class UserMaps(Protocol):
    """Probabilities of rows of scores, one row a user."""

    top: int | None  # how many of the best candidates the map is meant for; None: all
    expected_relevant_: FloatArray  # (n_users,) relevant items of a period like the held-out one
    beyond_: FloatArray  # (n_users,) how many of them lie behind the first `top`

    def log_odds(self, scores: FloatArray, rows: IntArray) -> FloatArray: ...


class GlobalMap(Configurable):
    """One calibrator for all users, over all candidates.

    Parameters
    ----------
    calibrator : Calibrator
        Any of them, fitted or not.

    Examples
    --------
    >>> from sureness.calibration.parametric import PlattCalibrator
    >>> GlobalMap(PlattCalibrator())
    GlobalMap(calibrator=PlattCalibrator())
    """

    top = None

    def __init__(self, calibrator: Calibrator) -> None:
        self.calibrator = calibrator

    def fit(
        self, source: ScoreSource, held_out: Interactions, *, seen: Interactions | None = None, refit: bool = True
    ) -> Self:
        """Fit the calibrator on all candidates, unless it is to stay as it is, and count what was held out."""
        if refit:
            self.calibrator.fit_set(CalibrationSet.from_source(source, held_out, train=seen))
        elif not hasattr(self.calibrator, "estimand_"):
            raise NotFittedError(f"{self.calibrator!r} is not fitted yet; fit it, or leave refit as it is")
        self.expected_relevant_ = shrunk_counts(fitted_to(source, held_out, "held_out").user_degree)
        self.beyond_ = np.zeros(source.n_users)
        if isinstance(source, PartialSource):  # the table has the best candidates only
            listed = self._listed(source, None if seen is None else fitted_to(source, seen, "seen"))
            self.beyond_ = np.maximum(self.expected_relevant_ - listed, 0.0)
        return self

    def _listed(self, source: PartialSource, seen: Interactions | None) -> FloatArray:
        """How many relevant items are expected among the known candidates; shape (n_users,)."""
        total = np.zeros(source.n_users)
        for users in user_blocks(source):
            known = source.known_block(users)
            chance = self.calibrator.probability(known.scores) if len(known.scores) else np.empty(0)
            if seen is not None:
                rows = users[known.rows]
                chance[members(known.items[:, None], rows, seen.row_starts, seen.item_rows)[:, 0]] = 0.0
            total[users] = np.bincount(known.rows, chance, len(users))
        return total

    def log_odds(self, scores: FloatArray, rows: IntArray) -> FloatArray:
        """Log-odds of each score; -inf where there is no candidate."""
        known = np.isfinite(scores)
        result = np.full(scores.shape, -np.inf)
        result[known] = logit(self.calibrator.probability(scores[known]))
        return result


def as_maps(calibrator: object) -> PerUserCalibrator | GlobalMap:
    """A calibrator of either kind as something that maps rows of users."""
    if isinstance(calibrator, PerUserCalibrator | GlobalMap):
        return calibrator
    if isinstance(calibrator, Calibrator):
        return GlobalMap(calibrator)
    raise DataError(
        f"calibrator must be a per-user or a plain calibrator such as PerUserPlatt() or PlattCalibrator(), "
        f"got {calibrator!r}"
    )
