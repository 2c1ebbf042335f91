"""sureness export: factors and ids, or a calibrator as ONNX, for a place without sureness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present, say
from sureness.cli._options import Json
from sureness.jobs.exporting import FACTORS, IDS, ExportResult, OnnxResult, export, export_onnx


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


def _show_onnx(result: OnnxResult) -> None:
    say(f"wrote {result.output}: 32-bit scores in, probabilities of {result.calibrator} out")


def _show(result: ExportResult) -> None:
    say(
        f"wrote {result.output}: {FACTORS} and {IDS}, {counted(result.n_bytes, 'byte')}; "
        f"{counted(result.n_users, 'user')} and {counted(result.n_items, 'item')} with "
        f"{counted(result.n_factors, 'factor')} each"
    )
