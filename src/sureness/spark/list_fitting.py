"""Fit a map for lists on the driver, to a sample of whole groups of a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from sureness._settings import clone
from sureness._types import Estimand
from sureness.calibration.calibration_set import CalibrationSet, SetSettings
from sureness.calibration.list_sample import ENOUGH, MOST_TIMES
from sureness.calibration.lists import ListCalibrator
from sureness.errors import ColumnError
from sureness.spark.frames import Kind, check_columns, check_frame, column, fetched, renamed
from sureness.spark.pairs import KINDS, MOST_COLLECTED, boolean_label, pair_columns
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FIRST = -(2**63)  # hash of a missing group, so that it is met and refused


def fit_lists(
    df: DataFrame,
    calibrator: ListCalibrator,
    columns: Columns,
    history: str,
    traits: Sequence[str],
    estimand: Estimand | None,
    **settings: Unpack[SetSettings],
) -> ListCalibrator:
    """A map for lists, fitted to groups that are chosen by a hash of their ids; see `fit`."""
    frame, names = check_frame(df), tuple(traits)
    known = pair_columns(frame, columns)
    if "user_id" not in known:
        raise ColumnError(
            f"a map for lists needs the group of each row, but there is no column {columns.user_id}; name it"
        )
    if history in frame.columns or history != "history":
        known["history"] = history
    kinds: dict[str, Kind] = dict.fromkeys(names, "any")
    check_columns(frame, kinds | {theirs: KINDS.get(ours, "number") for ours, theirs in known.items()})
    known |= {f"trait {number}": name for number, name in enumerate(names)}
    table = fetched(_sampled(renamed(frame, known, [each for each in known if each != "user_id"]), calibrator))
    given = table.select(each for each in KINDS if each in known)
    data = CalibrationSet.from_table(given, estimand=estimand, **settings)
    own = {name: table[f"trait {number}"] for number, name in enumerate(names)}
    return clone(calibrator).fit(data, history=table["history"] if "history" in known else None, traits=own or None)


def _sampled(rows: DataFrame, calibrator: ListCalibrator) -> DataFrame:
    """The rows of as many groups as the map learns from; where they are too many for the driver, its best ones."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    user, wanted = column("user_id"), calibrator.n_groups
    key = _hash(user, calibrator.seed)
    positive = sf.coalesce(boolean_label(dict(rows.dtypes)["label"])[0], sf.lit(False)).cast("int")
    sums = rows.groupBy(key.alias("key")).agg(sf.count(sf.lit(1)).alias("rows"), sf.sum(positive).alias("positives"))
    groups = fetched(sums.orderBy("key").limit(wanted * MOST_TIMES + 1)).sort("key")
    if groups.height > wanted:
        enough = int(np.searchsorted(groups["positives"].cum_sum().to_numpy(), ENOUGH)) + 1
        groups = groups.head(min(max(wanted, enough), wanted * MOST_TIMES))
        rows = rows.filter(key <= groups["key"][-1])
    if groups["rows"].sum() > MOST_COLLECTED:
        place = sf.rank().over(Window.partitionBy(user).orderBy(sf.desc("score")))
        rows = rows.withColumn("place", place).filter(sf.col("place") <= calibrator.best).drop("place")
    return rows


def _hash(user: Column, seed: int) -> Column:
    from pyspark.sql import functions as sf

    return sf.when(user.isNull(), _FIRST).otherwise(sf.xxhash64(sf.lit(seed), user.cast("string")))
