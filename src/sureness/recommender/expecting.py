"""How much to expect of users: relevant items below their candidates, and once held-out items are gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import SettingError, warn
from sureness.lists.expectation import MOST_RELEVANT, scale_odds, shift_log_odds
from sureness.numerics.poisson import fit_poisson
from sureness.numerics.ramps import Curve, knots_between, ramps
from sureness.saving.packed import JSON, real, reals

Target = Literal["carried", "fitted"]
_CHOICES = f"'carried', 'fitted' or numbers above 0, at most {MOST_RELEVANT:,.0f}"
_RAMPS = 4


@dataclass(frozen=True, eq=False)
class Below:
    """The expected number of held-out items below the best candidates of a user, by the size of the history.

    A Poisson regression on the logarithm of 1 + history. What is missing of an expected number cannot be taken instead:
    it is never negative, so on average it is too much.
    """

    log_mean: float  # at the first knot
    curve: Curve  # of log(1 + history); flat beyond its ends

    __repr__ = fields_repr

    @classmethod
    def learned(cls, n_below: IntArray, history: FloatArray | IntArray, weight: FloatArray | None = None) -> Self:
        """From users with the number of their held-out items below the best candidates.

        Examples
        --------
        >>> found = Below.learned(np.tile([1, 1, 3, 3], 50), np.tile([2, 2, 20, 20], 50))
        >>> found.expected(np.array([2, 20])).round(1)
        array([1., 3.])
        """
        amount = np.log1p(history)
        knots = knots_between(amount, np.repeat(amount, n_below) if n_below.any() else amount, _RAMPS)
        columns = np.stack([np.ones(len(amount)), *ramps(np.clip(amount, knots[0], knots[-1]), knots)], axis=1)
        penalty = np.maximum(columns.var(axis=0), 1e-9)
        theta = fit_poisson(columns, n_below, penalty, weight)
        return cls(float(theta[0]), Curve(knots, theta[1:]))

    def expected(self, history: FloatArray | IntArray) -> FloatArray:
        """For users with histories of these sizes; shape (n,)."""
        knots = self.curve.knots
        amount = np.clip(np.log1p(history), knots[0], knots[-1])
        return np.asarray(np.exp(self.log_mean + self.curve.values(amount)))

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        return {"log_mean": self.log_mean, "knots": self.curve.knots.tolist(), "slopes": self.curve.slopes.tolist()}

    @classmethod
    def of(cls, plain: Any) -> Self:
        """Out of `plain`; what makes no sense is refused."""
        knots = reals(plain["knots"], rising=True)
        if not len(knots):
            raise ValueError("a curve needs a knot")
        return cls(real(plain["log_mean"]), Curve(knots, reals(plain["slopes"], n=len(knots) - 1)))


def check_target(expected_relevant: Target | ArrayLike, n_users: int) -> Target | FloatArray:
    """A way to find the number of relevant items, or the number of each user."""
    if isinstance(expected_relevant, str):
        if expected_relevant not in get_args(Target):
            raise SettingError(f"expected_relevant must be {_CHOICES}, got {expected_relevant!r}")
        return cast(Target, expected_relevant)
    given = np.asarray(expected_relevant, dtype=np.float64)
    if not np.all((given > 0) & (given <= MOST_RELEVANT)):  # NaN makes both false
        raise SettingError(f"expected_relevant must be {_CHOICES}, got {expected_relevant!r:.60}")
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_users):
        raise SettingError(
            f"expected_relevant must be one number, or one for each of {counted(n_users, 'user')}, got {given.shape}"
        )
    return np.broadcast_to(given, n_users)


def scaled_to(
    probabilities: FloatArray, below: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Odds scaled so that a user's probabilities and what is below add up to a number; users who cannot have it stay.

    Returns
    -------
    probabilities, below, met : arrays
        `met`: which users have the wanted number now.
    """
    certain, possible = (probabilities == 1).sum(axis=1), (probabilities > 0).sum(axis=1)
    met = (wanted > certain) & ((wanted < possible) | ((below > 0) & np.isfinite(wanted)))
    shift = np.zeros(len(wanted))
    if met.any():
        shift[met] = scale_odds(probabilities[met], wanted[met], tail=below[met])
    return shift_log_odds(probabilities, shift), below * np.exp(shift), met


def report_unmet(met: BoolArray) -> None:
    """Warn about users who cannot have the given number of relevant items; refuse a number that nobody can have."""
    n_unmet, n_users = int(np.count_nonzero(~met)), len(met)
    if not n_unmet:
        return
    sentence = (
        f"expected_relevant cannot be met for {n_unmet:,} of {counted(n_users, 'user')}: scaled odds reach numbers "
        "strictly between that of the items with p = 1 and that of the items with p > 0"
    )
    if n_unmet == n_users:
        raise SettingError(f"{sentence}; give another number, or 'fitted'")
    warn(f"{sentence}; the probabilities of these users stay as fitted")
