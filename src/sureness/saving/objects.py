"""Save any object of the package to one file, open it again, and list what a file holds without opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

from sureness._printing import fields_repr
from sureness._types import AnyArray
from sureness.errors import DamagedError, KindError, OutputError, SurenessError
from sureness.saving import _container
from sureness.saving._container import Verify
from sureness.saving.packed import (
    JSON,
    Form,
    Packed,
    Savable,
    arrays_of,
    check_tree,
    class_of,
    packed_of,
    refuse_retired,
    tree_of,
    unpack,
)
from sureness.saving.records import check_heading, heading, read_record, write_record

T = TypeVar("T")

ENDINGS: dict[Form, str] = {"json": ".json", "file": ".sureness"}


def save(saved: Savable, path: str | PathLike[str]) -> None:
    """Write an object to one file: whole, or not at all.

    A plain calibrator becomes a ``.json`` file that people can read and compare; everything else one ``.sureness``
    file, which is a safetensors file with checksums. What is saved as which is decided by its kind alone.

    Examples
    --------
    >>> import tempfile; from sureness.calibration.parametric import PlattCalibrator
    >>> path = Path(tempfile.mkdtemp()) / "calibrator.json"
    >>> fitted = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    >>> save(fitted, path)
    >>> bool(load(path).probability([1.5])[0] == fitted.probability([1.5])[0])
    True
    """
    check_ending(path, saved.saved_as)
    write_packed(saved.pack(), path, saved.saved_as)


def check_ending(path: str | PathLike[str], form: Form) -> None:
    """Refuse a name without the ending of its form."""
    ending = ENDINGS[form]
    if Path(path).suffix.lower() != ending:
        raise OutputError(f"cannot write {path}: the name must end in {ending}, such as {Path(path).stem}{ending}")


def write_packed(packed: Packed, path: str | PathLike[str], form: Form) -> None:
    """Write a packed object in one of the two forms."""
    tree = tree_of(packed)
    if form == "file":
        _container.write(path, {**heading(), **tree}, arrays_of(packed))
    else:
        write_record(path, packed.kind, {name: value for name, value in tree.items() if name != "kind"})


@overload
def load(
    path: str | PathLike[str], expected: Callable[..., T], *, verify: Verify = ..., mapped: bool | None = ...,
    parts: Mapping[str, object] | None = ...,
) -> T: ...  # fmt: skip
@overload
def load(
    path: str | PathLike[str], expected: None = ..., *, verify: Verify = ..., mapped: bool | None = ...,
    parts: Mapping[str, object] | None = ...,
) -> Any: ...  # fmt: skip
def load(
    path: str | PathLike[str],
    expected: Callable[..., Any] | None = None,
    *,
    verify: Verify = "all",
    mapped: bool | None = None,
    parts: Mapping[str, object] | None = None,
) -> Any:
    """Open anything that was saved: a calibrator, a map for lists, a source, a model, a run, a recommender.

    Parameters
    ----------
    path : path
        Of a file, or of a part inside it, such as ``distilled.sureness/student``.
    expected : class, optional
        What it should be; anything else is refused before it is opened. Type checkers then know the result.
    verify : {"all", "header"}
        Check every byte, and that arrays fit each other, which reads the file once; or only the header, for a file that
        was verified before.
    mapped : bool, optional
        Leave arrays on disk and read them where they are used; by default files of 64 MB and more. Replace a mapped
        file by ``mv``, never by ``cp``, which changes the bytes under its readers; or open it with ``mapped=False``.
    parts : mapping of name to object, optional
        Objects that take the place of parts which could not be saved, such as ``{"source": model}``.

    Examples
    --------
    >>> import tempfile; from sureness.calibration.parametric import PlattCalibrator
    >>> path = Path(tempfile.mkdtemp()) / "calibrator.json"
    >>> PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(path)
    >>> load(path, PlattCalibrator).probability([0.0, 3.0]).round(2).tolist()
    [0.2, 0.8]
    """
    place = Path(path)
    packed = read_packed(place, verify=verify, mapped=mapped)
    if isinstance(expected, type) and not issubclass(class_of(packed.kind), expected):
        there = [f"{place}/{name}" for name, part in packed.parts.items() if _is_a(part, expected)]
        instead = f"its part {there[0]}" if there else "another file"
        raise KindError(f"{place} holds a {packed.kind}, expected a {expected.__name__}; give {instead}")
    return unpack(packed, parts)


def _is_a(packed: Packed, expected: type) -> bool:
    try:
        return issubclass(class_of(packed.kind), expected)
    except SurenessError:  # a part of a library that is not installed
        return False


def read_packed(path: Path, *, verify: Verify = "all", mapped: bool | None = None) -> Packed:
    """A saved object, or a part of one, as it was packed."""
    arrays: Mapping[str, AnyArray]
    file, names = split_path(path)
    if is_record(file):
        content, arrays = read_record(file), {}
    else:
        content, arrays, _ = _container.read(file, verify=verify, mapped=mapped)
        check_heading(content, file)
    try:
        check_tree(content, file)
        refuse_retired(content, file)
        packed = packed_of(content, arrays, trusted=verify == "header")
    except SurenessError:
        raise
    except Exception as error:  # whatever the tree has in the wrong place
        raise DamagedError(f"{file} cannot be understood ({error!r}); save it again") from error
    for name in names:
        if name not in packed.parts:
            raise KindError(f"{file} has no part {name!r}; it has {', '.join(packed.parts) or 'none'}")
        packed = packed.parts[name]
    return packed


@dataclass(frozen=True)
class FileContents:
    """What a saved file holds."""

    kind: str
    package: str  # the version of sureness that wrote it
    about: dict[str, JSON]  # estimand, horizon, what it was fitted on
    settings: dict[str, JSON]
    needs: tuple[str, ...]  # extras without which it cannot be opened
    parts: dict[str, str]  # the kind of each part, by its path
    arrays: dict[str, tuple[str, tuple[int, ...]]]  # type and shape of each array, by its path
    n_bytes: int

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """As one JSON object."""
        return asdict(self)


def inspect(path: str | PathLike[str]) -> FileContents:
    """What a saved file, or a part of one, holds, from its header; arrays are neither read nor checked.

    Examples
    --------
    >>> import tempfile; from sureness.calibration.parametric import PlattCalibrator
    >>> path = Path(tempfile.mkdtemp()) / "calibrator.json"
    >>> PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(path)
    >>> inspect(path).kind
    'calibrator/platt'
    """
    place, names = split_path(Path(path))
    entries: dict[str, Any] = {}
    if is_record(place):
        tree, n_bytes = read_record(place), place.stat().st_size
    else:
        tree, entries, n_bytes = _container.described(place)
        check_heading(tree, place)
    check_tree(tree, place)
    package = str(tree.get("package"))
    for name in names:
        tree, entries, n_bytes = _part(tree, entries, name, place)
    return FileContents(
        kind=tree["kind"],
        package=package,
        about=tree.get("about", {}),
        settings=tree.get("settings", {}),
        needs=tuple(tree.get("needs", ())),
        parts=_parts(tree),
        arrays={name: (entry["dtype"], tuple(entry["shape"])) for name, entry in entries.items()},
        n_bytes=n_bytes,
    )


def _part(
    tree: dict[str, Any], entries: dict[str, Any], name: str, place: Path
) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The tree, the arrays and the size of a part."""
    parts = tree.get("parts", {})
    if name not in parts:
        raise KindError(f"{place} has no part {name!r}; it has {', '.join(parts) or 'none'}")
    own = {path.removeprefix(f"{name}/"): entry for path, entry in entries.items() if path.startswith(f"{name}/")}
    sizes = (entry["data_offsets"] for entry in own.values())
    return parts[name], own, sum(stop - start for start, stop in sizes)


def _parts(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, part in tree.get("parts", {}).items():
        found[f"{prefix}{name}"] = part["kind"]
        found |= _parts(part, f"{prefix}{name}/")
    return found


def split_path(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The file of a path, and the names of the parts that follow it, as in distilled.sureness/student."""
    for file in path.parents:
        if file.is_file():
            return file, path.relative_to(file).parts
    return path, ()


def is_record(path: Path) -> bool:
    """Whether a file is of the readable form; its content decides, not its name."""
    try:
        with _container.opened(path) as file:
            start = file.read(64)
    except OSError as error:
        raise _container.unreadable(path, error) from error
    # The length at the start of a binary file may look like blanks and a brace, but is followed by zeros.
    return start.lstrip()[:1] == b"{" and b"\0" not in start
