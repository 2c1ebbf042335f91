"""How many items are relevant: the distribution of a sum of independent events with different probabilities."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.numerics.checks import check_choice, check_probability_rows, check_whole

Method = Literal["exact", "recursion", "refined_normal"]


def poisson_binomial_pmf(
    probabilities: ArrayLike, *, method: Method = "exact", max_count: int | None = None
) -> FloatArray:
    """The probability of every possible number of relevant items.

    Parameters
    ----------
    probabilities : array-like of shape (n_items,) or (n_users, n_items)
        In any order.
    method : {"exact", "recursion", "refined_normal"}
        "exact" is a Fourier transform over a short window around the mean, outside of which the number falls with
        probability 1e-15. It agrees within 1e-12 with "recursion", which adds items one by one in n_items * max_count
        steps.
        "refined_normal" is the normal approximation with a correction for skewness, for comparison.
    max_count : int, optional
        The largest number of relevant items to report; by default n_items.

    Returns
    -------
    array of shape (..., max_count + 1)

    Examples
    --------
    >>> poisson_binomial_pmf([0.5, 0.5]).round(3)
    array([0.25, 0.5 , 0.25])
    >>> poisson_binomial_pmf([[0.1, 0.2, 1.0]], max_count=1).round(3)
    array([[0.  , 0.72]])
    """
    from sureness.numerics import _counting_kernels  # loads the compiler

    check_choice(method, "method", ("exact", "recursion", "refined_normal"))
    rows, single = check_probability_rows(probabilities)
    n_counts = rows.shape[1] + 1 if max_count is None else check_whole(max_count, "max_count") + 1
    result = np.empty((len(rows), n_counts))
    if method == "refined_normal":
        below = refined_normal_cdf(rows, np.arange(-1, n_counts))
        result = np.diff(below, axis=1)
    elif method == "recursion":
        _counting_kernels.recursion_rows(rows, result)
    else:
        cosine, sine = _counting_kernels.ROOTS
        _counting_kernels.pmf_rows(rows, cosine, sine, result)
    return result[0] if single else result


def poisson_binomial_cdf(
    probabilities: ArrayLike, *, method: Method = "exact", max_count: int | None = None
) -> FloatArray:
    """The probability of at most 0, 1, 2, ... relevant items; parameters as for `poisson_binomial_pmf`.

    Examples
    --------
    >>> poisson_binomial_cdf([0.5, 0.5]).round(3)
    array([0.25, 0.75, 1.  ])
    """
    if method == "refined_normal":
        rows, single = check_probability_rows(probabilities)
        counts = np.arange(rows.shape[1] + 1 if max_count is None else check_whole(max_count, "max_count") + 1)
        result = refined_normal_cdf(rows, counts)
        return result[0] if single else result
    pmf = poisson_binomial_pmf(probabilities, method=method, max_count=max_count)
    return np.minimum(np.cumsum(pmf, axis=-1), 1.0)


def refined_normal_cdf(probabilities: FloatArray, counts: FloatArray) -> FloatArray:
    """The normal approximation with continuity and skewness corrections; shape (n_users, n_counts)."""
    from scipy.special import ndtr

    variance = np.sum(probabilities * (1 - probabilities), axis=1, keepdims=True)
    third = np.sum(probabilities * (1 - probabilities) * (1 - 2 * probabilities), axis=1, keepdims=True)
    mean = probabilities.sum(axis=1, keepdims=True)
    spread = np.sqrt(np.maximum(variance, 1e-300))
    x = (counts + 0.5 - mean) / spread
    density = np.exp(-0.5 * np.minimum(x * x, 1_400.0)) / np.sqrt(2 * np.pi)
    skewness = np.where(variance > 0, third / spread**3, 0.0)
    return np.asarray(np.clip(ndtr(x) + skewness * (1 - x * x) * density / 6, 0.0, 1.0))


def power_sums(probabilities: ArrayLike, n_powers: int = 8, *, skip: int = 0, most: float = 1.0) -> FloatArray:
    """Sums of p, p**2, ... over each user's candidates after the first `skip`.

    They summarise unlisted candidates: counting relevant items needs nothing else about them.

    Parameters
    ----------
    probabilities : array-like of shape (n_users, n_items)
    n_powers : int
    skip : int
        Number of leading columns to leave out.
    most : float
        A more likely item counts as several items of this probability, with the same expected number. The series built
        from the sums converges faster for smaller probabilities, and not at all above one half.

    Examples
    --------
    >>> power_sums([[0.9, 0.5, 0.1]], 2, skip=1).round(3)
    array([[0.6 , 0.26]])
    """
    from sureness.numerics import _odds_kernels  # loads the compiler

    rows, _ = check_probability_rows(probabilities)
    result = np.empty((len(rows), n_powers))
    _odds_kernels.tail_sums(rows, skip, most, result)
    return result
