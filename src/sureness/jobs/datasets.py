"""Data sets: which ones have a recipe, getting their files, what a log holds, and the tables of a simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.datasets import copy_dataset, fetch_dataset, whereabouts
from sureness.data.preparing import prepare
from sureness.data.recipes import Dataset, Recipe, recipe, recipe_names
from sureness.data.simulator import SimulatorSettings, simulate, world_tables
from sureness.data.splitting import Split
from sureness.errors import DataError, FileError, MissingExtraError
from sureness.jobs.logs import LogOptions, read_log
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.saving.packed import JSON
from sureness.sources.blocks import candidate_table, score_pairs
from sureness.sources.svd import svd_source
from sureness.tables.columns import Columns
from sureness.tables.frames import Table, name_of
from sureness.tables.writing import write_tables


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


def list_datasets() -> list[dict[str, JSON]]:
    """All data sets that have a recipe, and where each would be taken from.

    Where: "folder", "cache", "download", "by hand" or "damaged".

    Examples
    --------
    >>> [each["name"] for each in list_datasets()][:2]
    ['coat', 'yahoo-r3']
    """
    return [_listed(each) for each in map(_installed, recipe_names()) if each is not None]


def fetch(
    name: str,
    *,
    source: str | PathLike[str] | None = None,
    to: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> dict[str, JSON]:
    """Download the files of a data set, or copy them from a folder or an archive; returns where they are.

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
    return {"name": name, "place": str(place), "licence": wanted.licence}


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


def _listed(each: Recipe) -> dict[str, JSON]:
    size = each.size._asdict() if each.size else {"users": None, "items": None, "interactions": None}
    kind, place = _where(each)
    found: dict[str, JSON] = {"name": each.name, "title": each.title, **size, "licence": each.licence}
    return found | {"found": kind, "place": None if place is None else str(place)}


def _where(each: Recipe) -> tuple[str, Path | None]:
    try:
        place, kind = whereabouts(each.name)
    except FileError:
        return "damaged", None
    if kind == "download":
        return "download" if each.addresses else "by hand", None
    return kind, Path(place)


_TABLES = ("train", "held_out", "test", "items", "candidates")


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """How large the world is, and how its tables are written."""

    users: Annotated[int, "Number of users."] = 2_000
    items: Annotated[int, "Number of items."] = 600
    domains: Annotated[int, "Number of domains."] = 4
    factors: Annotated[int, "Size of the recommender that scores the pairs."] = 7
    seed: Annotated[int, "Seed; the same seed gives the same world."] = 0
    ending: Annotated[Literal["parquet", "csv", "tsv"], "Kind of table."] = "parquet"


def write_world(
    folder: str | PathLike[str], options: WorldOptions | None = None, *, progress: Progress = silent
) -> dict[str, JSON]:
    """Simulate a world and write its tables into a folder; returns where each is, and the share that was held out.

    Examples
    --------
    >>> import tempfile
    >>> written = write_world(tempfile.mkdtemp(), WorldOptions(users=50, items=20, domains=2, factors=3))
    >>> sorted(written["files"])
    ['candidates', 'held_out', 'items', 'test', 'train']
    """
    options = options or WorldOptions()
    places = {name: Path(folder) / f"{name}.{options.ending}" for name in _TABLES}
    check_outputs([(folder, "folder"), *((place, "table") for place in places.values())])
    size = {"n_users": options.users, "n_items": options.items, "n_domains": options.domains}
    world = simulate(SimulatorSettings(**size, seed=options.seed))
    progress("simulating", 1, 3)
    source = svd_source(world.train, n_factors=options.factors, seed=options.seed)
    tables = world_tables(world)
    tables["candidates"] = candidate_table(source, world.held_out, world.train, world)
    test = tables["test"].join(tables["items"].select("item_id", "domain"), on="item_id", maintain_order="left")
    tables["test"] = score_pairs(source, test).filter(~world.in_training)
    progress("simulating", 2, 3)
    write_tables({places[name]: table for name, table in tables.items()})
    progress("simulating", 3, 3)
    files = {name: {"path": str(places[name]), "rows": table.height} for name, table in tables.items()}
    return {"files": files, "held_out_share": world.settings.held_out_share}
