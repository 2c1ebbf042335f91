"""Write a file whole or not at all, and remove what a killed writer left."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from sureness.errors import FileError, OutputError

_ENDING = ".partial"
_LONG = 120  # bytes of a name; the names of files next to a longer one are made from a digest of it
_SPECIAL = "it is a device or a pipe; give the name of a file"
_MOST_LINKS = 40  # symbolic links that are followed, as in Linux


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path next to `path`; on success it is synced and renamed, otherwise removed.

    A kill or a full disk at any moment leaves the old file as it was. The temporary file is locked while it is
    written, so the next writer knows which ones nobody works on any more, and removes those. A symbolic link stays:
    the file it leads to is replaced, or made. A file that is replaced keeps its permissions; those of a new one follow
    the umask.

    Examples
    --------
    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "greeting.txt") as temporary:
    ...     _ = temporary.write_text("hello")
    >>> [file.name for file in folder.iterdir()]
    ['greeting.txt']
    """
    target = writable_file(path)
    temporary: Path | None = None
    handle = -1
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        handle, temporary = _locked_file(target)
        if mode is not None:
            temporary.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)  # nobody else may read it meanwhile
        yield temporary
        sync(temporary)
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
        sync(target.parent)
    except FileError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if temporary is not None:
            _discard(handle, temporary)


def writable_file(path: str | PathLike[str]) -> Path:
    """Where a path leads to, through symbolic links; refused if no file can be there."""
    if problem := why_unnameable(path):
        raise OutputError(f"cannot write {path}: {problem}")
    try:
        place = _end_of_links(Path(path))
        if place.is_dir():
            raise OutputError(f"cannot write {path}: it is a folder; give the name of a file")
        if place.exists() and not place.is_file():  # which the temporary file would replace
            raise OutputError(f"cannot write {path}: {_SPECIAL}")
    except FileError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from error
    return place


def why_unnameable(path: str | PathLike[str]) -> str | None:
    r"""Why no file can have this name, if so; Python raises a bare ValueError where such a name is used.

    Examples
    --------
    >>> why_unnameable("table.csv") is None, why_unnameable("a\0b")
    (True, 'a name cannot contain a zero byte; give another name')
    """
    if "\0" in os.fspath(path):
        return "a name cannot contain a zero byte; give another name"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        return f"the names of files are {encoding} here; set PYTHONUTF8=1 or LC_ALL=C.UTF-8, or give another name"
    return None


def why_unopenable(path: str | PathLike[str]) -> str | None:
    """Why nothing can be read from a name, if so; opening a pipe would wait for somebody who writes into it.

    Examples
    --------
    >>> why_unopenable("table.csv") is None, why_unopenable("/dev/null")
    (True, 'it is a device or a pipe; give the name of a file')
    """
    if problem := why_unnameable(path):
        return problem
    place = Path(path)
    special = place.exists() and not place.is_file() and not place.is_dir()
    return _SPECIAL if special else None


def shown_name(path: str | PathLike[str]) -> str:
    r"""A name as text for pages and figures, which have no place for bytes that Python could not decode.

    Examples
    --------
    >>> shown_name("m\udcc3\udca4p"), shown_name("caf\udce9")
    ('mäp', 'caf�')
    """
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def with_ending(path: Path, ending: str) -> Path:
    """The path with an ending after its name; a long name is cut, so that names of up to 255 bytes leave room.

    Examples
    --------
    >>> with_ending(Path("run.sureness"), ".checkpoints").name, with_ending(Path("n" * 250), ".part").name
    ('run.sureness.checkpoints', 'nnnnnnnnnnnnnnnnnnnn~213b83271b358ed9.part')
    """
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = f"{name[:20]}~{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return path.with_name(f"{name}{ending}")


def write_all(handle: int, content: bytes | memoryview) -> None:
    """Write all bytes to an open file; a system call may take only some of them."""
    left = memoryview(content).cast("B")
    while len(left):
        left = left[os.write(handle, left) :]


def sweep(target: Path) -> None:
    """Remove temporary files of `target` whose writer is gone."""
    ours = re.compile(rf"\.{re.escape(with_ending(target, '').name)}\.[0-9a-f]{{8}}{re.escape(_ENDING)}")
    with suppress(OSError):
        for name in filter(ours.fullmatch, os.listdir(target.parent)):
            _remove_abandoned(target.parent / name)


def _end_of_links(path: Path) -> Path:
    place = path
    for _ in range(_MOST_LINKS):
        if not place.is_symlink():
            return place
        place = place.parent / os.readlink(place)
    raise OutputError(f"cannot write {path}: its symbolic links lead in a circle; give another name")


def _unwritable(path: str | PathLike[str], error: OSError) -> FileError:
    return OutputError(f"cannot write {path}: {error.strerror or error}")


def _remove_abandoned(left: Path) -> None:
    with suppress(OSError):
        handle = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            _lock(handle, wait=False)  # fails while its writer lives
            left.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _locked_file(target: Path) -> tuple[int, Path]:
    """A new locked file next to the target."""
    while True:
        named = with_ending(target, f".{secrets.token_hex(4)}{_ENDING}")
        temporary = named.with_name(f".{named.name}")
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        try:
            _lock(handle, wait=True)
            if os.fstat(handle).st_nlink:  # else another writer swept it before it was locked
                return handle, temporary
        except OSError:
            _discard(handle, temporary)
            raise
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    """Lock an open file; Windows has no such locks, and removes no file that is open."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _discard(handle: int, temporary: Path) -> None:
    """Remove a temporary file that was not renamed; where that fails, the next writer sweeps it."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
    with suppress(OSError):
        os.close(handle)


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
