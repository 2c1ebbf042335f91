"""Sources on disk: arrays and ids in a folder with a manifest, checksummed, versioned, never executable."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sureness._artefacts import read_manifest, write_folder
from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.errors import ArtefactError, DataError
from sureness.sources.base import FactorSource, MatrixSource, ScoreSource
from sureness.sources.candidates import CandidateSource

FORMAT = "sureness-source"
SCHEMA = 1

_ARRAYS = "arrays.safetensors"
_KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "factors": (FactorSource, ("user_factors", "item_factors", "user_bias", "item_bias")),
    "matrix": (MatrixSource, ("matrix",)),
    "candidates": (CandidateSource, ("starts", "item_rows", "scores")),
}
_SIDES = ("users", "items")
_DTYPES = {
    "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "U8": np.uint8,
    "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F16": np.float16, "F32": np.float32, "F64": np.float64,
}  # fmt: skip


def save_source(source: ScoreSource, folder: str | PathLike[str]) -> None:
    """Write factors, a matrix or a candidate table, with their ids; the folder is whole or not there.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "source"
    >>> save_source(MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"])), folder)
    >>> sorted(file.name for file in folder.iterdir())
    ['arrays.safetensors', 'manifest.json', 'users.parquet']
    """
    for kind, (type_, names) in _KINDS.items():
        if isinstance(source, type_):
            arrays = {name: getattr(source, name) for name in names if getattr(source, name) is not None}
            return _write(source, kind, arrays, folder)
    raise DataError(
        f"only factors, matrices and candidate tables can be saved, got {type(source).__name__}; save the best items "
        "of each user as a CandidateSource"
    )


def load_source(folder: str | PathLike[str]) -> FactorSource | MatrixSource | CandidateSource:
    """Read a source that `save_source` wrote; its arrays stay on disk and are read where they are used.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "source"
    >>> save_source(MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"])), folder)
    >>> load_source(folder).users.ids.to_list()
    ['ann']
    """
    place = Path(folder)
    manifest = read_manifest(place, FORMAT, SCHEMA)
    kind = manifest.get("kind")
    if kind not in _KINDS:
        raise ArtefactError(f"{place} holds a source of the kind {kind!r}, expected one of {', '.join(_KINDS)}; "
                            "update sureness")  # fmt: skip
    type_, names = _KINDS[kind]
    try:
        arrays = mapped_arrays(place / _ARRAYS)
        ids = {side: read_ids(place / f"{side}.parquet") for side in _SIDES if f"{side}.parquet" in manifest["files"]}
        source = type_(**{name: arrays[name] for name in names if name in arrays}, **ids)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise ArtefactError(f"{place} cannot be understood ({error!r}); save the source again") from error
    if [source.n_users, source.n_items] != manifest["shape"]:
        raise ArtefactError(f"{place} is damaged: it should have the shape {manifest['shape']}, "
                            f"got {[source.n_users, source.n_items]}; save the source again")  # fmt: skip
    return source  # type: ignore[no-any-return]


def mapped_arrays(path: str | PathLike[str]) -> dict[str, AnyArray]:
    """The arrays of a safetensors file, mapped into memory and not to be written to.

    The file starts with the length of its header in eight bytes, then the header in JSON, then the arrays.
    """
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {name: _mapped(path, 8 + length, entry) for name, entry in header.items()}


def _mapped(path: str | PathLike[str], start: int, entry: dict[str, Any]) -> AnyArray:
    dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
    if 0 in shape:  # nothing to map
        return np.empty(shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=start + entry["data_offsets"][0], shape=shape)


def _write(source: ScoreSource, kind: str, arrays: dict[str, AnyArray], folder: str | PathLike[str]) -> None:
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "kind": kind,
        "shape": [source.n_users, source.n_items],
        "arrays": {name: list(np.shape(array)) for name, array in arrays.items()},
    }
    writers: list[Callable[[Path], None]] = [partial(_write_arrays, arrays)]
    writers += [partial(write_ids, getattr(source, side), side) for side in _SIDES if getattr(source, side) is not None]

    def write(place: Path) -> None:
        for writer in writers:
            writer(place)

    write_folder(folder, manifest, write)


def _write_arrays(arrays: dict[str, AnyArray], place: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, place / _ARRAYS)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def write_ids(ids: IdMap, side: str, place: Path) -> None:
    """Write the ids of "users" or "items" into a folder, as users.parquet or items.parquet."""
    try:
        pl.DataFrame({f"{side[:-1]}_id": ids.ids}).write_parquet(place / f"{side}.parquet")
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from error


def read_ids(path: Path) -> IdMap:
    """Read the ids that `write_ids` wrote."""
    return IdMap(pl.read_parquet(path).to_series())
