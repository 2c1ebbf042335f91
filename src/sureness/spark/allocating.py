"""List sizes that compete: for the slots of each user's page, or for a budget over all users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness._printing import fields_repr
from sureness.errors import SettingError
from sureness.jobs.allocating import AllocateOptions, Totals, share_pages, worth_of_all
from sureness.jobs.blocks import RankedTable, held_ranked
from sureness.metrics.utility import named_utility
from sureness.spark.budgets import spend
from sureness.spark.frames import Kind, arrow_types, check_columns, check_frame, fetched, renamed
from sureness.spark.listing import by_user
from sureness.spark.tasks import batches_of, user_tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_KINDS: dict[str, Kind] = {
    "user_id": "id",
    "domain": "id",
    "item_id": "id",
    "probability": "number",
    "cost": "number",
}


@dataclass(frozen=True, eq=False)
class Allocated:
    """List sizes, or the shown items, and what was shared out."""

    table: DataFrame  # user_id, domain for pages, list_size and expected_utility; or one row per shown item
    shared: dict[str, float]  # slots; or budget, spent, price and bound

    __repr__ = fields_repr


def allocate(
    df: DataFrame,
    *,
    slots: int | None = None,
    budget: float | None = None,
    utility: str = "f1",
    min_size: int = 0,
    max_size: int | None = None,
    items: bool = False,
    user: str = "user_id",
    item: str = "item_id",
    probability: str = "probability",
    domain: str = "domain",
    cost: str = "cost",
) -> Allocated:
    """Choose list sizes that share the slots of a page between domains, or a budget between all users.

    Pages are exact, and nothing is computed before the result is used. A budget is shared by one price for all users:
    what the lists are worth is computed once and cached, and four passes over it find the price to the last bit.

    Parameters
    ----------
    df : DataFrame
        Users, items and probabilities of all candidates; with domains for slots; with a column of costs, where there is
        one, for a budget.
    slots : int, optional
        Items on each user's page.
    budget : float, optional
        What all lists together may cost; an item costs 1, or its cost.
    utility : str
        What a list is worth to a user.
    min_size, max_size : int
        Bounds for the items of a domain, or of a user under a budget.
    items : bool
        Give the shown items instead of the list sizes.
    user, item, probability, domain, cost : str
        Columns.
    """
    options = AllocateOptions(
        slots=slots, budget=budget, utility=utility, min_size=min_size, max_size=max_size, items=items
    )
    options.check()
    named_utility(utility)
    frame = check_frame(df)
    names = {"user_id": user} | ({"domain": domain} if budget is None else {}) | {"item_id": item}
    names |= {"probability": probability} | ({"cost": cost} if budget is not None and cost in frame.columns else {})
    check_columns(frame, {theirs: _KINDS[ours] for ours, theirs in names.items()})
    rows = renamed(frame, names, ["probability", "cost"])
    if budget is None:
        return Allocated(_pages(rows, options), {"slots": float(slots or 0)})
    return _under_budget(rows, options, budget)


def _pages(rows: DataFrame, options: AllocateOptions) -> DataFrame:
    """The pages of all users, each by itself."""
    domains = fetched(rows.select("domain").dropna().distinct().sort("domain"))
    if not domains.height:
        raise SettingError("there is no domain to share slots between; check the column of domains")
    kinds = {"list_size": "bigint", "expected_utility": "double"}
    schema, arrow = _with_items(rows) if options.items else arrow_types(rows.select("user_id", "domain"), kinds)
    return by_user(rows, "user_id").mapInArrow(
        partial(_share_pages, options=options, domains=domains, schema=arrow), schema
    )


def _with_items(rows: DataFrame) -> tuple[Any, pa.Schema]:
    """user_id, domain, rank, item_id and probability."""
    from pyspark.sql import functions as sf

    ranked = rows.withColumn("rank", sf.lit(0).cast("bigint"))
    return arrow_types(ranked.select("user_id", "domain", "rank", "item_id", "probability"), {})


def _share_pages(
    batches: Iterator[pa.RecordBatch], options: AllocateOptions, domains: pl.DataFrame, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The pages of the users of a partition."""
    for table in user_tables(batches, "user_id"):
        for found in share_pages(_lists(table, domains), options, Totals()):
            yield from batches_of(found, schema)


def _lists(table: pl.DataFrame, domains: pl.DataFrame | None = None) -> RankedTable:
    """Whole users, whose candidates are in an order that does not depend on that of the rows."""
    return held_ranked(table.sort("user_id", "item_id"), domains)


def _under_budget(rows: DataFrame, options: AllocateOptions, budget: float) -> Allocated:
    kinds = {"worth": "doubles", "cost": "doubles"}
    schema, arrow = arrow_types(rows.select("user_id"), kinds)
    worth = (
        by_user(rows, "user_id").mapInArrow(partial(_worth_of_lists, options=options, schema=arrow), schema).persist()
    )
    whole = dict(rows.dtypes).get("cost", "bigint") in ("tinyint", "smallint", "int", "bigint")
    sizes, shared = spend(worth, budget, options.min_size, whole=whole)
    return Allocated(_shown(rows, sizes) if options.items else sizes, shared)


def _shown(rows: DataFrame, sizes: DataFrame) -> DataFrame:
    """The first items of each user, as many as the list has."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    best_first = Window.partitionBy("user_id").orderBy(sf.desc("probability"), "item_id")
    ranked = rows.withColumn("rank", sf.row_number().over(best_first).cast("bigint"))
    kept = ranked.join(sizes.select("user_id", "list_size"), "user_id").filter("rank <= list_size")
    return kept.select("user_id", "rank", "item_id", "probability")


def _worth_of_lists(
    batches: Iterator[pa.RecordBatch], options: AllocateOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """What the first items of each user are worth, for every number of them, and what each costs."""
    for table in user_tables(batches, "user_id"):
        keys, worth, cost = worth_of_all(_lists(table), options)
        starts, lengths = worth.starts[:-1], worth.lengths
        found = [keys["user_id"], _rows("worth", worth.values, starts, lengths)]
        if len(cost.starts):
            found.append(_rows("cost", cost.values, starts, lengths))
        else:
            found.append(pl.repeat(None, len(lengths), dtype=pl.List(pl.Float64), eager=True).alias("cost"))
        yield from batches_of(pl.DataFrame(found), schema)


def _rows(name: str, values: Any, starts: Any, lengths: Any) -> pl.Series:
    """Rows of different lengths as a column of lists."""
    import pyarrow as pa

    offsets = pa.array([*starts.tolist(), int(starts[-1] + lengths[-1])], pa.int64())
    return pl.Series(name, pl.from_arrow(pa.LargeListArray.from_arrays(offsets, pa.array(values, pa.float64()))))
