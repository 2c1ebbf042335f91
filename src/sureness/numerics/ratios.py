"""What came over what was promised, with an interval over users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._types import AnyArray

_NORMAL = 1.959963984540054  # of a two-sided interval of 95%
_NONE_CAME = 3.688879454113936  # so many may be expected where none came, by the same interval of a Poisson number


class Ratio(NamedTuple):
    """A ratio of two sums; None where nothing was promised, the interval also where there is one user alone."""

    value: float | None
    low: float | None
    high: float | None


def ratio_of_sums(realised: AnyArray, promised: AnyArray) -> Ratio:
    """Realised over promised hits and its 95% interval, by the spread of each user's realised minus promised hits.

    Parameters
    ----------
    realised, promised : array of shape (n_users,)
        Hits of each user; pairs of one user are not independent, so each user is one observation.

    Examples
    --------
    >>> ratio_of_sums(np.array([1.0, 2.0]), np.array([1.0, 1.0])).value
    1.5
    """
    total, came, n_users = float(promised.sum()), float(realised.sum()), len(promised)
    if total <= 0:
        return Ratio(None, None, None)
    ratio = came / total
    if n_users < 2:
        return Ratio(ratio, None, None)
    away = realised - ratio * promised
    margin = (_NORMAL * float(np.sqrt(away @ away * n_users / (n_users - 1))) if came else _NONE_CAME) / total
    return Ratio(ratio, max(ratio - margin, 0.0), ratio + margin)
