"""How objects print: a few lines, however much they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sureness._wording import counted

_MOST = 600  # characters of all fields together
_MOST_ENTRIES = 20  # more entries are counted, not printed


def fields_repr(holder: Any) -> str:
    """The printed form of a dataclass or named tuple: the fields that are not at their defaults, each cut short.

    Put ``__repr__ = fields_repr`` into a class whose fields may hold arrays, tables or other large things.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Scored:
    ...     name: str
    ...     titles: list[str]
    ...     seed: int = 0
    ...     __repr__ = fields_repr
    >>> Scored("films", ["a title"] * 1000)
    Scored(name='films', titles=list of 1,000)
    """
    values = _values(holder)
    most = max(20, _MOST // max(1, len(values)))
    shown = ", ".join(f"{name}={short(value, most)}" for name, value in values.items())
    return f"{type(holder).__name__}({shown})"


def short(value: object, most: int = 80) -> str:
    """One value in one line of about `most` characters.

    Arrays and tables are described, long collections counted, long texts cut; an object that prints longer is named.

    Examples
    --------
    >>> short([1, 2]), short(range(1000)), short("x" * 50, 8)
    ('[1, 2]', 'range(0, 1000)', "'xxxxxx…'")
    >>> short({"a": 1} | {str(number): number for number in range(100)})
    'dict of 101'
    """
    text = _described(value) or repr(value)
    if len(text) <= most and "\n" not in text:
        return text
    if isinstance(value, str):
        return repr(value[: most - 2] + "…")
    return _counted(value) or f"{type(value).__name__}(…)"


def _described(value: Any) -> str | None:
    """Words for what is large in general, so that it is never printed as a whole."""
    if hasattr(value, "nnz"):
        return f"{type(value).__name__} {value.shape}, {counted(value.nnz, 'entry', 'entries')}"
    if hasattr(value, "columns") and hasattr(value, "shape"):
        return f"table of {counted(value.shape[0], 'row')} and {counted(value.shape[1], 'column')}"
    if hasattr(value, "dtype") and getattr(value, "shape", None):
        return f"{value.dtype} array {value.shape}"
    return _counted(value) if isinstance(value, _COLLECTIONS) and len(value) > _MOST_ENTRIES else None


_COLLECTIONS = (list, tuple, set, frozenset, Mapping)


def _counted(value: Any) -> str | None:
    return f"{type(value).__name__} of {len(value):,}" if isinstance(value, _COLLECTIONS) else None


def _values(holder: Any) -> dict[str, Any]:
    """What is worth printing: the fields by name, without those at their defaults."""
    if isinstance(holder, tuple):  # a named one
        held, defaults = holder._asdict(), holder._field_defaults  # type: ignore[attr-defined]
    else:
        held = {field.name: getattr(holder, field.name) for field in fields(holder) if field.repr}
        defaults = {field.name: field.default for field in fields(holder)}
    return {name: value for name, value in held.items() if name not in defaults or not _same(value, defaults[name])}


def _same(value: object, default: object) -> bool:
    """Whether a value is the default; only plain values are compared, as arrays have no single answer."""
    return value is default or (isinstance(value, (bool, int, float, str)) and value == default)
