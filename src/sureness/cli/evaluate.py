"""sureness evaluate: how well a run ranks, and whether a recommender keeps its promise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present, print_notes, print_table, show_promise, shown_progress
from sureness.cli._logs import OfPairs
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.judging import EvaluateOptions, EvaluateResult, evaluate


@spread
def evaluate_run(
    *,
    run: Annotated[Path, typer.Argument(help="Run of `sureness train`, a saved model, source or recommender.")],
    options: Annotated[EvaluateOptions, Spread()],
    columns: OfPairs,
    json: Json = False,
) -> None:
    """Rank all unseen items for every user of the test, and say how high the right ones come.

    A recommender that `sureness list-size` saved is also asked whether its lists keep their promise: how many
    hits the probabilities of the shown items promised, and how many came in the test.
    """
    with shown_progress(json) as progress:
        result = evaluate(run, options, columns=columns, progress=progress)
    present(result, json, _show)


def _show(result: EvaluateResult) -> None:
    print_notes(result.notes)
    if result.promise is not None:
        show_promise(result.promise)
    users = counted(result.quality.n_users, "user")
    print_table(f"Ranking of {users}", ["metric", "mean"], result.quality.means.items())
