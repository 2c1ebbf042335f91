"""Tables as people read them: no empty cell without a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from sureness_reproduction.experiment import Finder, Plan
from sureness_reproduction.list_size.grid import NAMES, title
from sureness_reproduction.outcome import Outcome

_NONE = "-"


def where_data(outcome: Callable[[Plan, Finder], Outcome]) -> Callable[[Plan, Finder], Outcome]:
    """An outcome that says so where none of its data sets is there."""

    def told(plan: Plan, find: Finder) -> Outcome:
        if plan.data:
            return outcome(plan, find)
        return Outcome(notes=["None of the data sets of this experiment is in the data folder; nothing was run."])

    return told


def put_first(table: pl.DataFrame, column: str, value: str) -> pl.DataFrame:
    """A table with one more column in front.

    Examples
    --------
    >>> put_first(pl.DataFrame({"x": [1]}), "data", "coat").columns
    ['data', 'x']
    """
    return table.select(pl.lit(value).alias(column), pl.all())


def beside_shown(table: pl.DataFrame, known: Sequence[str], method: str, *, digits: int = 4) -> pl.DataFrame:
    """What `beside_published` found, with one row for each data set that was not run.

    Parameters
    ----------
    table : table
        With data, the method column and metric.
    known : sequence of str
        The data sets of the dissertation; the others are left out.
    method : str
        The column that names what was compared.
    digits : int
    """
    rows = []
    for data in known:
        part = table.filter(data=data)
        if part["ours"].null_count() == part.height:
            what = f"all {part[method].n_unique()}"
            rows.append(_row(title(data), method, what, "all", [_NONE] * 6, part["remark"][0] if part.height else ""))
            continue
        for row in part.to_dicts():
            numbers = [_number(row[name], digits) for name in ("ours", "deviation")]
            numbers += [str(row["seeds"] or _NONE), _number(row["published"], digits)]
            numbers += [_number(row["difference"], digits, sign=True), row["verdict"] or _NONE]
            metric = NAMES.get(row["metric"], row["metric"])
            rows.append(_row(title(data), method, row[method], metric, numbers, row["remark"]))
    return pl.DataFrame(rows)


def _row(data: str, method: str, name: str, metric: str, numbers: Sequence[str], remark: str) -> dict[str, str]:
    columns = ("ours", "deviation", "splits", "published", "difference", "verdict")
    return {"data": data, method: name, "metric": metric, **dict(zip(columns, numbers, strict=True)), "remark": remark}


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None:
        return _NONE
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
