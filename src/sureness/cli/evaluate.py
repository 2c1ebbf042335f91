"""sureness evaluate: how well a run ranks, and whether promises and probabilities are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present, print_notes, print_table, show_promise, shown_progress
from sureness.cli._options import Json, Spread, columns, spread
from sureness.jobs.inputs import is_saved
from sureness.jobs.judging import EvaluateOptions, EvaluateResult, evaluate
from sureness.jobs.probabilities import ProbabilityQuality, evaluate_table
from sureness.tables.columns import Columns

_COLUMNS = columns("user_id", "item_id", "domain", "probability", "label", "weight", groups=False)


@spread
def evaluate_run(
    *,
    run: Annotated[
        Path,
        typer.Argument(
            help="Run of `sureness train`, a saved model, source or recommender; or a table with probability and label."
        ),
    ],
    options: Annotated[EvaluateOptions, Spread()],
    used: Annotated[Columns, _COLUMNS],
    json: Json = False,
) -> None:
    """Rank all unseen items for every user of the test, and say how high the right ones come.

    A recommender that `sureness list-size` saved is also asked whether its lists keep their promise: how many
    hits the probabilities of the shown items promised, and how many came in the test.

    Of a table with probability and label, the probabilities are judged, by the values of each --field too, and weighted
    by a column weight, such as a price.
    """
    if not is_saved(run):
        present(evaluate_table(run, options, columns=used), json, _show_probabilities)
        return
    with shown_progress(json) as progress:
        result = evaluate(run, options, columns=used, progress=progress)
    present(result, json, _show)


def _show_probabilities(result: ProbabilityQuality) -> None:
    title = f"Probabilities of {counted(result.n_pairs, 'pair')}{', by weight' if result.weighted else ''}"
    print_table(title, ["metric", "value"], [(name, str(found)) for name, found in result.metrics.items()])


def _show(result: EvaluateResult) -> None:
    print_notes(result.notes)
    if result.promise is not None:
        show_promise(result.promise)
    users = counted(result.quality.n_users, "user")
    print_table(f"Ranking of {users}", ["metric", "mean"], result.quality.means.items())
