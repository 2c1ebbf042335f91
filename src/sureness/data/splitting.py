"""Split a log into train, validation and test: at random, or by the order of each user's pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import polars as pl

from sureness._types import AnyArray, BoolArray, IntArray, Seed
from sureness._wording import agreeing, counted
from sureness.data.interactions import Interactions, Part, check_log
from sureness.errors import ColumnError, IdError, SettingError
from sureness.numerics.checks import brief

_IGNORED = 'the split is at random and ignores the times of the log; by_time splits by them, as does protocol="time"'


@dataclass(frozen=True, eq=False)
class Split:
    """Three parts of a log that share their id maps."""

    train: Interactions
    validation: Interactions
    test: Interactions

    def __post_init__(self) -> None:
        for part in (self.validation, self.test):
            if not (part.users.same_as(self.train.users) and part.items.same_as(self.train.items)):
                raise IdError(
                    "the parts of a split must have the same users and items; align them with .aligned(users, items)"
                )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(part):,}" for name, part in self.parts.items())
        return f"Split({counted(self.train.n_users, 'user')}, {counted(self.train.n_items, 'item')}; {sizes})"

    @property
    def parts(self) -> dict[str, Interactions]:
        """Each part by its name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped or done, without repetitions."""
        return tuple(dict.fromkeys(note for part in self.parts.values() for note in part.notes))

    def summary(self) -> pl.DataFrame:
        """Users, items and interactions of each part.

        Examples
        --------
        >>> leave_one_out(Interactions.of([1] * 4, [1, 2, 3, 4])).summary().rows()
        [('train', 1, 2, 2), ('validation', 1, 1, 1), ('test', 1, 1, 1)]
        """
        counts = {name: part.statistics() for name, part in self.parts.items()}
        rows = [(name, *(int(c[key]) for key in ("users", "items", "interactions"))) for name, c in counts.items()]
        return pl.DataFrame(rows, schema=["part", "users", "items", "interactions"], orient="row")


def hold_out(log: Interactions, share: float = 0.1, *, seed: Seed = 0) -> tuple[Interactions, Interactions]:
    """Split off a random share of all pairs; returns what stays and what is held out.

    Examples
    --------
    >>> train, held_out = hold_out(Interactions.of(np.arange(50) % 5, np.arange(50)), 0.1)
    >>> len(train), len(held_out)
    (45, 5)
    """
    check_log(log)
    if not isinstance(share, Real) or not 0 <= share < 1:
        raise SettingError(f"the held-out share must be 0 or more and below 1, got {brief(share)}")
    chosen = np.zeros(len(log), dtype=bool)
    n_held_out = int(np.floor(len(log) * share + 0.5))
    chosen[_generator(seed).choice(len(log), n_held_out, replace=False, shuffle=False)] = True
    whole = _anytime(log)
    train, held_out = parted(whole.keep(~chosen), whole.keep(chosen))
    return train, held_out


def leave_one_out(log: Interactions, *, seed: Seed = 0) -> Split:
    """Hold out the last item of each user for the test, and the one before for validation.

    Ties in time are broken at random, and without times the order is random. Pairs without a time count as older than
    all others. Users with fewer than three pairs stay in training. Where pairs repeat, rows are held out: what a user
    took last may have been taken before.

    Examples
    --------
    >>> split = leave_one_out(Interactions.of([7] * 4, [1, 2, 3, 4], times=[30, 10, 40, 20]))
    >>> split.test.table()["item_id"].to_list(), split.validation.table()["item_id"].to_list()
    ([3], [1])
    """
    check_log(log)
    rows = log.every_row()
    from_end = places_from_end(rows.user_rows, seed, times=rows.times)
    n_rows = np.bincount(rows.user_rows, minlength=log.n_users)
    few = int(np.count_nonzero((n_rows > 0) & (n_rows < 3)))
    enough = (n_rows >= 3)[rows.user_rows]
    noted = (
        log.noting(
            f"{counted(few, 'user')} with fewer than 3 interactions {agreeing(few, 'is', 'are')} in training only"
        )
        if few
        else log
    )
    whole = _anytime(noted)
    return Split(*_of_rows(whole, enough & (from_end == 1), enough & (from_end == 0)))


def by_ratio(
    log: Interactions,
    shares: Sequence[float] = (0.6, 0.2, 0.2),
    *,
    seed: Seed = 0,
    per_domain: bool = False,
) -> Split:
    """Split each user's pairs at random by shares; every user keeps at least one pair in training.

    Times are ignored, with a note where there are any; `by_time` splits by them.

    Parameters
    ----------
    log : Interactions
        Must have domains if `per_domain` is set.
    shares : three numbers
        Shares of train, validation and test, which sum to 1. Counts are rounded; training takes the rest.
    seed : int or numpy.random.Generator
        The same seed gives the same split.
    per_domain : bool
        Apply the shares to each user's pairs of each domain.

    Examples
    --------
    >>> by_ratio(Interactions.of([1] * 10, np.arange(10)), seed=3)
    Split(1 user, 10 items; train 6, validation 2, test 2)
    """
    check_log(log)
    checked = _check_shares(shares)
    groups = _user_and_domain(log) if per_domain else log.user_rows
    noted = log if log.times is None else log.noting(_IGNORED)
    in_validation, in_test = last_shares(groups, places_from_end(groups, seed), *checked[1:])
    whole = _anytime(noted.noting(*without_test(log.user_rows, in_test, checked[2])))
    chosen = (~(in_validation | in_test), in_validation, in_test)
    return Split(*parted(*(whole.keep(pairs) for pairs in chosen)))


def last_shares(
    groups: IntArray, from_end: IntArray, for_validation: float, for_test: float
) -> tuple[BoolArray, BoolArray]:
    """The last share of each group is test, the one before validation, and at least one stays in training."""
    sizes = np.bincount(groups)[groups] if len(groups) else np.zeros(0, dtype=np.int64)
    n_test = np.minimum(np.floor(sizes * for_test + 0.5), sizes - 1)
    n_validation = np.minimum(np.floor(sizes * for_validation + 0.5), sizes - 1 - n_test)
    return (from_end >= n_test) & (from_end < n_test + n_validation), from_end < n_test


def without_test(users: IntArray, in_test: BoolArray, for_test: float) -> tuple[str, ...]:
    """A sentence on the users of whom nothing is in the test, if something should be."""
    few = len(np.setdiff1d(users, users[in_test])) if for_test > 0 else 0
    return (f"{counted(few, 'user has', 'users have')} too few interactions for a test pair",) if few else ()


def untrained(split: Split, parts: Sequence[str] = ("validation", "test")) -> tuple[str, ...]:
    """Sentences on users and items of the later parts that training never meets.

    Examples
    --------
    >>> log = Interactions.of([1, 2], [1, 1])
    >>> untrained(Split(log.keep([0]), log.keep([]), log.keep([1])))[0][:47]
    '1 user of the test has no training pair; the mo'
    """
    of_train = {"user": split.train.user_degree, "item": split.train.item_degree}
    of_parts = {
        (what, name): degree
        for name in parts
        for what, degree in (("user", split.parts[name].user_degree), ("item", split.parts[name].item_degree))
    }
    counts = {key: int(np.count_nonzero((degree > 0) & (of_train[key[0]] == 0))) for key, degree in of_parts.items()}
    return tuple(
        f"{counted(n, what)} of the {name} {agreeing(n, 'has', 'have')} no training pair; the model knows nothing "
        f"about {agreeing(n, 'it, but it is', 'them, but they are')} judged too"
        for (what, name), n in counts.items()
        if n
    )


def _generator(seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise SettingError(f"seed must be a whole number of 0 or more, got {seed!r}") from error


def places_from_end(groups: IntArray, seed: Seed, *, times: AnyArray | None = None) -> IntArray:
    """How many rows of its group come after each row, in order of time or at random."""
    rng = _generator(seed)
    keys: list[AnyArray] = [rng.random(len(groups))]
    if times is not None:
        missing = np.isnan(times) if times.dtype.kind == "f" else np.zeros(len(groups), dtype=bool)
        keys += [times, ~missing]
    order = np.lexsort((*keys, groups))
    ends = np.cumsum(np.bincount(groups)) if len(groups) else np.zeros(0, dtype=np.int64)
    from_end = np.empty(len(groups), dtype=np.int64)
    from_end[order] = ends[groups[order]] - 1 - np.arange(len(groups))
    return from_end


def _user_and_domain(log: Interactions) -> IntArray:
    """A number for each combination of user and domain."""
    if log.item_domain is None:
        raise ColumnError("a split per domain needs interactions with domains, got none; read a domain column")
    codes = log.item_domain.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
    pairs = log.user_rows * (codes.max(initial=0) + 1) + codes[log.item_rows]
    return np.unique(pairs, return_inverse=True)[1]


def _check_shares(shares: Sequence[float]) -> tuple[float, float, float]:
    given = tuple(shares) if isinstance(shares, Iterable) else ()
    numbers = len(given) == 3 and all(isinstance(share, Real) for share in given)
    if not (numbers and min(given) >= 0 and given[0] > 0 and abs(sum(given) - 1) <= 1e-9):  # NaN makes it false
        raise SettingError(
            "shares must be three numbers that sum to 1, the first above 0, such as (0.6, 0.2, 0.2), "
            f"got {brief(shares)}"
        )
    return given[0], given[1], given[2]


def _of_rows(log: Interactions, in_validation: BoolArray, in_test: BoolArray) -> list[Interactions]:
    """Three parts of the rows of a log; notes of the whole log belong to the last, which alone knows all of it."""
    chosen = (~(in_validation | in_test), in_validation, in_test)
    return parted(*(log.keep_rows(rows) for rows in chosen))


def parted(train: Interactions, *others: Interactions) -> list[Interactions]:
    """The parts of a log; those that were held out remember their share of it, and how many pairs train."""
    n_pairs = max(1, len(train) + sum(map(len, others)))
    held_out = [replace(log, part=Part(len(log) / n_pairs, len(train))) for log in others]
    return [replace(train, part=None), *held_out]


def _anytime(log: Interactions) -> Interactions:
    """The same pairs, some of which are about to go: no longer all that happened in a period."""
    return log if log.period is None else replace(log, period=None)
