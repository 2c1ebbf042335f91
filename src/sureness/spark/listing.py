"""Lists of every user, as long as they are worth: cut in blocks of whole users."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._settings import clone
from sureness.calibration.maps import ProbabilityMap
from sureness.errors import IdError, SettingError
from sureness.jobs.deciding import Tally, decide_block
from sureness.lists.policies import ExpectedUtility, ListSizePolicy
from sureness.lists.ragged import row_starts, similar_lengths
from sureness.recommender.confident import ConfidentRecommender
from sureness.sources.base import id_maps
from sureness.spark.applying import apply
from sureness.spark.frames import Kind, arrow_types, check_columns, check_frame, column, is_text, refuse_taken, renamed
from sureness.spark.tasks import (
    batches_of,
    check_executors,
    map_or_recommender,
    opened,
    refuse_missing_torch,
    tables,
    user_tables,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_CELLS = 1_000_000  # live scores in the matrix of some users
_ADDED = {"rank": "bigint", "list_size": "bigint", "expected_utility": "double", "expected_hits": "double"}
_OF_RECOMMENDER = {
    "rank": "bigint",
    "item_id": "bigint",
    "score": "float",
    "probability": "double",
    "list_size": "bigint",
    "expected_utility": "double",
    "unsure": "boolean",
}


def lists(
    df: DataFrame,
    maps: ProbabilityMap | ConfidentRecommender | str | PathLike[str] | None = None,
    *,
    top: int | None = None,
    policy: ListSizePolicy | None = None,
    expected_relevant: float | None = None,
    user: str = "user_id",
    item: str = "item_id",
    score: str = "score",
    probability: str = "probability",
    segment: str = "segment",
    history: str = "history",
) -> DataFrame:
    """Keep as many of each user's candidates as are worth showing; nothing is computed before the result is used.

    Parameters
    ----------
    df : DataFrame
        Candidates: users, items and their probabilities, or their scores, with `maps`. With a recommender also users
        alone, whose candidates it then scores itself.
    maps : ProbabilityMap, ConfidentRecommender or path, optional
        What makes probabilities of scores. A recommender also leaves out what users have seen, and has its own policy.
        A path is opened by every executor, so it must be on storage that all of them reach.
    top : int, optional
        Look at this many of each user's best candidates; by default at all of them.
    policy : ListSizePolicy, optional
        By default `ExpectedUtility` of F1 with up to 50 items.
    expected_relevant : float, optional
        How many relevant items a user has in all, also among items that are no rows; a column of that name has it for
        each user.
    user, item, score, probability, segment, history : str
        Columns.

    Returns
    -------
    DataFrame
        The kept rows with rank, list_size, expected_utility and expected_hits, as of `sureness.jobs.cut_table`; of
        a recommender the columns of `ConfidentRecommender.recommend`. Of equal probabilities, smaller ids come first.
    """
    frame = check_frame(df)
    held = None if maps is None else map_or_recommender(maps)
    chosen = opened(held)
    if isinstance(chosen, ConfidentRecommender):
        for name, given in (("top", top), ("policy", policy), ("expected_relevant", expected_relevant)):
            if given is not None:
                raise SettingError(f"a recommender has its own lists, so {name} has no meaning; leave it out")
        return _recommended(frame, held, user, item, score)
    if chosen is not None:
        frame = apply(frame, chosen, score=score, user=user, segment=segment, history=history, probability=probability)
    check_columns(frame, {user: "id", item: "id", probability: "number"})
    refuse_taken(frame, list(_ADDED))
    names = {user: "user_id", item: "item_id", probability: "probability"}
    schema, arrow = arrow_types(frame, _ADDED)
    task = partial(
        cut, policy=_checked_policy(policy), top=top, expected_relevant=expected_relevant, names=names, schema=arrow
    )
    return by_user(frame, user).mapInArrow(task, schema)


def by_user(frame: DataFrame, user: str) -> DataFrame:
    """All rows of a user in one partition, one after the other, for tasks in Python."""
    check_executors(frame)
    return frame.repartition(column(user)).sortWithinPartitions(column(user))


def _checked_policy(policy: ListSizePolicy | None) -> ListSizePolicy:
    if policy is None:
        return ExpectedUtility()
    if not isinstance(policy, ListSizePolicy):
        raise SettingError(f"policy must be a list-size policy such as ExpectedUtility(), got {policy!r}")
    policy.check()
    return policy if type(policy).fit is not ListSizePolicy.fit else clone(policy)


def cut(
    batches: Iterator[pa.RecordBatch],
    *,
    policy: ListSizePolicy,
    top: int | None,
    expected_relevant: float | None,
    names: dict[str, str],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """The lists of a partition; `names` are the columns of user, item and probability, and what they are called here.

    Candidates are sorted, so that lists do not depend on the order of the rows.
    """
    back = {ours: theirs for theirs, ours in names.items()}
    for rows in user_tables(batches, back["user_id"]):
        table = rows.rename(names).sort(
            "user_id", "probability", "item_id", descending=[False, True, False], nulls_last=True
        )
        if top is not None:
            table = table.group_by("user_id", maintain_order=True).head(top)
        found = decide_block(table, policy, expected_relevant, Tally(), sizes_only=False)
        yield from batches_of(found.rename(back), schema)


def _recommended(frame: DataFrame, held: Any, user: str, item: str, score: str) -> DataFrame:
    """The lists of a recommender: from live scores, or from its own where there are none."""
    live = score in frame.columns or item in frame.columns
    kinds: dict[str, Kind] = {user: "id"}
    check_columns(frame, kinds | ({item: "id", score: "number"} if live else {}))
    check_executors(frame)
    recommender: ConfidentRecommender = opened(held)
    refuse_missing_torch(recommender, frame)
    names = {"user_id": user} | ({"item_id": item, "score": score} if live else {})
    rows = renamed(frame, names, numbers=["score"])
    added = _OF_RECOMMENDER | {
        "item_id": "string" if id_maps(recommender.source)[1].ids.dtype == pl.String else "bigint"
    }
    if live and is_text(rows, "item_id") != (added["item_id"] == "string"):
        raise IdError(
            f"column {item} must hold ids of the kind that the recommender knows, {added['item_id']}; cast it"
        )
    schema, arrow = arrow_types(rows.select("user_id"), added)
    task = partial(_recommend, held=held, live=live, schema=arrow)
    return (by_user(rows, "user_id") if live else rows.distinct()).mapInArrow(task, schema)


def _recommend(batches: Iterator[pa.RecordBatch], held: Any, live: bool, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The lists that a recommender makes for the users of a partition."""
    recommender: ConfidentRecommender = opened(held)
    for table in user_tables(batches, "user_id") if live else tables(batches):
        found = _live_lists(recommender, table) if live else recommender.recommend(table["user_id"])
        if found.height:
            yield from batches_of(found, schema)


def _live_lists(recommender: ConfidentRecommender, rows: pl.DataFrame) -> pl.DataFrame:
    """The lists of whole users, known or not, from rows of user_id, item_id and score; columns as of `recommend`."""
    ordered = rows.drop_nulls().sort("user_id", "score", "item_id", descending=[False, True, False])
    counts = ordered.group_by("user_id", maintain_order=True).len()
    lengths = counts["len"].to_numpy().astype(np.int64)
    starts = row_starts(lengths)[:-1]
    parts = [
        _decided(recommender, ordered, counts["user_id"].gather(some), starts[some], lengths[some])
        for some in similar_lengths(lengths, _CELLS)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def _decided(
    recommender: ConfidentRecommender, rows: pl.DataFrame, users: pl.Series, starts: np.ndarray, lengths: np.ndarray
) -> pl.DataFrame:
    ranks = np.arange(lengths.max())
    there = ranks < lengths[:, None]
    places = np.where(there, starts[:, None] + ranks, 0)
    items = rows["item_id"].to_numpy()
    scores = np.where(there, rows["score"].to_numpy()[places], -np.inf)
    found = recommender.decide(users, items[places], scores)
    user, _ = np.nonzero(found.shown)
    return found.table(users, pl.Series(items[places[user, found.needed("places", recommender)[found.shown]]]))
