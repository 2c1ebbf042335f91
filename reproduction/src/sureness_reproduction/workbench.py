"""The only way from experiments to data: test labels are sealed for work that does not judge."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness import data as library
from sureness import recommender, saving
from sureness.data import Dataset, Interactions, Split, recipe_names, whereabouts
from sureness.errors import DataError, SurenessError
from sureness.models import Recommender
from sureness.sources import ScoreSource
from sureness.tables import scan_table
from sureness_reproduction.own import is_own

if TYPE_CHECKING:
    from sureness_reproduction.cells import Cell

_SEALED: ContextVar[bool] = ContextVar("sealed", default=False)
_MODEL = "model.sureness"


class SealedError(SurenessError):
    """Test labels were asked for while settings are chosen."""

    code = "sealed"


class SealedSplit(Split):
    """Train and validation; asking for the test raises."""

    def __init__(self, train: Interactions, validation: Interactions) -> None:
        object.__setattr__(self, "train", train)
        object.__setattr__(self, "validation", validation)

    @property
    def test(self) -> Interactions:
        """Raises SealedError."""
        raise SealedError("test labels are sealed while choices are made")

    def __repr__(self) -> str:
        return f"SealedSplit({self.train!r}, {self.validation!r})"


@contextmanager
def sealing_tests(sealed: bool = True) -> Iterator[None]:
    """Within the block splits come without a test part, and `load_dataset` refuses."""
    token = _SEALED.set(sealed)
    try:
        yield
    finally:
        _SEALED.reset(token)


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
    """The library's `load_dataset`; refused while labels are sealed, because a whole data set holds test labels."""
    if _SEALED.get():
        raise SealedError(f"{name} as a whole holds test labels, which are sealed; use `prepare`")
    return library.load_dataset(name, folder, **options)


def prepare(name: str | Interactions, protocol: str | None = None, **options: Any) -> Split:
    """The library's `prepare`; without the test part while labels are sealed."""
    return _sealed(library.prepare(name, protocol, **options))  # type: ignore[arg-type]


def _sealed(split: Split) -> Split:
    return SealedSplit(split.train, split.validation) if _SEALED.get() else split


@dataclass
class DataShelf:
    """Data sets: which are there, what is in them, and their splits; nothing is downloaded."""

    folder: Path | None = None  # with a folder for each data set; what is not there is looked for as everywhere

    def place(self, data: str) -> Path | None:
        """The folder of a data set, None if it is nowhere."""
        if self.folder is not None and (self.folder / data).is_dir():
            return self.folder / data
        found, kind = whereabouts(data)
        return None if kind == "download" else found

    def has(self, data: str) -> bool:
        """Whether a data set is there; what is simulated always is."""
        return data not in recipe_names() or self.place(data) is not None

    def fingerprint(self, data: Any) -> str:
        """A digest of all files of a data set; empty for what is none."""
        place = self.place(data) if isinstance(data, str) and data in recipe_names() else None
        return "" if place is None else _digest(place)

    def split(self, data: str, protocol: str | None = None, **options: Any) -> Split:
        """Train, validation and test of a data set, see `prepare`.

        All rows of a user's own log are positives.
        """
        if is_own(data):
            if protocol == "preference":
                raise DataError(
                    f"{data} has no uniformly exposed test, which this study needs; give a data set with one"
                )
            log, protocol = Interactions.from_table(data), protocol or "ratio"
            known = {name: options[name] for name in ("seed", "per_user") if options.get(name) is not None}
            return prepare(log, protocol, positive_above=None, **{"seed": 0, **known})
        if (place := self.place(data)) is None:
            raise DataError(f"{data} is nowhere to be found; set SURENESS_DATA to a folder that holds it")
        return prepare(data, protocol, folder=place, **options)


@cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Finished:
    """What a cell found: its tables, and the folder of what else it wrote."""

    folder: Path
    about: dict[str, Any]  # parameters, seconds, fingerprint of the data

    def has(self, name: str) -> bool:
        """Whether the cell found such a table."""
        return (self.folder / f"{name}.parquet").exists()

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables."""
        if not self.has(name):
            raise DataError(f"the cell {self.folder.name} found no table {name!r}")
        return scan_table(self.folder / f"{name}.parquet").collect()

    @cached_property
    def source(self) -> ScoreSource:
        """The scores of the recommender that the cell trained."""
        return recommender.open_run(self.folder / _MODEL).source

    @cached_property
    def model(self) -> Recommender:
        """The recommender that the cell trained."""
        return saving.load(self.folder / _MODEL, Recommender)


@dataclass(frozen=True)
class Workbench:
    """What a piece of work gets: data, what earlier cells found, and a folder for what is no table."""

    shelf: DataShelf
    needed: Mapping[Cell, Finished]
    place: Path  # becomes part of the cell

    def found(self, cell: Cell) -> Finished:
        """What an earlier cell found; it has to be declared as needed."""
        if cell not in self.needed:
            raise DataError(f"{cell.label} is not declared among what this work needs; add it there")
        return self.needed[cell]

    def split(self, data: str, protocol: str | None = None, **options: Any) -> Split:
        """Train, validation and, for work that judges, test; sealed here too, whatever the shelf gives."""
        return _sealed(self.shelf.split(data, protocol, **options))

    def training_log(self, data: str) -> Interactions:
        """All ratings of the training part of a data set that came in parts, also the low ones; no test label."""
        with sealing_tests(False):
            return load_dataset(data, self.shelf.place(data)).parts["train"]

    def save(self, model: Recommender) -> None:
        """Keep a trained recommender with the cell."""
        model.save(self.place / _MODEL)
