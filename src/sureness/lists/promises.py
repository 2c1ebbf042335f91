"""Did what was shown keep its promise? Realised against promised hits, in total, by rank, probability and group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.fields import SIDES, Fields
from sureness.calibration.maps import Segments
from sureness.errors import EmptyError, SettingError
from sureness.lists.lists import Lists
from sureness.lists.policies import ListSizePolicy
from sureness.metrics.intervals import interval
from sureness.numerics.checks import check_choice
from sureness.numerics.ratios import holm, promise_p_value, ratio_of_sums
from sureness.tables.id_values import as_series

By = Literal["rank", "probability", "repeats"]

BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
"""Ranks that are judged together, first and last; later ones, if any are shown, are one more band."""

PROBABILITY_BANDS = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 1.0))
"""Probabilities that are judged together, from the first up to the second."""

_COLUMNS = {"rank": "ranks", "probability": "probabilities", "repeats": "items"}


def promise(
    lists: Lists,
    policy: ListSizePolicy,
    *,
    by: By | Fields | Segments = "rank",
    bands: Sequence[tuple[float, float]] | None = None,
) -> pl.DataFrame:
    """Realised over promised hits of the shown items, in total and by ranks, probabilities or groups.

    The promise of a shown item is its probability, in the period that the hits are of. A ratio above 1 means that more
    came than was promised. Items of one user are not independent, so the intervals are those of users: by the spread of
    each user's realised minus promised hits. A user may have several lists, as in several splits of one log.

    Parameters
    ----------
    lists : Lists
        With probabilities and hits.
    policy : ListSizePolicy
        How many items of each list are shown.
    by : {"rank", "probability", "repeats"}, Fields or Segments
        What the items are grouped by; repeats: new ones, and those that the user had taken before. Fields and segments
        are groups of users or of items; numbers with fractions or with more than 12 values are cut into five groups
        with about equally many candidates of the lists.
    bands : sequence of (first, last), optional
        Ranks that are judged together, both included, or probabilities, the last one not included unless it is 1.

    Returns
    -------
    table
        ranks ("all", "1", "2-3", ...), probabilities ("all", "0-5%", ...) or items ("all", "new", "repeated"), shown,
        promised, realised, ratio, low, high: one row in total and one for each band; the last three are missing
        where nothing was promised, the 95% interval also where one user was shown items. By groups: one row in
        total and one for each group of each field that was shown anything, with field, group, lists (of its
        users; all lists for groups of items), list_size (mean number of its items in these), promised,
        realised, ratio, low, high, p_value (that the promise is right; corrected for the number of groups after
        Holm, but for the total), and the ECE of the shown items with its 95% interval (ece, ece_low, ece_high).

    Examples
    --------
    >>> from sureness.lists.policies import FixedSize
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> promise(lists, FixedSize(2), bands=[(1, 1)])["ratio"].round(3).to_list()  # 3 of 1.8 promised, 2 of 1 at the top
    [1.667, 2.0]
    >>> promise(lists, FixedSize(2), by="probability", bands=[(0.4, 0.5)])["realised"].to_list()
    [3, 1]
    >>> promise(lists, FixedSize(2), by=Segments(["old", "new"], of="users")).select("group", "ratio").rows()[1:]
    [('new', 2.2222222222222223), ('old', 1.1111111111111112)]
    """
    sizes = np.minimum(policy.sizes(lists), lists.lengths)
    if isinstance(by, Fields | Segments):
        if bands is not None:
            raise SettingError("bands are those of ranks or probabilities; leave them out where by= gives groups")
        return promise_by_group(lists, _some(sizes), by)
    check_choice(by, "by", tuple(_COLUMNS))
    shown = np.arange(1, lists.width + 1) <= _some(sizes)[:, None]
    probabilities, hits = lists.promises("a promise"), lists.needed("hits", "a promise")
    if by == "repeats":
        if bands is not None:
            raise SettingError("bands are those of ranks or probabilities; leave them out where by='repeats'")
        repeated = lists.needed("repeated", "a promise by repeats")
        parts = {"new": ~repeated, "repeated": repeated}
    else:
        chosen = bands or (_rank_bands(int(sizes.max())) if by == "rank" else PROBABILITY_BANDS)
        parts = _inside(probabilities, by, chosen)
    everywhere = {"all": shown} | {name: shown & inside for name, inside in parts.items()}
    _, users = np.unique(lists.users, return_inverse=True)
    rows = [{_COLUMNS[by]: name, **_row(where, probabilities, hits, users)} for name, where in everywhere.items()]
    return pl.DataFrame(rows)


def _some(sizes: IntArray) -> IntArray:
    """The same, unless they are all 0."""
    if not sizes.any():
        raise EmptyError("no item is shown in these lists, so there is no promise to judge")
    return sizes


def _rank_bands(longest: int) -> Sequence[tuple[float, float]]:
    """Bands that hold every item of lists of up to this length."""
    later = BANDS[-1][1] + 1
    return BANDS if longest < later else (*BANDS, (later, longest))


def _inside(probabilities: FloatArray, by: By, bands: Sequence[tuple[float, float]]) -> dict[str, BoolArray]:
    """Which items belong to each band, by its name."""
    if by == "rank":
        ranks = np.arange(1, probabilities.shape[1] + 1)
        return {_ranks(*band): (ranks >= band[0]) & (ranks <= band[1]) for band in bands}
    if not all(0 <= low < high <= 1 for low, high in bands):
        raise SettingError(f"bands of probabilities must rise within 0 to 1, got {list(bands)}")
    return {
        f"{100 * low:g}-{100 * high:g}%": (probabilities >= low) & ((probabilities < high) | (high == 1))
        for low, high in bands
    }


def _ranks(first: float, last: float) -> str:
    return f"{first:g}" if first == last else f"{first:g}-{last:g}"


def _row(
    where: BoolArray, probabilities: FloatArray, hits: FloatArray, users: IntArray
) -> dict[str, float | int | None]:
    promised = np.bincount(users, np.where(where, probabilities, 0.0).sum(axis=1))
    realised = np.bincount(users, (where & hits.astype(bool)).sum(axis=1))
    judged = np.bincount(users, where.sum(axis=1)) > 0
    ratio = ratio_of_sums(realised[judged], promised[judged])
    return {
        "shown": int(where.sum()),
        "promised": float(promised.sum()),
        "realised": int(realised.sum()),
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
    }


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
    table = pl.DataFrame([_group_row(group, shown) for group in found])
    corrected = np.concatenate([table["p_value"][:1], holm(table["p_value"][1:].to_numpy())])
    return table.with_columns(p_value=pl.Series(corrected))


def _shown(lists: Lists, sizes: IntArray) -> _Shown:
    number, place = np.nonzero(np.arange(1, lists.width + 1) <= sizes[:, None])
    return _Shown(
        number,
        lists.users[number],
        None if lists.items is None else lists.items[number, place],
        lists.promises("a promise")[number, place],
        lists.needed("hits", "a promise")[number, place].astype(bool),
    )


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


def _group_row(group: _Group, shown: _Shown) -> dict[str, Any]:
    promised, hits, users = shown.promised[group.shown], shown.hits[group.shown], shown.users[group.shown]
    _, codes = np.unique(users, return_inverse=True)
    of_users, came = np.bincount(codes, promised), np.bincount(codes, hits)
    ratio = ratio_of_sums(came, of_users)
    error = interval("ece", hits, promised, users=users)
    return {
        "field": group.field,
        "group": group.name,
        "lists": group.n_lists,
        "list_size": len(hits) / group.n_lists,
        "promised": float(promised.sum()),
        "realised": int(hits.sum()),
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "p_value": promise_p_value(came, of_users, float((promised * (1 - promised)).sum())),
        "ece": error.value,
        "ece_low": error.low,
        "ece_high": error.high,
    }
