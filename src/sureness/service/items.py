"""Titles, domains and pictures of items, from a table that people give beside the recommender."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
import polars as pl

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.errors import ColumnError
from sureness.service.messages import Id
from sureness.tables.reading import readable, require_columns, scan_table

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_OWN = ("title", "domain", "picture")


class Items:
    """What is known of items besides their ids; any column may be missing."""

    def __init__(self, table: pl.DataFrame | None = None, folder: Path = Path()) -> None:
        self._folder = folder.resolve()
        self._ids = IdMap.counting(0)
        self._columns: dict[str, pl.Series] = {}
        if table is not None:
            first = table.unique("item_id", keep="first", maintain_order=True).drop_nulls("item_id")
            self._ids = IdMap(first["item_id"])
            self._columns = {name: first[name].cast(pl.String) for name in _OWN if name in first.columns}
        self.has_titles, self.has_pictures = "title" in self._columns, "picture" in self._columns

    @classmethod
    def read(cls, path: Path) -> Items:
        """From a Parquet, CSV or TSV file with item_id and any of title, domain and picture (files next to it)."""
        frame = scan_table(path)
        require_columns(frame, ("item_id",), path)
        there = [name for name in _OWN if name in frame.collect_schema().names()]
        if not there:
            raise ColumnError(f"{path} must have a column title, domain or picture next to item_id, got none of them")
        with readable(path):
            return cls(frame.select("item_id", *there).collect(), path.parent)

    def titles(self, lists: Sequence[list[Id | None]]) -> list[list[str | None]]:
        """The title of each item of each list, where there is one; looked up together."""
        found = iter(self._of("title", list(chain.from_iterable(lists))))
        return [list(islice(found, len(own))) for own in lists]

    def domains(self, items: IdMap) -> AnyArray | None:
        """The domain of every item of a source; "" where it is not known."""
        if "domain" not in self._columns:
            return None
        rows = self._ids.rows(self._ids.read_from_text(items.ids))
        known = self._columns["domain"].fill_null("").to_numpy().astype(str)
        return np.where(rows < 0, "", known[np.maximum(rows, 0)])

    def picture(self, item_id: str) -> tuple[Path, str] | None:
        """The file of the picture of an item, and its type; nothing outside the folder of the table."""
        (name,) = self._of("picture", [item_id])
        if name is None:
            return None
        path = (self._folder / name).resolve()
        kind = _PICTURES.get(path.suffix.lower())
        return (path, kind) if kind and path.is_relative_to(self._folder) and path.is_file() else None

    def _of(self, name: str, ids: list[Id | None]) -> list[str | None]:
        if name not in self._columns or not ids:
            return [None] * len(ids)
        known = self._ids.read_from_text(column(ids))
        rows = np.where(known.is_null(), -1, self._ids.rows(known))
        found = self._columns[name].gather(np.maximum(rows, 0)).to_list()
        return [None if row < 0 else value for row, value in zip(rows.tolist(), found, strict=True)]


def column(ids: Sequence[Id | None]) -> pl.Series:
    """Ids of JSON as a column: whole numbers, or text if any of them is."""
    if any(isinstance(each, str) for each in ids):
        return pl.Series([None if each is None else str(each) for each in ids], dtype=pl.String)
    return pl.Series(ids, dtype=pl.Int64)
