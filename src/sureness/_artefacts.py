"""Saved objects that are folders: a manifest with checksums beside the files, all of it whole or not there."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from sureness import __version__
from sureness.errors import ArtefactError, FileError

MANIFEST = "manifest.json"

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux
_HERE = -100  # AT_FDCWD of Linux: names are relative to the working folder


def write_folder(folder: str | os.PathLike[str], manifest: Mapping[str, Any], writer: Callable[[Path], None]) -> None:
    """Write a folder of files with its manifest; a kill or a full disk at any moment leaves the old one as it was.

    The files are written beside the folder under a temporary name, synced, and renamed. An older artefact is replaced;
    a folder that holds anything else is refused.

    Parameters
    ----------
    folder : path
    manifest : mapping
        `format`, `schema` and whatever else is worth knowing; package version and checksums are added.
    writer : function
        Gets the temporary folder and writes the files into it.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp()) / "greeting"
    >>> write_folder(folder, {"format": "letter", "schema": 1}, lambda place: (place / "text").write_text("hello"))
    >>> sorted(file.name for file in folder.iterdir())
    ['manifest.json', 'text']
    >>> list(read_manifest(folder, "letter", 1)["files"])
    ['text']
    """

    def write(place: Path) -> None:
        writer(place)
        _finish(place, manifest)

    _replace_whole(Path(folder), refuse_others, write)


def write_together(folder: str | os.PathLike[str], names: Collection[str], writer: Callable[[Path], None]) -> None:
    """Write several artefacts into one folder; all are replaced at once, or none.

    Parameters
    ----------
    folder : path
        Refused if it holds anything but artefacts of these names.
    names : collection of str
    writer : function
        Gets a temporary folder and writes the artefacts into it.
    """

    def refuse(target: Path) -> None:
        if target.is_file():
            raise FileError(f"cannot write {target}: it is a file; give the name of a folder")
        if target.exists() and (others := sorted({file.name for file in target.iterdir()} - set(names))):
            raise FileError(f"cannot write {target}: it is a folder with other files ({others[0]}); give a new name")

    def write(place: Path) -> None:
        writer(place)
        sync(place)

    _replace_whole(Path(folder), refuse, write)


def _replace_whole(target: Path, refuse: Callable[[Path], None], write: Callable[[Path], None]) -> None:
    """Write beside a folder under a temporary name, then put it in its place; whatever fails leaves the old one."""
    temporary: Path | None = None
    try:
        refuse(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial"))
        temporary.chmod(0o777 & ~umask())
        write(temporary)
        _move(temporary, target)
        sync(target.parent)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def read_manifest(folder: str | os.PathLike[str], format: str, schema: int) -> dict[str, Any]:  # noqa: A002
    """The manifest of a folder, if all its files are as they were written."""
    place = Path(folder)
    manifest = _read(place / MANIFEST)
    if manifest.get("format") != format:
        raise ArtefactError(f"{place} is not a {format} (format {manifest.get('format')!r}); give the folder of one")
    if manifest.get("schema") != schema:
        raise ArtefactError(
            f"{place} has schema {manifest.get('schema')!r} (written by sureness {manifest.get('package')}), this is "
            f"sureness {__version__} which reads schema {schema}; update sureness"
        )
    if manifest.get("checksum") != _checksum(manifest):
        raise _damaged(place / MANIFEST, "its checksum does not match its content")
    for name, expected in manifest["files"].items():
        _check_file(place / name, expected)
    return manifest


def _finish(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Add the manifest and bring everything to the disk."""
    every = sorted(folder.rglob("*"))
    files = {file.relative_to(folder).as_posix(): _described(file) for file in every if file.is_file()}
    whole = {**manifest, "package": __version__, "files": files}
    whole["checksum"] = _checksum(whole)
    text = json.dumps(whole, indent=1, allow_nan=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for file in folder.rglob("*"):
        sync(file)
    sync(folder)


def _move(temporary: Path, target: Path) -> None:
    """Put the new folder in the place of the old one; both exist at every moment, under one name or the other."""
    if not target.exists():
        temporary.rename(target)
    elif not _exchanged(temporary, target):
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".old"))
        target.replace(old)
        try:
            temporary.rename(target)
        except OSError:
            old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two names in one step, where the system can."""
    with contextlib.suppress(AttributeError, OSError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0)
    return False


def refuse_others(target: Path) -> None:
    """A folder is replaced only if all it holds is an artefact."""
    if not target.exists():
        return
    if not target.is_dir():
        raise FileError(f"cannot write {target}: it is a file; give the name of a folder")
    found = {file.name for file in target.iterdir()}
    if not found:
        return
    try:
        ours = {MANIFEST, *(name.split("/")[0] for name in _read(target / MANIFEST)["files"])}
    except (FileError, KeyError, TypeError):
        ours = set()
    if others := sorted(found - ours):
        raise FileError(f"cannot write {target}: it is a folder with other files ({others[0]}); give a new name")


def _read(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        missing = "there is no such folder" if not path.parent.exists() else f"it has no {MANIFEST}"
        raise FileError(f"cannot read {path.parent}: {missing}; give the folder of a saved object") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise _damaged(path, f"it is not valid JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise _damaged(path, "it holds no table")
    return manifest


def _described(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(opened, "sha256").hexdigest()}


def _check_file(file: Path, expected: Mapping[str, Any]) -> None:
    try:
        size = file.stat().st_size
        if size != expected["bytes"]:
            raise _damaged(file, f"it has {size:,} bytes instead of {expected['bytes']:,}")
        if _described(file)["sha256"] != expected["sha256"]:
            raise _damaged(file, "its checksum does not match its content")
    except ArtefactError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}") from error


def _checksum(manifest: Mapping[str, Any]) -> str:
    body = {name: value for name, value in manifest.items() if name != "checksum"}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _damaged(file: Path, how: str) -> ArtefactError:
    return ArtefactError(f"{file} is damaged: {how}; save the object again")


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def umask() -> int:
    """Which permissions new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
