"""Scores that need care: masked ones, which no fit may use, and those far outside the fitted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import warn
from sureness.numerics.masking import Masked, find_masked, real_scores


def usable(pairs: ScoredPairs) -> IntArray | None:
    """The positions of pairs with a weight and a real score; None: all of them. A warning tells of masked scores."""
    held = np.ones(len(pairs), dtype=bool) if pairs.weight is None else pairs.weight > 0
    scores = pairs.scores[held]
    masked = find_masked(scores, float(scores.min()), float(scores.max())) if len(scores) else []
    if masked:
        warn_of_masked(masked, f"of {counted(len(scores), 'pair')}")
        held &= real_scores(pairs.scores, masked)
    return None if held.all() else np.flatnonzero(held)


def usable_pairs(pairs: ScoredPairs) -> ScoredPairs:
    """The pairs with a weight and a real score."""
    kept = usable(pairs)
    return pairs if kept is None else pairs.take(kept)


@dataclass(frozen=True, eq=False)
class MaskedCandidates:
    """Hides masked scores in blocks of users, and warns once of what it hid. Build it with `of`."""

    counts: IntArray  # (n_users, 2) how many candidates were hidden below and above the real scores
    found: list[Masked] = field(default_factory=list)

    @classmethod
    def of(cls, n_users: int) -> MaskedCandidates:
        """Before the first block."""
        return cls(np.zeros((n_users, 2), dtype=np.int64))

    @property
    def per_user(self) -> IntArray:
        """How many candidates of each user were hidden; shape (n_users,)."""
        return np.asarray(self.counts.sum(axis=1))

    def hide(self, users: IntArray, scores: FloatArray, looked_at: FloatArray, seen: Interactions | None) -> bool:
        """Overwrite masked scores of a block with -inf, and return whether there were any.

        The block is not read as a whole unless a sample, or those of its scores that a fit will look at, are strange.
        Seen items are hidden too, but do not count.
        """
        there = looked_at[looked_at > -np.inf]
        masked = find_masked(scores.ravel(), float(there.min()), float(there.max())) if len(there) else []
        for each in masked:
            hidden = (scores >= each.low) & (scores <= each.high)
            scores[hidden] = -np.inf
            hidden &= ~_seen_by(users, seen, scores.shape[1])
            self.counts[users, int(each.low > each.real_high)] = np.count_nonzero(hidden, axis=1)
        self.found.extend(masked)
        return bool(masked)

    def warn(self) -> None:
        """Warn of what was hidden, if anything was."""
        real = [min((m.real_low for m in self.found), default=0.0), max((m.real_high for m in self.found), default=0.0)]
        sides = [[m for m in self.found if (m.low > m.real_high) == above] for above in (False, True)]
        merged = [
            Masked(min(m.low for m in side), max(m.high for m in side), int(count), *real)
            for side, count in zip(sides, self.counts.sum(axis=0), strict=True)
            if count
        ]
        if merged:
            warn_of_masked(merged, f"among the candidates of {counted(int(np.count_nonzero(self.per_user)), 'user')}")


def _seen_by(users: IntArray, seen: Interactions | None, n_items: int) -> BoolArray:
    """Which items users have seen; shape (n, n_items)."""
    found = np.zeros((len(users), n_items), dtype=bool)
    if seen is not None:
        for row, user in enumerate(users):
            found[row, seen.items_of(int(user))] = True
    return found


def warn_of_masked(masked: Sequence[Masked], where: str) -> None:
    """Warn which scores were taken for masks and left out of a fit, and where they were."""
    first = masked[0]
    warn(
        f"scores far outside all others were taken for masks, not for scores, and their pairs left out: "
        f"{' and '.join(map(str, masked))}, {where}; the other scores lie between {first.real_low:.6g} and "
        f"{first.real_high:.6g}. Drop masked pairs before the fit"
    )


_MARGIN = 0.5  # of the fitted range: new scores may lie so far outside it
_USUAL = 0.01  # share of scores that may lie further outside
_FEW = 10.0  # the same as a number of fitted pairs: a range of few pairs is narrow


def n_beyond(scores: FloatArray, low: float, high: float, *, upwards: bool = False) -> int:
    """How many scores lie far outside a range, or far above it; scores that are not there (-inf) do not count.

    Examples
    --------
    >>> n_beyond(np.array([0.5, 1.2, 100.0, -np.inf]), 0.0, 1.0)
    1
    """
    if not scores.size:
        return 0
    margin = _MARGIN * (high - low)
    lowest = -np.inf if upwards else low - margin
    if scores.min() >= lowest and scores.max() <= high + margin:
        return 0
    outside = (scores < lowest) | (scores > high + margin)
    return int(np.count_nonzero(outside & np.isfinite(scores)))


@dataclass(frozen=True)
class Reach:
    """Counts over all batches how many of the scores lie far outside the fitted ones, and warns once."""

    low: float
    high: float
    n_fitted: int
    upwards: bool = False  # lower scores than the fitted ones are usual
    counts: list[tuple[int, int]] = field(default_factory=list)  # of each batch: far outside, and in all

    def count(self, scores: FloatArray) -> None:
        """Count a batch."""
        beyond = n_beyond(scores, self.low, self.high, upwards=self.upwards)
        total = int(np.count_nonzero(np.isfinite(scores))) if beyond else scores.size  # only a share needs it exact
        self.counts.append((beyond, total))

    def warn(self) -> None:
        """Warn if more scores lie far outside than new data of the same kind would have."""
        beyond, total = (sum(column) for column in zip(*self.counts, strict=True)) if self.counts else (0, 0)
        if not total or beyond / total <= max(_USUAL, _FEW / (self.n_fitted + 1)):
            return
        warn(
            f"{beyond / total:.1%} of the {counted(total, 'score')} lie far outside the scores that the map was fitted "
            f"on, {self.low:.6g} to {self.high:.6g}, so their probabilities are a guess; give scores of the same "
            "recommender on the same scale, or fit the map again"
        )
