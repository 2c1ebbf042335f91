"""Expected utility of a list of k items for every k, from calibrated probabilities.

With S the number of relevant items among all candidates and S_r the same without the item at rank r, every normalised
utility is ``sum over m of sum over r <= k of discount(r) * p_r * P(S_r = m - 1) / scale(k, m)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, SettingError
from sureness.metrics.utility import NORMALISERS, Utility, named_utility
from sureness.numerics.checks import (
    as_array,
    check_memory,
    check_probability_rows,
    check_whole,
    number_array,
)
from sureness.numerics.poisson_binomial import Gains, expected_gains, log_odds_shifts
from sureness.numerics.poisson_binomial import shift_log_odds as shift_log_odds  # part of this module for callers

LONGEST = 1_000_000
"""Most items of a list."""

MOST_RELEVANT = 1e7
"""A larger number of relevant items of one user is taken for a mistake."""

_KINDS = {"none": 0, "ideal": 1, "smaller": 1, "mean": 2}
assert set(_KINDS) == set(NORMALISERS)


def expected_utility(
    probabilities: ArrayLike,
    utility: str | Utility = "f1",
    *,
    max_size: int = 50,
    expected_relevant: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    tail: ArrayLike | None = None,
) -> FloatArray:
    """The expected utility of the first k items of each user, for every k up to `max_size`.

    Parameters
    ----------
    probabilities : array-like of shape (n_users, n_items)
        Of all candidates, or of the best ones (see `expected_relevant` and `tail`), each row in the order of the list.
    utility : {"ndcg", "pdcg", "f1", "tp", "dcg"} or Utility
    max_size : int
        May exceed the number of candidates; lists end there, and the last value is repeated.
    expected_relevant : array-like of shape (n_users,) or float, optional
        Number of relevant items in all. The part beyond the sum of the given probabilities is assumed to lie among
        many other, unlikely candidates.
    lengths : array-like of shape (n_users,), optional
        Number of valid probabilities in each row; later entries are ignored.
    tail : array-like of shape (n_users, n_powers), optional
        `power_sums` of the candidates that are not listed; an alternative to `expected_relevant`.

    Returns
    -------
    array of shape (n_users, max_size)
        Column k - 1 belongs to a list of k items.

    Examples
    --------
    >>> expected_utility([[0.9, 0.5, 0.1]], "f1", max_size=3).round(4)
    array([[0.7275, 0.766 , 0.6365]])
    >>> expected_utility([[0.9, 0.5, 0.1]], "pdcg", max_size=2).round(4)
    array([[0.8, 0.8]])

    A table of the best items covers only a part of the relevant ones:

    >>> expected_utility([[0.9, 0.5, 0.1]], "f1", max_size=3, expected_relevant=5.0).round(4)
    array([[0.331 , 0.4173, 0.3834]])
    """
    (values,) = expected_utilities(
        probabilities,
        [utility],
        max_size=max_size,
        expected_relevant=expected_relevant,
        lengths=lengths,
        tail=tail,
    )
    return np.asarray(values)


def expected_utilities(
    probabilities: ArrayLike,
    utilities: Sequence[str | Utility],
    *,
    max_size: int = 50,
    expected_relevant: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    tail: ArrayLike | None = None,
) -> FloatArray:
    """Several utilities at once, which takes little longer than one; shape (n_utilities, n_users, max_size).

    Parameters are those of `expected_utility`.

    Examples
    --------
    >>> expected_utilities([[0.9, 0.5]], ["ndcg", "tp"], max_size=2).round(3)
    array([[[0.9  , 0.932]],
    <BLANKLINE>
           [[0.9  , 0.95 ]]])
    """
    chosen = tuple(named_utility(utility) for utility in utilities)
    rows, _ = check_probability_rows(probabilities, in_range=lengths is None)
    check_max_size(max_size)
    counts = _lengths(lengths, rows)
    if lengths is not None:  # entries beyond may be anything
        rows, _ = check_probability_rows(np.where(np.arange(rows.shape[1]) < counts[:, None], rows, 0.0))
    check_memory(
        8 * len(chosen) * len(rows) * max_size,
        f"{counted(max_size, 'size')} of the lists of {counted(len(rows), 'user')}",
    )
    tails = _tails(rows, counts, expected_relevant, tail)
    gains = _gains(chosen, max_size)
    result = expected_gains(rows, counts, tails, gains)
    if tails.shape[1] > 1 and not _plausible(result, gains.most):
        raise DataError(
            "the tail holds probabilities too close to 1 for its power sums; list those items among the probabilities"
        )
    return result


def _gains(utilities: tuple[Utility, ...], max_size: int) -> Gains:
    """What items are worth by rank; kept, because for one user computing it would take as long as all the rest.

    Only numbers and functions are known to stay the same; an object that can be called may change.
    """
    stays = all(isinstance(utility.discount, tuple | FunctionType) for utility in utilities)
    return _kept_gains(utilities, max_size) if stays else _computed_gains(utilities, max_size)


def _computed_gains(utilities: tuple[Utility, ...], max_size: int) -> Gains:
    return Gains(
        discount=np.stack([utility.discounts(max_size) for utility in utilities]),
        gain=np.array([utility.gain for utility in utilities]),
        loss=np.array([utility.loss for utility in utilities]),
        kind=np.array([_KINDS[utility.normaliser] for utility in utilities]),
        inverse=np.stack([utility.inverse_scale(max_size, 0)[: max_size + 1] for utility in utilities]),
        most=np.array([_most(utility, max_size) for utility in utilities]),
    )


_kept_gains = lru_cache(maxsize=64)(_computed_gains)


def _most(utility: Utility, max_size: int) -> float:
    """The maximum of a utility, that of a list of relevant items only; infinite without a normaliser."""
    if utility.normaliser in ("none", "ideal"):
        return np.inf if utility.normaliser == "none" else 1.0
    return utility.gain * float(np.abs(utility.discounts(max_size)).max())


def _plausible(values: FloatArray, most: FloatArray) -> bool:
    """Whether normalised utilities are within their bound; power sums of likely items do not converge."""
    return bool(np.isfinite(values).all() and np.all(np.abs(values) <= most[:, None, None] * (1.0 + 1e-6)))


def scale_odds(probabilities: ArrayLike, expected_relevant: ArrayLike, *, tail: ArrayLike | None = None) -> FloatArray:
    """Multiply the odds of each user by one factor, so that the probabilities add up to a given number.

    This transfers a number of relevant items to another period or set of candidates, and keeps the ranking.

    Parameters
    ----------
    probabilities : array-like of shape (n_users, n_items)
    expected_relevant : array-like of shape (n_users,) or float
        More than the number of items with p = 1, and less than that of items with p > 0 (if there is no tail).
    tail : array-like of shape (n_users,), optional
        Expected number of relevant items among unlisted candidates; it is scaled by the factor too.

    Returns
    -------
    array of shape (n_users,)
        The logarithm of each user's factor; `shift_log_odds` applies it.

    Examples
    --------
    >>> shift = scale_odds([[0.5, 0.5]], 1.2)
    >>> shift_log_odds(np.array([[0.5, 0.5]]), shift).round(3)
    array([[0.6, 0.6]])
    """
    rows, _ = check_probability_rows(probabilities)
    beyond = _per_user(0.0 if tail is None else tail, "tail", len(rows))
    wanted = _per_user(expected_relevant, "expected_relevant", len(rows))
    certain, possible = (rows == 1).sum(axis=1), (rows > 0).sum(axis=1)
    low, high = certain, np.where(beyond > 0, np.inf, possible)
    fixed = (certain == possible) & (beyond == 0) & (wanted == certain)  # nothing can change, and nothing needs to
    if (bad := ~(((wanted > low) & (wanted < high)) | fixed)).any():
        first = int(np.argmax(bad))
        raise DataError(
            f"the target of {wanted[first]:.6g} relevant items cannot be met by user number {first}: scaled odds reach "
            f"numbers strictly between {low[first]} (items with p = 1) and {high[first]:g} (items with p > 0); "
            "give another target"
        )
    return log_odds_shifts(rows, beyond, np.where(fixed, np.nan, wanted))


def check_max_size(max_size: int) -> None:
    """Refuse anything but a whole number from 1 to `LONGEST`."""
    check_whole(max_size, "max_size", 1, LONGEST)


def _lengths(lengths: ArrayLike | None, rows: FloatArray) -> IntArray:
    if lengths is None:
        return np.full(len(rows), rows.shape[1])
    counts = as_array(lengths, "lengths")
    if counts.shape != (len(rows),) or counts.dtype.kind not in "iu":
        raise DataError(f"lengths must be {counted(len(rows), 'whole number')}, one per user, got shape {counts.shape}")
    if len(counts) and (counts.min() < 0 or counts.max() > rows.shape[1]):
        raise DataError(
            f"lengths must lie between 0 and the {counted(rows.shape[1], 'column')}, got {counts.min()} to "
            f"{counts.max()}"
        )
    return counts.astype(np.int64)


def _tails(
    rows: FloatArray, lengths: IntArray, expected_relevant: ArrayLike | None, tail: ArrayLike | None
) -> FloatArray:
    """Power sums of the unlisted candidates; shape (n_users, n_powers), with n_powers 0 if there are none."""
    if tail is not None:
        if expected_relevant is not None:
            raise SettingError(
                "give expected_relevant or tail, not both: each is about the relevant items that are not listed"
            )
        return _power_sums(tail, len(rows))
    if expected_relevant is None:
        return np.empty((len(rows), 0))
    wanted = _per_user(expected_relevant, "expected_relevant", len(rows))
    listed = np.where(np.arange(rows.shape[1]) < lengths[:, None], rows, 0.0).sum(axis=1)
    missing = wanted - listed
    if not np.all(missing >= -1e-9 * np.maximum(listed, 1.0)):
        first = int(np.argmax(~(missing >= -1e-9 * np.maximum(listed, 1.0))))
        raise DataError(
            "expected_relevant must not be below the sum of the listed probabilities, got "
            f"{missing[first] + listed[first]:.6g} for user number {first} whose probabilities add up to "
            f"{listed[first]:.6g}; lower them with scale_odds"
        )
    return np.asarray(np.maximum(missing, 0.0)[:, None])


def _power_sums(tail: ArrayLike, n_users: int) -> FloatArray:
    """Check sums of p, p**2, ..., which never rise."""
    sums = np.asarray(number_array(tail, "tail"), dtype=np.float64)
    if sums.ndim != 2 or len(sums) != n_users:
        raise DataError(
            f"tail must be a matrix of power sums, one row for each of {counted(n_users, 'user')}; use power_sums"
        )
    if not np.all((sums >= 0) & (sums <= MOST_RELEVANT)) or np.any(np.diff(sums, axis=1) > 1e-9 * sums[:, :-1]):
        raise DataError(
            f"tail must hold sums of p, p**2, ...: never rising, and between 0 and {MOST_RELEVANT:g}; "
            "make them with power_sums"
        )
    return np.ascontiguousarray(sums)


def _per_user(values: ArrayLike, name: str, n_users: int) -> FloatArray:
    """One number per user, from one for all or one for each."""
    array = np.asarray(number_array(values, name), dtype=np.float64)
    if array.shape not in ((), (n_users,)):
        raise DataError(
            f"{name} must be one number, or one for each of {counted(n_users, 'user')}, got shape {array.shape}"
        )
    if not np.all((array >= 0) & (array <= MOST_RELEVANT)):  # NaN makes both false
        raise DataError(f"{name} must lie between 0 and {MOST_RELEVANT:g}, got {array.min():g} to {array.max():g}")
    return np.broadcast_to(array, n_users)
