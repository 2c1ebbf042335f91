"""The binary form of an artefact: one safetensors file that any reader of that format opens.

It starts with the length of the header in eight bytes, then the header in JSON, then the arrays, one after the other.
The header's metadata holds two texts: the checksum of the header itself, always at the same place, and the manifest,
which has a checksum of every array. So every byte of the file is covered.

The safetensors library writes and reads this format too, but holds the whole file in memory while writing, copies when
reading, and has no place for checksums; tests use it as an independent reader.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, get_args

import numpy as np

from sureness._types import AnyArray
from sureness._wording import counted
from sureness.errors import DamagedError, DataError, FileError, KindError, SettingError, VersionError
from sureness.saving.files import replacing, why_unopenable, write_all

Verify = Literal["all", "header"]

MOST_HEADER = 100_000_000  # bytes; a larger header is refused before it is read
MAPPED_FROM = 64 * 2**20  # bytes; smaller files are read instead of mapped

_START = b'{"__metadata__":{"checksum":"'
_BLANK = b"0" * 64
_NAMES = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "float32": "F32", "float64": "F64",
}  # fmt: skip
_DTYPES = {name: np.dtype(numpy) for numpy, name in _NAMES.items()}


class Opened(NamedTuple):
    """What a file holds."""

    manifest: dict[str, Any]
    arrays: dict[str, AnyArray]  # not to be written to
    n_bytes: int


def write(path: str | PathLike[str], manifest: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write manifest and arrays; a reader meets the old file or the new one, whole."""
    ordered = {name: _as_stored(name, array) for name, array in sorted(arrays.items(), key=_wide_first)}
    header = _header(manifest, ordered)
    with replacing(path) as temporary:
        handle = os.open(temporary, os.O_WRONLY)
        try:
            write_all(handle, header)
            for array in ordered.values():
                if array.nbytes:
                    write_all(handle, array.reshape(-1).view(np.uint8).data)
        finally:
            os.close(handle)


def read(path: str | PathLike[str], *, verify: Verify = "all", mapped: bool | None = None) -> Opened:
    """Read a file through one handle, so that a writer who replaces it meanwhile changes nothing here.

    Parameters
    ----------
    path : path
    verify : {"all", "header"}
        Check every array, which reads the whole file once, or only the header.
    mapped : bool, optional
        Leave the arrays on disk and read them where they are used; by default files of 64 MB and more.
    """
    if verify not in get_args(Verify):
        raise SettingError(f"verify must be 'all' or 'header', got {verify!r}")
    place = Path(path)
    try:
        with opened(place) as file:
            size = os.fstat(file.fileno()).st_size
            header, start = _read_header(file, size, place)
            entries = _checked_entries(header, size - start, place)
            if size >= MAPPED_FROM if mapped is None else mapped:
                buffer: Any = _mapped(file.fileno(), size, place)
            else:
                file.seek(0)
                buffer = file.read(size)
            if len(buffer) != size:
                raise damaged(place, f"it has {counted(len(buffer), 'byte')} instead of {size:,}")
    except OSError as error:
        raise unreadable(place, error) from error
    manifest = _manifest(header, place)
    arrays = _arrays(buffer, start, entries, place)
    if verify == "all":
        _verify(arrays, manifest, place)
    return Opened(manifest, arrays, size)


def described(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Manifest, the entries of the arrays, and the size of a file, out of its header alone."""
    place = Path(path)
    try:
        with opened(place) as file:
            size = os.fstat(file.fileno()).st_size
            header, start = _read_header(file, size, place)
    except OSError as error:
        raise unreadable(place, error) from error
    return _manifest(header, place), _checked_entries(header, size - start, place), size


def opened(place: Path) -> BinaryIO:
    """A file that is open for reading."""
    if problem := why_unopenable(place):
        raise FileError(f"cannot read {place}: {problem}")
    return place.open("rb")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys all differ; readers that take the first and the last of two would disagree."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def damaged(place: Path, how: str) -> DamagedError:
    return DamagedError(f"{place} is damaged: {how}; save the object again")


def unreadable(place: Path, error: OSError) -> FileError:
    """Why a file could not be read, as one of our errors."""
    if isinstance(error, FileError):
        return error
    if isinstance(error, IsADirectoryError):
        return VersionError(
            f"{place} is a folder; since version 0.2 sureness saves each object as one file (.sureness or .json), and "
            "folders of version 0.1 are not read; save the object again"
        )
    if isinstance(error, FileNotFoundError):
        return FileError(f"cannot read {place}: there is no such file")
    return FileError(f"cannot read {place}: {error.strerror or error}")


# --- inside ---------------------------------------------------------------------------------------------------------


def _wide_first(item: tuple[str, AnyArray]) -> tuple[int, str]:
    """Arrays of wide numbers first, so that every one starts where its numbers are aligned."""
    return -np.asarray(item[1]).dtype.itemsize, item[0]


def _as_stored(name: str, array: AnyArray) -> AnyArray:
    """An array as the file holds it: row after row, in the byte order that the format asks for."""
    plain = np.asarray(array, order="C")
    if plain.dtype.name not in _NAMES:
        raise DataError(f"an array of {plain.dtype} cannot be saved; {name} must hold numbers or truth values")
    return plain.astype(plain.dtype.newbyteorder("<"), copy=False)


def _header(manifest: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> bytes:
    """Length and header, with the checksum filled in."""
    whole = {**manifest, "arrays": {name: _digest(array) for name, array in arrays.items()}}
    entries: dict[str, Any] = {}
    place = 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": _NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]
        }  # fmt: skip
        place += array.nbytes
    metadata = {"checksum": _BLANK.decode(), "manifest": json.dumps(whole, allow_nan=False, separators=(",", ":"))}
    text = json.dumps({"__metadata__": metadata, **entries}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise DataError(f"the header would have {counted(len(text), 'byte')}, at most {MOST_HEADER:,} are possible")
    blank = len(text).to_bytes(8, "little") + text
    checksum = hashlib.sha256(blank).hexdigest().encode()
    return blank.replace(_START + _BLANK, _START + checksum, 1)


def _read_header(file: Any, size: int, place: Path) -> tuple[dict[str, Any], int]:
    """The header of an open file, checked, and where the arrays start."""
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if size < 8 or length > MOST_HEADER or 8 + length > size:
        raise KindError(f"{place} is not a saved object, or it was cut off; give a file that sureness saved")
    text = file.read(length)
    if not text.startswith(_START):
        raise KindError(f"{place} is not a saved object of sureness; give a file that sureness saved")
    begin = len(_START)
    found = text[begin : begin + 64]
    blank = first + text[:begin] + _BLANK + text[begin + 64 :]
    if hashlib.sha256(blank).hexdigest().encode() != found:
        raise damaged(place, "the checksum of its header does not match")
    try:
        header = json.loads(text, object_pairs_hook=unique_keys)
        return dict(header), 8 + length
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(place, f"its header cannot be read ({error})") from error


def _checked_entries(header: dict[str, Any], n_bytes: int, place: Path) -> dict[str, dict[str, Any]]:
    """The entries of the arrays, which must fill the rest of the file without gaps and overlaps."""
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    end = 0
    try:
        for entry in sorted(entries.values(), key=lambda entry: tuple(entry["data_offsets"])):
            begin, stop = entry["data_offsets"]
            if not all(type(number) is int and number >= 0 for number in (begin, stop, *entry["shape"])):
                raise damaged(place, "shapes and offsets of its arrays must be whole numbers, 0 or more")
            wanted = _DTYPES[entry["dtype"]].itemsize * math.prod(entry["shape"])
            if begin != end or stop - begin != wanted:
                raise damaged(place, "its arrays overlap, leave gaps, or have another size than their entries")
            end = stop
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(place, f"its arrays are not described as they should be ({error!r})") from error
    if end != n_bytes:
        raise damaged(place, f"its arrays have {counted(n_bytes, 'byte')} instead of {end:,}")
    return entries


def _manifest(header: dict[str, Any], place: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(header["__metadata__"]["manifest"], object_pairs_hook=unique_keys))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(place, f"its manifest cannot be read ({error!r})") from error


def _mapped(handle: int, size: int, place: Path) -> mmap.mmap:
    try:
        return mmap.mmap(handle, size, access=mmap.ACCESS_READ)
    except ValueError as error:  # it became shorter since its size was read
        raise damaged(place, f"it cannot be mapped ({error})") from error


def _arrays(buffer: Any, start: int, entries: Mapping[str, dict[str, Any]], place: Path) -> dict[str, AnyArray]:
    try:
        return {name: _array(buffer, start, entry) for name, entry in entries.items()}
    except ValueError as error:  # more dimensions, or a longer one, than an array can have
        raise damaged(place, f"its arrays cannot be made ({error})") from error


def _array(buffer: Any, start: int, entry: dict[str, Any]) -> AnyArray:
    dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
    n_values = math.prod(shape)
    if not n_values:
        buffer, start = b"", -entry["data_offsets"][0]
    flat = np.frombuffer(buffer, dtype=dtype, count=n_values, offset=start + entry["data_offsets"][0])
    return flat.reshape(shape)


def _verify(arrays: Mapping[str, AnyArray], manifest: Mapping[str, Any], place: Path) -> None:
    expected = manifest.get("arrays")
    if not isinstance(expected, dict) or set(expected) != set(arrays):
        raise damaged(place, "its manifest names other arrays than it holds")
    for name, array in arrays.items():
        if _digest(array) != expected[name]:
            raise damaged(place, f"the checksum of {name} does not match its content")


def _digest(array: AnyArray) -> str:
    """A checksum of an array with its type and shape."""
    digest = hashlib.sha256(f"{_NAMES.get(array.dtype.name)}{list(array.shape)}".encode())
    if array.nbytes:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
