"""Data sets: which ones have a recipe, getting their files, and what a log holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.datasets import copy_dataset, fetch_dataset, whereabouts
from sureness.data.preparing import prepare
from sureness.data.recipes import Dataset, Recipe, recipe, recipe_names
from sureness.data.splitting import Split
from sureness.errors import DataError, FileError, MissingExtraError
from sureness.jobs.logs import LogOptions, read_log
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns
from sureness.tables.frames import Table, name_of


@dataclass(frozen=True)
class Found:
    """A data set, and where it would be taken from."""

    recipe: Recipe
    kind: str  # "folder", "cache", "download", "by hand" or "damaged"
    place: Path | None

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        each = self.recipe
        size = each.size._asdict() if each.size else {"users": None, "items": None, "interactions": None}
        found = {"name": each.name, "title": each.title, **size, "licence": each.licence}
        return plain(found | {"found": self.kind, "place": self.place})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DatasetList:
    """All data sets that have a recipe."""

    datasets: Sequence[Found]

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        return {"datasets": [each.plain() for each in self.datasets]}


@dataclass(frozen=True, kw_only=True)
class FetchResult:
    """Where the files of a data set are."""

    name: str
    place: Path
    licence: str

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        return plain(vars(self))  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False, kw_only=True)
class Description:
    """What a data set or a log holds, and how it is split."""

    name: str
    recipe: Recipe | None
    statistics: Mapping[str, float]
    parts: Mapping[str, Mapping[str, float]]  # statistics of the parts that the data set comes in
    protocol: str
    seed: int
    split: pl.DataFrame | None  # users, items and interactions of each part; None: too small to split
    notes: tuple[str, ...]

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"name": self.name}
        if self.recipe is not None:
            found |= {key: getattr(self.recipe, key) for key in ("title", "licence", "trap")}
        split = {"protocol": self.protocol, "seed": self.seed, "parts": [] if self.split is None else self.split}
        found |= {"statistics": self.statistics, "parts": self.parts, "split": split, "notes": self.notes}
        return plain(found)  # type: ignore[no-any-return]


def list_datasets() -> DatasetList:
    """All data sets that have a recipe, and where each would be taken from.

    Examples
    --------
    >>> [each.recipe.name for each in list_datasets().datasets][:2]
    ['coat', 'yahoo-r3']
    """
    return DatasetList([_found(each) for each in map(_installed, recipe_names()) if each is not None])


def fetch(
    name: str,
    *,
    source: str | PathLike[str] | None = None,
    to: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> FetchResult:
    """Download the files of a data set, or copy them from a folder or an archive.

    Parameters
    ----------
    name : str
    source : path, optional
        Copy from here instead of downloading.
    to : path, optional
        Folder for the files; the cache by default.
    progress : Progress
    """
    wanted = recipe(name)
    check_outputs([(to, "folder")])  # files that are there already are kept
    if source is not None:
        place = copy_dataset(name, Path(source), None if to is None else Path(to))
    elif to is None and (found := whereabouts(name))[1] != "download":
        place = found[0]
    else:
        place = fetch_dataset(name, None if to is None else Path(to), progress=progress)
    return FetchResult(name=name, place=place, licence=wanted.licence)


def describe(
    data: Table, options: LogOptions | None = None, *, columns: Columns | None = None, progress: Progress = silent
) -> Description:
    """Statistics of a data set or a log, the sizes of its split, and what was dropped."""
    options = options or LogOptions()
    dataset, known = read_log(data, options, columns=columns, progress=progress)
    split, notes = _split(dataset, options)
    return Description(
        name=name_of(data), recipe=known, statistics=dataset.interactions.statistics(),
        parts={name: part.statistics() for name, part in dataset.parts.items()},
        protocol=options.protocol or (known.protocol if known else "ratio"), seed=options.seed,
        split=None if split is None else split.summary(), notes=tuple(dict.fromkeys((*dataset.notes, *notes))),
    )  # fmt: skip


def _split(dataset: Dataset, options: LogOptions) -> tuple[Split | None, tuple[str, ...]]:
    """The split and its notes; a log that is too small for one is refused only if a protocol was asked for."""
    try:
        split = prepare(
            dataset, options.protocol, seed=options.seed, cuts=options.cuts, per_user=options.per_user,
            positive_above="recipe" if options.positive_above is None else options.positive_above,
        )  # fmt: skip
    except DataError as error:
        if options.protocol is not None or options.cuts:
            raise
        return None, (f"not split: {error}",)
    return split, split.notes


def _installed(name: str) -> Recipe | None:
    try:
        return recipe(name)
    except MissingExtraError:  # its package is not there
        return None


def _found(each: Recipe) -> Found:
    try:
        place, kind = whereabouts(each.name)
    except FileError:
        return Found(each, "damaged", None)
    if kind == "download":
        return Found(each, "download" if each.addresses else "by hand", None)
    return Found(each, kind, Path(place))
