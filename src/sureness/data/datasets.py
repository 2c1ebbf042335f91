"""Find a public data set, download it if needed, and read it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import platformdirs
import polars as pl

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.data.data_files import TABLE, TABLES, DataFiles
from sureness.data.interactions import Interactions
from sureness.data.recipes import Address, Dataset, LogTables, Recipe, common_pairs, recipe
from sureness.errors import ChecksumError, DataError, FileError, SettingError
from sureness.saving.files import replacing

MOST_BYTES = 20_000_000_000
"""Downloads that are larger are stopped: a server may send without end."""


def load_dataset(
    name: str, folder: str | PathLike[str] | None = None, *, progress: Progress = silent, **options: Any
) -> Dataset:
    """A data set by name.

    It is looked for in `folder`, then in the folder of its name inside SURENESS_DATA, then in the cache; what is
    found nowhere is downloaded into the cache, where its terms allow.

    Parameters
    ----------
    name : str
        One of `recipe_names`.
    folder : path, optional
        Where the files are: the publisher's, packed or not, or tables with a header.
    progress : Progress, optional
        Called with a step, how much of it is done, and its total.
    **options
        What the recipe offers, such as ``artefact=True`` for citeulike-bd.
    """
    wanted = recipe(name)
    if wanted.read is None:
        raise DataError(f"{name} cannot be loaded as interactions: {wanted.trap}")
    chosen = _checked(wanted, options)
    place, where = whereabouts(name, folder)
    if where == "download":
        place = fetch_dataset(name, progress=progress)
    notes = (f"read from {place}",)
    try:
        return _dataset(name, wanted.read(DataFiles(place), **chosen), notes)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{place} does not hold {name} as expected: {str(error).splitlines()[0]}") from error


def fetch_dataset(name: str, to: str | PathLike[str] | None = None, *, progress: Progress = silent) -> Path:
    """Download the files of a data set into a folder (by default the cache); existing files are kept."""
    wanted = recipe(name)
    if not wanted.addresses:
        raise FileError(f"{name} cannot be downloaded; {wanted.how_to_get}")
    target = cache_folder() / name if to is None else Path(to)
    for address in wanted.addresses:
        download(address, target / address.file_name, progress)
    return target


def download(address: Address, target: Path, progress: Progress = silent) -> None:
    """Download a file, unless it is there; it gets its name once it is whole and has its checksum."""
    import requests  # slow to import

    if target.is_file():
        return
    algorithm, _, expected = address.checksum.partition(":")
    digest, done = hashlib.new(algorithm), 0
    with replacing(target) as temporary, temporary.open("wb") as opened:
        try:
            with requests.get(address.url, stream=True, timeout=(10, 60)) as answer:
                answer.raise_for_status()
                total = int(answer.headers.get("Content-Length", 0))
                for chunk in answer.iter_content(1 << 18):
                    digest.update(chunk)
                    done += opened.write(chunk)
                    progress(f"downloading {target.name}", done, total)
                    if done > MOST_BYTES:
                        raise FileError(f"cannot download {address.url}: it is larger than {MOST_BYTES / 1e9:,.0f} GB")
        except (requests.RequestException, ValueError) as error:
            why = f"{type(error).__name__}, {error}".splitlines()[0]
            raise FileError(f"cannot download {address.url}: {why}; check the connection and try again") from error
        if digest.hexdigest() != expected:
            raise ChecksumError(
                f"cannot use what {address.url} sent: expected the checksum {address.checksum}, got another file; try "
                "again, and check the publisher's page if it happens again"
            )


def cache_folder() -> Path:
    """The folder of downloads: SURENESS_CACHE, or the cache folder of the operating system."""
    given = os.environ.get("SURENESS_CACHE")
    return Path(given) if given else platformdirs.user_cache_path("sureness")


def copy_dataset(name: str, folder: str | PathLike[str], to: str | PathLike[str] | None = None) -> Path:
    """Copy the files of a data set from one folder to another (by default the cache)."""
    wanted = recipe(name)
    place, _ = whereabouts(name, folder)
    target = cache_folder() / name if to is None else Path(to)
    files = DataFiles(place)
    for known in (*TABLES, *wanted.also, *(each for form in wanted.needs for each in form)):
        if (found := files.find(known)) is None:
            continue
        path, member = found
        copied = target / (path.name if member else known + ".gz" * (path.suffix == ".gz"))
        if not copied.exists():
            with replacing(copied) as temporary:
                shutil.copyfile(path, temporary)
    return target


def whereabouts(name: str, folder: str | PathLike[str] | None = None) -> tuple[Path, str]:
    """Where a data set is, and what that place is: "folder", "cache", or "download" if it is nowhere."""
    wanted = recipe(name)
    if folder is not None:
        place = _holding(wanted, [Path(folder) / name, Path(folder)])
        if place is None:
            forms = [f"{TABLE}.gz", *(" and ".join(form) for form in wanted.needs)]
            raise FileError(f"cannot find {name} in {folder}: expected {', or '.join(forms)}")
        return place, "folder"
    given = os.environ.get("SURENESS_DATA")
    if given and (place := _holding(wanted, [Path(given) / name])):
        return place, "folder"
    cached = cache_folder() / name
    return cached, "cache" if _holding(wanted, [cached]) else "download"


def _holding(wanted: Recipe, places: list[Path]) -> Path | None:
    for place in places:
        files = DataFiles(place)
        if place.exists() and (files.has(TABLE) or any(files.has(*form) for form in wanted.needs)):
            return place
    return None


def _checked(wanted: Recipe, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check that every given option exists and has an allowed value."""
    for name, value in options.items():
        if name not in wanted.options:
            known = f"it has {', '.join(wanted.options)}" if wanted.options else "it has none"
            raise SettingError(f"{wanted.name} has no option {name}; {known}")
        if value not in wanted.options[name]:
            allowed = ", ".join(map(str, wanted.options[name]))
            raise SettingError(f"option {name} of {wanted.name} must be one of {allowed}, got {value!r}")
    return dict(options)


def _dataset(name: str, tables: LogTables, origin: tuple[str, ...]) -> Dataset:
    log = Interactions.from_table(tables.rows).with_features(tables.users, tables.items)
    parts = _parts(tables.rows, log) if "split" in tables.rows.columns else {}
    twice = []
    for (first, one), (second, other) in combinations(parts.items(), 2):
        if n_common := common_pairs(one, other):
            twice.append(f"{counted(n_common, 'pair is', 'pairs are')} in both {first} and {second}")
    notes = (*origin, *tables.notes, *log.notes, *twice)
    return Dataset(name, replace(log, notes=(*tables.notes, *log.notes)), parts, tables.extras, notes)


def _parts(rows: pl.DataFrame, log: Interactions) -> dict[str, Interactions]:
    there = rows["split"].unique().to_list()
    parts = {}
    for name in (part for part in ("train", "validation", "test") if part in there):
        part = Interactions.from_table(rows.filter(pl.col("split") == name), users=log.users, items=log.items)
        parts[name] = replace(
            part, item_domain=log.item_domain, user_features=log.user_features, item_features=log.item_features
        )
    return parts
