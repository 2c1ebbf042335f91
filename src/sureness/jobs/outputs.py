"""Where a job may write: not over what it reads, not twice to one place, and only where writing can succeed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Literal

from sureness.errors import OutputError
from sureness.saving.files import why_unnameable, writable_file
from sureness.saving.objects import ENDINGS, split_path
from sureness.tables.files import would_hold
from sureness.tables.frames import Files, Table, place_of

AnyPath = str | PathLike[str]
Kind = Literal["table", "page", "file", "json", "arrays", "onnx", "figures", "folder"]
"""What is written: table, page, saved form, arrays of numpy, graph; or files into a folder, only figures or any."""

CHECKPOINTS = f"{ENDINGS['file']}.checkpoints"
"""How the folder of a training's checkpoints ends; nothing else is written into it."""

_ENDINGS: dict[Kind, tuple[str, ...]] = {
    "table": (".parquet", ".csv", ".tsv"),
    "page": (".html", ".htm"),
    "file": (ENDINGS["file"],),
    "json": (ENDINGS["json"],),
    "arrays": (".npz",),
    "onnx": (".onnx",),
}
_FIGURES = (".png", ".svg")


def check_outputs(outputs: Iterable[tuple[AnyPath | None, Kind]], inputs: Iterable[Table | None] = ()) -> None:
    """Refuse, before any work, outputs that would replace an input or each other, or that cannot be written.

    Two names are the same place if they lead to one file: through symbolic links, hard links, relative paths or
    another case of the letters.

    Parameters
    ----------
    outputs : iterable of (path, kind)
        What the job is going to write; None where an output was not asked for.
    inputs : iterable of paths, or tables in memory
        What the job reads: files, parts of files such as ``run.sureness/student``, folders; None where there is none.
        Tables in memory are not replaced.

    Examples
    --------
    >>> check_outputs([("lists.parquet", "table"), ("page.html", "page")], ["run.sureness"])
    >>> check_outputs([("lists.csv", "table")], ["./lists.csv"])
    Traceback (most recent call last):
    sureness.errors.OutputError: cannot write lists.csv: that would replace the input lists.csv; give another name
    """
    written = [(Path(path), kind) for path, kind in outputs if path is not None]
    places = [place_of(each) for each in inputs if isinstance(each, str | PathLike | list | tuple)]
    paths = [place for place in places if isinstance(place, Path)]
    named = [path for place in paths for path in (place.paths if isinstance(place, Files) else [place])]
    read = [split_path(Path(path))[0] for path in named if not why_unnameable(path)]
    for number, (path, kind) in enumerate(written):
        _check_name(path, kind)
        _check_folder(path, kind)
        for each in read:
            _refuse_input(path, kind, each)
        for other, other_kind in written[:number]:
            if _overlap(path, kind, other) or _overlap(other, other_kind, path):
                raise OutputError(f"cannot write {path}: {other} would be written to the same place; give another name")


def _check_name(path: Path, kind: Kind) -> None:
    """Refuse a name that no file can have, or that does not say what is in the file."""
    if problem := why_unnameable(path):
        raise OutputError(f"cannot write {path}: {problem}")
    endings = _ENDINGS.get(kind)
    if endings is None:
        return
    writable_file(path)
    if path.suffix.lower() not in endings:
        raise OutputError(
            f"cannot write {path}: the name must end in {' or '.join(endings)}, such as {path.stem}{endings[0]}"
        )


def _check_folder(path: Path, kind: Kind) -> None:
    """Refuse a path whose folder cannot be made or written to."""
    for each in (path, *path.parents):
        if each.name.lower().endswith(CHECKPOINTS):
            raise OutputError(f"cannot write {path}: {each} is for the checkpoints of a training; give another name")
    folder = writable_file(path).parent if kind in _ENDINGS else path
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise OutputError(f"cannot write {path}: {there} is not a folder; give another name")
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise OutputError(f"cannot write {path}: {os.strerror(errno.EACCES)}; give another folder")


def _refuse_input(path: Path, kind: Kind, read: Path) -> None:
    if _overlap(path, kind, read):
        raise OutputError(f"cannot write {path}: that would replace the input {read}; give another name")
    if kind == "table" and would_hold(read, path):
        raise OutputError(f"cannot write {path}: the input {read} would hold it from then on; give another folder")
    if kind == "folder" and _lies_in(path, read):
        raise OutputError(f"cannot write {path}: it lies in the input {read}; give another folder")


def _overlap(path: Path, kind: Kind, other: Path) -> bool:
    """Whether writing to a path would change another one, or what lies below it."""
    if kind == "figures" and path.is_dir():  # a figure that is a link is written to where it leads
        figures = [each for each in path.iterdir() if each.suffix.lower() in _FIGURES]
        return _same(path, other) or any(_same(each, other) for each in figures)
    return _same(path, other) or (kind in _ENDINGS and _lies_in(other, path))


def _lies_in(path: Path, other: Path) -> bool:
    return any(_same(parent, other) for parent in path.absolute().parents)


def _same(first: Path, second: Path) -> bool:
    """Whether two names lead to one place, which need not exist."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):
        return os.path.realpath(first) == os.path.realpath(second)
