"""The best candidates of some users, labelled by what was held out: what maps of a recommender's lists learn from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.maps import Observed, Segments
from sureness.calibration.usable import MaskedCandidates
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError
from sureness.numerics.grouping import hash_ids
from sureness.numerics.ranking import NOTHING, members, top_k
from sureness.sources.base import id_maps
from sureness.sources.blocks import block_scores

ENOUGH = 10_000
"""Positives with which a level is known to about one per cent; with fewer, more groups are looked at."""

MOST_TIMES = 5
"""How many times as many groups as asked for are looked at to have enough positives."""


class ListSample(NamedTuple):
    """Users chosen by a hash of their ids, whether anything of them was held out or not; best candidates first."""

    users: IntArray  # (n,) rows
    items: IntArray  # (n, best) -1: there is none
    scores: FloatArray  # (n, best) -inf: there is none
    hits: BoolArray  # (n, best) whether it was held out
    n_below: IntArray  # (n,) held-out items below the best candidates

    def __repr__(self) -> str:
        return fields_repr(self)

    @property
    def there(self) -> BoolArray:
        """Where there is a candidate; shape (n, best)."""
        return self.items >= 0

    @property
    def groups(self) -> IntArray:
        """The user's place in the sample for each candidate; shape (n_pairs,)."""
        return np.nonzero(self.there)[0]

    def pairs(self, observed: Observed) -> CalibrationSet:
        """The candidates as a calibration set, user by user, best first."""
        there, horizon = self.there, observed.horizon
        pairs = ScoredPairs(
            self.scores[there], self.hits[there], self.users[self.groups], self.items[there].astype(np.int64)
        )
        return CalibrationSet.from_chunks(
            [pairs], held_out_share=horizon.held_out_share or 1.0, period=horizon.period, log_share=horizon.log_share,
            population=horizon.population, training_pairs="kept" if observed.seen is None else "left_out",
        )  # fmt: skip

    def fields(self, observed: Observed) -> dict[str, Any]:
        """The segments or fields of the candidates by name, in the order of `pairs`."""
        told = observed.segments
        if told is None:
            return {}
        told.check(observed.source)
        users, items = self.users[self.groups], self.items[self.there]
        return {"segment": told.of_pairs(users, items)} if isinstance(told, Segments) else told.of_pairs(users, items)


def sample_lists(observed: Observed, best: int, n_users: int, seed: int = 0) -> ListSample:
    """The best candidates of `n_users` users, or of up to five times as many until 10,000 of them were held out.

    Parameters
    ----------
    observed : Observed
    best : int
        Candidates of each user.
    n_users : int
    seed : int
        Of the hash by which users are chosen.
    """
    source, held_out = observed.source, observed.held_out
    if not len(held_out):
        raise EmptyError("held_out must hold at least one positive that the source knows, got none")
    order = np.argsort(hash_ids(id_maps(source)[0].ids, seed), kind="stable")
    masked = MaskedCandidates.of(source.n_users)
    parts: list[ListSample] = []
    n_hits = done = 0
    most = min(source.n_users, MOST_TIMES * n_users)
    while done < most and n_hits < ENOUGH:
        missing = n_users if not done else 1 + int((ENOUGH - n_hits) * done / max(n_hits, 1))
        stop = min(done + missing, most)
        parts += _looked_at(observed, np.sort(order[done:stop]), min(best, source.n_items), masked)
        n_hits, done = sum(int(np.count_nonzero(part.hits)) for part in parts), stop
        observed.progress("looking at candidates", done, most)
    masked.warn()
    if not n_hits:
        raise EmptyError(
            f"no held-out item is among the best {best} candidates of any user, so there is nothing to fit; check that "
            "scores are higher for better items, and that the held-out items are not among those seen"
        )
    return ListSample(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _looked_at(observed: Observed, users: IntArray, best: int, masked: MaskedCandidates) -> list[ListSample]:
    held_out, seen = observed.held_out, observed.seen
    starts, left_out = (np.zeros(observed.source.n_users + 1, dtype=np.int64), NOTHING) if seen is None else (
        seen.row_starts, seen.item_rows
    )  # fmt: skip
    parts = []
    for block, every in block_scores(observed.source, users):
        items, scores = top_k(every, best, rows=block, starts=starts, seen=left_out)
        if masked.hide(block, every, scores, seen):
            items, scores = top_k(every, best)
        hits = members(items, block, held_out.row_starts, held_out.item_rows) & (items >= 0)
        n_below = held_out.user_degree[block] - np.count_nonzero(hits, axis=1)
        parts.append(ListSample(block, items, scores.astype(np.float64), hits, n_below))
    return parts
