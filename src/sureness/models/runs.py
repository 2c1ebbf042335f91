"""A trained model beside the split it was trained on, so that everything after it needs one folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from sureness._artefacts import MANIFEST, refuse_others
from sureness.artefacts.files import replacing
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, union
from sureness.data.splitting import Split
from sureness.data.tables import readable, write_table
from sureness.errors import ArtefactError, FileError
from sureness.sources.base import ScoreSource, id_maps

_MODEL, _SOURCE, _SPLIT, _ABOUT, _PARTS = (
    "model.sureness",
    "model",
    "split",
    "run.json",
    ("train", "validation", "test"),
)


@dataclass(frozen=True, eq=False)
class Run:
    """A source, and the parts of the split that are known."""

    source: ScoreSource
    train: Interactions | None = None
    validation: Interactions | None = None
    test: Interactions | None = None
    about: dict[str, Any] = field(default_factory=dict)  # data, protocol, seed, positive_above

    def seen(self) -> Interactions | None:
        """What is not shown again when the test is judged or lists are made: train and validation."""
        parts = [part for part in (self.train, self.validation) if part is not None]
        return union(parts) if parts else None


def check_folder(folder: str | PathLike[str]) -> None:
    """Make the folder of a run, and refuse one that could not be written to: better before training than after."""
    place = Path(folder)
    if place.is_file():
        raise FileError(f"cannot write {place}: it is a file; give the name of a folder")
    refuse_others(place / _SOURCE)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise FileError(f"cannot write {place}: {error.strerror or error}") from error


def save_split(split: Split, folder: str | PathLike[str], about: Mapping[str, Any]) -> None:
    """Write the three parts as tables beside the model of a run, and what they are."""
    for name, part in split.parts.items():
        write_table(part.table(), Path(folder) / _SPLIT / f"{name}.parquet")
    with replacing(Path(folder) / _ABOUT) as temporary:
        temporary.write_text(json.dumps(dict(about), indent=1) + "\n", encoding="utf-8")


def model_file(folder: str | PathLike[str]) -> Path:
    """Where the model of a run is."""
    return Path(folder) / _MODEL


def source_folder(folder: str | PathLike[str]) -> Path:
    """Where the source of a run is, if it is not a model."""
    return Path(folder) / _SOURCE


def load_run(folder: str | PathLike[str]) -> Run:
    """Read a run of `sureness train`, or a saved model or source alone."""
    place = Path(folder)
    if not (place / _MODEL).is_file() and not (place / _SOURCE).is_dir():
        return Run(open_source(place))
    source = open_source(place / _MODEL if (place / _MODEL).is_file() else place / _SOURCE)
    users, items = id_maps(source)
    parts = {name: _part(place / _SPLIT / f"{name}.parquet", users, items) for name in _PARTS}
    return Run(source, **parts, about=_about(place / _ABOUT))


def open_source(folder: str | PathLike[str]) -> ScoreSource:
    """Read a trained model, or a source written by `save_source`."""
    place = Path(folder)
    if place.is_file() or (place / _MODEL).is_file():
        from sureness.artefacts.saving import load
        from sureness.models.base import Recommender

        return load(place if place.is_file() else place / _MODEL, Recommender)
    kind = _format(place)
    if kind == "sureness-source":
        from sureness.sources.saving import load_source

        return load_source(place)
    raise ArtefactError(f"{place} holds neither a model nor a source (format {kind!r}); train or save one first")


def _format(place: Path) -> object:
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        missing = f"it has no {MANIFEST}" if place.exists() else "there is no such folder"
        raise FileError(
            f"cannot read {place}: {missing}; give the folder of `sureness train`, a model or a source"
        ) from error
    except OSError as error:
        raise FileError(f"cannot read {place}: {error.strerror or error}") from error
    except ValueError as error:
        raise ArtefactError(f"{place / MANIFEST} is damaged: it is not valid JSON; save the object again") from error
    return manifest.get("format") if isinstance(manifest, dict) else None


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{path} is damaged ({error}); train again") from error
    return about if isinstance(about, dict) else {}


def _part(path: Path, users: IdMap, items: IdMap) -> Interactions | None:
    if not path.exists():
        return None
    with readable(path):
        table = pl.read_parquet(path)
    return Interactions.from_table(table, users=users, items=items) if table.height else None
