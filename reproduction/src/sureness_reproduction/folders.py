"""Folders of files that are there whole or not at all, with a checksum of every file."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sureness.artefacts import read_record, write_record
from sureness.errors import DamagedError, FileError, OutputError

RECORD = "cell.json"
_KIND = "reproduction/cell"


def write_folder(folder: Path, about: Mapping[str, Any], write: Callable[[Path], None]) -> None:
    """Write files beside the folder under a temporary name, then rename; a kill at any moment leaves no half folder.

    Parameters
    ----------
    folder : Path
        If it is there already, another process was faster, and its files stay.
    about : mapping
        What is worth knowing about the files; read after `write` has returned.
    write : callable
        Gets the temporary folder and writes the files into it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "greeting"
    >>> write_folder(folder, {"to": "you"}, lambda place: (place / "text").write_text("hello"))
    >>> sorted(file.name for file in folder.iterdir()), read_folder(folder)["to"]
    (['cell.json', 'text'], 'you')
    """
    temporary = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        temporary.mkdir(parents=True)
        write(temporary)
        files = {file.relative_to(temporary).as_posix(): _digest(file) for file in _files(temporary)}
        write_record(temporary / RECORD, _KIND, {**about, "files": files})
        _move(temporary, folder)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_folder(folder: Path) -> dict[str, Any]:
    """What is known about the files of a folder, if all of them are as they were written."""
    about = read_record(folder / RECORD, _KIND)
    for name, digest in about["files"].items():
        file = folder / name
        if not file.exists() or _digest(file) != digest:
            raise DamagedError(f"{file} is damaged: its checksum does not match its content; compute the cell again")
    return about


def _move(temporary: Path, folder: Path) -> None:
    try:
        temporary.rename(folder)
    except OSError:
        if not (folder / RECORD).exists():
            raise


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
