"""Fields of pairs, users and items, such as market, device or popularity, as small whole numbers: their codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple, Self, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, DataError, IdError, SettingError
from sureness.numerics.checks import same_length
from sureness.numerics.conversion import is_missing
from sureness.saving.packed import Packed, Parts, Savable, check_text, kind_of, reals
from sureness.sources.aligned import fitted_to
from sureness.sources.base import ScoreSource, id_maps
from sureness.tables.frames import Frame, as_frame
from sureness.tables.id_values import as_series, first_of, segment_series

FINE, COARSE = 60, 10
"""Groups of a numeric field with equally many pairs: for its own effect, and for what it does together with others."""

UNNAMED = "segment"
"""What a field is called that was given without a name."""

FieldTable: TypeAlias = Mapping[str, ArrayLike | pl.Series] | Frame
"""Columns by name, or a table of any library."""


@dataclass(frozen=True, eq=False)
class Field:
    """A field and its values. Code 0 is a value that was never seen, the last one a missing value if that was seen."""

    name: str
    values: IdMap | None  # None: a numeric field
    edges: FloatArray  # of a numeric field, ascending: where one group ends and the next begins
    coarse_edges: FloatArray  # some of them
    has_missing: bool  # whether pairs of the fit lacked it

    @classmethod
    def learned(cls, name: str, column: ArrayLike | pl.Series, weight: FloatArray | None, *, numeric: bool) -> Field:
        """The values of a column, or groups of its numbers that have equally much weight."""
        names = None if numeric else _names(name, column)
        if names is not None:
            return cls(name, IdMap.of(names.drop_nulls()), np.empty(0), np.empty(0), names.null_count() > 0)
        numbers = _numbers(name, column)
        there = np.isfinite(numbers)
        weight = np.ones(len(numbers)) if weight is None else weight
        edges, coarse = (_quantiles(numbers[there], weight[there], groups) for groups in (FINE, COARSE))
        return cls(name, None, edges, coarse, not there.all())

    @property
    def n_codes(self) -> int:
        """How many codes there are, with that of unknown values."""
        return 1 + (len(self.edges) + 1 if self.values is None else len(self.values)) + self.has_missing

    @cached_property
    def coarse(self) -> IntArray:
        """The coarse code of each code, for what the field does together with others; shape (n_codes,)."""
        if self.values is not None:
            return np.arange(self.n_codes)
        lowest = np.concatenate([[-np.inf], self.edges])
        groups = 1 + np.searchsorted(self.coarse_edges, lowest, side="right")
        return np.concatenate([[0], groups, [len(self.coarse_edges) + 2] * self.has_missing]).astype(np.int64)

    @property
    def has_two_sizes(self) -> bool:
        """Whether groups are joined for what the field does together with others."""
        return len(self.coarse_edges) < len(self.edges)

    def codes(self, column: ArrayLike | pl.Series, *, of_text: bool = False) -> IntArray:
        """The code of each value; with `of_text` "7" and 7 are the same, as in files."""
        missing = self.n_codes - 1 if self.has_missing else 0
        if self.values is None:
            numbers = _numbers(self.name, column, of_text=of_text)
            return np.where(np.isfinite(numbers), 1 + np.searchsorted(self.edges, numbers, side="right"), missing)
        names = _names(self.name, column)
        if names is None:
            raise IdError(f"the field {self.name!r} has whole numbers or text for values, got fractions; convert them")
        absent = names.is_null().to_numpy()
        if absent.all():  # a column without values has no kind
            return np.full(len(names), missing)
        try:
            rows = self.values.rows(names, of_text=of_text)
        except IdError as error:
            raise IdError(f"the field {self.name!r}: {error}") from error
        return np.where(absent, missing, rows + 1)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        if self.values is not None:
            return {"name": self.name, "values": self.values.ids.to_list(), "missing": self.has_missing}
        edges, coarse = self.edges.tolist(), self.coarse_edges.tolist()
        return {"name": self.name, "edges": edges, "coarse_edges": coarse, "missing": self.has_missing}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Field:
        """Out of `plain`."""
        values = IdMap.of(plain["values"]) if "values" in plain else None
        edges, coarse = (reals(plain.get(each, []), rising=True) for each in ("edges", "coarse_edges"))
        return cls(check_text(plain["name"]), values, edges, coarse, bool(plain["missing"]))


def columns_of(table: FieldTable | ArrayLike | None, wanted: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of a table by name, or one column without a name.

    Examples
    --------
    >>> columns_of({"market": ["de", "fr"], "device": "phone"})
    {'market': ['de', 'fr'], 'device': 'phone'}
    >>> columns_of(["de", "fr"])
    {'segment': ['de', 'fr']}
    """
    if table is None:
        raise SettingError(
            "a map of segments needs to know them; give segments=, one for each score, or a table of fields"
        )
    found = _named(table)
    if found is None:
        found = {UNNAMED if wanted is None or len(wanted) != 1 else wanted[0]: table}
    if not found:
        raise ColumnError("segments must have at least one field, got a table without columns")
    absent = [name for name in wanted or () if name not in found]
    if absent:
        raise ColumnError(
            f"segments must have the fields {', '.join(wanted or ())}; {' and '.join(absent)} is missing among "
            f"{', '.join(map(str, found))}"
        )
    return found if wanted is None else {name: found[name] for name in wanted}


def full_column(name: str, column: ArrayLike | pl.Series, n: int) -> ArrayLike | pl.Series:
    """A column with an entry for each of n pairs; one plain value stands for all of them."""
    if is_missing(column):
        return pl.Series([None]).new_from_index(0, n)
    if isinstance(column, str | Real):
        return pl.Series([column]).new_from_index(0, n)
    same_length(column, n, name)  # type: ignore[arg-type]
    return column


def _named(table: Any) -> dict[str, Any] | None:
    """Columns by name; None for what has no names."""
    if isinstance(table, Mapping):
        return dict(table)
    return {column.name: column for column in as_frame(table)} if hasattr(table, "columns") else None


def _names(name: str, column: ArrayLike | pl.Series) -> pl.Series | None:
    """Values that are ids; None for numbers with fractions."""
    try:
        return segment_series(column)
    except IdError as error:
        if _is_float(column):
            return None
        raise IdError(f"the field {name!r}: {error}") from error


def _is_float(column: ArrayLike | pl.Series) -> bool:
    try:
        return as_series(column).dtype.is_float()
    except DataError:
        return False


def _numbers(name: str, column: ArrayLike | pl.Series, *, of_text: bool = False) -> FloatArray:
    """Numbers, NaN where one is missing."""
    given = as_series(column)
    series = given.cast(pl.Float64, strict=False) if of_text and given.dtype == pl.String else given
    if not (series.dtype.is_numeric() or series.dtype == pl.Null) or series.null_count() > given.null_count():
        raise DataError(
            f"the field {name!r} must hold numbers, got {given.dtype} such as {first_of(given.drop_nulls())}; convert "
            "them, or leave it out of numeric= and fit again"
        )
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _quantiles(numbers: FloatArray, weight: FloatArray, groups: int) -> FloatArray:
    """The different numbers at which equal shares of the weight are reached."""
    if not len(numbers):
        return np.empty(0)
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(weight[order])
    wanted = np.arange(1, groups) / groups * reached[-1]
    places = np.searchsorted(reached, wanted * (1 - 1e-12))
    return np.unique(numbers[order][places])


# --- of users and items ---------------------------------------------------------------------------------------------

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
    """The other columns and one of counts."""
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
