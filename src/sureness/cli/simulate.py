"""sureness data simulate: a world whose truth is known, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sureness.cli._columns import Json
from sureness.cli._console import out, print_json, print_table, progress_bar
from sureness.data.simulator import SimulatorSettings, simulate, world_tables
from sureness.data.tables import write_table
from sureness.sources.svd import svd_source
from sureness.sources.tables import candidate_table, score_pairs

Ending = Literal["parquet", "csv", "tsv"]


def simulate_data(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")] = Path("simulated"),
    users: Annotated[int, typer.Option(help="Number of users.")] = 2_000,
    items: Annotated[int, typer.Option(help="Number of items.")] = 600,
    domains: Annotated[int, typer.Option(help="Number of domains.")] = 4,
    factors: Annotated[int, typer.Option(help="Size of the recommender that scores the pairs.")] = 7,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same world.")] = 0,
    ending: Annotated[Ending, typer.Option("--format", help="Kind of table.")] = "parquet",
    json: Json = False,
) -> None:
    """Write a simulated world: log, candidates with scores, uniformly exposed test, items.

    `candidates` has what `sureness fit` needs, `test` what `sureness report` needs.
    """
    with progress_bar(json) as bar:
        task = bar.add_task("simulating", total=3)
        world = simulate(SimulatorSettings(n_users=users, n_items=items, n_domains=domains, seed=seed))
        bar.advance(task)
        source = svd_source(world.train, n_factors=factors, seed=seed)
        tables = world_tables(world)
        tables["candidates"] = candidate_table(source, world.held_out, world.train, world)
        test = tables["test"].join(tables["items"].select("item_id", "domain"), on="item_id", maintain_order="left")
        tables["test"] = score_pairs(source, test).filter(~world.in_training)
        bar.advance(task)
        for name, table in tables.items():
            write_table(table, output / f"{name}.{ending}")
        bar.advance(task)
    files = {name: {"path": str(output / f"{name}.{ending}"), "rows": t.height} for name, t in tables.items()}
    if json:
        print_json({"files": files, "held_out_share": world.settings.held_out_share})
        return
    print_table("Simulated world", ["table", "rows"], [(file["path"], file["rows"]) for file in files.values()])
    out.print(
        f"held-out share {world.settings.held_out_share}; next:\n"
        f"  sureness fit {output}/candidates.{ending} --held-out-share {world.settings.held_out_share} "
        f"--training-pairs left_out -o calibrator.json",
        markup=False, soft_wrap=True,
    )  # fmt: skip


COMMAND = simulate_data
