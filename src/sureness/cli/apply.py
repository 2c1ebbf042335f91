"""sureness apply: a table of scores gets probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sureness.calibration.per_segment import SegmentCalibrator
from sureness.calibration.saving import load
from sureness.cli._columns import DomainColumn, ItemColumn, Json, ScoreColumn, UserColumn, renamed
from sureness.cli._console import out, print_json, progress_bar
from sureness.data.tables import add_column, count_rows, require_columns, scan_table, write_table
from sureness.errors import DataError, FileError


def apply(
    calibrator: Annotated[Path, typer.Argument(help="Calibrator written by `sureness fit`.")],
    table: Annotated[
        Path, typer.Argument(help="Table with scores (.parquet, .csv, .tsv), or a folder: run, model or source.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the table with probabilities goes.")],
    score_column: ScoreColumn = "score",
    segment_column: Annotated[str | None, typer.Option(help="Column with the segments the fit used.")] = None,
    probability_column: Annotated[str, typer.Option(help="Name of the new column.")] = "probability",
    top: Annotated[int, typer.Option(min=1, help="For a folder: how many items each user gets.")] = 50,
    seen: Annotated[
        list[Path] | None, typer.Option(help="For a folder: log of items not to show; a run's own if not given.")
    ] = None,
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    domain_column: DomainColumn = "domain",
    json: Json = False,
) -> None:
    """Add a column of probabilities to a table, in batches, so it may be larger than memory.

    Of a folder with a model, write the best unseen items of every user with their probabilities.
    """
    fitted: Any = load(calibrator)
    if table.is_dir():
        from sureness.cli._calibrating import write_lists

        if isinstance(fitted, SegmentCalibrator):
            raise DataError(f"{calibrator} has one map for each segment, which only a table can name; give a table")
        columns = renamed(user_id=user_column, item_id=item_column, domain=domain_column)
        n_rows = write_lists(table, fitted, output, top, seen or [], columns, probability_column, json)
        _tell(table, output, n_rows, fitted.estimand_, json)
        return
    frame = scan_table(table, numbers=[score_column])  # all else is written as it was read
    inputs = [score_column]
    if isinstance(fitted, SegmentCalibrator):
        if segment_column is None:
            raise DataError(f"{calibrator} has one map for each segment; name their column with --segment-column")
        inputs.append(segment_column)
    elif segment_column is not None:
        raise DataError(f"{calibrator} has one map for all, so --segment-column has no meaning; leave it out")
    require_columns(frame, inputs, table)
    n_rows = count_rows(frame, table)
    if output.resolve() == table.resolve():
        raise DataError(f"the output must be another file than the input {table}")
    with progress_bar(json) as bar:
        task = bar.add_task("applying", total=n_rows)
        result, problems = add_column(
            frame, probability_column, inputs, fitted.probability, lambda n: bar.advance(task, n)
        )
        try:
            write_table(result, output, source=table)
        except (FileError, ValueError):
            if problems and isinstance(problems[0], DataError):
                raise DataError(f"{table}: {problems[0]}") from None
            raise
    _tell(table, output, n_rows, fitted.estimand_, json)


def _tell(table: Path, output: Path, n_rows: int, estimand: str, json: bool) -> None:
    if json:
        print_json({"table": str(table), "output": str(output), "pairs": n_rows, "estimand": estimand})
    else:
        out.print(f"wrote {output}: {n_rows:,} rows with the probability of {estimand}", markup=False, soft_wrap=True)


COMMAND = apply
