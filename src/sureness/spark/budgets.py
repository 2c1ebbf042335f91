"""A budget over all users: one price, found with four passes over what their lists are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import EmptyError
from sureness.lists.budgets import PriceSearch, most_spent, paid, sizes_above, spend_budget, spend_rest
from sureness.lists.ragged import Ragged, row_starts
from sureness.numerics.ranking import NOTHING
from sureness.spark.frames import arrow_types, created, fetched
from sureness.spark.tasks import batches_of, tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

FEW_CELLS = 4_000_000
"""Numbers that the driver takes, to share a budget by itself."""

MOST_OPEN = 10_000
"""Users among whom the driver spends what is left at the end."""


class Problem(NamedTuple):
    """What the lists of some users are worth and cost, and how long they must and may be."""

    worth: Ragged
    costs: Ragged
    lows: IntArray
    highs: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, min_size: int) -> Problem:
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


def spend(worth: DataFrame, budget: float, min_size: int, *, whole: bool) -> tuple[DataFrame, dict[str, float]]:
    """Sizes of all lists within a budget, and what was spent; `worth` has user_id, worth and cost."""
    n_cells, minimum = summed(worth, partial(_size_and_minimum, min_size=min_size), 2)
    if not n_cells:
        raise EmptyError("there are no candidates to share a budget between; check the filter or the DataFrame")
    limit = most_spent(budget, whole=whole)
    if n_cells <= FEW_CELLS or minimum > limit:  # which is refused
        return _locally(worth, budget, min_size, whole=whole)
    search = PriceSearch(limit - minimum)
    while not search.found:
        search = search.narrowed(summed(worth, partial(_costs_by_price, search=search, min_size=min_size), 2**16))
    return _at_price(worth, search.price, limit, budget, min_size)


def _locally(worth: DataFrame, budget: float, min_size: int, *, whole: bool) -> tuple[DataFrame, dict[str, float]]:
    table = fetched(worth).sort("user_id")
    problem = Problem.of(table, min_size)
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
    spent = float(summed(worth, partial(_paid_above, price=price, min_size=min_size), 1)[0])
    sizes, shared = taken.select("user_id", "list_size", "expected_utility"), {"budget": budget, "price": price}
    if price == 0 or spent >= limit:
        return sizes, shared | {"spent": spent, "bound": 0.0}
    tied = taken.filter("tied").orderBy("user_id").limit(MOST_OPEN)
    others = taken.filter("not tied and rate > 0").orderBy(sf.desc("rate"), "user_id").limit(MOST_OPEN)
    table = fetched(tied.unionByName(others)).sort("user_id")
    problem, before = Problem.of(table, min_size), table["list_size"].to_numpy()
    after, bound = spend_rest(*problem, price, limit - spent, before, table["tied"].to_numpy())
    later = table.select("user_id").with_columns(later=after, worth=problem.worth.at(after))
    changed = created(worth.sparkSession, later.filter(pl.Series(after != before)))
    joined = sizes.join(sf.broadcast(changed), "user_id", "left").select(
        "user_id",
        sf.coalesce("later", "list_size").alias("list_size"),
        sf.coalesce("worth", "expected_utility").alias("expected_utility"),
    )
    return joined, shared | {"spent": spent + problem.paid(after) - problem.paid(before), "bound": bound}


def summed(frame: DataFrame, part_of: Callable[[pl.DataFrame], FloatArray], length: int) -> FloatArray:
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
    problem = Problem.of(table, min_size)
    return np.array([len(problem.worth.values), problem.paid(problem.lows)], dtype=np.float64)


def _costs_by_price(table: pl.DataFrame, search: PriceSearch, min_size: int) -> FloatArray:
    """Costs of steps by price."""
    return search.bins(*Problem.of(table, min_size), np.ones(table.height, dtype=bool))


def _paid_above(table: pl.DataFrame, price: float, min_size: int) -> FloatArray:
    """What all steps above the price cost."""
    problem = Problem.of(table, min_size)
    return np.array([problem.paid(sizes_above(*problem, price)[0])])


def _taken_above(
    batches: Iterator[pa.RecordBatch], price: float, min_size: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Sizes after all steps above the price, and the gain per cost of the best further step."""
    for table in tables(batches):
        problem = Problem.of(table, min_size)
        sizes, tied = sizes_above(*problem, price)
        columns = {"list_size": sizes, "expected_utility": problem.worth.at(sizes), "tied": tied}
        yield from batches_of(table.with_columns(**columns, rate=_best_rates(problem, sizes, tied)), schema)


def _best_rates(problem: Problem, sizes: IntArray, tied: BoolArray) -> Any:
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
