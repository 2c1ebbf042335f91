"""Lists of every user, as long as they are worth: cut in blocks of whole users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness._settings import clone
from sureness.calibration.maps import ProbabilityMap
from sureness.errors import IdError, SettingError
from sureness.jobs.deciding import Tally, decide_block
from sureness.lists.policies import ExpectedUtility, ListSizePolicy
from sureness.recommender.confident import ConfidentRecommender
from sureness.spark.applying import apply
from sureness.spark.frames import Kind, arrow_types, check_columns, check_frame, column, is_text, refuse_taken, renamed
from sureness.spark.live import live_lists
from sureness.spark.shipping import Shipped, check_executors
from sureness.spark.tasks import batches_of, tables, user_tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ADDED = {"rank": "bigint", "list_size": "bigint", "expected_utility": "double", "expected_hits": "double"}
_OF_RECOMMENDER = {
    "rank": "bigint", "item_id": "bigint", "score": "float", "probability": "double", "list_size": "bigint",
    "expected_utility": "double", "unsure": "boolean",
}  # fmt: skip


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
        Candidates: users, items and their probabilities, or their scores beside `maps`. With a recommender also users
        alone, whose candidates it then scores itself.
    maps : ProbabilityMap, ConfidentRecommender or path, optional
        What makes probabilities of scores. A recommender also leaves out what users have seen, and has its own policy.
        A path is opened by every executor, so it must be on storage that all of them reach.
    top : int, optional
        Look at this many of each user's best candidates; by default at all of them.
    policy : ListSizePolicy, optional
        By default `ExpectedUtility` of F1 with up to 50 items.
    expected_relevant : float, optional
        How many relevant items a user has in all, also among items that are no rows; a column of that name says it for
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
    shipped = None if maps is None or isinstance(maps, ProbabilityMap) else Shipped.of(maps)
    if shipped is not None and shipped.is_recommender:
        for name, given in (("top", top), ("policy", policy), ("expected_relevant", expected_relevant)):
            if given is not None:
                raise SettingError(f"a recommender has its own lists, so {name} has no meaning; leave it out")
        return _recommended(frame, shipped, user, item, score)
    if maps is not None:
        asked: Any = maps if shipped is None else shipped.open()
        frame = apply(frame, asked, score=score, user=user, segment=segment, history=history, probability=probability)
    check_columns(frame, {user: "id", item: "id", probability: "number"})
    refuse_taken(frame, list(_ADDED))
    names = {user: "user_id", item: "item_id", probability: "probability"}
    schema, arrow = arrow_types(frame, _ADDED)
    cut = Cut(_checked_policy(policy), top, expected_relevant, names, arrow)
    return by_user(frame, user).mapInArrow(cut, schema)


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


@dataclass(frozen=True, eq=False)
class Cut:
    """Cuts the lists of a partition."""

    policy: ListSizePolicy
    top: int | None
    expected_relevant: float | None
    names: dict[str, str]  # columns, and what they are called here
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        back = {ours: theirs for theirs, ours in self.names.items()}
        for table in user_tables(batches, next(iter(self.names))):
            found = decide_block(
                self._best(table.rename(self.names)), self.policy, self.expected_relevant, Tally(), sizes_only=False
            )
            yield from batches_of(found.rename(back), self.schema)

    def _best(self, table: pl.DataFrame) -> pl.DataFrame:
        """The best candidates of each user, in an order that does not depend on that of the rows."""
        ordered = table.sort("user_id", "probability", "item_id", descending=[False, True, False], nulls_last=True)
        return ordered if self.top is None else ordered.group_by("user_id", maintain_order=True).head(self.top)


def _recommended(frame: DataFrame, shipped: Shipped, user: str, item: str, score: str) -> DataFrame:
    """The lists of a recommender: from live scores, or from its own where there are none."""
    live = score in frame.columns or item in frame.columns
    kinds: dict[str, Kind] = {user: "id"}
    check_columns(frame, kinds | ({item: "id", score: "number"} if live else {}))
    check_executors(frame)
    shipped.refuse_without(frame)
    names = {"user_id": user} | ({"item_id": item, "score": score} if live else {})
    asked = renamed(frame, names, numbers=["score"])
    added = _OF_RECOMMENDER | {"item_id": shipped.kind_of_items()}
    if live and is_text(asked, "item_id") != (added["item_id"] == "string"):
        raise IdError(
            f"column {item} must hold ids of the kind that the recommender knows, {added['item_id']}; cast it"
        )
    schema, arrow = arrow_types(asked.select("user_id"), added)
    task = _Recommend(shipped, live, arrow)
    return (by_user(asked, "user_id") if live else asked.distinct()).mapInArrow(task, schema)


@dataclass(frozen=True, eq=False)
class _Recommend:
    """Asks a recommender for the lists of a partition."""

    shipped: Shipped
    live: bool
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blocks = user_tables(batches, "user_id") if self.live else tables(batches)
        for table in blocks:
            recommender: ConfidentRecommender = self.shipped.open()
            found = live_lists(recommender, table) if self.live else recommender.recommend(table["user_id"])
            if found.height:
                yield from batches_of(found, self.schema)
