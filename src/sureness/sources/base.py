"""The protocol of score sources, and its two basic implementations: a matrix, and a product of factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap, ids_of_frame
from sureness.errors import DataError, IdError
from sureness.numerics.checks import check_rows, number_array
from sureness.saving.packed import JSON, Packed, Parts, Savable, kind_of

_LOOKED_AT = 16  # users of float64 factors whose scores are tried as float32

SENTINEL = 1e38
"""Other libraries use the largest float32 numbers for "no score"."""


@runtime_checkable
class ScoreSource(Protocol):
    """Anything that scores all items for a block of users.

    Scores are finite; items that a user has seen are scored too, and masked by the caller. A source may also have
    `users` and `items`, the `IdMap` of its rows and of its columns (see `id_maps`), `n_parameters` (how many numbers
    it is made of), `trained_pairs` (how many pairs it was trained on, see `checked_seen`), and `product()` (two
    matrices whose product is all scores, see `product_of`).
    """

    @property
    def n_users(self) -> int: ...

    @property
    def n_items(self) -> int: ...

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items for each of the users; float32 of shape (len(users), n_items)."""
        ...


@runtime_checkable
class PartialSource(ScoreSource, Protocol):
    """A source that knows only some scores, such as those of each user's best items.

    `score_block` puts every other item just below the user's lowest known score; `known_block` has the known scores.
    """

    @property
    def scores_per_user(self) -> int:
        """About how many scores of a user are held in memory."""
        ...

    def known_block(self, users: IntArray) -> KnownScores:
        """The known scores of each of the users."""
        ...


def is_partial(source: ScoreSource) -> TypeGuard[PartialSource]:
    """Whether a source knows only some scores."""
    return hasattr(source, "known_block")  # isinstance of a protocol takes longer than deciding a list


@dataclass(frozen=True, eq=False)
class KnownScores:
    """The known scores of a block of users as sparse rows, items ascending in each row."""

    starts: IntArray  # (n_rows + 1,) where the scores of each row start
    items: IntArray  # (n,) columns
    scores: FloatArray  # (n,) float32

    __repr__ = fields_repr

    @classmethod
    def of_dense(cls, block: AnyArray) -> Self:
        """From a dense block that is NaN or infinite where a score is unknown."""
        known = np.abs(block) <= np.finfo(np.float32).max  # false where missing
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(known, axis=1))])
        scores = block[known]
        check_sparse_precision(scores, starts)
        return cls(starts, np.nonzero(known)[1], np.asarray(scores, dtype=np.float32))

    @property
    def rows(self) -> IntArray:
        """The row of each score; shape (n,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def dense(self, n_items: int) -> FloatArray:
        """All scores; unknown ones are the largest number below the smallest known score of their row.

        This ranks them below all known ones. A row without any known score is 0 throughout.

        Examples
        --------
        >>> KnownScores(np.array([0, 2]), np.array([0, 2]), np.array([1, 2], dtype=np.float32)).dense(4)
        array([[1.        , 0.99999994, 2.        , 0.99999994]], dtype=float32)
        """
        block = np.repeat(self._floors(), n_items).reshape(-1, n_items)
        block[self.rows, self.items] = self.scores
        return block

    def _floors(self) -> FloatArray:
        floors = np.zeros(len(self.starts) - 1, dtype=np.float32)
        filled = np.flatnonzero(np.diff(self.starts))
        smallest = np.minimum.reduceat(self.scores, self.starts[filled]) if len(filled) else self.scores
        below_zero = smallest - np.finfo(np.float32).tiny  # some processors round the numbers next to 0 to 0
        floors[filled] = np.minimum(np.nextafter(smallest, np.float32(-np.inf)), below_zero)
        return floors


class SavableSource(Savable):
    """A source that is made of arrays and ids, and so can be saved."""

    ARRAYS: ClassVar[tuple[str, ...]]  # the fields that hold arrays; a field may be None

    def pack(self) -> Packed:
        arrays = {name: value for name in self.ARRAYS if (value := getattr(self, name)) is not None}
        parts = {side: ids.pack() for side in ("users", "items") if (ids := getattr(self, side)) is not None}
        trained: int | None = getattr(self, "trained_pairs", None)
        state: dict[str, JSON] = {} if trained is None else {"trained_pairs": trained}
        return Packed(kind=kind_of("source", type(self)), state=state, arrays=arrays, parts=parts)

    def _check_numbers(self) -> None:
        """Make arrays of what was given; their values are looked at where they are used."""
        for name in self.ARRAYS:
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, number_array(value, name.replace("_", " ")))

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        arrays = {name: packed.arrays[name] for name in cls.ARRAYS if name in packed.arrays}
        ids = {side: parts.opened(side, IdMap) for side in ("users", "items") if side in parts}
        state: Mapping[str, Any] = packed.state
        if not isinstance(state.get("trained_pairs", 0), int):
            raise packed.damaged("the number of its trained pairs is not a whole number")
        return cls(**arrays, **ids, **state)


@dataclass(frozen=True, eq=False)
class MatrixSource(SavableSource):
    """Scores in a dense matrix of shape (n_users, n_items); a pandas table brings the ids of its index and columns.

    Examples
    --------
    >>> source = MatrixSource(np.array([[0.5, 1.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["film", "song"]))
    >>> source.score_block(np.array([0]))
    array([[0.5, 1. ]], dtype=float32)
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ("matrix",)

    matrix: FloatArray
    users: IdMap | None = None  # the id of each row; None: its number
    items: IdMap | None = None  # the id of each column
    trained_pairs: int | None = None  # how many pairs the recommender was trained on; None: unknown

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        for side, ids in zip(("users", "items"), ids_of_frame(self.matrix), strict=True):
            if getattr(self, side) is None:
                object.__setattr__(self, side, ids)
        self._check_numbers()
        if np.ndim(self.matrix) != 2:
            raise DataError(f"scores must be a matrix with one row per user, got shape {np.shape(self.matrix)}")
        check_precision(self.matrix)
        check_names(self)

    @property
    def n_users(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_items(self) -> int:
        return int(self.matrix.shape[1])

    def score_block(self, users: IntArray) -> FloatArray:
        return np.asarray(self.matrix[check_users(users, self.n_users)], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class FactorSource(SavableSource):
    """Scores as products of user and item factors, with optional biases.

    Examples
    --------
    >>> source = FactorSource(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [3.0, 0.5]]))
    >>> source.score_block(np.array([1]))
    array([[2., 1.]], dtype=float32)
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ("user_factors", "item_factors", "user_bias", "item_bias")

    user_factors: FloatArray  # (n_users, n_factors)
    item_factors: FloatArray  # (n_items, n_factors)
    user_bias: FloatArray | None = None  # (n_users,)
    item_bias: FloatArray | None = None  # (n_items,)
    users: IdMap | None = None  # the id of each user's row; None: its number
    items: IdMap | None = None  # the id of each item's row
    trained_pairs: int | None = None  # how many pairs the recommender was trained on; None: unknown

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        self._check_numbers()
        shapes = np.shape(self.user_factors), np.shape(self.item_factors)
        if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][1]:
            raise DataError(f"user and item factors must be matrices of one width, got shapes {shapes[0]}, {shapes[1]}")
        for name, n_rows in (("user_bias", self.n_users), ("item_bias", self.n_items)):
            bias = getattr(self, name)
            if bias is not None and np.shape(bias) != (n_rows,):
                raise DataError(f"{name} must have the shape {(n_rows,)}, got {np.shape(bias)}")
        check_precision(self._scores(np.linspace(0, self.n_users - 1, min(self.n_users, _LOOKED_AT)).astype(np.int64)))
        check_names(self)

    @property
    def n_users(self) -> int:
        return len(self.user_factors)

    @property
    def n_items(self) -> int:
        return len(self.item_factors)

    @property
    def n_parameters(self) -> int:
        """How many numbers the scores are made of."""
        return sum(np.size(table) for name in self.ARRAYS if (table := getattr(self, name)) is not None)

    def score_block(self, users: IntArray) -> FloatArray:
        return np.asarray(self._scores(check_users(users, self.n_users)), dtype=np.float32)

    def _scores(self, rows: IntArray) -> FloatArray:
        """Scores in the precision of the factors."""
        with np.errstate(over="ignore", invalid="ignore"):  # scores that are not finite are refused where they are used
            scores = self.user_factors[rows] @ self.item_factors.T
        if self.item_bias is not None:
            scores = scores + self.item_bias
        if self.user_bias is not None:
            scores = scores + self.user_bias[rows, None]
        return np.asarray(scores)

    def product(self) -> tuple[FloatArray, FloatArray] | None:
        """Two matrices whose product is all scores, (n_users, n) and (n, n_items); None if it could overflow."""
        left, right = [self.user_factors], [self.item_factors]
        if self.item_bias is not None:
            left.append(np.ones((self.n_users, 1), dtype=np.float32))
            right.append(self.item_bias[:, None])
        if self.user_bias is not None:
            left.append(self.user_bias[:, None])
            right.append(np.ones((self.n_items, 1), dtype=np.float32))
        of_users = np.hstack(left).astype(np.float32)
        of_items = np.ascontiguousarray(np.hstack(right).T, dtype=np.float32)
        highest = float(np.abs(of_users).max(initial=0.0)) * float(np.abs(of_items).sum(axis=0).max(initial=0.0))
        return (of_users, of_items) if highest < SENTINEL else None


def product_of(source: ScoreSource) -> tuple[FloatArray, FloatArray] | None:
    """Two matrices whose product is all scores; None for a source without factors, or if it could overflow."""
    product: Callable[[], tuple[FloatArray, FloatArray] | None] | None = getattr(source, "product", None)
    return None if product is None else product()


def trained_pairs(source: ScoreSource) -> int | None:
    """How many pairs a source was trained on; None if that is unknown."""
    known: int | None = getattr(source, "trained_pairs", None)
    return known


def n_parameters(source: ScoreSource) -> int | None:
    """How many numbers a source has learned; None if that is unknown."""
    known: int | None = getattr(source, "n_parameters", None)
    return known


def id_maps(source: ScoreSource) -> tuple[IdMap, IdMap]:
    """The ids of a source's users and items; row numbers if it has none.

    Examples
    --------
    >>> users, items = id_maps(MatrixSource(np.zeros((2, 1)), users=IdMap.of(["ann", "bob"])))
    >>> users.at([1]).to_list(), items.at([0]).to_list()
    (['bob'], [0])
    """
    if not hasattr(source, "score_block"):
        raise DataError(
            f"a source of scores has n_users, n_items and score_block, got {type(source).__name__}; give a matrix as "
            "MatrixSource(...), or a fitted model of another library as source_of(model, log)"
        )
    users, items = named(source, "users"), named(source, "items")
    return (
        IdMap.counting(source.n_users) if users is None else users,
        IdMap.counting(source.n_items) if items is None else items,
    )


def named(source: ScoreSource, side: str) -> IdMap | None:
    """The ids of the "users" or the "items" of a source; None if it has none."""
    ids = getattr(source, side, None)
    return ids if isinstance(ids, IdMap) else None


def checked_block(source: ScoreSource, users: IntArray) -> FloatArray:
    """The scores of users; refused if they do not have the shape of the source."""
    block = np.asarray(source.score_block(users))
    block = block if block.dtype in (np.float32, np.float64) else as_float32(block)
    shape = (len(users), source.n_items)
    if block.shape != shape:
        raise DataError(f"score_block must return one row per user and one column per item, {shape}, got {block.shape}")
    return block


def check_users(users: ArrayLike, n_users: int) -> IntArray:
    """Check row numbers of users."""
    return check_rows(users, n_users, "users", "must be rows {} of the source")


def check_names(source: ScoreSource) -> None:
    """Refuse id maps that do not match the shape of a source."""
    for side, n_rows in (("users", source.n_users), ("items", source.n_items)):
        ids = getattr(source, side, None)
        if ids is None:
            continue
        if not isinstance(ids, IdMap):
            raise IdError(f"{side} must be an IdMap, got {type(ids).__name__}; use IdMap(...), which keeps their order")
        if len(ids) != n_rows:
            raise IdError(
                f"{side} must name each of the {counted(n_rows, 'row')} of the source, got {counted(len(ids), 'id')}"
            )


_LEVELS = 4_096  # with fewer float32 numbers between a user's lowest and highest score, ties are looked for
_SPACING = 2.0**-23  # between neighbouring float32 numbers, relative to their size


def check_precision(block: AnyArray) -> None:
    """Refuse a block of scores, one row per user, if float32 would merge different scores of a user.

    That two of thousands of scores agree to seven digits is no harm. It is one where a large number is added to all
    scores of a user, so that few float32 numbers are left between them.

    Examples
    --------
    >>> check_precision(np.array([[0.1, 0.2, 0.3]]))
    >>> try:
    ...     check_precision(1e9 + np.arange(10.0)[None])
    ... except DataError as error:
    ...     print(str(error)[:61])
    scores of a user must differ as float32, but the 10 different
    """
    if block.dtype == np.float32 or not block.size:
        return
    for row in np.flatnonzero(_coarse(block.min(axis=1), block.max(axis=1))):
        _check_user(block[row])


def check_sparse_precision(scores: AnyArray, starts: IntArray) -> None:
    """The same for sparse rows."""
    if scores.dtype == np.float32 or not scores.size:
        return
    filled = np.flatnonzero(np.diff(starts))
    lows, highs = (extreme.reduceat(scores, starts[filled]) for extreme in (np.minimum, np.maximum))
    for row in filled[_coarse(lows, highs)]:
        _check_user(scores[starts[row] : starts[row + 1]])


def as_float32(block: AnyArray) -> FloatArray:
    """A block of scores as float32, refused if that would merge different scores of a user."""
    check_precision(block)
    return np.asarray(block, dtype=np.float32)


def _coarse(lows: AnyArray, highs: AnyArray) -> AnyArray:
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused elsewhere
        width = highs.astype(np.float64) - lows
        return (width > 0) & (width < _LEVELS * _SPACING * np.maximum(np.abs(lows), np.abs(highs)))


def _check_user(scores: AnyArray) -> None:
    n_before, n_after = len(np.unique(scores)), len(np.unique(scores.astype(np.float32)))
    if n_after < n_before:
        raise DataError(
            f"scores of a user must differ as float32, but the {counted(n_before, 'different score')} from "
            f"{scores.min():.17g} to {scores.max():.17g} become {n_after:,}; subtract each user's mean from the scores "
            "first"
        )
