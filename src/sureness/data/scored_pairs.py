"""Scored and labelled pairs of users and items, checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError, DataError, EmptyError, IdError
from sureness.numerics.checks import (
    as_array,
    check_ids,
    check_labels,
    check_propensity,
    check_scores,
    check_weight,
    same_length,
)
from sureness.tables.files import bad_line
from sureness.tables.frames import Frame, HeldTable, as_frame
from sureness.tables.reading import BATCH_ROWS, readable


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs with a score and a label; immutable. Build it with `of`, which checks everything."""

    scores: FloatArray  # (n,)
    labels: BoolArray  # (n,)
    users: AnyArray | None = None  # (n,) ids
    items: AnyArray | None = None  # (n,) ids
    weight: FloatArray | None = None  # (n,) None: all 1
    propensity: FloatArray | None = None  # (n,) None: every pair was seen
    observed: FloatArray | None = None  # (n,) share of the labels of such pairs that has come; None: all

    __repr__ = fields_repr

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        users: ArrayLike | None = None,
        items: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        part: bool = False,
    ) -> Self:
        """Check array-likes of equal length and store them; a `part` of a larger set may have zero weight.

        Examples
        --------
        >>> ScoredPairs.of([0.3, -1.2], [1, 0], users=["ann", "bob"]).n_positive
        1
        """
        checked = check_scores(scores)
        n_pairs = len(checked)
        checked_labels = check_labels(labels)
        same_length(checked_labels, n_pairs, "labels")
        return cls(
            scores=checked,
            labels=checked_labels,
            users=None if users is None else check_ids(users, n_pairs, "user_id"),
            items=None if items is None else check_ids(items, n_pairs, "item_id"),
            weight=check_weight(sample_weight, n_pairs, may_vanish=part),
            propensity=check_propensity(propensity, n_pairs),
        )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.labels))

    @property
    def weights(self) -> FloatArray:
        """The weight of each pair, 1 if none was given."""
        return np.ones(len(self)) if self.weight is None else self.weight.astype(np.float64)

    def take(self, chosen: IntArray | BoolArray) -> Self:
        """The chosen pairs."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {name: None if column is None else column[chosen] for name, column in columns.items()}
        return replace(self, **taken)

    def with_weight(self, weight: FloatArray) -> Self:
        """The same pairs with other weights."""
        return replace(self, weight=check_weight(weight, len(self)))


def concatenate(parts: list[ScoredPairs]) -> ScoredPairs:
    """All pairs of all parts; a column must be in all of them or in none."""
    if not parts:
        raise EmptyError("expected at least one pair, got none; check the filter or the file")
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, AnyArray | None] = {}
    for field in fields(ScoredPairs):
        values = [getattr(part, field.name) for part in parts]
        missing = sum(value is None for value in values)
        if 0 < missing < len(values):
            raise DataError(f"{field.name} must be given for all chunks or for none, got it for {len(values) - missing}"
                            f" of {len(values)}")  # fmt: skip
        join = _joined_ids if field.name in ("users", "items") else np.concatenate
        columns[field.name] = None if missing else join(values)
    return ScoredPairs(**columns)  # type: ignore[arg-type]


def _joined_ids(parts: list[AnyArray]) -> AnyArray:
    """Ids of all parts; refused where numpy would turn numbers into text, or whole numbers into rounded ones."""
    kinds = {part.dtype.kind for part in parts}
    joined = np.concatenate(parts)
    if len(kinds) == 1 and kinds != {"O"}:
        return joined
    if len(kinds) > 1 and joined.dtype.kind == "U":
        raise IdError("ids must be of one kind in all chunks, got text in some and numbers in others; convert one")
    return check_ids(joined, len(joined), "ids")


# --- tables of pairs ------------------------------------------------------------------------------------------------

OF_PAIRS = ("score", "label", "user_id", "item_id", "weight", "propensity")
"""Columns of a table of scored, labelled pairs; the first two are needed."""


def stream_pairs(
    frame: pl.LazyFrame, path: str | PathLike[str] | HeldTable, on_rows: Callable[[int], None] | None = None
) -> Iterator[ScoredPairs]:
    """The checked pairs of a table, in batches and in the order of the file."""
    names = frame.collect_schema().names()
    wanted = [name for name in ("score", "label", "user_id", "weight", "propensity") if name in names]
    if not {"score", "label"} <= set(names):
        pairs_of_table(pl.DataFrame(schema=frame.collect_schema()))  # raises, naming the missing columns
    start = 0
    with readable(path):
        for batch in frame.select(wanted).collect_batches(chunk_size=BATCH_ROWS):
            try:
                yield pairs_of_table(batch, part=True)
            except DataError as error:
                named = next((name for name in wanted if name in str(error)), "")
                where = bad_line(path, named) or f"rows {start + 1:,} to {start + batch.height:,}"
                raise type(error)(f"{path}, {where}: {error}") from error
            start += batch.height
            if on_rows is not None:
                on_rows(batch.height)


def pairs_of_table(given: Frame, *, part: bool = False) -> ScoredPairs:
    """The checked pairs of a table with the agreed column names: score and label, and optional others."""
    table = as_frame(given)
    missing = [name for name in ("score", "label") if name not in table.columns]
    if missing:
        raise ColumnError(
            f"a table must have the columns score and label, missing {' and '.join(missing)}; "
            f"it has {', '.join(table.columns)}"
        )
    for name in OF_PAIRS:
        if name in table.columns and (n_empty := table[name].null_count()):
            raise ColumnError(f"column {name} has {counted(n_empty, 'empty value')}; fill or drop those rows")
    column = {name: as_array(table[name], f"column {name}") for name in OF_PAIRS if name in table.columns}
    return ScoredPairs.of(
        column["score"], column["label"], users=column.get("user_id"), items=column.get("item_id"),
        sample_weight=column.get("weight"), propensity=column.get("propensity"), part=part,
    )  # fmt: skip
