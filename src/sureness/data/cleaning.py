"""Turn the columns of a log into distinct pairs; each step notes what it dropped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

import numpy as np
import polars as pl

from sureness._wording import counted
from sureness.data.events import Older
from sureness.data.ids import IdMap
from sureness.errors import ColumnError, EmptyError
from sureness.numerics.checks import brief
from sureness.tables.id_values import id_series
from sureness.tables.text.values import in_iso_order, order_of

ID_COLUMNS = ("user_id", "item_id")
LOG_COLUMNS = (*ID_COLUMNS, "rating", "time", "domain")
MANY_REPEATS = 0.1  # share of rows that repeat earlier pairs above which this is noted
OF_REPEATS = (
    'ConfidentRecommender.forward(..., repeats="count") keeps what was taken before among the candidates, "skip" '
    "leaves it out"
)
_WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)  # which numpy has too


def clean_rows(table: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The `LOG_COLUMNS` of a log as ids and numbers, without rows that have no user, item or domain."""
    rows = table.with_columns(id_series(table[name]).alias(name) for name in ID_COLUMNS)
    rows = drop(rows, rows.drop_nulls(ID_COLUMNS), notes, "had no user or no item and were dropped")
    if "domain" in rows.columns:
        rows = name_items_by_domain(rows, notes)
    if not rows.height:
        raise EmptyError("expected at least one interaction, got none; check the file or the filter")
    numbers = {"rating": rating_numbers, "time": time_numbers}
    columns = [convert(rows[name], notes) for name, convert in numbers.items() if name in rows.columns]
    return rows.with_columns(columns)


def code_rows(rows: pl.DataFrame, users: IdMap, items: IdMap, notes: list[str]) -> pl.DataFrame:
    """Replace ids by the columns `user` and `item`; rows with unknown ids are dropped."""
    codes = {"user": users.rows(rows["user_id"]), "item": items.rows(rows["item_id"])}
    coded = rows.drop(ID_COLUMNS).with_columns(pl.Series(name, values) for name, values in codes.items())
    known = coded.filter((pl.col("user") >= 0) & (pl.col("item") >= 0)) if _least(codes) < 0 else coded
    return drop(coded, known, notes, "had an unknown user or item and were dropped")


def distinct_pairs(coded: pl.DataFrame, n_items: int, notes: list[str]) -> tuple[pl.DataFrame, Older | None]:
    """One row per pair, sorted by user and item: the latest, or the last one if there are no times.

    Also returns the older rows of pairs that repeat, if there are times.
    """
    timed = "time" in coded.columns
    pair = pl.col("user") * n_items + pl.col("item")
    keyed = coded.with_columns(pair.alias("pair"))
    if not keyed["pair"].is_sorted():
        keyed = keyed.sort("pair", maintain_order=True)
    is_last = (pl.col("pair") != pl.col("pair").shift(-1)).fill_null(True)
    repeat = keyed.height > 0 and not keyed.select(is_last.all()).item()
    if timed and repeat:  # times matter only where a pair repeats
        keyed = keyed.sort("pair", "time", maintain_order=True, nulls_last=False)
    last = keyed.select(is_last).to_series()
    distinct = keyed.filter(last).drop("pair")
    kept = "the latest one was kept, and the others as events" if timed else "the last one was kept"
    distinct = drop(coded, distinct, notes, f"repeated a pair; {kept}")
    if not (timed and repeat):
        return distinct, None
    share = 1 - distinct.height / coded.height
    if share > MANY_REPEATS:
        notes.append(f"{share:.0%} of the rows repeat a pair; {OF_REPEATS}")
    older = keyed.filter(~last)
    ratings = older["rating"].to_numpy() if "rating" in older.columns else None
    return distinct, Older(last.cast(pl.Int64).cum_sum().filter(~last).to_numpy(), older["time"].to_numpy(), ratings)


def rating_numbers(ratings: pl.Series, notes: list[str]) -> pl.Series:
    """Ratings as numbers; missing and infinite ones become NaN, and are noted."""
    ratings = _without_categories(ratings)
    numbers = ratings if ratings.dtype in _WHOLE else _as_float(ratings, "ratings")
    return _count_missing(numbers, "rating", "were kept without one", notes)


def time_numbers(times: pl.Series, notes: list[str]) -> pl.Series:
    """Times as numbers: numbers are kept, dates and ISO text become microseconds since 1970.

    Examples
    --------
    >>> notes = []
    >>> time_numbers(pl.Series(["1970-01-01T00:00:01Z", "1970-01-02", None]), notes).to_list(), notes
    ([1000000, 86400000000, None], ['1 of 3 rows had no time and are taken as the oldest'])
    """
    times = _without_categories(times)
    if times.dtype.is_temporal() and times.dtype not in (pl.Duration, pl.Time):
        numbers = _microseconds(times)
    elif times.dtype == pl.String:
        numbers = _times_of_text(times, notes)
    else:
        numbers = times if times.dtype in _WHOLE else _as_float(times, "times")
    return _count_missing(numbers, "time", "are taken as the oldest", notes)


def drop(before: pl.DataFrame, after: pl.DataFrame, notes: list[str], what: str) -> pl.DataFrame:
    """`after`, with a note on how many rows of `before` are gone."""
    if n_lost := before.height - after.height:
        notes.append(f"{n_lost:,} of {counted(before.height, 'row')} {what}")
    return after


def name_items_by_domain(rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Name items domain/item, because catalogues may use the same numbers; ids of that form are kept."""
    try:
        rows = rows.with_columns(pl.col("domain").cast(pl.String))
    except pl.exceptions.PolarsError as error:
        kind = rows["domain"].dtype
        raise ColumnError(f"domains must be text or numbers, got {kind}; convert them first") from error
    rows = drop(rows, rows.drop_nulls("domain"), notes, "had no domain and were dropped")
    named = pl.col("item_id").cast(pl.String)
    done = named.str.starts_with(pl.col("domain") + "/")
    if rows.height and rows.select(done.all()).item():
        return rows.with_columns(named)
    return rows.with_columns(item_id=pl.format("{}/{}", "domain", "item_id"))


def _least(codes: dict[str, Any]) -> int:
    return min((int(values.min()) for values in codes.values() if len(values)), default=0)


def _without_categories(values: pl.Series) -> pl.Series:
    return values.cast(pl.String) if values.dtype in (pl.Categorical, pl.Enum) else values


def _as_float(values: pl.Series, what: str) -> pl.Series:
    try:
        if values.dtype in (pl.Null, pl.Boolean, pl.String) or values.dtype.is_numeric():
            return values.cast(pl.Float64)
    except pl.exceptions.PolarsError:
        pass
    else:
        raise ColumnError(
            f"{what} must be numbers, got {values.dtype} such as {brief(_first(values))}; convert them first"
        )
    wrong = values.filter(values.is_not_null() & values.cast(pl.Float64, strict=False).is_null())
    raise ColumnError(
        f"{what} must be numbers, got {counted(len(wrong), 'other')} such as {wrong[0]!r}; correct or drop them"
    )


def _times_of_text(times: pl.Series, notes: list[str]) -> pl.Series:
    numbers = times.cast(pl.Float64, strict=False)
    if numbers.null_count() == times.null_count():
        return numbers
    parsed = _iso(times)
    if parsed.null_count() > times.null_count() and (order := order_of(times)):
        notes.append(f"times were read with the {order.partition('-')[0]} first")
        times = in_iso_order(times.to_frame("time").lazy(), "time", order).collect()["time"]
        parsed = _iso(times)
    if parsed.null_count() == times.null_count():
        return parsed
    wrong = times.filter(times.is_not_null() & parsed.is_null() & numbers.is_null())
    if not len(wrong):
        raise ColumnError("times must be all numbers or all dates, got both; use one form")
    raise ColumnError(
        f"times must be numbers or dates such as 2024-05-31 or 2024-05-31T18:00:00, got {counted(len(wrong), 'other')} "
        f"such as {wrong[0]!r}; write them in that form, or give "
        'Columns(dates="day-first") or Columns(dates="month-first")'
    )


_ISO_FORMS = (
    "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
)  # fmt: skip


def _iso(times: pl.Series) -> pl.Series:
    """Parse several forms of ISO 8601 as microseconds; times without a zone are UTC, unless others have one."""
    found = _microseconds(times.str.to_date("%Y-%m-%d", strict=False))
    with_zone: set[bool] = set()
    for form in _ISO_FORMS:
        if found.null_count() == times.null_count():
            break
        zone = "UTC" if form.endswith("z") else None
        parsed = times.str.to_datetime(form, time_unit="us", time_zone=zone, strict=False)
        new = found.is_null() & parsed.is_not_null()
        if new.any():
            with_zone.add(zone is not None)
        if len(with_zone) > 1:
            raise _mixed_zones(times.filter(new)[0])
        found = found.zip_with(found.is_not_null(), _microseconds(parsed))
    return found


def refuse_mixed_zones(times: object) -> None:
    """Refuse datetimes of which some have a time zone: polars would take the others for UTC, or for that zone.

    Examples
    --------
    >>> refuse_mixed_zones([datetime(2024, 5, 31), datetime(2024, 6, 1)])
    """
    if isinstance(times, list | tuple) or getattr(times, "dtype", None) == np.dtype(object):
        moments = [time for time in cast(Iterable[object], times) if isinstance(time, datetime)]
        if len({moment.tzinfo is None for moment in moments}) > 1:
            raise _mixed_zones(next(str(moment) for moment in moments if moment.tzinfo is None))


def _mixed_zones(example: str) -> ColumnError:
    return ColumnError(
        f"times must all have a time zone or none of them, got both, one of them {example!r}; write them in one form"
    )


def _microseconds(times: pl.Series) -> pl.Series:
    zone = getattr(times.dtype, "time_zone", None)
    plain = times.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else times
    return plain.cast(pl.Datetime("us")).to_physical()


def _count_missing(numbers: pl.Series, what: str, then: str, notes: list[str]) -> pl.Series:
    if numbers.dtype.is_float():
        numbers = numbers.to_frame().select(pl.when(pl.first().is_finite()).then(pl.first())).to_series()
    if n_missing := numbers.null_count():
        notes.append(f"{n_missing:,} of {counted(len(numbers), 'row')} had no {what} and {then}")
    return numbers


def _first(values: pl.Series) -> object:
    return values.drop_nulls()[0] if len(values.drop_nulls()) else None
