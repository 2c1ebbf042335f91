"""Is anyone promised more than they get? Promised and realised hits, calibration errors and list sizes of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.maps import Segments
from sureness.calibration.pair_fields import SIDES, Fields
from sureness.errors import SettingError
from sureness.lists.lists import Lists
from sureness.metrics.intervals import interval
from sureness.numerics.multiple_tests import holm, promise_p_value
from sureness.numerics.ratios import ratio_of_sums
from sureness.tables.id_values import as_series

MOST_VALUES = 12
"""A field of numbers with more values than this is cut into groups; so is one with fractions."""

N_GROUPS = 5
"""Groups of a field of numbers, with about equally many candidates each, shown or not: other sizes, same groups."""

_MISSING = "missing"


class _Shown(NamedTuple):
    """The shown items, one entry each."""

    lists: IntArray  # which list
    users: IntArray  # rows of users in the source
    items: IntArray | None  # rows of items
    promised: FloatArray
    hits: BoolArray


class _Group(NamedTuple):
    """A group of a field."""

    field: str
    name: str
    shown: IntArray  # places of its items
    n_lists: int  # of its users; those of all users for groups of items


def promise_by_group(lists: Lists, sizes: IntArray, groups: Fields | Segments) -> pl.DataFrame:
    """The table of `promise` for groups of users or items; `sizes` is how many items of each list are shown."""
    shown = _shown(lists, sizes)
    everyone = _Group("all", "all", np.arange(len(shown.users)), lists.n_users)
    found = [everyone, *_groups(_as_fields(groups), lists, shown)]
    table = pl.DataFrame([_row(group, shown) for group in found])
    corrected = np.concatenate([table["p_value"][:1], holm(table["p_value"][1:].to_numpy())])
    return table.with_columns(p_value=pl.Series(corrected))


def _shown(lists: Lists, sizes: IntArray) -> _Shown:
    number, place = np.nonzero(np.arange(1, lists.width + 1) <= sizes[:, None])
    return _Shown(
        number, lists.users[number], None if lists.items is None else lists.items[number, place],
        lists.promises("a promise")[number, place], lists.needed("hits", "a promise")[number, place].astype(bool),
    )  # fmt: skip


def _as_fields(groups: Fields | Segments) -> Fields:
    return groups if isinstance(groups, Fields) else Fields(**{groups.of: {"segment": as_series(groups.names)}})


def _groups(fields: Fields, lists: Lists, shown: _Shown) -> Iterator[_Group]:
    """The groups of every field in the order of their values, those of users first."""
    candidates = _shown(lists, lists.lengths)
    for side in SIDES:
        for column in fields.tables.get(side, ()):
            inside, everywhere = getattr(shown, side), getattr(candidates, side)
            if inside is None:
                raise SettingError(f"groups of items such as {column.name!r} need lists with items, got lists without")
            names, codes = _coded(column, everywhere)
            of_lists = np.bincount(codes[lists.users], minlength=len(names)) if side == "users" else None
            for code, name in enumerate(names):
                if len(places := np.flatnonzero(codes[inside] == code)):
                    yield _Group(column.name, name, places, lists.n_users if of_lists is None else int(of_lists[code]))


def _coded(column: pl.Series, candidates: IntArray) -> tuple[list[str], IntArray]:
    """Names of groups, and the group of each user or item of the source."""
    if column.dtype.is_numeric() and (column.dtype.is_float() or column.n_unique() > MOST_VALUES):
        return _ranges(column.cast(pl.Float64).fill_null(np.nan).to_numpy(), candidates)
    values = column.drop_nulls().unique().sort()
    names = [str(value) for value in values]
    ranks = pl.DataFrame({"value": values, "code": np.arange(len(values))})
    codes = column.alias("value").to_frame().join(ranks, on="value", how="left", maintain_order="left")["code"]
    return [*names, _MISSING], codes.fill_null(len(names)).to_numpy()


def _ranges(numbers: FloatArray, candidates: IntArray) -> tuple[list[str], IntArray]:
    """Groups of numbers with about equally many candidates, named by the smallest and largest number in them."""
    own = numbers[candidates]
    seen = own[np.isfinite(own)]
    inner = np.arange(1, N_GROUPS) / N_GROUPS
    edges = np.unique(np.quantile(seen, inner, method="higher")) if len(seen) else np.empty(0)
    codes = np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), len(edges) + 1)
    names = []
    for code in range(len(edges) + 1):
        own = numbers[codes == code]
        names.append("none" if not len(own) else _range(own.min(), own.max()))
    return [*names, _MISSING], codes


def _range(low: float, high: float) -> str:
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def _row(group: _Group, shown: _Shown) -> dict[str, Any]:
    promised, hits, users = shown.promised[group.shown], shown.hits[group.shown], shown.users[group.shown]
    _, codes = np.unique(users, return_inverse=True)
    of_users, came = np.bincount(codes, promised), np.bincount(codes, hits)
    ratio = ratio_of_sums(came, of_users)
    error = interval("ece", hits, promised, users=users)
    return {
        "field": group.field, "group": group.name, "lists": group.n_lists, "list_size": len(hits) / group.n_lists,
        "promised": float(promised.sum()), "realised": int(hits.sum()),
        "ratio": ratio.value, "low": ratio.low, "high": ratio.high,
        "p_value": promise_p_value(came, of_users, float((promised * (1 - promised)).sum())),
        "ece": error.value, "ece_low": error.low, "ece_high": error.high,
    }  # fmt: skip
