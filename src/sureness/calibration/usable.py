"""Which pairs a fit may use, and the sentences about those that it leaves out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from sureness._types import IntArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import SurenessWarning
from sureness.numerics.masking import Masked, find_masked, real_scores


def usable(pairs: ScoredPairs) -> IntArray | None:
    """The positions of pairs with a weight and a real score; None: all of them. Masked scores are said."""
    held = np.ones(len(pairs), dtype=bool) if pairs.weight is None else pairs.weight > 0
    scores = pairs.scores[held]
    masked = find_masked(scores, float(scores.min()), float(scores.max())) if len(scores) else []
    if masked:
        say_masked(masked, len(scores))
        held &= real_scores(pairs.scores, masked)
    return None if held.all() else np.flatnonzero(held)


def usable_pairs(pairs: ScoredPairs) -> ScoredPairs:
    """The pairs with a weight and a real score."""
    kept = usable(pairs)
    return pairs if kept is None else pairs.take(kept)


def say_masked(masked: Sequence[Masked], n_pairs: int) -> None:
    """Say which scores were taken for masks and left out of a fit on so many pairs."""
    first = masked[0]
    warnings.warn(
        f"scores far outside all others were taken for masks, not for scores, and their pairs left out: "
        f"{' and '.join(map(str, masked))}, of {n_pairs:,} pairs; the other scores lie between {first.real_low:.6g} "
        f"and {first.real_high:.6g}. Drop masked pairs before the fit",
        SurenessWarning,
        stacklevel=5,
    )
