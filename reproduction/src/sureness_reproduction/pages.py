"""From studies to pages: run their cells, and show tables in the published layout, with our numbers beside."""

from __future__ import annotations

import itertools
import json
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from sureness import Progress, silent
from sureness.data import recipe_names
from sureness.errors import DataError
from sureness.saving import replacing
from sureness_reproduction.cells import CellStore, run_cells
from sureness_reproduction.results import CONTRAST, SUMMARY, Results, merged, read_csv, shown_rows
from sureness_reproduction.study import Asked, Study

NONE = "–"
_PACKAGE = files("sureness_reproduction")
NAMES = tomllib.loads(_PACKAGE.joinpath("names.toml").read_text(encoding="utf-8"))
PUBLISHED = json.loads(_PACKAGE.joinpath("published.json").read_text(encoding="utf-8"))
"""All tables of the dissertation: their titles, columns and rows, in the names this package uses.

Slips that the tables themselves give away are mended or left out: the MinMax rows of MCE and NLL, which repeat those of
ECE; N@50 of the CDAE BD-Teacher on CiteULike (0.0558, printed 0.0588); two parameter counts of chapter 4.
"""


def published(table: str) -> pl.DataFrame:
    """A table of the dissertation in long form: its keys, and `value`."""
    found = PUBLISHED[table]
    return pl.DataFrame(found["rows"], schema=found["columns"], orient="row", infer_schema_length=None)


def blocks(study: Study, summary: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The tables of a study as text by title, published ones first; `summary` as `Results` or a CSV file has it.

    There is one for each value of the keys that are neither rows nor columns.
    """
    if summary.is_empty():
        return []
    joined = with_published(study, shown_rows(study, summary))  # a file may hold more than is shown
    apart = [name for name in joined.columns if name not in (*study.rows, *study.columns, *SUMMARY, "published")]
    parts = list(joined.group_by(apart, maintain_order=True)) if apart else [((), joined)]
    parts.sort(key=lambda each: each[1]["published"].count() == 0)
    return [(", ".join(named(each) for each in key if each != ""), _laid_out(study, part)) for key, part in parts]


def with_published(study: Study, summary: pl.DataFrame) -> pl.DataFrame:
    """Our numbers with the published ones of the same keys; published ones that we lack follow."""
    if not study.published:
        return summary.with_columns(published=pl.lit(None, pl.Float64))
    theirs = shown_rows(study, published(study.published))
    for name in set(study.beside) & set(summary.columns):
        theirs = theirs.join(pl.DataFrame({name: study.beside[name]}), how="cross")
    theirs = theirs.rename({"value": "published"}).with_columns(pl.col("published").cast(pl.Float64))
    keys = [name for name in theirs.columns if name != "published" and name in summary.columns]
    for name in {"data", "model", *study.beside} & set(keys):  # published rows of what we did not run are left out
        theirs = theirs.filter(pl.col(name).is_in(summary[name].unique().to_list()))
    rest = [name for name in summary.columns if name not in (*keys, *SUMMARY)]
    how: Any = "full" if all(summary[name].n_unique() == 1 for name in rest) else "left"
    both = summary.join(theirs, on=keys, how=how, coalesce=True, maintain_order="left_right")
    return both.with_columns(pl.col(rest).fill_null(strategy="forward"))


def _laid_out(study: Study, part: pl.DataFrame) -> pl.DataFrame:
    """The rows and columns of a study, in the order in which they come."""
    lines, columns = dict[tuple[str, ...], dict[str, str]](), dict[str, str]()
    for row in part.iter_rows(named=True):
        key, column = (tuple(named(row[name]) for name in names) for names in (study.rows, study.columns))
        columns[" ".join(column)] = NONE
        lines.setdefault(key, {})[" ".join(column)] = _cell(study, row, part)
    return pl.DataFrame([dict(zip(study.rows, key, strict=True)) | columns | cells for key, cells in lines.items()])


def _cell(study: Study, row: dict[str, Any], part: pl.DataFrame) -> str:
    """Ours with its interval or deviation, the published number, and by how much ours differs from it."""
    digits, value, text = study.digits, row["value"], NONE
    if value is not None:
        text, most = f"{value:.{digits}f}", max(each or 0 for each in part["seeds"])
        if row["low"] is not None:
            text += f" [{row['low']:.{digits - 1}f}, {row['high']:.{digits - 1}f}]"
        elif row["deviation"] is not None:
            text += f" ± {row['deviation']:.{digits}f}"
        if (row["seeds"] or 0) < most:
            text += f" ({row['seeds'] or 'some'} of {most} seeds)"
    if part["published"].null_count() == part.height:
        return text
    theirs = row["published"]
    if theirs is None:
        return f"{text} / {NONE}"
    return f"{text} / {theirs:.{digits}f}" + ("" if value is None else f" ({value - theirs:+.{digits}f})")


def named(value: Any) -> str:
    """A value of a key as people read it."""
    return NONE if value == "" or value is None else NAMES.get(str(value), str(value))


def claims_shown(table: pl.DataFrame, decided: bool) -> pl.DataFrame:
    """Tested claims as text; where nothing may be decided, the first column says so."""
    places = [name for name in table.columns if name not in CONTRAST]
    rows = []
    for row in table.iter_rows(named=True):
        relative = f" ({row['difference'] / abs(row['against']):+.1%})" if row["against"] else ""
        rows.append({
            "holds": row["holds"] if decided else "quick",
            "claim": row["claim"] + ("" if row["claimed"] else " (ours)"),
            "where": ", ".join(named(row[name]) for name in (*places, "metric") if row[name] is not None),
            "contrast": f"{row['first'] or 'value'} against {row['second'] or format(row['against'], 'g')}",
            "difference": f"{row['difference']:+.4f}{relative}",
            **{name: NONE if row[key] is None else f"{row[key]:.1g}" for name, key in (("p", "p"), ("Holm", "p_holm"))},
        })  # fmt: skip
    return pl.DataFrame(rows)


def markdown(frame: pl.DataFrame) -> list[str]:
    """A table as lines of Markdown.

    Examples
    --------
    >>> markdown(pl.DataFrame({"model": ["a|b"], "ece": ["0.25"]}))
    ['| model | ece |', '|---|---|', '| a/b | 0.25 |']
    """
    rows = [" | ".join(str(value).replace("|", "/") for value in row) for row in frame.iter_rows()]
    return ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width, *(f"| {row} |" for row in rows)]


def lines_of(study: Study, summary: pl.DataFrame, claims: pl.DataFrame, decided: bool, level: int = 1) -> Iterator[str]:
    """A study as lines of Markdown: title, note, tables, tested claims."""
    number = f" ({study.number.replace('-', ' ')})" if study.number else ""
    yield from (f"{'#' * level} {study.title}{number}", "", *([study.note, ""] if study.note else []))
    for title, frame in blocks(study, summary):
        yield from (*([f"**{title}**", ""] if title else []), *markdown(frame), "")
    if claims.height:
        yield from ("**Contrasts**", "", *markdown(claims_shown(claims, decided)), "")


def command_of(results: Results) -> str:
    """What shows a study again, and computes what is missing."""
    asked = results.asked
    words = [f"sureness reproduce {results.study.name} --{asked.scale}"]
    words += [] if asked.seeds is None else [f"--seeds {asked.seeds}"]
    return " ".join(
        words + [f"--{name} {each}" for name in ("data", "model", "method") for each in getattr(asked, name)]
    )


def lacking(results: Results) -> list[str]:
    """What is not there, in sentences."""
    told, wanted, missing = [], len(results.points), len(results.points) - len(results.finished)
    if missing:
        told.append(f"{missing} of {wanted} cells are missing; `{command_of(results)}` computes them.")
    if results.absent:
        told.append(f"Not in the data folder: {', '.join(results.absent)}.{how_to_get(results.absent)}")
    return told


def how_to_get(absent: Sequence[str]) -> str:
    """The commands that get data sets, as a sentence after another."""
    commands = [f"`sureness data fetch {name}`" for name in dict.fromkeys(absent) if name in recipe_names()]
    return f" Get it: {', '.join(commands)}" if commands else ""


def not_run(study: Study, summary: pl.DataFrame) -> list[str]:
    """What a summary lacks of the declared grid at full scale, as a sentence with the command that computes it."""
    keys = [name for name in ("data", "start", "model") if name in study.grid and name in summary.columns]
    there = set(summary.select(keys).iter_rows())
    wanted = dict.fromkeys(tuple(point[name] for name in keys) for point, _ in study.points(Asked("full")))
    missing = [place for place in wanted if place not in there]
    if not missing:
        return []
    models = {data: [" ".join(map(named, rest)) for each, *rest in missing if each == data and rest]
              for data, *_ in missing}  # fmt: skip
    names = "; ".join(named(data) + (f" ({', '.join(some)})" if some else "") for data, some in models.items())
    options = [f"--{name} {value}" for number, name in enumerate(keys) if name != "start"
               for value in dict.fromkeys(place[number] for place in missing)]  # fmt: skip
    return [f"Not run: {names}. `sureness reproduce {study.name} --full {' '.join(options)}`", ""]


def write_page(results: Results, folder: Path) -> None:
    """A study as Markdown, its numbers and contrasts as CSV, its figure as PNG."""
    study, summary, contrasts = results.study, results.summary, results.contrasts
    name = stem_of(results, folder)
    lines = [*lines_of(study, summary, contrasts, decided=results.asked.scale == "full")]
    lines += [f"![{study.title}]({name}.png)", ""] if study.draw else []
    _write(folder / f"{name}.md", "\n".join([*lines, f"`{command_of(results)}`", *lacking(results), ""]))
    _write(folder / f"{name}.csv", summary.write_csv())
    if contrasts.height:
        _write(folder / f"{name}.claims.csv", contrasts.write_csv())
    if study.draw is not None and results.finished:
        save_drawing(study.draw(results), folder / f"{name}.png")


def save_drawing(drawn: Any, path: Path) -> None:
    """Write what a study has drawn, which may be a figure or its axes."""
    from sureness.report import save_figure

    save_figure(getattr(drawn, "figure", None) or drawn, path)


def stem_of(results: Results, folder: Path) -> str:
    """The name of the files of a study: numbered where another command has written its page into the folder."""
    name, command = results.study.name, f"`{command_of(results)}`"
    for stem in itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2))):
        page = folder / f"{stem}.md"
        if not page.exists() or command in page.read_text(encoding="utf-8").splitlines():
            return stem
    raise AssertionError


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def merge_results(results: Results, folder: Path, kept: Path) -> None:
    """Let what a run wrote into a folder take its place among the results that another folder keeps."""
    name, written = results.study.name, stem_of(results, folder)
    for table, ending in ((results.summary, "csv"), (results.contrasts, "claims.csv")):
        if table.height:
            file = kept / f"{name}.{ending}"
            old = read_csv(file) if file.exists() else pl.DataFrame()
            _write(file, merged(old, read_csv(folder / f"{written}.{ending}")).write_csv())
    of_means = getattr(results.study.draw, "of", None)
    if of_means is not None:  # all that are kept, not those of this run alone
        save_drawing(of_means(results.study, read_csv(kept / f"{name}.csv")), kept / f"{name}.png")
    elif results.study.draw is not None and results.finished:
        with replacing(kept / f"{name}.png") as temporary:
            shutil.copyfile(folder / f"{written}.png", temporary)


def run_studies(
    studies: Sequence[Study], asked: Asked, store: CellStore, folder: Path, jobs: int = 1, progress: Progress = silent
) -> list[Results]:
    """Compute what is missing of some studies in the store, and write their pages into the folder.

    What is finished is written also after a failure or an interruption.
    """
    every = [Results(study, asked, store) for study in studies]
    there = [results for results in every if results.points]
    if not there:
        absent = ", ".join(dict.fromkeys(name for results in every for name in results.absent)) or "the data asked for"
        how = how_to_get([name for results in every for name in results.absent])
        raise DataError(
            f"nothing can be run: {absent} not found; set SURENESS_DATA to the folder of the data sets.{how}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run_cells([cell for results in there for _, cell in results.points], store, jobs, progress)
    finally:
        for number, results in enumerate(there):
            progress(f"writing {results.study.name}", number, len(there))
            write_page(results, folder)
    return there
