"""What a piece of work gets: data whose test labels are sealed unless it judges, and what earlier cells found."""

from __future__ import annotations

import hashlib
import os
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sureness.data import RECIPES, Interactions, Split, scan_table, whereabouts
from sureness.errors import DataError
from sureness.models import Recommender
from sureness.sources import ScoreSource
from sureness_reproduction.cells import Cell, Work
from sureness_reproduction.own import is_own
from sureness_reproduction.sealing import SealedSplit, load_dataset, prepare, sealing_tests, split_own


class Finished:
    """What a cell found: its tables, and the folder of what else it wrote."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder = folder
        self.about = about  # parameters, seconds, fingerprint of the data

    def has(self, name: str) -> bool:
        """Whether the cell found such a table."""
        return (self.folder / f"{name}.parquet").exists()

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables."""
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            raise DataError(f"the cell {self.folder.name} found no table {name!r}")
        return scan_table(path).collect()

    @cached_property
    def source(self) -> ScoreSource:
        """The scores of the recommender that the cell trained."""
        from sureness.pipeline import open_run

        return open_run(self.folder / "model.sureness").source

    @cached_property
    def model(self) -> Recommender:
        """The recommender that the cell trained."""
        from sureness.artefacts import load

        return load(self.folder / "model.sureness", Recommender)


class DataShelf:
    """Data sets: which are there, what is in them, and their splits; nothing is downloaded.

    Parameters
    ----------
    folder : path, optional
        With a folder for each data set; what is not there is looked for as everywhere, see `load_dataset`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)

    def place(self, data: str) -> Path | None:
        """The folder of a data set, None if it is nowhere."""
        if self.folder is not None and (self.folder / data).is_dir():
            return self.folder / data
        found, kind = whereabouts(data)
        return None if kind == "download" else found

    def has(self, data: str) -> bool:
        """Whether a data set is there; what is simulated always is."""
        return data not in RECIPES or self.place(data) is not None

    def fingerprint(self, data: str) -> str:
        """A digest of all files of a data set."""
        place = self.place(data) if data in RECIPES else None
        return "" if place is None else _digest(place)

    def split(self, data: str, protocol: str | None = None, **options: Any) -> Split:
        """Train, validation and test of a data set, see `prepare`."""
        if is_own(data):
            return split_own(data, protocol, **options)
        place = self.place(data)
        if place is None:
            raise DataError(f"{data} is nowhere to be found; set SURENESS_DATA to a folder that holds it")
        return prepare(data, protocol, folder=place, **options)


@cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Workbench:
    """Where one cell is computed.

    Parameters
    ----------
    work : Work
    shelf : DataShelf
    found : mapping of Cell to Finished
        What the cell needs.
    place : Path
        A folder for whatever is not a table, such as a trained model; it becomes part of the cell.
    """

    def __init__(self, work: Work, shelf: DataShelf, found: dict[Cell, Finished], place: Path) -> None:
        self.judges = work.judges
        self.shelf = shelf
        self.place = place
        self._found = found

    def found(self, cell: Cell) -> Finished:
        """What an earlier cell found; it has to be declared as needed."""
        if cell not in self._found:
            raise DataError(f"{cell.label} is not declared among what this work needs; add it there")
        return self._found[cell]

    def split(self, data: str, protocol: str | None = None, **options: Any) -> Split:
        """Train, validation and, for work that judges, test."""
        return self.sealed(self.shelf.split(data, protocol, **options))

    def sealed(self, split: Split) -> Split:
        """A split as this work may see it."""
        return split if self.judges else SealedSplit(split.train, split.validation)

    def training_log(self, data: str) -> Interactions:
        """All ratings of the training part of a data set that came in parts, also the low ones; no test label."""
        with sealing_tests(False):
            parts = load_dataset(data, self.shelf.place(data)).parts
        return parts["train"]

    def save(self, model: Recommender) -> None:
        """Keep a trained recommender with the cell."""
        model.save(self.place / "model.sureness")
