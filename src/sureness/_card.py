"""Cards for notebooks: plain HTML without scripts, styles or pictures from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from sureness._wording import counted

_MOST_ROWS = 30
_BOX = "display:inline-block;border:1px solid #8888;border-radius:6px;padding:.6em .9em;max-width:60em;line-height:1.45"
_GRID = "border-collapse:collapse;margin-top:.4em"
_CELL = "text-align:left;padding:.1em 1.2em .1em 0;vertical-align:top"
_NUMBER = "text-align:right;padding:.1em 1.2em .1em 0;font-variant-numeric:tabular-nums"
_QUIET = "opacity:.7;font-weight:normal"


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
