"""sureness apply: a table of scores gets probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sureness.calibration.per_segment import SegmentCalibrator
from sureness.calibration.saving import load
from sureness.cli._columns import Json, ScoreColumn
from sureness.cli._console import out, print_json, progress_bar
from sureness.data.tables import add_column, count_rows, require_columns, scan_table, write_table
from sureness.errors import DataError, FileError


def apply(
    calibrator: Annotated[Path, typer.Argument(help="Calibrator written by `sureness fit`.")],
    table: Annotated[Path, typer.Argument(help="Table with scores: .parquet, .csv or .tsv.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the table with probabilities goes.")],
    score_column: ScoreColumn = "score",
    segment_column: Annotated[str | None, typer.Option(help="Column with the segments the fit used.")] = None,
    probability_column: Annotated[str, typer.Option(help="Name of the new column.")] = "probability",
    json: Json = False,
) -> None:
    """Add a column of probabilities to a table, in batches, so it may be larger than memory."""
    fitted: Any = load(calibrator)
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
    if json:
        print_json({"table": str(table), "output": str(output), "pairs": n_rows, "estimand": fitted.estimand_})
    else:
        out.print(f"wrote {output}: {n_rows:,} rows with the probability of {fitted.estimand_}", markup=False)


COMMAND = apply
