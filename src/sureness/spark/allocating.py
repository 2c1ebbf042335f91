"""List sizes that compete: for the slots of each user's page, or for a budget over all users at one price."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import EmptyError, SettingError
from sureness.jobs.allocating import AllocateOptions, Totals, share_pages, worth_of_all
from sureness.jobs.blocks import RankedTable, held_ranked
from sureness.lists.budgets import PriceSearch, most_spent, paid, sizes_above, spend_budget, spend_rest
from sureness.lists.ragged import Ragged, row_starts
from sureness.metrics.utility import named_utility
from sureness.numerics.ranking import NOTHING
from sureness.spark.frames import Kind, arrow_types, check_columns, check_frame, created, fetched, renamed
from sureness.spark.listing import by_user
from sureness.spark.tasks import batches_of, tables, user_tables

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
    sizes, shared = _spend(worth, budget, options.min_size, whole=whole)
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


FEW_CELLS = 4_000_000
"""Numbers that the driver takes, to share a budget by itself."""

MOST_OPEN = 10_000
"""Users among whom the driver spends what is left at the end."""


class _Worths(NamedTuple):
    """What the lists of some users are worth and cost, and how long they must and may be."""

    worth: Ragged
    costs: Ragged
    lows: IntArray
    highs: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, min_size: int) -> _Worths:
        """Out of the columns worth and cost."""
        lengths = table["worth"].list.len().to_numpy().astype(np.int64)
        starts = row_starts(lengths)
        worth = Ragged(table["worth"].explode().drop_nulls().to_numpy(), starts)
        costs = Ragged(np.ones(1), NOTHING)
        if not table["cost"].null_count():
            costs = Ragged(table["cost"].explode().drop_nulls().to_numpy(), starts)
        return cls(worth, costs, np.minimum(min_size, lengths), lengths)

    def paid(self, sizes: IntArray) -> float:
        """What lists of these sizes cost."""
        return paid(self.costs, sizes)


def _spend(worth: DataFrame, budget: float, min_size: int, *, whole: bool) -> tuple[DataFrame, dict[str, float]]:
    """Sizes of all lists within a budget, and what was spent; `worth` has user_id, worth and cost."""
    n_cells, minimum = _summed(worth, partial(_size_and_minimum, min_size=min_size), 2)
    if not n_cells:
        raise EmptyError("there are no candidates to share a budget between; check the filter or the DataFrame")
    limit = most_spent(budget, whole=whole)
    if n_cells <= FEW_CELLS or minimum > limit:  # which is refused
        return _locally(worth, budget, min_size, whole=whole)
    search = PriceSearch(limit - minimum)
    while not search.found:
        search = search.narrowed(_summed(worth, partial(_costs_by_price, search=search, min_size=min_size), 2**16))
    return _at_price(worth, search.price, limit, budget, min_size)


def _locally(worth: DataFrame, budget: float, min_size: int, *, whole: bool) -> tuple[DataFrame, dict[str, float]]:
    table = fetched(worth).sort("user_id")
    problem = _Worths.of(table, min_size)
    costs = problem.costs
    if whole:
        costs = Ragged(costs.values.astype(np.int64), costs.starts)
    found = spend_budget(problem.worth, budget, costs, problem.lows, problem.highs)
    columns = {"list_size": found.sizes, "expected_utility": found.value}
    sizes = created(worth.sparkSession, table.select("user_id").with_columns(**columns))
    return sizes, {"budget": budget, "spent": found.spent, "price": found.price, "bound": found.bound}


def _at_price(
    worth: DataFrame, price: float, limit: float, budget: float, min_size: int
) -> tuple[DataFrame, dict[str, float]]:
    """All steps above the price; what is then left goes to those who can use it best."""
    from pyspark.sql import functions as sf

    schema, arrow = arrow_types(
        worth, {"list_size": "bigint", "expected_utility": "double", "tied": "boolean", "rate": "double"}
    )
    taken = worth.mapInArrow(partial(_taken_above, price=price, min_size=min_size, schema=arrow), schema)
    spent = float(_summed(worth, partial(_paid_above, price=price, min_size=min_size), 1)[0])
    sizes, shared = taken.select("user_id", "list_size", "expected_utility"), {"budget": budget, "price": price}
    if price == 0 or spent >= limit:
        return sizes, shared | {"spent": spent, "bound": 0.0}
    tied = taken.filter("tied").orderBy("user_id").limit(MOST_OPEN)
    others = taken.filter("not tied and rate > 0").orderBy(sf.desc("rate"), "user_id").limit(MOST_OPEN)
    table = fetched(tied.unionByName(others)).sort("user_id")
    problem, before = _Worths.of(table, min_size), table["list_size"].to_numpy()
    after, bound = spend_rest(*problem, price, limit - spent, before, table["tied"].to_numpy())
    later = table.select("user_id").with_columns(later=after, worth=problem.worth.at(after))
    changed = created(worth.sparkSession, later.filter(pl.Series(after != before)))
    joined = sizes.join(sf.broadcast(changed), "user_id", "left").select(
        "user_id",
        sf.coalesce("later", "list_size").alias("list_size"),
        sf.coalesce("worth", "expected_utility").alias("expected_utility"),
    )
    return joined, shared | {"spent": spent + problem.paid(after) - problem.paid(before), "bound": bound}


def _summed(frame: DataFrame, part_of: Callable[[pl.DataFrame], FloatArray], length: int) -> FloatArray:
    """The sum of what `part_of` finds in blocks of rows, arrays of one length; what is not 0 is added up by Spark."""
    from pyspark.sql import functions as sf

    parts = frame.mapInArrow(partial(_sum_of_partition, part_of=part_of), "place bigint, value double")
    found = fetched(parts.groupBy("place").agg(sf.sum("value").alias("value")))
    total = np.zeros(length)
    total[found["place"].to_numpy()] = found["value"].to_numpy()
    return total


def _sum_of_partition(
    batches: Iterator[pa.RecordBatch], part_of: Callable[[pl.DataFrame], FloatArray]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    total = sum((part_of(table) for table in tables(batches)), np.zeros(1))
    places = np.flatnonzero(total)
    yield pa.RecordBatch.from_arrays([pa.array(places), pa.array(total[places])], names=["place", "value"])


def _size_and_minimum(table: pl.DataFrame, min_size: int) -> FloatArray:
    """How many numbers all lists have, and what lists of the smallest size cost."""
    problem = _Worths.of(table, min_size)
    return np.array([len(problem.worth.values), problem.paid(problem.lows)], dtype=np.float64)


def _costs_by_price(table: pl.DataFrame, search: PriceSearch, min_size: int) -> FloatArray:
    """Costs of steps by price."""
    return search.bins(*_Worths.of(table, min_size), np.ones(table.height, dtype=bool))


def _paid_above(table: pl.DataFrame, price: float, min_size: int) -> FloatArray:
    """What all steps above the price cost."""
    problem = _Worths.of(table, min_size)
    return np.array([problem.paid(sizes_above(*problem, price)[0])])


def _taken_above(
    batches: Iterator[pa.RecordBatch], price: float, min_size: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Sizes after all steps above the price, and the gain per cost of the best further step."""
    for table in tables(batches):
        problem = _Worths.of(table, min_size)
        sizes, tied = sizes_above(*problem, price)
        columns = {"list_size": sizes, "expected_utility": problem.worth.at(sizes), "tied": tied}
        yield from batches_of(table.with_columns(**columns, rate=_best_rates(problem, sizes, tied)), schema)


def _best_rates(problem: _Worths, sizes: IntArray, tied: BoolArray) -> Any:
    """The largest gain per cost of a longer list; 0 where none gains."""
    width = max(1, int(problem.highs.max(initial=0)))
    worth = problem.worth.padded(width)
    costs = np.ones_like(worth) if len(problem.costs.starts) == 0 else problem.costs.padded(width)
    longer = (np.arange(1, width + 1) > sizes[:, None]) & (np.arange(width) < problem.highs[:, None])
    total = np.cumsum(costs, axis=1)
    before = np.where(sizes > 0, np.take_along_axis(total, np.maximum(sizes - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    gain = worth - problem.worth.at(sizes)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(longer & (gain > 0), gain / (total - before[:, None]), 0.0)
    return rate.max(axis=1)
