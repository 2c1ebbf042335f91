"""Write a simulated world as tables: log, candidates with scores, uniformly exposed test, items."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.simulator import SimulatorSettings, simulate, world_tables
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.saving.packed import JSON
from sureness.sources.blocks import candidate_table, score_pairs
from sureness.sources.svd import svd_source
from sureness.tables.writing import write_tables

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


@dataclass(frozen=True, kw_only=True)
class WorldResult:
    """The tables that were written."""

    rows: dict[Path, int]  # of each table
    held_out_share: float

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        files = {path.stem: {"path": path, "rows": rows} for path, rows in self.rows.items()}
        return plain({"files": files, "held_out_share": self.held_out_share})  # type: ignore[no-any-return]


def write_world(
    folder: str | PathLike[str], options: WorldOptions | None = None, *, progress: Progress = silent
) -> WorldResult:
    """Simulate a world and write its tables into a folder.

    Examples
    --------
    >>> import tempfile
    >>> result = write_world(tempfile.mkdtemp(), WorldOptions(users=50, items=20, domains=2, factors=3))
    >>> sorted(path.name for path in result.rows)
    ['candidates.parquet', 'held_out.parquet', 'items.parquet', 'test.parquet', 'train.parquet']
    """
    options = options or WorldOptions()
    places = {name: Path(folder) / f"{name}.{options.ending}" for name in _TABLES}
    check_outputs([(folder, "folder"), *((place, "table") for place in places.values())])
    world = simulate(
        SimulatorSettings(
            n_users=options.users, n_items=options.items, n_domains=options.domains, seed=options.seed
        )
    )  # fmt: skip
    progress("simulating", 1, 3)
    source = svd_source(world.train, n_factors=options.factors, seed=options.seed)
    tables = world_tables(world)
    tables["candidates"] = candidate_table(source, world.held_out, world.train, world)
    test = tables["test"].join(tables["items"].select("item_id", "domain"), on="item_id", maintain_order="left")
    tables["test"] = score_pairs(source, test).filter(~world.in_training)
    progress("simulating", 2, 3)
    write_tables({places[name]: table for name, table in tables.items()})
    progress("simulating", 3, 3)
    rows = {places[name]: table.height for name, table in tables.items()}
    return WorldResult(rows=rows, held_out_share=world.settings.held_out_share)
