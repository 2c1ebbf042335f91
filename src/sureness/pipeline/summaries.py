"""What is stored of each user, so that sizes can be recomputed from the live top of the list alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.calibration.per_user import PerUserCalibrator
from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.evaluation.ranking import block_scores
from sureness.list_size.expectation import MOST_RELEVANT, scale_odds, shift_log_odds
from sureness.numerics.logistic import sigmoid
from sureness.numerics.poisson_binomial import power_sums
from sureness.numerics.ranking import top_k
from sureness.pipeline.maps import GlobalMap
from sureness.sources.base import PartialSource, ScoreSource

N_POWERS = 12  # power sums of the tail; the more, the larger the probabilities in it may be
_LIKELIEST = 0.5  # behind the list; a likelier item counts as several of this probability
_SURELY = 500  # of a map for all candidates so many are looked at one by one, the others add up to a number

Progress = Callable[[str, int, int], None]
Target = Literal["fitted", "carried"]


@dataclass(frozen=True, eq=False)
class Summaries:
    """A shift of the log-odds and what lies behind the longest list, for every user."""

    shift: FloatArray  # (n_users,)
    tail: FloatArray  # (n_users, N_POWERS) power sums of the probabilities behind the longest list
    met: FloatArray  # (n_users,) expected number of relevant items after the shift

    def table(self) -> pl.DataFrame:
        """As columns, for a file."""
        sums = {f"tail_{power + 1}": self.tail[:, power] for power in range(self.tail.shape[1])}
        return pl.DataFrame({"shift": self.shift, "met": self.met, **sums})

    @classmethod
    def of_table(cls, table: pl.DataFrame) -> Self:
        """Back from columns."""
        names = [name for name in table.columns if name.startswith("tail_")]
        return cls(table["shift"].to_numpy(), table.select(names).to_numpy(), table["met"].to_numpy())


def summarise(
    source: ScoreSource,
    maps: PerUserCalibrator | GlobalMap,
    seen: Interactions | None,
    *,
    max_size: int,
    expected_relevant: Target | ArrayLike,
    progress: Progress | None = None,
) -> Summaries:
    """One pass over all users as they are when lists are made, with the held-out items gone.

    Parameters
    ----------
    source, maps : the scores and what makes probabilities of them
    seen : Interactions, optional
        What is not shown again.
    max_size : int
        The longest list; what lies behind it is summarised.
    expected_relevant : "fitted", "carried", or one number a user or for all
        "fitted" takes the probabilities as they are. The others scale the odds of each user so that they add up to
        the number of the validation period, or to the given one.
    """
    n_users = source.n_users
    target = _targets(expected_relevant, maps, n_users)
    shift, tail, met = np.zeros(n_users), np.empty((n_users, N_POWERS)), np.empty(n_users)
    for block, probabilities, beyond in _blocks(source, maps, seen, max_size):
        wanted = target[block] if target is not None else np.full(len(block), np.nan)
        reachable = _reachable(probabilities, beyond, wanted)
        if not isinstance(expected_relevant, str) and not reachable.all():
            _refuse(block[~reachable][0], wanted[~reachable][0], probabilities[~reachable][0])
        if reachable.any():
            shift[block[reachable]] = scale_odds(probabilities[reachable], wanted[reachable], tail=beyond[reachable])
        moved = shift_log_odds(probabilities, shift[block])
        tail[block] = power_sums(moved, N_POWERS, skip=min(max_size, moved.shape[1]), most=_LIKELIEST)
        tail[block, 0] += beyond * np.exp(shift[block])
        met[block] = moved.sum(axis=1) + beyond * np.exp(shift[block])
        if progress is not None:
            progress("summarising users", int(block[-1]) + 1, n_users)
    return Summaries(shift, tail, met)


def _blocks(
    source: ScoreSource, maps: PerUserCalibrator | GlobalMap, seen: Interactions | None, max_size: int
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Blocks of users, the probabilities of their best candidates, and the expected number among the others."""
    every = maps.top is None
    width = min(max(max_size, _SURELY if maps.top is None else maps.top), source.n_items)
    for block, scores in block_scores(source, np.arange(source.n_users)):
        hidden: dict[str, Any] = {}
        if seen is not None:
            hidden = {"rows": block, "starts": seen.row_starts, "excluded": seen.item_rows}
        _, best = top_k(scores, width, **hidden)  # seen entries of `scores` are now -inf
        probabilities = sigmoid(maps.log_odds(best.astype(np.float64), block))
        beyond = maps.beyond_[block]
        if maps.top is not None:  # lists that reach behind the first `top` have a part of it one by one
            beyond = np.maximum(beyond - probabilities[:, maps.top :].sum(axis=1), 0.0)
        if every:
            whole = sigmoid(maps.log_odds(scores.astype(np.float64), block)).sum(axis=1)
            behind = whole - probabilities.sum(axis=1)
            beyond = beyond + np.where(behind > 1e-9 * whole, behind, 0.0)  # rounding is not something behind the list
        if not isinstance(source, PartialSource):  # a user all of whose candidates are listed has nothing behind them
            beyond = np.where(np.count_nonzero(np.isfinite(best), axis=1) < width, 0.0, beyond)
            beyond = beyond if width < source.n_items else np.zeros(len(block))
        yield block, probabilities, beyond


def _targets(
    expected_relevant: Target | ArrayLike, maps: PerUserCalibrator | GlobalMap, n_users: int
) -> FloatArray | None:
    if isinstance(expected_relevant, str):
        if expected_relevant not in ("fitted", "carried"):
            raise DataError(f"expected_relevant must be 'fitted', 'carried' or numbers, got {expected_relevant!r}")
        return None if expected_relevant == "fitted" else maps.expected_relevant_
    given = np.asarray(expected_relevant, dtype=np.float64)
    if not np.all((given > 0) & (given <= MOST_RELEVANT)):  # NaN makes both false
        raise DataError(
            f"expected_relevant must be 'fitted', 'carried' or numbers above 0, got {expected_relevant!r:.60}"
        )
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_users):
        raise DataError(
            f"expected_relevant must be one number, or one for each of {n_users:,} users, got {given.shape}"
        )
    return np.broadcast_to(given, n_users)


def _reachable(probabilities: FloatArray, beyond: FloatArray, wanted: FloatArray) -> Any:
    """Which targets scaled odds can meet: above the number of p = 1 and below that of p > 0."""
    certain, possible = (probabilities == 1).sum(axis=1), (probabilities > 0).sum(axis=1)
    return (wanted > certain) & ((wanted < possible) | ((beyond > 0) & np.isfinite(wanted)))


def _refuse(user: int, wanted: float, probabilities: FloatArray) -> None:
    raise DataError(
        f"expected_relevant={wanted:g} cannot be met by the user in row {user}: scaled odds reach numbers strictly "
        f"between {np.count_nonzero(probabilities == 1)} (items with p = 1) and "
        f"{np.count_nonzero(probabilities)} (items with p > 0); give another number, or 'fitted'"
    )
