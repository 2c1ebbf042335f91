"""sureness fit: scores and labels become a calibrator."""

from __future__ import annotations

import shlex
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sureness._settings import written
from sureness.cli._console import present, print_table, say, say_command, shown_progress
from sureness.cli._options import Gathered, Json, Spread, columns, spread
from sureness.jobs.fitting import PER_USER, FitOptions, FitResult, fit
from sureness.jobs.inputs import is_saved
from sureness.tables.columns import Columns, TextFormat
from sureness.tables.frames import Place, place_of
from sureness.tables.reading import column_names

_COLUMNS = columns("score", "label", "user_id", "item_id", "domain", "weight", "propensity", "segment")


def _rate(text: str | float) -> float | None:
    return None if text == "unknown" else float(text)


_OTHERS = Gathered(
    ("risk", "scores_are", "estimand", "by", "relative_propensity", "popularity_propensity"),
    "Less common settings, such as risk=naive: {all}.",
)
_OPTIONS = Spread(
    named={"segments": "--field", "numeric_segments": "--numeric-field"}, parsers={"sampling_rate": _rate},
    gathered={"--set": _OTHERS},
)  # fmt: skip


@spread
def fit_calibrator(
    *,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table with score and label: files, a folder or a pattern; without labels, beside --held-out; or a "
            "saved run."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the calibrator goes.", show_default="calibrator.json"),
    ] = None,
    options: Annotated[FitOptions, _OPTIONS],
    used: Annotated[Columns, _COLUMNS],
    json: Json = False,
) -> None:
    """Learn calibrated probabilities from scores and labels.

    The table is read in batches, so it may be larger than memory. Up to a million pairs the fit is also judged on
    users it was not fitted on. With --columns segment=NAME, each value of that column gets a map of its
    own; with --field, given once for each field, segments may overlap.

    A table of each user's best items (user_id, item_id, score) needs no labels: with --held-out clicks.parquet, a pair
    is labelled 1 if it was clicked later.

    --group query_id, or --method lists, fits the map for lists, which compares the candidates of a user, a query or a
    session. It takes a run, or a table with the group and, if known, history (the number of the user's items in the
    training data). --field and --numeric-field name traits of users and items then.
    """
    with shown_progress(json) as progress:
        target = output or Path("calibrator.sureness" if options.method in PER_USER else "calibrator.json")
        result = fit(place_of(data), options, columns=used, output=target, progress=progress)
    present(result, json, partial(_show, used=used))


def _show(result: FitResult, used: Columns) -> None:
    rows: list[tuple[str, object]] = [
        ("calibrator", written(result.calibrator)),
        ("probability of", f"{result.calibrator.estimand_}: {result.calibrator.meaning}"),
        ("horizon", str(result.calibrator.horizon_)),
        ("pairs", result.n_pairs),
    ]
    if result.n_groups is not None:
        rows += [("groups fitted on", result.n_groups), ("positives among their best", result.n_positive)]
    if result.score_range is not None:
        rows.append(("scores", "{:.4g} to {:.4g}".format(*result.score_range)))
    rows += [(f"parameter {name}", value) for name, value in (result.parameters or {}).items()]
    for name, (level, stretch) in (result.widths or {}).items():
        rows.append((f"differences by {name}", f"{level:.2f} in level, {stretch:.2f} in log(stretch)"))
    rows += [(f"{name.upper()} out of fold", str(found)) for name, found in (result.out_of_fold or {}).items()]
    if result.chosen_because is not None:
        rows.append(("chosen because", result.chosen_because))
    print_table("Fitted", ["what", "value"], rows)
    if result.out_of_fold is None:
        say("its error is not measured here")
    say(f"wrote {result.output}; next:")
    map_, data = shlex.quote(str(result.output)), shlex.quote(str(result.data))
    if isinstance(result.data, Path) and is_saved(result.data):
        say_command(f"list-size {data} --calibrator {map_} -o lists.parquet", "in the period after that of the labels")
    else:
        say_command(f"apply {map_} {data}{_as_read(result.data, used)} -o probabilities.parquet")


def _as_read(data: Place, used: Columns) -> str:
    """The options with which `apply` reads the table of a fit, and names its new column."""
    names = {ours: theirs for ours, theirs in used.renamed().items() if ours in ("user_id", "score", "segment")}
    if used.probability in column_names(data, used):
        names["probability"] = "calibrated"
    text = {each.name: getattr(used, each.name) for each in fields(TextFormat)}
    written_as = {each.name: text[each.name] for each in fields(TextFormat) if text[each.name] != each.default}
    group = "" if used.group is None else f" --group {shlex.quote(names.pop('user_id', used.group))}"
    given = {"--columns": names, "--format": written_as}
    return group + "".join(
        f" {option} {shlex.quote(','.join(f'{name}={value}' for name, value in values.items()))}"
        for option, values in given.items()
        if values
    )
