"""How objects print: a few lines, however much they hold; and as cards in notebooks, plain HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

from sureness._wording import counted

_MOST = 600  # characters of all fields together
_MOST_ENTRIES = 20  # more entries are counted, not printed
_MOST_ROWS = 30
_BOX = "display:inline-block;border:1px solid #8888;border-radius:6px;padding:.6em .9em;max-width:60em;line-height:1.45"
_GRID = "border-collapse:collapse;margin-top:.4em"
_CELL = "text-align:left;padding:.1em 1.2em .1em 0;vertical-align:top"
_NUMBER = "text-align:right;padding:.1em 1.2em .1em 0;font-variant-numeric:tabular-nums"
_QUIET = "opacity:.7;font-weight:normal"


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


def card(
    title: str,
    facts: Mapping[str, str] | None = None,
    *,
    note: str = "",
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> str:
    """A title, a sentence, facts by name and a table, as one piece of HTML; every text is escaped.

    Colours are those of the notebook, so that cards fit light and dark themes.

    Examples
    --------
    >>> "<b>a &lt; b</b>" in card("a < b", {"pairs": "10"})
    True
    """
    parts = [f"<div><b>{escape(title)}</b></div>"]
    if note:
        parts.append(f"<div>{escape(note)}</div>")
    if facts:
        parts.append(_table([_row([name, value], header=True) for name, value in facts.items()]))
    if columns:
        parts.append(_data_table(columns, list(rows)))
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _data_table(columns: Sequence[str], rows: list[Sequence[object]]) -> str:
    styles = [_style(value) for value in rows[0]] if rows else [_CELL] * len(columns)
    names = zip(columns, styles, strict=True)
    head = "".join(f'<th style="{style};{_QUIET}" scope="col">{escape(name)}</th>' for name, style in names)
    left_out = len(rows) - _MOST_ROWS
    more = f'<div style="{_QUIET}">and {counted(left_out, "more row")}</div>' if left_out > 0 else ""
    return _table([f"<tr>{head}</tr>", *(_row(row) for row in rows[:_MOST_ROWS])]) + more


def _table(rows: Iterable[str]) -> str:
    return f'<table style="{_GRID}">{"".join(rows)}</table>'


def _row(values: Sequence[object], *, header: bool = False) -> str:
    first = f'<th style="{_CELL};{_QUIET}" scope="row">{escape(_text(values[0]))}</th>' if header else _cell(values[0])
    return f"<tr>{first}{''.join(map(_cell, values[1:]))}</tr>"


def _cell(value: object) -> str:
    return f'<td style="{_style(value)}">{escape(_text(value))}</td>'


def _style(value: object) -> str:
    return _NUMBER if isinstance(value, (int, float)) else _CELL


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)
