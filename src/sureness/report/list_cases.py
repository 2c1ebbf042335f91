"""Single users, and where their lists are cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.lists.lists import Lists
from sureness.metrics.ranking import best_items
from sureness.plots.list_cases import ListCut, prepare_list_cut
from sureness.recommender.confident import ConfidentRecommender
from sureness.report.cases import RankedItem, with_names
from sureness.sources.base import id_maps

SURE = ("Sure", "the user with the highest expected utility")
SHORT = ("Short list", "among the users with the shortest lists, the one whose probabilities fall most after the cut")
LONG = ("Long list", "the longest list in the better half of users: many items are likely enough")
ASK = ("Ask first", "the user with the lowest expected utility: ask what they like instead")

_FIRST, _LAST, _BEYOND = 4, 2, 3  # items on a card: the first and last shown ones, and those after the cut


@dataclass(frozen=True)
class ListItem(RankedItem):
    """An item on the card of a user."""

    shown: bool
    skipped: int  # number of items left out before this one


@dataclass(frozen=True, eq=False)
class ListCase:
    """One user's list with its cut."""

    kind: str
    reason: str  # why this user is shown
    user: str
    size: int
    cut: ListCut
    items: tuple[ListItem, ...]


def list_cases(
    recommender: ConfidentRecommender,
    lists: Lists,
    sizes: IntArray,
    expected: FloatArray,
    *,
    items: pl.DataFrame | None = None,
    utility: str = "F1",
) -> tuple[ListCase, ...]:
    """Users with a sure, a long, a short and a doubtful list.

    Parameters
    ----------
    recommender : ConfidentRecommender
    lists : Lists
        Lists of all users, with hits if labels are known.
    sizes : array of shape (n_users,)
    expected : array of shape (n_users, max_size)
        Expected utility of every size.
    items : DataFrame with item_id, title and, if known, domain, optional
    utility : str
        Its name on the page.
    """
    probabilities = np.asarray(lists.probabilities)
    cases = []
    for kind, reason, row in choose_users(probabilities, lists.lengths, sizes, expected):
        length, size = int(lists.lengths[row]), int(sizes[row])
        hits = None if lists.hits is None else lists.hits[row, :length]
        cut = prepare_list_cut(probabilities[row, :length], expected[row, :length], size, hits=hits, utility=utility)
        user = id_maps(recommender.source)[0].at(lists.users[[row]])
        ranked = best_items(recommender.source, user, length, seen=recommender.seen_)
        card = _card(with_names(ranked, items).sort("rank"), probabilities[row], size, hits)
        cases.append(ListCase(kind, reason, str(user[0]), size, cut, card))
    return tuple(cases)


def choose_users(
    probabilities: FloatArray, lengths: IntArray, sizes: IntArray, expected: FloatArray
) -> list[tuple[str, str, int]]:
    """Kind, reason and row of the users to show; no user twice, and none without candidates."""
    rows = np.arange(len(sizes))
    worth = np.where(sizes > 0, expected[rows, np.maximum(sizes, 1) - 1], 0.0)
    padded = np.pad(probabilities, ((0, 0), (0, 1)))
    drop = padded[rows, np.maximum(sizes, 1) - 1] - padded[rows, sizes]  # in probability at the cut
    left = lengths > 0
    chosen = []
    for (kind, reason), among, key in (
        (SURE, left, worth),
        (LONG, left & (worth >= _edge(worth, left, 0.5)), sizes),
        (SHORT, left & (sizes <= _edge(sizes, left, 0.1)), drop),
        (ASK, left, -worth),
    ):
        open_rows = np.flatnonzero(among & left)
        if len(open_rows):
            row = int(open_rows[np.argmax(key[open_rows])])
            left[row] = False
            chosen.append((kind, reason, row))
    return chosen


def _edge(values: FloatArray | IntArray, among: BoolArray, share: float) -> float:
    return float(np.quantile(values[among], share)) if among.any() else 0.0


def _card(ranked: pl.DataFrame, probability: FloatArray, size: int, hits: BoolArray | None) -> tuple[ListItem, ...]:
    """The first and last shown items, and some after the cut."""
    shown = range(size) if size <= _FIRST + _LAST + 1 else [*range(_FIRST), *range(size - _LAST, size)]
    places = [*shown, *range(size, min(size + _BEYOND, ranked.height))]
    names, domains = ranked["name"].to_list(), ranked["domain"].to_list()
    return tuple(
        ListItem(
            place + 1, names[place], domains[place], float(probability[place]),
            None if hits is None else bool(hits[place]), place < size, place - before - 1,
        )
        for before, place in zip([-1, *places], places, strict=False)
    )  # fmt: skip
