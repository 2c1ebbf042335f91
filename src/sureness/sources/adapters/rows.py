"""Match the rows of another library's arrays to ids; ours are sorted, theirs come in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.errors import IdError, NotFittedError, SettingError
from sureness.tables.id_values import id_series

Ids: TypeAlias = IdMap | Mapping[Any, int] | ArrayLike | pl.Series | None


@dataclass(frozen=True, eq=False)
class Rows:
    """Sorted ids, and the row of each in the library's arrays."""

    ids: IdMap | None  # None: rows have no id but their number
    places: IntArray | slice  # (len(ids),)

    def of(self, array: Any) -> AnyArray:
        """The rows of a library's array in the order of our ids."""
        return np.asarray(array)[self.places]


def rows_of(ids: Ids, n_rows: int, side: str, id_type: type | None = None) -> Rows:
    """The rows of a library's model.

    Parameters
    ----------
    ids : IdMap, mapping of ids to rows, or ids in the order of the rows
        None: ids are row numbers.
    n_rows : int
        How many rows the model has. A mapping need not name all of them. Ids that it maps to later rows are dropped,
        because the model has learned nothing about them.
    side : {"users", "items"}
    id_type : {str, int}, optional
        Convert the ids.

    Examples
    --------
    >>> rows = rows_of(["zoë", "ann", "bob"], 3, "users")
    >>> rows.ids.ids.to_list(), rows.of([10, 20, 30]).tolist()
    (['ann', 'bob', 'zoë'], [20, 30, 10])
    """
    if ids is None:
        return Rows(None, slice(None))
    if isinstance(ids, Mapping):
        known = {name: row for name, row in ids.items() if 0 <= row < n_rows}
        return _sorted(_converted(list(known), id_type), np.array(list(known.values()), dtype=np.int64), side)
    given = ids.ids if isinstance(ids, IdMap) else _converted(ids, id_type)
    if len(given) != n_rows:
        raise IdError(
            f"{side} must name each of the {counted(n_rows, 'row')} of the model, got {counted(len(given), 'id')}; "
            "give those it was fitted with, in that order"
        )
    return Rows(ids, slice(None)) if isinstance(ids, IdMap) else _sorted(given, np.arange(n_rows), side)


def fitted(model: Any, *names: str) -> Any:
    """Return the model, or raise if it lacks one of the attributes that fitting sets."""
    if any(getattr(model, name, None) is None for name in names):
        raise NotFittedError(f"{type(model).__name__} is not fitted yet; fit it before you take its scores")
    return model


def where_defined(model: Any, method: str) -> str:
    """The dotted name of the class that defines a model's method; a subclass may score in its own way."""
    for kind in type(model).__mro__:
        if method in vars(kind):
            return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    return ""


def _converted(ids: Any, id_type: type | None) -> pl.Series:
    series = id_series(ids)
    if id_type is None:
        return series
    if id_type not in (int, str):
        raise SettingError(f"id_type must be int or str, got {id_type!r}")
    try:
        return series.cast(pl.Int64 if id_type is int else pl.String)
    except pl.exceptions.InvalidOperationError as error:
        strange = series.filter(series.cast(pl.Int64, strict=False).is_null())[0]
        raise IdError(f"id_type=int needs ids that are whole numbers, got {strange!r}; leave it out") from error


def _sorted(ids: pl.Series, places: IntArray, side: str) -> Rows:
    known = IdMap.of(ids)
    if len(known) != len(ids):
        raise IdError(
            f"{side} must have distinct ids, got {counted(len(ids), 'id')} of which {len(known):,} are distinct; name "
            "each row once"
        )
    ordered = np.empty(len(ids), dtype=np.int64)
    ordered[known.rows(ids)] = places
    return Rows(known, ordered)
