"""Whether the promise of the lists was kept, out of the JSON of a backtest or of `sureness evaluate`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sureness.errors import FileError
from sureness.service.messages import By, Coming, Kept, PromiseTable, number_or_none

_TABLES: dict[str, tuple[By, str]] = {
    "windows": ("window", "start"),
    "by_rank": ("rank", "ranks"),
    "by_probability": ("probability", "probabilities"),
    "by_group": ("group", "group"),
}
"""Tables of such a file, what they are by, and the column with the names of their rows."""

_NUMBERS = ("promised", "low", "high")


class FoundPromise(NamedTuple):
    """What a backtest found."""

    tables: Sequence[PromiseTable] = ()
    coming: Sequence[Coming] = ()
    cautions: Sequence[str] = ()


def read_promise(path: Path) -> FoundPromise:
    """What is in a file, at its top or under `promise`; what else is in it does not matter.

    Rows have promised and realised hits, and the ratio with its interval. A window may have these for each of several
    probabilities, by name.
    """
    try:
        found = json.loads(path.read_bytes())
        found = found.get("promise", found)
        tables = list(_tables(found))
        coming = [Coming(str(row["what"]), *(float(row[name]) for name in _NUMBERS)) for row in found.get("coming", ())]
        cautions = [str(each) for each in found.get("cautions", ())]
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        tables = []
    if not tables:
        raise FileError(
            f"{path} must be the JSON of a backtest or of an evaluation, with rows of promised and realised "
            f"hits under any of {', '.join(_TABLES)}, got none of them"
        )
    return FoundPromise(tables, coming, cautions)


def _tables(found: Mapping[str, Any]) -> Iterator[PromiseTable]:
    for key, (by, column) in _TABLES.items():
        rows: dict[str, list[Kept]] = {}
        for row in found.get(key) or ():
            several = {name: own for name, own in row.items() if isinstance(own, Mapping) and "promised" in own}
            for of, own in (several or {str(row.get("field", "")): row}).items():
                rows.setdefault(of, []).append(_kept(str(row[column]), own))
        yield from (PromiseTable(by=by, of=of, rows=own) for of, own in rows.items())


def _kept(name: str, row: Mapping[str, Any]) -> Kept:
    promised, realised = float(row["promised"]), float(row["realised"])
    ratio = row.get("ratio", realised / promised if promised else None)
    ends = (None if each is None else number_or_none(each) for each in (ratio, row.get("low"), row.get("high")))
    return Kept(name, promised, realised, *ends)
