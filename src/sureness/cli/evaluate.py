"""sureness evaluate: how well a model ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sureness.cli._calibrating import known_log
from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn, renamed
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.cli._judging import judged_run
from sureness.data.interactions import union
from sureness.data.tables import write_table
from sureness.errors import DataError
from sureness.models.runs import load_run


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of `sureness train`, or a saved model or source.")],
    test: Annotated[Path | None, typer.Option(help="Log to judge by, in place of the run's own test.")] = None,
    seen: Annotated[
        list[Path] | None,
        typer.Option(help="Log of items not shown again, in place of the run's; may repeat."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Such as ndcg@20, hit@10, recall@50; may repeat.")
    ] = None,
    per_user: Annotated[Path | None, typer.Option(help="Write the metrics of every user to this table.")] = None,
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    domain_column: DomainColumn = "domain",
    json: Json = False,
) -> None:
    """Rank all unseen items for every user of the test, and say how high the right ones come."""
    columns = renamed(user_id=user_column, item_id=item_column, domain=domain_column)
    notes: list[str] = []
    with progress_bar(json) as bar:
        opened = load_run(run)
        if test is not None:
            log = known_log(opened, test, columns)
            opened = replace(opened, test=log, about={})
            notes += log.notes
        if seen:
            if opened.about.get("protocol") == "preference":
                raise DataError(f"{run} is judged within the shown items, so --seen has no meaning; leave it out")
            logs = [known_log(opened, path, columns) for path in seen]
            opened = replace(opened, train=union(logs), validation=None)
            notes += [f"{path}: {note}" for path, log in zip(seen, logs, strict=True) for note in log.notes]
        quality = judged_run(opened, metric, steps_of(bar))
        if per_user is not None:
            write_table(quality.per_user, per_user)
    result: dict[str, Any] = {"run": str(run), "users": quality.n_users, "notes": notes, **quality.means}
    if json:
        print_json(result)
        return
    for note in notes:
        out.print(f"note: {note}", markup=False, soft_wrap=True)
    print_table(f"Ranking of {quality.n_users:,} users", ["metric", "mean"], list(quality.means.items()))


COMMAND = evaluate
