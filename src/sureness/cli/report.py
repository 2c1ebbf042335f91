"""sureness report: labelled pairs and calibrators become a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.progress import Progress

from sureness.calibration.base import Calibrator
from sureness.calibration.saving import load
from sureness.cli._columns import ItemColumn, Json, LabelColumn, ScoreColumn, UserColumn, WeightColumn, renamed
from sureness.cli._console import out, print_json, progress_bar, steps_of
from sureness.data.tables import count_rows, pairs_of_table, readable, require_columns, scan_table
from sureness.errors import DataError
from sureness.report import ListSizes, gather_list_sizes, write_report

_MOST_ROWS = 2_000_000


def report(
    table: Annotated[Path, typer.Argument(help="Table with score and label to judge on: .parquet, .csv or .tsv.")],
    calibrators: Annotated[list[Path], typer.Argument(help="Calibrators written by `sureness fit`; the first leads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures as PNG and SVG.")] = None,
    items: Annotated[Path | None, typer.Option(help="Table with item_id and title.")] = None,
    train: Annotated[Path | None, typer.Option(help="Training log, to count each user's interactions.")] = None,
    candidates: Annotated[Path | None, typer.Option(help="Table with user_id, item_id, score for top lists.")] = None,
    lists: Annotated[
        Path | None, typer.Option(help="Folder of `sureness train` or of a saved recommender: adds its list sizes.")
    ] = None,
    utility: Annotated[str | None, typer.Option(help="What a list is worth, for --lists.", show_default="f1")] = None,
    group_column: Annotated[str | None, typer.Option(help="Column that splits the pairs into groups.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    most_rows: Annotated[int, typer.Option(help="Judge on a sample of the users beyond so many rows.")] = _MOST_ROWS,
    score_column: ScoreColumn = "score",
    label_column: LabelColumn = "label",
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    weight_column: WeightColumn = "weight",
    json: Json = False,
) -> None:
    """Judge calibrators on labelled pairs and write one self-contained HTML page."""
    columns = renamed(
        score=score_column, label=label_column, user_id=user_column, item_id=item_column, weight=weight_column
    )
    fitted = _load_all(calibrators)
    rows, notes = _judged_rows(table, columns, most_rows, group_column)
    pairs = pairs_of_table(rows)
    ids = {ours: theirs for ours, theirs in columns.items() if ours in ("user_id", "item_id")}
    titles = _optional(items, ids, ["item_id", "title"])
    if utility is not None and lists is None:
        raise DataError("--utility says what a list is worth, so it needs --lists; give a folder, or leave it out")
    with progress_bar(json) as bar:
        summary = write_report(
            output, pairs, fitted,
            items=titles,
            user_degree=_degrees(_optional(train, ids, ["user_id"])),
            groups=None if group_column is None else rows[group_column].to_numpy(),
            candidates=_optional(candidates, columns, ["user_id", "item_id", "score"]),
            list_sizes=None if lists is None else _list_sizes(lists, utility, titles, bar),
            figures_dir=figures, title=title, notes=notes, progress=steps_of(bar),
        )  # fmt: skip
    if json:
        print_json({"output": str(output), "pairs": len(pairs), "headline": summary.headline, "main": summary.main,
                    "ece": summary.ece, "figures": [str(path) for path in summary.figures]})  # fmt: skip
        return
    out.print(summary.headline, markup=False, soft_wrap=True)
    out.print(f"ECE of {summary.main}: {summary.ece[summary.main]:.4f}\nwrote {output}", markup=False)


def _list_sizes(folder: Path, utility: str | None, titles: pl.DataFrame | None, bar: Progress) -> ListSizes:
    from sureness.cli._listing import Wanted, compare_listing, open_lists  # slow to import, and seldom needed

    listing = open_lists(folder, Wanted(utility=utility), {}, {}, steps_of(bar))
    compared = compare_listing(listing)
    test = None if listing.run is None or compared is None else listing.run.test
    return gather_list_sizes(listing.recommender, test=test, compared=compared, items=titles)


def _load_all(paths: list[Path]) -> dict[str, Calibrator]:
    fitted: dict[str, Calibrator] = {}
    for path in paths:
        name = path.stem if path.stem not in fitted else str(path)
        fitted[name] = load(path)
    return fitted


def _judged_rows(
    table: Path, columns: dict[str, str], most_rows: int, group_column: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """The rows to judge on: all, or those of a sample of the users when there are too many to hold."""
    frame = scan_table(table, columns)
    wanted = ["score", "label", *([group_column] if group_column else [])]
    require_columns(frame, wanted, table)
    names = frame.collect_schema().names()
    frame = frame.select(list(dict.fromkeys(n for n in [*wanted, "user_id", "item_id", "weight"] if n in names)))
    n_rows = count_rows(frame, table)
    notes: list[str] = []
    if n_rows > most_rows:
        if "user_id" not in names:
            raise DataError(f"{table} has {n_rows:,} rows and no user_id to sample by; raise --most-rows or add users")
        every = -(-n_rows // most_rows)
        frame = frame.filter(pl.col("user_id").hash(seed=0) % every == 0)
        notes.append(f"Judged on one in {every} users of {n_rows:,} rows.")
    with readable(table):
        return frame.collect(engine="streaming"), notes


def _optional(path: Path | None, columns: dict[str, str], needed: list[str]) -> pl.DataFrame | None:
    if path is None:
        return None
    names = scan_table(path).collect_schema().names()
    frame = scan_table(path, {ours: theirs for ours, theirs in columns.items() if theirs in names})
    require_columns(frame, needed, path)
    with readable(path):
        return frame.collect(engine="streaming")


def _degrees(log: pl.DataFrame | None) -> Any:
    return None if log is None else log.group_by("user_id").agg(degree=pl.len())


COMMAND = report
