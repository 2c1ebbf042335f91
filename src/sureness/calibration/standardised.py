"""Maps of scores that are compared within a user: what they know of each user."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.calibration.maps import ProbabilityMap, Who, wide
from sureness.calibration.reach import Reach
from sureness.data.ids import IdMap
from sureness.errors import IdError, SettingError

_MOST_DEVIATIONS = 20.0  # between two of 200 numbers: none of them can be further apart


def at_rows(values: FloatArray, rows: IntArray, otherwise: float) -> FloatArray:
    """The value of each row, and another one where the row is unknown (-1).

    Examples
    --------
    >>> at_rows(np.array([0.5, 0.7]), np.array([1, -1]), 0.6).tolist()
    [0.7, 0.6]
    """
    return np.where(rows < 0, otherwise, values[rows])


class StandardisedMap(ProbabilityMap):
    """A map of scores in standard deviations from the mean of the user's fitted ones.

    The scale of scores differs between users more than their meaning does. Users that the map does not know have the
    mean of all users in everything.
    """

    users_: IdMap
    location_: FloatArray
    scale_: FloatArray
    expected_relevant_: FloatArray
    beyond_: FloatArray

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        if users is None:
            raise SettingError(f"{type(self).__name__} compares scores within a user; give users=, one id for each")
        rows = self.users_.rows(users) if n else np.empty(0, dtype=np.int64)
        if len(rows) != n:
            raise IdError(f"users must be one id for each of the {n:,} scores, got {len(rows):,}")
        return Who(n, users=rows)

    def fits(self, users: IdMap) -> bool:
        return self.users_.same_as(users)

    def expected_count(self, who: Who) -> FloatArray:
        return self._of_users(self.expected_relevant_, who)

    def expected_beyond(self, who: Who) -> FloatArray:
        return self._of_users(self.beyond_, who)

    def reach(self) -> Reach | None:
        """Only scores far above those of all users are strange; lower ones are those of candidates behind the best."""
        self.check_fitted()
        known = getattr(self, "_reach", None)
        if known is None or known[0] is not self.location_:  # of this fit
            lowest = float((self.location_ - _MOST_DEVIATIONS * self.scale_).min())
            highest = float((self.location_ + _MOST_DEVIATIONS * self.scale_).max())
            self._reach = known = (self.location_, lowest, highest)
        return Reach(known[1], known[2], self._n_fitted(), upwards=True)

    @abstractmethod
    def _n_fitted(self) -> int:
        """How many pairs it was fitted on."""

    @staticmethod
    def _rows(who: Who) -> IntArray:
        if who.users is None:
            raise SettingError("scores are compared within a user here; give users=")
        return who.users

    def _of_users(self, values: FloatArray, who: Who) -> FloatArray:
        """A learned value of each user; of an unknown one the mean over all."""
        rows = self._rows(who)
        return at_rows(values, rows, float(values.mean()) if len(rows) and rows.min() < 0 else 0.0)

    def _standardised(self, scores: FloatArray, who: Who) -> FloatArray:
        """Scores of shape (n,) or (n, n_candidates) in standard deviations from the mean of each user."""
        location, scale = (wide(self._of_users(values, who), scores) for values in (self.location_, self.scale_))
        return np.asarray((scores - location) / scale)
