"""sureness sql and export: a map for a database or as ONNX, factors for a place without sureness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sureness._wording import counted
from sureness.cli._console import present, say
from sureness.cli._options import Json, Spread, names, spread
from sureness.cli._output import write_out
from sureness.jobs.exporting import FACTORS, IDS, SqlOptions, export, export_onnx, translate
from sureness.tables.columns import Columns


@spread
def print_sql(
    *,
    calibrator: Annotated[Path, typer.Argument(help="Calibrator or map written by `sureness fit`.")],
    options: Annotated[SqlOptions, Spread()],
    used: Annotated[Columns, names("score", "user_id", "segment")],
    json: Json = False,
) -> None:
    """Print a calibrator as one SQL expression of a column of scores, or as a query.

    What is missing, infinite or not a number gets no probability (NULL). A map for lists is a query, which compares the
    scores of each user; it needs --table.
    """
    sql = translate(calibrator, options, columns=used)
    present({"sql": sql, "dialect": options.dialect}, json, lambda found: write_out(found["sql"]))


def export_factors(
    run: Annotated[
        Path,
        typer.Argument(
            help="Run or model; of a distillation a part of its file: distilled.sureness/student. With --onnx a "
            "calibrator of pairs."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for both files, or the file of --onnx.",
            show_default="exported, or calibrator.onnx",
        ),
    ] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write a calibrator as an ONNX graph of its score.")] = False,
    json: Json = False,
) -> None:
    """Write the factors of a model as factors.npz and its ids as ids.json, without the log that it was trained on.

    Any program that multiplies matrices reads them, on a phone too. Models whose scores are no products of factors
    (NeuMF, CDAE, tables of candidates) are refused.
    """
    if onnx:
        present(export_onnx(run, output or Path("calibrator.onnx")), json, _show_onnx)
    else:
        present(export(run, output or Path("exported")), json, _show)


def _show_onnx(found: Mapping[str, Any]) -> None:
    say(f"wrote {found['output']}: 32-bit scores in, probabilities of {found['calibrator']} out")


def _show(found: Mapping[str, Any]) -> None:
    size = f"{counted(found['users'], 'user')} and {counted(found['items'], 'item')}"
    say(
        f"wrote {found['output']}: {FACTORS} and {IDS}, {counted(found['bytes'], 'byte')}; {size} with "
        f"{counted(found['n_factors'], 'factor')} each"
    )
