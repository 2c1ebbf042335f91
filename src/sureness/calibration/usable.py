"""Which pairs a fit may use, and the sentences about those that it leaves out."""

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
    """The positions of pairs with a weight and a real score; None: all of them. Masked scores are said."""
    held = np.ones(len(pairs), dtype=bool) if pairs.weight is None else pairs.weight > 0
    scores = pairs.scores[held]
    masked = find_masked(scores, float(scores.min()), float(scores.max())) if len(scores) else []
    if masked:
        say_masked(masked, f"of {counted(len(scores), 'pair')}")
        held &= real_scores(pairs.scores, masked)
    return None if held.all() else np.flatnonzero(held)


def usable_pairs(pairs: ScoredPairs) -> ScoredPairs:
    """The pairs with a weight and a real score."""
    kept = usable(pairs)
    return pairs if kept is None else pairs.take(kept)


@dataclass(frozen=True, eq=False)
class MaskedCandidates:
    """Hides masked scores in blocks of users, and says once what it hid. Build it with `of`."""

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

    def say(self) -> None:
        """Say what was hidden, if anything was."""
        real = [min((m.real_low for m in self.found), default=0.0), max((m.real_high for m in self.found), default=0.0)]
        sides = [[m for m in self.found if (m.low > m.real_high) == above] for above in (False, True)]
        merged = [
            Masked(min(m.low for m in side), max(m.high for m in side), int(count), *real)
            for side, count in zip(sides, self.counts.sum(axis=0), strict=True)
            if count
        ]
        if merged:
            say_masked(merged, f"among the candidates of {counted(int(np.count_nonzero(self.per_user)), 'user')}")


def _seen_by(users: IntArray, seen: Interactions | None, n_items: int) -> BoolArray:
    """Which items users have seen; shape (n, n_items)."""
    found = np.zeros((len(users), n_items), dtype=bool)
    if seen is not None:
        for row, user in enumerate(users):
            found[row, seen.items_of(int(user))] = True
    return found


def say_masked(masked: Sequence[Masked], where: str) -> None:
    """Say which scores were taken for masks and left out of a fit, and where they were."""
    first = masked[0]
    warn(
        f"scores far outside all others were taken for masks, not for scores, and their pairs left out: "
        f"{' and '.join(map(str, masked))}, {where}; the other scores lie between {first.real_low:.6g} and "
        f"{first.real_high:.6g}. Drop masked pairs before the fit"
    )
