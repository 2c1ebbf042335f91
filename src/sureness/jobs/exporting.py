"""What other programs read: a map as SQL, and the factors of a model with its ids."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated

import numpy as np

from sureness._settings import written
from sureness._types import FloatArray
from sureness.calibration.base import Calibrator
from sureness.calibration.expressing import DialectName
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.errors import DataError, SettingError
from sureness.jobs.outputs import check_outputs
from sureness.models.base import as_recommender
from sureness.recommender.run import open_run
from sureness.saving.files import replacing, writable_file
from sureness.saving.objects import load
from sureness.saving.packed import JSON
from sureness.sources.base import FactorSource, ScoreSource, id_maps
from sureness.tables.columns import Columns


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """The database, and whether a query is wanted."""

    dialect: Annotated[DialectName, "The database; Databricks is spark."]
    table: Annotated[str | None, "Table of the columns; a dot separates schema and table."] = None
    query: Annotated[bool, "Print a whole query of the table. Maps for lists are always one."] = False
    at_least: Annotated[
        float | None,
        "Print which scores have at least this probability; for lists a query of a cut-off per group.",
    ] = None


def translate(calibrator: str | PathLike[str], options: SqlOptions, *, columns: Columns | None = None) -> str:
    """A saved map as SQL: an expression of its columns, or a whole query.

    Parameters
    ----------
    calibrator : path
        Any saved map but one per user.
    options : SqlOptions
    columns : Columns, optional
        Names of the columns score, user_id (users, queries or sessions) and segment, letter by letter; the scores are
        by default those that the map was fitted on.
    """
    fitted = load(calibrator, ProbabilityMap)
    return _text(fitted, options, columns or Columns())


def _text(fitted: ProbabilityMap, options: SqlOptions, columns: Columns) -> str:
    column = columns.score if columns.score != Columns().score else fitted.horizon_.scores or columns.score
    dialect, segment = options.dialect, columns.segment or "segment"
    of_lists = isinstance(fitted, ListCalibrator)
    if options.at_least is not None and isinstance(fitted, Calibrator):
        return fitted.condition(dialect, options.at_least, column)
    if options.at_least is not None and not of_lists:
        raise SettingError(f"{type(fitted).__name__} has one cut-off per segment; in Python, score_for() gives them")
    if not (of_lists or options.query):
        return fitted.expression(dialect, column, table=options.table, segment=segment)
    if options.table is None:
        raise SettingError("a query needs the name of the table with the scores, got none; give table=...")
    if isinstance(fitted, ListCalibrator):
        if options.at_least is not None:
            return fitted.cutoffs(dialect, options.at_least, options.table, column, group=columns.user_id)
        return fitted.query(dialect, options.table, column, group=columns.user_id)
    return fitted.query(dialect, options.table, column, segment=segment)


def export_onnx(calibrator: str | PathLike[str], output: str | PathLike[str]) -> dict[str, JSON]:
    """Write a saved calibrator of pairs as an ONNX file: 32-bit scores in, probabilities out.

    Parameters
    ----------
    calibrator : path
        A calibrator of pairs that has a formula.
    output : path
    """
    target = Path(output)
    check_outputs([(target, "onnx")], [calibrator])
    fitted = load(calibrator, ProbabilityMap)
    if not isinstance(fitted, Calibrator):
        raise SettingError(f"ONNX takes a calibrator of single scores, got {type(fitted).__name__}; use sureness sql")
    made = fitted.onnx().SerializeToString()
    with replacing(target) as path:
        path.write_bytes(made)
    return {"output": str(target), "calibrator": written(fitted)}


FACTORS, IDS = "factors.npz", "ids.json"
"""The names of the two files in the folder."""


def export(model: str | PathLike[str] | ScoreSource, output: str | PathLike[str]) -> dict[str, JSON]:
    """Write the factors of a model as ``factors.npz`` and its ids as ``ids.json``, for a place without sureness.

    The scores of all items for the user in row ``u`` are ``item_factors @ user_factors[u] + item_bias + user_bias[u]``;
    biases that a model does not have are zeros. Row ``u`` belongs to the id ``users[u]`` of ``ids.json``, and so for
    items. Nothing of the log is written. Returns where the files are, and how large.

    Parameters
    ----------
    model : path or source
        A run, a model or factors, saved or in memory; of a distillation ``distilled.sureness/student``.
    output : path
        A folder, which is made; an earlier export in it is replaced.

    Examples
    --------
    >>> import tempfile
    >>> source = FactorSource(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [3.0, 0.5]]))
    >>> arrays = np.load(export(source, tempfile.mkdtemp())["factors"])
    >>> arrays["item_factors"] @ arrays["user_factors"][1] + arrays["item_bias"] + arrays["user_bias"][1]
    array([2., 1.])
    """
    folder = Path(output)
    read = [] if isinstance(model, ScoreSource) else [model]
    check_outputs([(folder, "folder"), (folder / FACTORS, "arrays"), (folder / IDS, "json")], read)
    factors = _factors_of(model if isinstance(model, ScoreSource) else open_run(model).source)
    _write(folder, factors)
    files = {"output": str(folder), "factors": str(folder / FACTORS), "ids": str(folder / IDS)}
    sizes = {"users": factors.n_users, "items": factors.n_items, "n_factors": factors.item_factors.shape[1]}
    return {**files, **sizes, "bytes": sum((folder / name).stat().st_size for name in (FACTORS, IDS))}


def _factors_of(source: ScoreSource) -> FactorSource:
    own = as_recommender(source)
    scores = source if own is None else own.source_
    if isinstance(scores, FactorSource):
        return scores
    raise DataError(
        f"export needs scores that are products of factors (BPR, UBPR, CML, LightGCN or a FactorSource), got "
        f"{type(source).__name__}; distil it into one of those, or write its best items with `sureness apply`"
    )


def _write(folder: Path, factors: FactorSource) -> None:
    """Both files or neither: ids of one model beside the factors of another would give wrong scores."""
    users, items = id_maps(factors)
    with ExitStack() as both:
        arrays, ids = (both.enter_context(replacing(folder / name)) for name in (FACTORS, IDS))
        with arrays.open("wb") as opened:  # numpy would add an ending to a name
            np.savez(opened, **_arrays(factors))  # type: ignore[arg-type]  # read as allow_pickle
        named = {"users": users.ids.to_list(), "items": items.ids.to_list()}
        ids.write_text(json.dumps(named, ensure_ascii=False), encoding="utf-8")
        for name in (FACTORS, IDS):  # so that a kill between the renames leaves one file, not a mixture
            writable_file(folder / name).unlink(missing_ok=True)


def _arrays(factors: FactorSource) -> dict[str, FloatArray]:
    """All four arrays, so that one formula serves every export."""
    no_bias = {"user_bias": factors.n_users, "item_bias": factors.n_items}
    kind = np.asarray(factors.item_factors).dtype
    return {
        name: np.zeros(no_bias[name], dtype=kind) if (array := getattr(factors, name)) is None else np.asarray(array)
        for name in FactorSource.ARRAYS
    }
