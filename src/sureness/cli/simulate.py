"""sureness data simulate: a world whose truth is known, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._console import present, print_table, say, shown_progress
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.simulating import WorldOptions, WorldResult, write_world


@spread
def simulate_data(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")] = Path("simulated"),
    options: Annotated[WorldOptions, Spread(named={"ending": "--format"})],
    json: Json = False,
) -> None:
    """Write a simulated world: log, candidates with scores, uniformly exposed test, items.

    `candidates` has what `sureness fit` needs, `test` what `sureness report` needs.
    """
    with shown_progress(json) as progress:
        result = write_world(output, options, progress=progress)
    present(result, json, _show)


def _show(result: WorldResult) -> None:
    print_table("Simulated world", ["table", "rows"], result.rows.items())
    candidates = next(path for path in result.rows if path.stem == "candidates")
    say(
        f"held-out share {result.held_out_share}; next:",
        f"  sureness fit {candidates} --held-out-share {result.held_out_share} --training-pairs left_out "
        "-o calibrator.json",
    )


COMMAND = simulate_data
