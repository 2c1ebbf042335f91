"""sureness apply: a table of scores gets probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present, say, shown_progress
from sureness.cli._options import Json, Spread, columns, spread
from sureness.jobs.applying import ApplyOptions, ApplyResult, apply
from sureness.tables.columns import Columns
from sureness.tables.frames import place_of


@spread
def apply_calibrator(
    *,
    calibrator: Annotated[Path, typer.Argument(help="Calibrator written by `sureness fit`.")],
    data: Annotated[
        list[Path], typer.Argument(help="Table with scores: files, a folder or a pattern; or a saved run.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the table with probabilities goes.")],
    options: Annotated[ApplyOptions, Spread()],
    used: Annotated[Columns, columns("score", "user_id", "item_id", "domain", "segment", "probability")],
    json: Json = False,
) -> None:
    """Add a column of probabilities to a table, in batches, so it may be larger than memory.

    A map for lists compares the rows of each user, or of whatever --columns user_id=... names, so the table must hold
    whole users; it need not be sorted. For a run, write the best unseen items of every user with their probabilities.
    """
    with shown_progress(json) as progress:
        result = apply(calibrator, place_of(data), output, options, columns=used, progress=progress)
    present(result, json, _show)


def _show(result: ApplyResult) -> None:
    rows = counted(result.n_pairs, "row")
    say(f"wrote {result.output}: {rows} with the probability of {result.estimand} ({result.meaning})")
    if result.meaning_in_lists is not None:
        say(f"the lists of `sureness list-size` have other numbers, those of an item {result.meaning_in_lists}")
