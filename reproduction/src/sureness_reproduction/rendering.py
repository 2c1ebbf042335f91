"""The one renderer: tables in the published layout with ours beside, as Markdown, CSV and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from sureness_reproduction.contrasts import matches
from sureness_reproduction.published import TITLES, published
from sureness_reproduction.results import SUMMARY
from sureness_reproduction.study import Study

NONE = "–"
NAMES = TITLES | {
    "bpr": "BPR", "neumf": "NeuMF", "cml": "CML", "ubpr": "UBPR", "lightgcn": "LightGCN", "cdae": "CDAE", "als": "ALS",
    "hit@50": "H@50", "hit@100": "H@100", "ndcg@50": "N@50", "ndcg@100": "N@100", "ndcg": "NDCG", "pdcg": "PDCG",
    "f1": "F1", "tp": "TP", "ece": "ECE", "mce": "MCE", "nll": "NLL", "bd": "BD", "cd": "CD", "rd": "RD", "svd": "SVD",
    "bd-best": "BD, best guides", "mutual": "uniform", "left_out": "training pairs left out", "kept": "kept",
    "to_student__weight": "weight to the student", "to_teacher__weight": "weight to the teacher",
}  # fmt: skip
"""What people call things."""


class Block(NamedTuple):
    """One table: what it is about, and its cells as text."""

    title: str
    frame: pl.DataFrame


def blocks(study: Study, summary: pl.DataFrame) -> list[Block]:
    """The tables of a study, one for each value of the keys that are neither rows nor columns; published ones first.

    Parameters
    ----------
    study : Study
    summary : table
        Keys, metric, value, deviation, low, high and seeds, as `Results.summary` or a CSV file has it.
    """
    if study.metrics:  # a file may hold more than is shown
        summary = summary.filter(pl.col("metric").is_in(list(study.metrics)))
    joined = with_published(study, summary)
    laid = (*study.rows, *study.columns)
    apart = [name for name in joined.columns if name not in (*laid, *SUMMARY, "published")]
    found = []
    for values, part in joined.group_by(apart, maintain_order=True) if apart else [((), joined)]:
        title = ", ".join(named(value) for value in values if value != "")
        found.append((part["published"].null_count() == part.height, Block(title, _laid_out(study, part))))
    return [block for _, block in sorted(found, key=lambda each: each[0])]


def with_published(study: Study, summary: pl.DataFrame) -> pl.DataFrame:
    """Our numbers with the published ones of the same keys; published ones that we lack follow."""
    if not study.published:
        return summary.with_columns(published=pl.lit(None, pl.Float64))
    theirs = published(study.published)
    if study.metrics and "metric" in theirs.columns:
        theirs = theirs.filter(pl.col("metric").is_in(list(study.metrics)))
    theirs = theirs.filter(matches(study.where, theirs.columns)).with_columns(pl.col("value").cast(pl.Float64))
    fixed = {name: value for name, value in study.beside.items() if name in summary.columns}
    theirs = theirs.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    keys = [name for name in theirs.columns if name != "value" and name in summary.columns]
    there = summary.join(theirs.rename({"value": "published"}), on=keys, how="left", maintain_order="left")
    lacking = theirs.join(summary, on=keys, how="anti", maintain_order="left").rename({"value": "published"})
    same = lacking.select([*keys, "published"])
    for name in ("data", "model"):  # published rows of data or models that we did not run say nothing about ours
        if name in keys:
            same = same.filter(pl.col(name).is_in(summary[name].unique().to_list()))
    rest = [name for name in summary.columns if name not in (*keys, *SUMMARY)]
    if any(summary[name].n_unique() > 1 for name in rest):
        return there
    same = same.with_columns(**{name: pl.lit(summary[name][0]) for name in rest})
    return pl.concat([there, same], how="diagonal_relaxed")


def _laid_out(study: Study, part: pl.DataFrame) -> pl.DataFrame:
    rows, columns = _values(part, study.rows), _values(part, study.columns)
    cells = {
        tuple(row[name] for name in (*study.rows, *study.columns)): _cell(study, row, part)
        for row in part.iter_rows(named=True)
    }
    return pl.DataFrame([
        {name: named(value) for name, value in zip(study.rows, row, strict=True)}
        | {" ".join(map(named, column)): cells.get((*row, *column), NONE) for column in columns}
        for row in rows
    ])  # fmt: skip


def _values(part: pl.DataFrame, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return part.select(keys).unique(maintain_order=True).rows() if keys else [()]


def _cell(study: Study, row: dict[str, Any], part: pl.DataFrame) -> str:
    """Ours with its interval or deviation, and the published number."""
    digits, value = study.digits, row["value"]
    text = NONE if value is None else f"{value:.{digits}f}"
    if value is not None and row["low"] is not None:
        text += f" [{row['low']:.{digits - 1}f}, {row['high']:.{digits - 1}f}]"
    elif value is not None and row["deviation"] is not None:
        text += f" ± {row['deviation']:.{digits}f}"
    most = max(each or 0 for each in part["seeds"])
    if value is not None and (row["seeds"] or 0) < most:
        text += f" ({row['seeds'] or 'some'} of {most} seeds)"
    if part["published"].null_count() == part.height:
        return text
    return f"{text} / {NONE if row['published'] is None else format(row['published'], f'.{digits}f')}"


def named(value: Any) -> str:
    """A value of a key as people read it.

    Examples
    --------
    >>> named("coat"), named(5), named("")
    ('Coat', '5', '–')
    """
    return NONE if value == "" or value is None else NAMES.get(str(value), str(value))


def claims_shown(table: pl.DataFrame, *, decided: bool) -> pl.DataFrame:
    """Tested claims as text; where nothing may be decided, the first column says so."""
    places = [name for name in table.columns if name not in _TESTED]
    rows = []
    for row in table.iter_rows(named=True):
        against = abs(row["against"])
        relative = f" ({row['difference'] / against:+.1%})" if against else ""
        rows.append({
            "holds": row["holds"] if decided else "quick",
            "claim": row["claim"] + ("" if row["claimed"] else " (ours)"),
            "where": ", ".join(named(row[name]) for name in (*places, "metric")),
            "contrast": f"{row['first'] or 'value'} against {row['second'] or format(row['against'], 'g')}",
            "difference": f"{row['difference']:+.4f}{relative}",
            "p": NONE if row["p"] is None else f"{row['p']:.1g}",
            "Holm": NONE if row["p_holm"] is None else f"{row['p_holm']:.1g}",
        })  # fmt: skip
    return pl.DataFrame(rows)


_TESTED = (
    "claim", "claimed", "metric", "first", "second", "value", "against", "difference", "low", "high", "p", "sign",
    "p_holm", "holds", "seeds",
)  # fmt: skip


def markdown(frame: pl.DataFrame) -> list[str]:
    """A table as lines of Markdown.

    Examples
    --------
    >>> markdown(pl.DataFrame({"model": ["a|b"], "ece": ["0.25"]}))
    ['| model | ece |', '|---|---|', '| a/b | 0.25 |']
    """
    rows = [" | ".join(str(value).replace("|", "/") for value in row) for row in frame.iter_rows()]
    return ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width, *(f"| {row} |" for row in rows)]


def page(study: Study, summary: pl.DataFrame, claims: pl.DataFrame, *, decided: bool, level: int = 2) -> Iterator[str]:
    """A study as lines of Markdown: title, note, tables, tested claims."""
    number = f" ({study.number.replace('-', ' ')})" if study.number else ""
    yield from (f"{'#' * level} {study.title}{number}", "")
    if study.note:
        yield from (study.note, "")
    for title, frame in blocks(study, summary) if summary.height else ():
        yield from ((f"**{title}**", "") if title else ())
        yield from (*markdown(frame), "")
    if claims.height:
        yield from ("**Contrasts**", "", *markdown(claims_shown(claims, decided=decided)), "")
