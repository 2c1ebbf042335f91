"""What a saved object is made of: settings and state as JSON, arrays, and parts that are packed the same way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np

from sureness._printing import fields_repr
from sureness._registry import Family, find, name_of, names
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.errors import DamagedError, DataError, KindError, SettingError, SurenessError, VersionError, missing_extra

JSON = None | bool | int | float | str | list[Any] | dict[str, Any]
Form = Literal["json", "file"]
T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Packed:
    """An object taken apart; `unpack` of its class puts it together again.

    Settings, state and about hold whatever `plain` can write; a file holds them as JSON.
    """

    kind: str  # "family/name", as the registry knows it
    settings: Mapping[str, Any] = field(default_factory=dict)  # what its constructor takes
    state: Mapping[str, Any] = field(default_factory=dict)  # what it has learned, in plain values
    arrays: Mapping[str, AnyArray] = field(default_factory=dict)  # what it has learned, in arrays
    parts: Mapping[str, Packed] = field(default_factory=dict)  # other objects it holds
    about: Mapping[str, Any] = field(default_factory=dict)  # for people: estimand, horizon, what it was fitted on
    needs: tuple[str, ...] = ()  # extras without which it cannot be opened
    trusted: bool = False  # its file was verified before, so the values of its arrays are not looked at again

    __repr__ = fields_repr

    def array(self, name: str, kinds: str, *shape: int | None) -> AnyArray:
        """An array of some kinds of numbers, as numpy abbreviates them, and of a shape in which None is any length."""
        found = self.arrays[name]
        fits = found.ndim == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        )
        if found.dtype.kind not in kinds or not fits:
            raise self.damaged(f"the array {name!r} has type {found.dtype} and shape {found.shape}")
        return found

    def rows(self, name: str, length: int | None, n: int, *, lowest: int = 0) -> IntArray:
        """An array of rows of something that has `n`."""
        rows = self.array(name, "iu", length)
        if not self.trusted and rows.size and not (lowest <= int(rows.min()) and int(rows.max()) < n):
            raise self.damaged(f"the array {name!r} must lie from {lowest} to {n - 1}")
        return rows

    def starts(self, name: str, n_rows: int | None, n_values: int) -> IntArray:
        """Where each of some rows starts in an array of `n_values`, and where the last one ends."""
        starts = self.array(name, "iu", None if n_rows is None else n_rows + 1)
        if not len(starts) or starts[0] != 0 or starts[-1] != n_values:
            raise self.damaged(f"the array {name!r} must begin with 0 and end with {n_values}")
        if not self.trusted and np.any(starts[1:] < starts[:-1]):
            raise self.damaged(f"the array {name!r} must not fall")
        return starts

    def rising_in_rows(self, name: str, starts: IntArray) -> None:
        """Refuse an array whose values do not rise within each row."""
        values = self.arrays[name]
        falls = np.flatnonzero(values[1:] <= values[:-1]) + 1 if not self.trusted else np.empty(0, dtype=np.int64)
        if len(falls) and not np.isin(falls, starts).all():
            raise self.damaged(f"the array {name!r} must rise within each row")

    def damaged(self, how: str) -> DamagedError:
        """The one sentence for content that makes no sense."""
        return DamagedError(f"the saved {self.kind} cannot be understood: {how}; save it again")


class Savable(ABC):
    """Base of what can be saved: it packs what it holds, and its class puts that together again."""

    saved_as: ClassVar[Form] = "file"
    """ "json": one readable file; "file": one binary file with arrays."""

    @abstractmethod
    def pack(self) -> Packed:
        """What it is made of."""

    @classmethod
    @abstractmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        """Put it together; `parts` opens its parts."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to one file, whole or not at all; `sureness.load` opens it again."""
        from sureness.saving.objects import save

        save(self, path)


def kind_of(family: Family, target: type) -> str:
    """The kind of a class, as it is written into a file; a class without a name is refused."""
    name = name_of(family, target)
    if name is None:
        raise DataError(
            f"{target.__name__} has no name in the registry, so what it saves could not be opened; "
            f"call sureness.register({family!r}, 'a-name', {target.__name__}) first"
        )
    return f"{family}/{name}"


class _MissingPartError(KeyError):
    """A part that was neither saved nor given."""


class Parts(Mapping[str, Any]):
    """The parts of a packed object, each put together when it is first used.

    Objects that are given take the place of parts with their names, whether those were saved or not.
    """

    def __init__(self, packed: Mapping[str, Packed], given: Mapping[str, object] | None = None) -> None:
        self._packed, self._given, self._opened = packed, frozenset(given or ()), dict(given or {})
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._used.add(name)
        if name not in self._opened:
            self._opened[name] = self.open(name)
        return self._opened[name]

    def open(self, name: str, **given: object) -> Any:
        """One part, with objects in the place of its own parts."""
        if name not in self._packed:
            raise _MissingPartError(name)
        return unpack(self._packed[name], given)

    def opened(self, name: str, expected: Callable[..., T]) -> T:
        """One part; refused if an object of another class was given in its place."""
        part, wanted = self[name], cast(type[T], expected)  # mypy takes abstract classes for callables only
        if not isinstance(part, wanted):
            raise KindError(f"the part {name!r} must be a {wanted.__name__}, got {part!r:.60}; give another object")
        return part

    def given(self, name: str) -> bool:
        """Whether an object was given in the place of a part."""
        return name in self._given

    def refuse_unused(self, kind: str) -> None:
        """Refuse objects that took the place of nothing; a misspelt name would go unnoticed."""
        if unused := sorted(self._given - self._used):
            raise SettingError(f"the {kind} has no part {unused[0]!r} that can be given; leave it out of parts")

    def __contains__(self, name: object) -> bool:
        return name in self._packed or name in self._opened

    def __iter__(self) -> Iterator[str]:
        return iter({**self._packed, **self._opened})

    def __len__(self) -> int:
        return len({**self._packed, **self._opened})


def unpack(packed: Packed, given: Mapping[str, object] | None = None) -> Any:
    """Put an object together; `given` are objects that take the place of parts by their names."""
    missing = [extra for extra in packed.needs if not _installed(extra)]
    if missing:
        raise missing_extra(f"the saved {packed.kind}", _LIBRARY.get(missing[0], missing[0]), missing[0])
    kind = class_of(packed.kind)
    try:
        opener = Parts(packed.parts, given)
        unpacked = kind.unpack(packed, opener)
        opener.refuse_unused(packed.kind)
        return unpacked
    except _MissingPartError as error:
        name = error.args[0]
        raise KindError(
            f"the {packed.kind} was saved without its {name}; open the whole that it is a part of, or give it with "
            f"load(path, parts={{{name!r}: ...}})"
        ) from error
    except SurenessError:
        raise
    except Exception as error:  # whatever a constructor raises where its settings or its state are not what it saved
        raise packed.damaged(f"{error!r:.200}") from error


_RETIRED = ("map/per-user", "map/shared", "map/chain")  # what older versions saved and this one does not have
_INSTEAD = "fit it again, for example with ListCalibrator, the map for lists"


def check_tree(tree: Mapping[str, Any], path: PathLike[str]) -> None:
    """Refuse a tree that `tree_of` cannot have made."""
    kind, needs = tree.get("kind"), tree.get("needs", [])
    if not isinstance(kind, str) or not isinstance(needs, list) or not all(isinstance(each, str) for each in needs):
        raise DamagedError(f"{path} cannot be understood: it does not name what it holds; save it again")
    for name in ("settings", "state", "about", "parts"):
        if not isinstance(tree.get(name, {}), dict):
            raise DamagedError(f"{path} cannot be understood: its {name} must be a JSON object; save it again")
    for part in tree.get("parts", {}).values():
        check_tree(part if isinstance(part, dict) else {}, path)


def refuse_retired(tree: Mapping[str, Any], path: PathLike[str]) -> None:
    """Refuse a saved object that is, or has a part, of a kind that only older versions have."""
    kind = tree["kind"]
    if kind in _RETIRED and kind.partition("/")[2] not in names("map"):  # another package may use the name again
        raise VersionError(f"{path} holds a {kind} of an older version, which this one does not have; {_INSTEAD}")
    for part in tree.get("parts", {}).values():
        refuse_retired(part, path)


def class_of(kind: str) -> type[Savable]:
    """The class of a kind; only names of the registry lead to one, and nothing else is imported."""
    family, _, name = kind.partition("/")
    if family not in _SAVABLE or name not in names(family):
        raise KindError(
            f"there is no kind {kind!r} here; a newer sureness, or a package that is not installed, wrote it"
        )
    found = find(family, name)
    if not (isinstance(found, type) and issubclass(found, Savable)):
        raise KindError(f"a {kind} cannot be saved and opened; give another file")
    return found


_SAVABLE: tuple[Family, ...] = ("calibrator", "map", "policy", "model", "source", "saved")

_MARKERS = ("number", "packed", "mapping")  # the one key of a dictionary that stands for something else


def plain(value: Any) -> JSON:
    """A value as JSON: infinity and objects that can be packed are wrapped, tuples become lists.

    A mapping that looks like such a wrapping is wrapped itself.

    Examples
    --------
    >>> plain({"width": float("inf"), "sizes": (1, 2)})
    {'width': {'number': 'inf'}, 'sizes': [1, 2]}
    >>> revived(plain(float("inf")))
    inf
    >>> plain({"number": 3})
    {'mapping': {'number': 3}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if (packed := packed_or_none(value)) is not None:
        return {"packed": tree_of(packed)}
    if isinstance(value, Mapping):
        parts = {str(key): plain(part) for key, part in value.items()}
        return {"mapping": parts} if _marker(parts) else parts
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"a {type(value).__name__} cannot be saved; save the object without it")


def packed_or_none(value: object) -> Packed | None:
    """A savable object packed; None for any other."""
    return value.pack() if isinstance(value, Savable) else None


def revived(value: Any) -> Any:
    """What `plain` was given, but for tuples, which stay lists."""
    if isinstance(value, list):
        return [revived(part) for part in value]
    if not isinstance(value, dict):
        return value
    match _marker(value):
        case "number":
            return float(value["number"])
        case "packed":
            return unpack(packed_of(value["packed"], {}))
        case "mapping":
            value = value["mapping"]
    return {key: revived(part) for key, part in value.items()}


def _marker(parts: Mapping[str, Any]) -> str | None:
    """The marker that a dictionary consists of; None for any other dictionary."""
    return next((name for name in parts if len(parts) == 1 and name in _MARKERS), None)


def tree_of(packed: Packed) -> dict[str, JSON]:
    """Everything but the arrays, as one JSON object."""
    tree: dict[str, JSON] = {"kind": packed.kind}
    for name in ("about", "settings", "state"):
        if content := getattr(packed, name):
            tree[name] = plain(content)
    if packed.needs:
        tree["needs"] = list(packed.needs)
    if packed.parts:
        tree["parts"] = {name: tree_of(part) for name, part in packed.parts.items()}
    return tree


def packed_of(
    tree: Mapping[str, Any], arrays: Mapping[str, AnyArray], prefix: str = "", *, trusted: bool = False
) -> Packed:
    """A packed object out of its tree and the arrays of the whole file."""
    names = [name for name in arrays if name.startswith(prefix) and "/" not in name[len(prefix) :]]
    return Packed(
        kind=tree["kind"],
        settings=revived(tree.get("settings", {})),
        state=revived(tree.get("state", {})),
        arrays={name[len(prefix) :]: arrays[name] for name in names},
        parts={
            name: packed_of(part, arrays, f"{prefix}{name}/", trusted=trusted)
            for name, part in tree.get("parts", {}).items()
        },
        about=revived(tree.get("about", {})),
        needs=tuple(tree.get("needs", ())),
        trusted=trusted,
    )


def real(value: object) -> float:
    """A finite number out of a file; anything else is refused."""
    return float(reals([value])[0])


def reals(
    values: object, *, low: float = -math.inf, high: float = math.inf, rising: bool = False, n: int | None = None
) -> FloatArray:
    """A list of finite numbers out of a file: within bounds, rising strictly, or this many where that is asked.

    Examples
    --------
    >>> reals([0.0, 0.5], high=1.0, rising=True)
    array([0. , 0.5])
    """
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise TypeError(f"expected a list of numbers, got {values!r:.60}")
    found = np.array(values, dtype=np.float64)
    if not (np.isfinite(found).all() and np.all((found >= low) & (found <= high))):
        raise ValueError(f"numbers must be finite and from {low} to {high}, got {values!r:.60}")
    if rising and np.any(found[1:] <= found[:-1]):
        raise ValueError(f"numbers must rise, got {values!r:.60}")
    if n is not None and len(found) != n:
        raise ValueError(f"expected {n} numbers, got {len(found)}")
    return found


def check_text(value: object) -> str:
    """A text out of a file; anything else is refused."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r:.60}")
    return value


def arrays_of(packed: Packed, prefix: str = "") -> dict[str, AnyArray]:
    """The arrays of an object and of its parts, those of a part under its name."""
    for name in (*packed.arrays, *packed.parts):
        if not name or "/" in name or name.startswith("__"):
            raise DataError(f"arrays and parts need names without / and leading __, got {name!r} in {packed.kind}")
    found = {f"{prefix}{name}": array for name, array in packed.arrays.items()}
    for name, part in packed.parts.items():
        found |= arrays_of(part, f"{prefix}{name}/")
    return found


_LIBRARY = {"models": "torch", "plots": "matplotlib"}


def _installed(extra: str) -> bool:
    import importlib.util

    # A dotted name would import the package around it, which no file may ask for.
    return extra.isidentifier() and importlib.util.find_spec(_LIBRARY.get(extra, extra)) is not None
