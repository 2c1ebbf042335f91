"""Judge saved calibrators on labelled pairs and write a page about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import pairs_of_table
from sureness.errors import ColumnError
from sureness.jobs.inputs import read_columns, with_own_scores
from sureness.jobs.outputs import check_outputs
from sureness.numerics.checks import check_whole
from sureness.report.contents import Additions, Background
from sureness.report.page import ReportSummary, require_report, write_report
from sureness.report.tables import fields_of
from sureness.saving.files import shown_name
from sureness.saving.objects import load
from sureness.tables.columns import Columns
from sureness.tables.frames import Place, Table, place_of
from sureness.tables.reading import count_rows, readable, recognised, require_columns, scan_table

_NAMES = ("score", "label", "user_id", "item_id", "weight", "segment")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """What the page shows besides the calibrators."""

    figures: Annotated[Path | None, "Folder for the figures as PNG and SVG."] = None
    items: Annotated[Table | None, "Table with item_id and title."] = None
    seen: Annotated[Table | None, "Log of what was seen before, to count each user's interactions."] = None
    group_column: Annotated[tuple[str, ...], "Column that splits the pairs into groups; may repeat."] = ()
    title: Annotated[str | None, "Title of the page."] = None
    outcome: Annotated[str | None, "What a label of 1 is called, such as bought; by default liked or chosen."] = None
    most_rows: Annotated[int, "Judge on a sample of the users if the table has more rows than this."] = 2_000_000


def report(
    table: Table,
    calibrators: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    options: ReportOptions | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> ReportSummary:
    """Judge calibrators on labelled pairs and write one self-contained HTML page.

    Parameters
    ----------
    table : table of any kind, or path
        Pairs with score and label that no calibrator was fitted on.
    calibrators : sequence of paths
        Saved maps: for lists, for all pairs, per segment (name the segment column), per user, or of several fields.
        Fields, history and traits are read from the columns of their names. The first map is the main one.
    output : path
    options : ReportOptions, optional
    columns : Columns, optional
    progress : Progress
    """
    require_report()
    options, columns, target = options or ReportOptions(), columns or Columns(), Path(output)
    read = [table, *calibrators, options.items, options.seen]
    check_outputs([(target, "page"), (options.figures, "figures")], read)
    fitted = _load_all([Path(path) for path in calibrators])
    segmented = [] if columns.segment is None else ["segment"]
    grouping = ["segment" if segmented and name == columns.segment else name for name in options.group_column]
    fields = list(dict.fromkeys(name for each in fitted.values() for name in fields_of(each)))
    extra = [*segmented, *fields, *grouping]
    place = place_of(table)
    judged = with_own_scores(fitted.values(), place, columns)
    rows, notes = _judged_rows(place, judged, options.most_rows, extra)
    pairs = pairs_of_table(rows)
    titles = _optional(options.items, columns, ["item_id", "title"])
    log = _optional(options.seen, columns, ["user_id"])
    return write_report(
        target, pairs, fitted,
        background=Background(
            items=titles,
            user_degree=None if log is None else log.group_by("user_id").agg(degree=pl.len()),
            groups=_groups(rows, grouping),
            segments=rows["segment"].to_numpy() if segmented else None,
            fields=rows.select(fields) if fields else None,
        ),
        additions=Additions(title=options.title, outcome=options.outcome, notes=notes),
        figures_dir=options.figures, progress=progress,
    )  # fmt: skip


def _groups(rows: pl.DataFrame, names: list[str]) -> Any:
    """One column as it is, or a table of several; None: no groups."""
    if not names:
        return None
    return rows[names[0]].to_numpy() if len(names) == 1 else rows.select(names)


def _load_all(paths: list[Path]) -> dict[str, ProbabilityMap]:
    fitted: dict[str, ProbabilityMap] = {}
    for path in paths:
        name = shown_name(path.stem)
        name = shown_name(path) if name in fitted else name
        fitted[name] = load(path, ProbabilityMap)
    return fitted


def _judged_rows(table: Place, columns: Columns, most_rows: int, extra: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """The rows to judge on: all, or those of a sample of the users when there are too many to hold."""
    columns = recognised(table, columns, "user_id", "item_id", "score", but=extra)
    frame = scan_table(table, columns.only(*_NAMES), segment=columns.segment)
    wanted = ["score", "label", *extra]
    require_columns(frame, wanted, table)
    names = frame.collect_schema().names()
    frame = frame.select(list(dict.fromkeys(n for n in [*wanted, "user_id", "item_id", "weight"] if n in names)))
    n_rows = count_rows(frame, table)
    notes: list[str] = []
    check_whole(most_rows, "most_rows", 1)
    if n_rows > most_rows:
        if "user_id" not in names:
            raise ColumnError(
                f"{table} has {counted(n_rows, 'row')} and no user_id to sample by; raise most_rows or add users"
            )
        with readable(table):
            users = frame.select(pl.col("user_id").unique()).collect(engine="streaming")
        drawn = users.sort(pl.col("user_id").hash(seed=0), "user_id").head(max(1, users.height * most_rows // n_rows))
        frame = frame.join(drawn.lazy(), on="user_id", how="semi", maintain_order="left")
        notes.append(
            f"Judged on {drawn.height:,} of {counted(users.height, 'user')}, because there are "
            f"{counted(n_rows, 'row')}."
        )
    with readable(table):
        return frame.collect(engine="streaming"), notes


def _optional(table: Table | None, columns: Columns, needed: list[str]) -> pl.DataFrame | None:
    return None if table is None else read_columns(table, columns, needed)
