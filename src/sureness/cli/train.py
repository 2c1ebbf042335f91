"""sureness train: a log of interactions becomes a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._settings import written
from sureness.cli._console import present, print_next, print_notes, print_table, say, shown_progress
from sureness.cli._logs import Data, OfLogs, WholeLog
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.training import TrainOptions, TrainResult, train


@spread
def train_recommender(
    *,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the run goes: the model and its split.")] = Path(
        "run.sureness"
    ),
    options: Annotated[TrainOptions, Spread(named={"settings": "--set"})],
    log: WholeLog,
    columns: OfLogs,
    json: Json = False,
) -> None:
    """Train a recommender and judge it by full ranking.

    Interrupted training resumes when you rerun the command. Named data sets start from the best settings known for
    them.
    """
    with shown_progress(json) as progress:
        result = train(data, output, options, log=log, columns=columns, progress=progress)
    present(result, json, _show)


def _show(result: TrainResult) -> None:
    print_notes([*result.log.notes, *(["resumed from the checkpoint of an interrupted run"] if result.resumed else [])])
    for trial in [] if result.trials is None else result.trials.to_dicts():
        say(f"trial {trial['trial']}: {trial['metric']:.4f} with {trial['settings']}")
    model = result.recommender
    rows: list[tuple[str, object]] = [
        ("model", written(model)),
        ("parameters", model.n_parameters),
        ("train, validation, test", ", ".join(f"{n:,}" for n in result.log.sizes.values())),
        ("epochs", f"{model.history_.height} in {result.seconds:.1f} s, best {model.best_epoch_}"),
    ]
    rows += [(f"validation {name}", value) for name, value in result.validation.items()]
    if result.test is not None:
        rows += [("test users", result.test.n_users)]
        rows += [(f"test {name}", value) for name, value in result.test.means.items()]
    print_table("Trained", ["what", "value"], rows)
    print_next(str(result.output), result.output)
