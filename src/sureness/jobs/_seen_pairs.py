"""Pairs that users have already leave a table before its lists are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from sureness.errors import warn
from sureness.jobs.inputs import read_columns
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

_PAIR = ("user_id", "item_id")


@dataclass
class SeenPairs:
    """Pairs of logs, with the kind of ids that the table has."""

    pairs: pl.DataFrame
    n_removed: int = 0

    @classmethod
    def read(cls, tables: Sequence[Table], columns: Columns, frame: pl.LazyFrame) -> Self:
        """The pairs of logs whose columns have the names of the table's."""
        kinds = frame.collect_schema()
        logs = [
            read_columns(table, columns.only(*_PAIR), _PAIR).select(
                pl.col(name).cast(kinds[name], strict=False)
                for name in _PAIR  # an id that cannot be one is no match
            )
            for table in tables
        ]
        return cls(pl.concat(logs).unique())

    def taken_out(self, block: pl.DataFrame) -> pl.DataFrame:
        """The rows of other pairs, in their order."""
        kept = block.join(self.pairs, on=_PAIR, how="anti", maintain_order="left")
        self.n_removed += block.height - kept.height
        return kept

    def say_if_none(self, path: object) -> None:
        """Say that no pair was found: ids of two systems look like this."""
        if not self.n_removed:
            warn(f"{path} has none of the seen pairs, so nothing was left out; check that both have the same ids")
