"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sureness.errors import FileError


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it is synced and renamed, otherwise removed.

    A kill or a full disk at any moment leaves the old file as it was.

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
    try:
        if target.is_dir():
            raise FileError(f"cannot write {target}: it is a folder; give the name of a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
        os.close(handle)
        temporary = Path(name)
        temporary.chmod(0o666 & ~umask())
        yield temporary
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def umask() -> int:
    """Which permissions new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
