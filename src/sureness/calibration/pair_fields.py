"""Several fields of users and of items, for recommenders: the market of a user, the popularity of an item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import AnyArray, IntArray
from sureness.calibration.fields import FieldTable, columns_of
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, IdError, SettingError
from sureness.numerics.checks import same_length
from sureness.saving.packed import Packed, Parts, Savable, kind_of
from sureness.sources.aligned import fitted_to
from sureness.sources.base import ScoreSource, id_maps
from sureness.tables.frames import Frame, as_frame
from sureness.tables.id_values import as_series, segment_series

Side = Literal["users", "items"]
SIDES: tuple[Side, ...] = ("users", "items")


class PairNumbers(NamedTuple):
    """What users and items add to the number of their pair's segment; 0 where nothing is known of either."""

    users: IntArray | None = None  # (n_users,)
    items: IntArray | None = None  # (n_items,)

    def of_rows(self, users: IntArray, items: IntArray | None) -> IntArray:
        """The segment of users (-1: unknown) and of the items of each, -1: unknown; (n,) or (n, n_candidates).

        Without items: of all items in order.
        """
        own = None if self.users is None else np.where(users >= 0, self.users[users], 0)
        if self.items is None:
            assert own is not None
            return _known(own)
        theirs = self.items[None] if items is None else np.where(items >= 0, self.items[items], 0)
        if own is None:
            return np.broadcast_to(_known(theirs), (len(users), theirs.shape[1]))
        return _known(own[:, None] + theirs)


def _known(total: IntArray) -> IntArray:
    return np.where(total == 0, -1, total)


@dataclass(frozen=True, eq=False)
class Fields(Savable):
    """The fields of every user and every item of a source, for a `SegmentCalibrator` in a recommender.

    Parameters
    ----------
    users, items : table, or mapping of names to columns; optional
        One row per user or item, in the order of the source; `of` takes tables in any order, by id.

    Examples
    --------
    >>> fields = Fields(users={"market": ["de", "fr"]}, items={"genre": ["jazz", "rock"], "popularity": [7, 120]})
    >>> fields.names
    ('market', 'genre', 'popularity')
    """

    users: FieldTable | None = None
    items: FieldTable | None = None
    tables: dict[Side, pl.DataFrame] = field(init=False, repr=False)  # both, checked

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        given = {side: getattr(self, side) for side in SIDES if getattr(self, side) is not None}
        if not given:
            raise SettingError("fields must be those of users, of items or of both, got none; give users= or items=")
        object.__setattr__(self, "tables", {side: _checked(table) for side, table in given.items()})
        if len(set(self.names)) < len(self.names):
            raise ColumnError(f"users and items must have fields of different names, got {', '.join(self.names)}")

    @classmethod
    def of(
        cls,
        source: ScoreSource,
        *,
        users: Frame | None = None,
        items: Frame | None = None,
        seen: Interactions | None = None,
    ) -> Self:
        """Fields out of tables with a row per user_id or item_id, in any order; a field without a row is missing.

        Parameters
        ----------
        source : ScoreSource
        users, items : table, optional
        seen : Interactions, optional
            Adds the fields ``activity`` and ``popularity``: the number of its pairs of each user and of each item.

        Examples
        --------
        >>> from sureness.sources.base import MatrixSource
        >>> table = pl.DataFrame({"item_id": [2, 0], "genre": ["jazz", "rock"]})
        >>> Fields.of(MatrixSource(np.zeros((1, 3))), items=table).tables["items"]["genre"].to_list()
        ['rock', None, 'jazz']
        """
        of_users, of_items = id_maps(source)
        own = None if users is None else _in_order(as_frame(users), of_users, "user_id")
        theirs = None if items is None else _in_order(as_frame(items), of_items, "item_id")
        if seen is None:
            return cls(own, theirs)
        log = fitted_to(source, seen, "seen")
        return cls(_counted("activity", log.user_degree, own), _counted("popularity", log.item_degree, theirs))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(name for table in self.tables.values() for name in table.columns)

    def check(self, source: ScoreSource) -> None:
        """Refuse fields of more or fewer users or items than a source has."""
        for side, table in self.tables.items():
            wanted = source.n_users if side == "users" else source.n_items
            if table.height != wanted:
                raise SettingError(
                    f"fields must have a row for each of the {wanted:,} {side} of the source, got {table.height:,}; "
                    "Fields.of(source, ...) finds them by id"
                )

    def of_pairs(self, user_rows: IntArray, item_rows: IntArray) -> dict[str, pl.Series]:
        """The fields of each pair, given as rows of the source."""
        rows = {"users": pl.Series(user_rows), "items": pl.Series(item_rows)}
        return {each.name: each.gather(rows[side]) for side, table in self.tables.items() for each in table}

    def pack(self) -> Packed:
        state, arrays, parts = cast(dict[str, Any], {}), cast(dict[str, AnyArray], {}), {}
        for side, number, column in self._columns():
            kept = f"{side}{number}"
            state.setdefault(side, []).append(column.name)
            if column.dtype.is_float():
                arrays[kept] = column.fill_null(np.nan).to_numpy()
            else:
                values = IdMap.of(column.drop_nulls())
                arrays[kept], parts[kept] = values.rows(column), values.pack()
        return Packed(kind=kind_of("saved", type(self)), state=state, arrays=arrays, parts=parts)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        def column(kept: str) -> pl.Series:
            values = packed.arrays[kept]
            if kept not in parts:
                return pl.Series(values, nan_to_null=True)
            return cast(pl.Series, parts[kept].ids.gather(pl.Series(values).replace(-1, None)))

        state = cast(dict[str, list[str]], packed.state)
        return cls(**{
            side: {name: column(f"{side}{number}") for number, name in enumerate(names)}
            for side, names in state.items()
        })  # fmt: skip

    def _columns(self) -> Iterator[tuple[Side, int, pl.Series]]:
        for side, table in self.tables.items():
            yield from ((side, number, column) for number, column in enumerate(table))


def _counted(name: str, numbers: IntArray, others: pl.DataFrame | None) -> pl.DataFrame:
    """A column of counts beside the others."""
    if others is not None and name in others.columns:
        raise ColumnError(
            f"the field {name!r} is counted in seen, and is also a column of the table; rename the column"
        )
    return pl.DataFrame([*([] if others is None else others), pl.Series(name, numbers)])


def _checked(table: FieldTable) -> pl.DataFrame:
    """Columns of ids or of numbers with fractions, all of one length."""
    columns = [_column(name, each).alias(name) for name, each in columns_of(table).items()]
    for column in columns:
        same_length(column.to_numpy(), len(columns[0]), column.name)
    return pl.DataFrame(columns)


def _column(name: str, given: Any) -> pl.Series:
    try:
        return segment_series(given)
    except IdError as error:
        series = as_series(given)
        if not series.dtype.is_float():
            raise IdError(f"the field {name!r}: {error}") from error
        return series.cast(pl.Float64).fill_nan(None)


def _in_order(table: pl.DataFrame, known: IdMap, key: str) -> pl.DataFrame:
    """The rows of a table in the order of ids, without the column of ids."""
    if key not in table.columns:
        raise ColumnError(f"a table of fields must have the column {key}, got {', '.join(table.columns)}")
    rows = known.rows(table[key])
    there = np.flatnonzero(rows >= 0)
    if len(np.unique(rows[there])) < len(there):
        raise IdError(f"a table of fields must have one row for each {key}, got several; drop the others")
    places = np.full(len(known), -1)
    places[rows[there]] = there
    found = pl.Series(places).replace(-1, None)
    return pl.DataFrame([column.gather(found) for column in table.drop(key)])
