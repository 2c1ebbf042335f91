"""The best candidates of some users, labelled by what was held out: what maps of a recommender's lists learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
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


More: TypeAlias = Callable[[IntArray, IntArray, FloatArray, FloatArray], tuple[IntArray, FloatArray]]


class ListSample(NamedTuple):
    """Users chosen by a hash of their ids, whether anything of them was held out or not; best candidates first."""

    users: IntArray  # (n,) rows
    items: IntArray  # (n, best) -1: there is none
    scores: FloatArray  # (n, best) -inf: there is none
    hits: BoolArray  # (n, best) whether it was held out
    n_below: IntArray  # (n,) held-out items below the best candidates
    weight: FloatArray | None = None  # (n,) how much each user counts; None: all the same
    history: IntArray | None = None  # (n,) items that scores were trained on; None: those of what was seen
    amount: FloatArray | None = None  # (n,) how many held-out items were to be expected of each user
    traits: Mapping[str, AnyArray] = {}  # further ones, (n,) or (n, best), by name

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
        there, groups, horizon = self.there, self.groups, observed.horizon
        weight = None if self.weight is None else self.weight[groups]
        pairs = ScoredPairs(
            self.scores[there], self.hits[there], self.users[groups], self.items[there].astype(np.int64), weight
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

    def further(self) -> dict[str, AnyArray]:
        """The further traits of the candidates by name, in the order of `pairs`."""
        there, groups = self.there, self.groups
        return {name: values[groups] if values.ndim == 1 else values[there] for name, values in self.traits.items()}


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
    if not len(observed.held_out):
        raise EmptyError("held_out must hold at least one positive that the source knows, got none")
    sample = drawn_lists(observed, best, n_users, seed)
    if not sample.hits.any():
        raise EmptyError(
            f"no held-out item is among the best {best} candidates of any user, so there is nothing to fit; check that "
            "scores are higher for better items, and that the held-out items are not among those seen"
        )
    return sample


def drawn_lists(
    observed: Observed,
    best: int,
    n_users: int,
    seed: int = 0,
    *,
    among: BoolArray | None = None,
    more: More | None = None,
) -> ListSample:
    """`sample_lists` of some users (a mask; by default all), whether anything of them was held out or not.

    `more` adds candidates to the best items of a block of users: it is given rows, items, scores, and the scores of all
    items, and returns items and scores.
    """
    source = observed.source
    order = np.argsort(hash_ids(id_maps(source)[0].ids, seed), kind="stable")
    order = order if among is None else order[among[order]]
    masked = MaskedCandidates.of(source.n_users)
    parts: list[ListSample] = []
    n_hits = done = 0
    most = min(len(order), MOST_TIMES * n_users)
    while done < most and n_hits < ENOUGH:
        missing = n_users if not done else 1 + int((ENOUGH - n_hits) * done / max(n_hits, 1))
        stop = min(done + missing, most)
        parts += _looked_at(observed, np.sort(order[done:stop]), min(best, source.n_items), masked, more)
        n_hits, done = sum(int(np.count_nonzero(part.hits)) for part in parts), stop
        observed.progress("looking at candidates", done, most)
    masked.warn()
    width = min(best, source.n_items)
    return joined_lists(parts) if parts else _nobody(width)


def _nobody(width: int) -> ListSample:
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, width))
    return ListSample(none, nothing.astype(np.int64), nothing, nothing.astype(bool), none)


def joined_lists(parts: Sequence[ListSample]) -> ListSample:
    """Several samples as one; narrower ones are filled with candidates that there are not."""
    width = max(part.items.shape[1] for part in parts)
    fills = {"items": -1, "scores": -np.inf, "hits": False}

    def column(name: str) -> AnyArray | None:
        values = [getattr(part, name) for part in parts]
        if any(value is None for value in values):
            return None
        return np.concatenate([_filled(value, width, fills[name]) if name in fills else value for value in values])

    traits = {
        name: np.concatenate(
            [value if (value := part.traits[name]).ndim == 1 else _filled(value, width, np.nan) for part in parts]
        )
        for name in parts[0].traits
    }
    columns: dict[str, Any] = {name: column(name) for name in ListSample._fields[:-1]}
    return ListSample(**columns, traits=traits)


def _filled(values: AnyArray, width: int, fill: Any) -> AnyArray:
    missing = width - values.shape[1]
    return values if not missing else np.pad(values, ((0, 0), (0, missing)), constant_values=fill)


def _looked_at(
    observed: Observed, users: IntArray, best: int, masked: MaskedCandidates, more: More | None
) -> list[ListSample]:
    held_out, seen = observed.held_out, observed.seen
    starts, left_out = (np.zeros(observed.source.n_users + 1, dtype=np.int64), NOTHING) if seen is None else (
        seen.row_starts, seen.item_rows
    )  # fmt: skip
    parts = []
    for block, every in block_scores(observed.source, users):
        items, scores = top_k(every, best, rows=block, starts=starts, seen=left_out)
        if masked.hide(block, every, scores, seen):
            items, scores = top_k(every, best)
        if more is not None:
            items, scores = more(block, items, scores, every)
        hits = members(items, block, held_out.row_starts, held_out.item_rows) & (items >= 0)
        n_below = held_out.user_degree[block] - np.count_nonzero(hits, axis=1)
        parts.append(ListSample(block, items, scores.astype(np.float64), hits, n_below))
    return parts
