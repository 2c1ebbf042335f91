"""Say what a saved file is, without opening it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sureness._printing import fields_repr
from sureness.errors import KindError
from sureness.saving import _container
from sureness.saving.objects import is_record, split_path
from sureness.saving.packed import JSON, check_tree
from sureness.saving.records import check_heading, read_record


@dataclass(frozen=True)
class Contents:
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


def inspect(path: str | PathLike[str]) -> Contents:
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
    return Contents(
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
