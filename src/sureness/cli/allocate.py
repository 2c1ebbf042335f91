"""sureness allocate: a table of probabilities becomes list sizes that share a page or a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._console import present, print_table, say, shown_progress
from sureness.cli._options import Json, Spread, columns, spread
from sureness.jobs.allocating import AllocateOptions, AllocateResult, allocate
from sureness.tables.columns import Columns
from sureness.tables.frames import place_of


@spread
def allocate_lists(
    *,
    table: Annotated[
        list[Path],
        typer.Argument(
            help="Table with user_id, item_id and probability, all candidates: files, a folder or a pattern."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the list sizes go.")],
    options: Annotated[AllocateOptions, Spread(named={"items": "--show-items"})],
    used: Annotated[Columns, columns("probability", "cost", "label", "user_id", "item_id", "domain")],
    json: Json = False,
) -> None:
    """Choose list sizes that compete: for the slots of a page, or for a budget over all users.

    With a column of labels from a later period, the result is also compared with equal shares.
    """
    with shown_progress(json) as progress:
        result = allocate(place_of(table), output, options, columns=used, progress=progress)
    present(result, json, _show)


def _show(result: AllocateResult) -> None:
    rows: list[tuple[str, object]] = [("users", result.n_users), ("items shown", result.n_shown)]
    if "spent" in result.shared:
        rows += [
            ("spent", f"{result.shared['spent']:,.10g}"),
            ("one more unit would gain", result.shared["price"]),
            ("below the best by at most", result.shared["bound"]),
        ]
    name = result.utility.upper()
    rows += [
        (f"expected {name} per user", result.expected_utility),
        ("with equal shares", result.expected_utility_of_equal_shares),
    ]
    if result.held_out is not None:
        rows += [
            (f"held-out {name} per user", result.held_out["value"]),
            ("with equal shares", result.held_out["reference"]),
            ("difference", result.held_out["difference"]),
            ("standard error", result.held_out["standard_error"]),
            ("p-value of a paired t-test", result.held_out["p_value"]),
        ]
    print_table("Allocated", ["what", "value"], rows)
    say(f"wrote {result.output}")
