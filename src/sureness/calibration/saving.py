"""Fitted calibrators as JSON, maps of users as columns: readable, checksummed, versioned, never executable."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sureness
from sureness._artefacts import read_manifest, write_folder
from sureness._settings import Configurable
from sureness.artefacts.files import replacing
from sureness.calibration.base import Calibrator
from sureness.calibration.catalogue import CALIBRATORS
from sureness.calibration.families import ScoreRange
from sureness.calibration.per_segment import SegmentCalibrator
from sureness.calibration.per_user import PER_USER, PerUserCalibrator
from sureness.calibration.top_n import TopNCalibrator
from sureness.data.ids import IdMap
from sureness.errors import ArtefactError, FileError, NotFittedError

FORMAT = "sureness-calibrator"
SCHEMA = 1
PER_USER_FORMAT = "sureness-user-maps"
_MAPS = "maps.parquet"

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (*CALIBRATORS.values(), SegmentCalibrator, TopNCalibrator)
}


def save_calibrator(calibrator: Calibrator | SegmentCalibrator, path: str | PathLike[str]) -> None:
    """Write a fitted calibrator; the file is whole or not there."""
    if not hasattr(calibrator, "estimand_"):
        raise NotFittedError(f"{type(calibrator).__name__} is not fitted yet; call fit before save")
    body = describe(calibrator)
    artefact = {
        "format": FORMAT,
        "schema": SCHEMA,
        "package": sureness.__version__,
        "checksum": _checksum(body),
        "calibrator": body,
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(artefact, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | PathLike[str]) -> Any:
    """Read a calibrator that `save` wrote: a file, or the folder of one with a map for each user.

    Examples
    --------
    >>> import tempfile; from sureness.calibration.parametric import PlattCalibrator
    >>> path = Path(tempfile.mkdtemp()) / "calibrator.json"
    >>> fitted = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    >>> fitted.save(path)
    >>> bool(load(path).probability([1.5])[0] == fitted.probability([1.5])[0])
    True
    """
    if Path(path).is_dir():
        return load_per_user(path)
    artefact = _read(Path(path))
    if artefact.get("format") != FORMAT:
        raise ArtefactError(f"{path} is not a saved calibrator (format {artefact.get('format')!r}); save one first")
    if artefact.get("schema") != SCHEMA:
        raise ArtefactError(
            f"{path} has schema {artefact.get('schema')!r} (written by sureness {artefact.get('package')}), this is "
            f"sureness {sureness.__version__} which reads schema {SCHEMA}; update sureness"
        )
    body = artefact.get("calibrator")
    if artefact.get("checksum") != _checksum(body):
        raise ArtefactError(f"{path} is damaged: its checksum does not match its content; save the calibrator again")
    return restore(body)


def save_per_user(calibrator: PerUserCalibrator, folder: str | PathLike[str]) -> None:
    """Write the maps of users as a table, and what they have in common beside it."""
    table = calibrator.table()
    manifest = {
        "format": PER_USER_FORMAT,
        "schema": SCHEMA,
        "kind": next(name for name, kind in PER_USER.items() if kind is type(calibrator)),
        "settings": _plain(calibrator.get_params(deep=False)),
        "range": list(calibrator.range_),
        "global": describe(calibrator.global_),
        "n_users": table.height,
    }
    write_folder(folder, manifest, lambda place: write_columns(table, place / _MAPS))


def load_per_user(folder: str | PathLike[str]) -> PerUserCalibrator:
    """Read the maps that `save_per_user` wrote."""
    manifest = read_manifest(folder, PER_USER_FORMAT, SCHEMA)
    try:
        calibrator = PER_USER[manifest["kind"]](**_revived(manifest["settings"]))
        table = pl.read_parquet(Path(folder) / _MAPS)
        coefs = [name for name in table.columns if name.startswith("coef_")]
        calibrator.range_ = ScoreRange(*manifest["range"])
        calibrator.global_ = restore(manifest["global"])
        calibrator.users_ = IdMap(table["user_id"])
        calibrator.coef_ = table.select(coefs).to_numpy()
        for name, column in PerUserCalibrator.COLUMNS.items():
            setattr(calibrator, name, table[column].to_numpy())
        calibrator.estimand_ = calibrator.global_.estimand_
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise ArtefactError(f"{folder} cannot be understood ({error!r}); save the maps again") from error
    return calibrator


def write_columns(table: pl.DataFrame, path: Path) -> None:
    """Write a table; a full disk is an OSError whoever notices it."""
    try:
        table.write_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from error


def describe(calibrator: Any) -> dict[str, Any]:
    """A calibrator as plain values; `restore` builds it again."""
    described: dict[str, Any] = {
        "kind": type(calibrator).__name__,
        "settings": {name: _plain(value) for name, value in calibrator.get_params(deep=False).items()},
    }
    if not hasattr(calibrator, "estimand_"):
        return described
    return described | {
        "estimand": calibrator.estimand_,
        "n_pairs": calibrator.n_pairs_,
        "score_range": list(calibrator.score_range_),
        "state": _plain(calibrator._state()),
    }


def restore(described: Any) -> Any:
    """A calibrator from plain values."""
    try:
        kind = _KINDS[described["kind"]]
        settings = {name: _revived(value) for name, value in described["settings"].items()}
        calibrator = kind(**settings)
        if "state" in described:
            calibrator._restore(_revived(described["state"]))
            calibrator.estimand_ = described["estimand"]
            calibrator.n_pairs_ = int(described["n_pairs"])
            calibrator.score_range_ = tuple(described["score_range"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(
            f"the saved calibrator cannot be understood ({error!r}); save it again with this version"
        ) from error
    return calibrator


def _plain(value: Any) -> Any:
    """A value as JSON knows it; infinity, which JSON does not know, in a wrapper."""
    if isinstance(value, float) and np.isinf(value):
        return {"number": str(value)}
    if isinstance(value, Configurable):
        return describe(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _revived(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"number"}:
        return float(value["number"])
    if isinstance(value, dict):
        return restore(value) if "kind" in value else {key: _revived(part) for key, part in value.items()}
    return [_revived(part) for part in value] if isinstance(value, list) else value


def _checksum(body: Any) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    try:
        artefact = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ArtefactError(f"{path} is damaged or not a saved calibrator: it is not valid JSON ({error})") from error
    if not isinstance(artefact, dict):
        raise ArtefactError(f"{path} is not a saved calibrator; save one first")
    return artefact
