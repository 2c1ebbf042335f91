"""Write a file whole or not at all, and clear away what a killed writer left behind."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from sureness.errors import FileError, OutputError

_ENDING = ".partial"


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it is synced and renamed, otherwise removed.

    A kill or a full disk at any moment leaves the old file as it was. The temporary file is locked while it is
    written, so the next writer knows which ones nobody works on any more, and removes those.

    Examples
    --------
    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "greeting.txt") as temporary:
    ...     _ = temporary.write_text("hello")
    >>> [file.name for file in folder.iterdir()]
    ['greeting.txt']
    """
    target = Path(path)
    temporary: Path | None = None
    handle = -1
    try:
        if target.is_dir():
            raise OutputError(f"cannot write {target}: it is a folder; give the name of a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target)
        handle, temporary = _locked_file(target)
        yield temporary
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            _discard(handle, temporary)


def write_all(handle: int, content: bytes | memoryview) -> None:
    """Write all bytes to an open file; a system call may take only some of them."""
    left = memoryview(content).cast("B")
    while len(left):
        left = left[os.write(handle, left) :]


def sweep(target: Path) -> None:
    """Remove temporary files of `target` whose writer is gone."""
    for left in target.parent.glob(f".{_escaped(target.name)}.*{_ENDING}"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
                left.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _locked_file(target: Path) -> tuple[int, Path]:
    """A new locked file beside the target."""
    while True:
        temporary = target.parent / f".{target.name}.{secrets.token_hex(4)}{_ENDING}"
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:  # else another writer swept it before it was locked
                return handle, temporary
        except OSError:
            _discard(handle, temporary)
            raise
        os.close(handle)


def _discard(handle: int, temporary: Path) -> None:
    """Remove a temporary file that was not renamed; where that fails, the next writer sweeps it."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
    with suppress(OSError):
        os.close(handle)


def _escaped(name: str) -> str:
    """A name that a glob pattern matches literally."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
