"""What is stored of each user, so that sizes can be recomputed from the live top of the list alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import SettingError, warn
from sureness.evaluation.ranking import block_scores
from sureness.list_size.expectation import MOST_RELEVANT, scale_odds, shift_log_odds
from sureness.numerics.logistic import sigmoid
from sureness.numerics.poisson_binomial import power_sums
from sureness.numerics.ranking import members, top_k
from sureness.numerics.shrinkage import counts_by_activity, shrunk_counts
from sureness.pipeline.mapped import MappedSource
from sureness.sources.base import PartialSource, is_partial, user_blocks

N_POWERS = 12  # power sums of the tail; the more, the larger the probabilities in it may be
_LIKELIEST = 0.5  # behind the list; a likelier item counts as several of this probability
_ONE_BY_ONE = 500  # candidates of a map for all of them that count one by one, the others add up to a number

Target = Literal["fitted", "carried", "by_activity"]
_CHOICES = "'fitted', 'carried', 'by_activity' or numbers above 0"


@dataclass(frozen=True, eq=False)
class Summaries:
    """What is stored of each user: how much to expect, a shift of the log-odds, what lies behind the longest list."""

    expected: FloatArray  # (n_users,) relevant items of a period like the held-out one
    beyond: FloatArray  # (n_users,) how many of them lie behind the candidates the map is meant for
    shift: FloatArray  # (n_users,) added to the log-odds of the map
    tail: FloatArray  # (n_users, N_POWERS) power sums of the probabilities behind the longest list
    met: FloatArray  # (n_users,) expected number of relevant items after the shift

    __repr__ = fields_repr

    def of_users(self, users: IntArray) -> tuple[FloatArray, FloatArray]:
        """Shift and tail of users given as rows; those of unknown users (-1) are the means of all."""
        shift, tail = self.shift[users], self.tail[users]
        if len(users) and users.min() < 0:
            unknown = users < 0
            shift[unknown], tail[unknown] = self._means
        return shift, tail

    @cached_property
    def _means(self) -> tuple[float, FloatArray]:
        return float(self.shift.mean()), self.tail.mean(axis=0)

    def arrays(self) -> dict[str, FloatArray]:
        """By name, for a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def expectations(
    mapped: MappedSource, held_out: Interactions, seen: Interactions | None, *, times: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """How many relevant items to expect of each user, and how many of them behind the candidates of the map.

    Maps of users know both, for their period; `times` as much is to be expected. For other maps the held-out items are
    counted, and of a source that knows some scores only, what its listed candidates leave open lies behind them.
    """
    source = mapped.source
    who = mapped.who(np.arange(source.n_users))
    counted = times * mapped.map.expected_count(who)
    expected = np.where(np.isnan(counted), shrunk_counts(held_out.user_degree), counted)
    beyond = times * mapped.map.expected_beyond(who)
    if not np.isnan(beyond).any():
        return expected, beyond
    otherwise = np.zeros(source.n_users)
    if is_partial(source):
        otherwise = np.maximum(expected - _listed(mapped, source, seen), 0.0)
    return expected, np.where(np.isnan(beyond), otherwise, beyond)


def by_activity(held_out: Interactions, seen: Interactions | None) -> FloatArray:
    """How many relevant items to expect of each user, from those who had seen about as many items."""
    if seen is None:
        raise SettingError("expected_relevant='by_activity' counts what each user had seen before; give that as seen")
    return counts_by_activity(held_out.user_degree, seen.user_degree)


def _listed(mapped: MappedSource, source: PartialSource, seen: Interactions | None) -> FloatArray:
    """How many relevant items are expected among the known candidates; shape (n_users,)."""
    total = np.zeros(source.n_users)
    for users in user_blocks(source):
        known = source.known_block(users)
        rows = users[known.rows]
        log_odds = mapped.log_odds(known.scores[:, None], rows, known.items[:, None])[:, 0]
        chance = sigmoid(log_odds)
        if seen is not None:
            chance[members(known.items[:, None], rows, seen.row_starts, seen.item_rows)[:, 0]] = 0.0
        total[users] = np.bincount(known.rows, chance, len(users))
    return total


def summarise(
    mapped: MappedSource,
    seen: Interactions | None,
    expected: tuple[FloatArray, FloatArray],
    *,
    max_size: int,
    expected_relevant: Target | ArrayLike,
    progress: Progress = silent,
) -> Summaries:
    """One pass over all users as they are when lists are made, with the held-out items gone.

    Parameters
    ----------
    mapped : MappedSource
        The scores and what makes probabilities of them.
    seen : Interactions, optional
        What is not shown again.
    expected : two arrays of shape (n_users,)
        What `expectations` found.
    max_size : int
        The longest list; what lies behind it is summarised.
    expected_relevant : "fitted", "carried", "by_activity", or one number for all users or for each
        "fitted" takes the probabilities as they are. The others scale the odds of each user so that they add up to
        the expected number, or to the given one. Users who cannot have that number keep their
        probabilities; if it was given, a warning says how many, and a number that nobody can have is refused.
    """
    n_users = mapped.source.n_users
    target = _targets(expected_relevant, expected[0], n_users)
    n_unmet = 0
    shift, tail, met = np.zeros(n_users), np.empty((n_users, N_POWERS)), np.empty(n_users)
    for block, probabilities, beyond in _blocks(mapped, expected[1], seen, max_size):
        wanted = target[block] if target is not None else np.full(len(block), np.nan)
        reachable = _reachable(probabilities, beyond, wanted)
        n_unmet += int(np.count_nonzero(~reachable))
        if reachable.any():
            shift[block[reachable]] = scale_odds(probabilities[reachable], wanted[reachable], tail=beyond[reachable])
        moved = shift_log_odds(probabilities, shift[block])
        tail[block] = power_sums(moved, N_POWERS, skip=min(max_size, moved.shape[1]), most=_LIKELIEST)
        tail[block, 0] += beyond * np.exp(shift[block])
        met[block] = moved.sum(axis=1) + beyond * np.exp(shift[block])
        progress("summarising users", int(block[-1]) + 1, n_users)
    if n_unmet and not isinstance(expected_relevant, str):
        _say_unmet(n_unmet, n_users)
    return Summaries(*expected, shift, tail, met)


def _blocks(
    mapped: MappedSource, expected_beyond: FloatArray, seen: Interactions | None, max_size: int
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Blocks of users, the probabilities of their best candidates, and the expected number among the others."""
    source, top = mapped.source, mapped.map.top
    width = min(max(max_size, _ONE_BY_ONE if top is None else top), source.n_items)
    for block, scores in block_scores(source, np.arange(source.n_users)):
        if seen is None:
            items, best = top_k(scores, width)
        else:
            items, best = top_k(scores, width, rows=block, starts=seen.row_starts, seen=seen.item_rows)
        probabilities = sigmoid(mapped.log_odds(best, block, items))
        beyond = expected_beyond[block]
        if top is None:  # seen entries of `scores` are -inf now
            whole = sigmoid(mapped.log_odds(scores, block)).sum(axis=1)
            behind = whole - probabilities.sum(axis=1)
            beyond = beyond + np.where(behind > 1e-9 * whole, behind, 0.0)  # rounding is not something behind the list
        else:  # lists that reach behind the first `top` have a part of it one by one
            beyond = np.maximum(beyond - probabilities[:, top:].sum(axis=1), 0.0)
        if not is_partial(source):  # a user all of whose candidates are listed has nothing behind them
            beyond = np.where(np.count_nonzero(np.isfinite(best), axis=1) < width, 0.0, beyond)
            beyond = beyond if width < source.n_items else np.zeros(len(block))
        yield block, probabilities, beyond


def _targets(expected_relevant: Target | ArrayLike, expected: FloatArray, n_users: int) -> FloatArray | None:
    if isinstance(expected_relevant, str):
        if expected_relevant not in get_args(Target):
            raise SettingError(f"expected_relevant must be {_CHOICES}, got {expected_relevant!r}")
        return None if expected_relevant == "fitted" else expected
    given = np.asarray(expected_relevant, dtype=np.float64)
    if not np.all((given > 0) & (given <= MOST_RELEVANT)):  # NaN makes both false
        raise SettingError(f"expected_relevant must be {_CHOICES}, got {expected_relevant!r:.60}")
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_users):
        raise SettingError(
            f"expected_relevant must be one number, or one for each of {counted(n_users, 'user')}, got {given.shape}"
        )
    return np.broadcast_to(given, n_users)


def _reachable(probabilities: FloatArray, beyond: FloatArray, wanted: FloatArray) -> BoolArray:
    """Which targets scaled odds can meet: above the number of p = 1 and below that of p > 0."""
    certain, possible = (probabilities == 1).sum(axis=1), (probabilities > 0).sum(axis=1)
    return np.asarray((wanted > certain) & ((wanted < possible) | ((beyond > 0) & np.isfinite(wanted))))


def _say_unmet(n_unmet: int, n_users: int) -> None:
    sentence = (
        f"expected_relevant cannot be met for {n_unmet:,} of {counted(n_users, 'user')}: scaled odds reach numbers "
        "strictly between that of the items with p = 1 and that of the items with p > 0"
    )
    if n_unmet == n_users:
        raise SettingError(f"{sentence}; give another number, or 'fitted'")
    warn(f"{sentence}; the probabilities of these users stay as fitted")
