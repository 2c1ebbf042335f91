"""Single users: their likely items with probabilities, and where their lists are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.lists.lists import Lists
from sureness.metrics.ranking import best_items
from sureness.recommender.confident import ConfidentRecommender
from sureness.report.figures.lists import draw_list_cut
from sureness.report.methods import TOP_N
from sureness.report.tables import given_table, with_ids_of
from sureness.sources.base import id_maps
from sureness.tables.frames import Frame
from sureness.tables.id_values import id_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CARD_ITEMS = 5
N_UNSURE = 2
_SHOWN = ("rank", "name", "domain", "probability", "label", "score")

CONFIDENT = ("Sure", "the user whose top items have the highest mean probability")
MIXED = ("Mixed", "the user whose top items differ most in probability: the first are good bets, the last are not")
UNSURE = ("Least sure", "one of the users whose best item has the lowest probability")


@dataclass(frozen=True, eq=False)
class UserCase:
    """One user's top items, or one user's list with its cut."""

    kind: str
    reason: str  # why this user is shown
    user: str
    items: list[dict[str, Any]]  # rank, name, domain, probability, label; and score, or shown and skipped
    size: int = 0  # of the list
    draw: Callable[[], Axes] | None = None  # the list with its cut


def top_pairs(pairs: ScoredPairs, probability: FloatArray) -> pl.DataFrame | None:
    """The judged pairs with the highest scores of each user; None if users or items are unknown."""
    if pairs.users is None or pairs.items is None:
        return None
    ids = [id_series(pl.Series(name, each)) for name, each in (("user_id", pairs.users), ("item_id", pairs.items))]
    table = pl.DataFrame(ids).with_columns(score=pairs.scores, label=pairs.labels, probability=probability)
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id").cast(pl.Int64)
    return table.with_columns(rank=rank).filter(pl.col("rank") <= TOP_N).sort("user_id", "rank")


def choose_cases(top: pl.DataFrame, items: Frame | None = None) -> tuple[UserCase, ...]:
    """A sure user, a mixed one, and the least sure ones; no user twice."""
    head = top.filter(pl.col("rank") <= CARD_ITEMS)
    users = (
        head.group_by("user_id")
        .agg(
            n=pl.len(),
            mean=pl.col("probability").mean(),
            width=pl.col("probability").max() - pl.col("probability").min(),
            best=pl.col("probability").max(),
        )
        .filter(pl.col("n") == pl.col("n").max())  # the mean over a short list is high too easily
        .sort("user_id")
    )
    wanted = [(CONFIDENT, pl.col("mean")), (MIXED, pl.col("width")), *[(UNSURE, -pl.col("best"))] * N_UNSURE]
    named = with_names(head, items)
    cases = []
    for (kind, reason), key in wanted:
        if users.is_empty():
            break
        user, best = users.sort(key, descending=True, maintain_order=True).select("user_id", "best").row(0)
        users = _without(users, user, best)
        shown = named.filter(pl.col("user_id") == user).sort("rank").select(_SHOWN).to_dicts()
        cases.append(UserCase(kind, reason, str(user), shown))
    return tuple(cases)


def _without(users: pl.DataFrame, user: object, best: float) -> pl.DataFrame:
    """The other users, without those whose best item is equally likely: their cards would look alike."""
    others = users.filter(pl.col("user_id") != user)
    different = others.filter((pl.col("best") - best).abs() > 1e-9)
    return others if different.is_empty() else different


def with_names(head: pl.DataFrame, items: Frame | None) -> pl.DataFrame:
    """The table with the domain and the name of each item: its title, or its id if it has none."""
    own = pl.col("item_id").cast(pl.String)
    if items is None:
        return head.with_columns(name=own, domain=pl.lit(None, dtype=pl.String))
    titled = given_table(items, ("item_id", "title"), "the item table")
    domain = pl.col("domain").cast(pl.String) if "domain" in titled.columns else pl.lit(None, dtype=pl.String)
    names = titled.select("item_id", name=pl.col("title").cast(pl.String), domain=domain)
    names = names.unique("item_id", keep="first")
    named = head.join(with_ids_of(names, head, ["item_id"], "the item table"), on="item_id", how="left")
    return named.with_columns(name=pl.coalesce("name", own))


def with_titles(lists: pl.DataFrame, items: Frame) -> pl.DataFrame:
    """A table of lists with the title of each item after its id; an item that the table does not know has none.

    Examples
    --------
    >>> lists = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "probability": [0.5, 0.4]})
    >>> with_titles(lists, pl.DataFrame({"item_id": [7], "title": ["Seven"]})).rows()
    [(1, 7, 'Seven', 0.5), (1, 8, None, 0.4)]
    """
    titled = given_table(items, ("item_id", "title"), "the item table").select("item_id", "title")
    known = with_ids_of(titled.unique("item_id", keep="first"), lists, ["item_id"], "the item table")
    place = lists.columns.index("item_id") + 1
    return lists.join(known, on="item_id", how="left", maintain_order="left").select(
        *lists.columns[:place], "title", *lists.columns[place:]
    )


SURE = ("Sure", "the user with the highest expected utility")
SHORT = ("Short list", "among the users with the shortest lists, the one whose probabilities fall most after the cut")
LONG = ("Long list", "the longest list in the better half of users: many items are likely enough")
LEAST = ("Least sure", "the user with the lowest expected utility")
ASK = ("Ask first", "the user with the lowest expected utility, whose best list is not worth showing")

_FIRST, _LAST, _BEYOND = 4, 2, 3  # items on a card: the first and last shown ones, and those after the cut


def list_cases(
    recommender: ConfidentRecommender,
    lists: Lists,
    sizes: IntArray,
    expected: FloatArray,
    unsure: BoolArray,
    *,
    items: pl.DataFrame | None = None,
    utility: str = "F1",
) -> tuple[UserCase, ...]:
    """Users with a sure, a long, a short and a doubtful list.

    Parameters
    ----------
    recommender : ConfidentRecommender
    lists : Lists
        Lists of all users, with hits if labels are known.
    sizes : array of shape (n_users,)
    expected : array of shape (n_users, max_size)
        Expected utility of every size.
    unsure : array of shape (n_users,)
        Whose best list is not worth showing.
    items : DataFrame with item_id, title and, if known, domain, optional
    utility : str
        Its name on the page.
    """
    probabilities = np.asarray(lists.probabilities)
    cases = []
    for kind, reason, row in choose_users(probabilities, lists.lengths, sizes, expected):
        if kind == LEAST[0] and unsure[row]:
            kind, reason = ASK
        length, size = int(lists.lengths[row]), int(sizes[row])
        hits = None if lists.hits is None else lists.hits[row, :length]
        chances = probabilities[row, :length]
        draw = partial(draw_list_cut, chances, expected[row, :length], size, hits=hits, utility=utility)
        user = id_maps(recommender.source)[0].at(lists.users[[row]])
        ranked = best_items(recommender.source, user, length, seen=recommender.seen_)
        card = _card(with_names(ranked, items).sort("rank"), chances, size, hits)
        cases.append(UserCase(kind, reason, str(user[0]), card, size, draw))
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
        (LEAST, left, -worth),
    ):
        open_rows = np.flatnonzero(among & left)
        if len(open_rows):
            row = int(open_rows[np.argmax(key[open_rows])])
            left[row] = False
            chosen.append((kind, reason, row))
    return chosen


def _edge(values: FloatArray | IntArray, among: BoolArray, share: float) -> float:
    return float(np.quantile(values[among], share)) if among.any() else 0.0


def _card(ranked: pl.DataFrame, chances: FloatArray, size: int, hits: BoolArray | None) -> list[dict[str, Any]]:
    """The first and last shown items, and some after the cut."""
    shown = range(size) if size <= _FIRST + _LAST + 1 else [*range(_FIRST), *range(size - _LAST, size)]
    places = [*shown, *range(size, min(size + _BEYOND, ranked.height))]
    rows = ranked.select("name", "domain")[places].to_dicts()
    return [
        {
            **row,
            "rank": place + 1,
            "probability": float(chances[place]),
            "label": None if hits is None else bool(hits[place]),
            "shown": place < size,
            "skipped": place - before - 1,
        }
        for before, place, row in zip([-1, *places], places, rows, strict=False)
    ]
