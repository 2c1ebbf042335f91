"""sureness list-size: probabilities become lists that are as long as they are useful."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from sureness._wording import counted
from sureness.cli._console import present, print_table, say, show_promise, shown_progress
from sureness.cli._options import Gathered, Json, Spread, columns, spread
from sureness.errors import SettingError
from sureness.jobs.cutting import CutResult, PageOptions, cut_run, cut_table
from sureness.jobs.inputs import is_nothing, is_saved, not_usual
from sureness.jobs.listing import CalibrationOptions, ListOptions, PolicyName
from sureness.lists.comparing import PolicyComparison
from sureness.recommender.expecting import Target
from sureness.report.formatting import chance, page_name, percent
from sureness.tables.columns import Columns
from sureness.tables.frames import place_of


def _relevant(text: str) -> float | Target:
    if text in get_args(Target):
        return cast(Target, text)
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor one of {', '.join(get_args(Target))}") from None


_POLICY = Gathered(
    ("policy", "size", "min_size"),
    f"What decides, such as fixed,size=10: one of {', '.join(get_args(PolicyName))}, then {{all}}.",
    first="policy",
)
_PAGE = Gathered(
    ("report", "figures", "items"),
    "Page about the lists of a run, such as page.html,items=titles.csv: its name, then {all}.",
    first="report",
)


@spread
def list_size(
    *,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Table with user_id, item_id, probability: files, a folder or a pattern; or a run of `sureness "
            "train`, or what --save wrote."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the lists go: .parquet, .csv or .tsv.")],
    options: Annotated[ListOptions, Spread(parsers={"expected_relevant": _relevant}, gathered={"--policy": _POLICY})],
    sizes_only: Annotated[
        bool, typer.Option("--sizes-only", help="Write one row per user instead of the lists.")
    ] = False,
    calibration: Annotated[CalibrationOptions, Spread(panel="Runs")],
    page: Annotated[PageOptions, Spread(panel="Runs", gathered={"--report": _PAGE})],
    used: Annotated[Columns, columns("probability", "user_id", "item_id", "domain", "title")],
    json: Json = False,
) -> None:
    """Show each user as many items as are worth showing.

    A table keeps its best rows, with rank, list_size, expected_utility and expected_hits. If its rows are sorted by
    user, it may be larger than memory. With --threshold 0.05, every item that is at least that likely is kept. The
    scores of a run are calibrated first, and with a test the lists are compared with lists of fixed and other sizes.
    """
    place = place_of(data)
    with shown_progress(json) as progress:
        if isinstance(place, Path) and is_saved(place):
            result = cut_run(
                place, output, options, calibration, page, sizes_only=sizes_only, columns=used, progress=progress
            )
        else:
            of_run = replace(calibration, seen=())
            if given := [*not_usual(of_run, CalibrationOptions()), *not_usual(page, PageOptions())]:
                raise SettingError(f"{given[0]}=... belongs to a run of `sureness train`, got the table {place}")
            seen = () if is_nothing(calibration.seen) else calibration.seen
            result = cut_table(
                place, output, options, seen=seen, sizes_only=sizes_only, columns=used, progress=progress
            )
    present(result, json, _show)


def _show(result: CutResult) -> None:
    sizes = result.list_size
    of_run = {"calibrator": result.calibrator, "policy": result.policy, "chosen because": result.chosen_because}
    rows: list[tuple[str, object]] = [
        *((name, value) for name, value in of_run.items() if value is not None),
        ("users", result.n_users),
        ("items in a list", f"{sizes['mean']:.1f} on average, {sizes['smallest']:.0f} to {sizes['largest']:.0f}"),
        ("items in all lists", result.n_rows),
        *([] if result.left_out is None else [("rows left out, seen before", result.left_out)]),
        ("expected hits, if all are there" if _given(result) else "expected hits", _hits(result)),
        *([] if result.expected_utility is None else [(f"expected {result.utility}", result.expected_utility)]),
        ("users we are unsure about", result.unsure),
        ("users without a list", result.without_list),
    ]
    print_table("Lists", ["what", "value"], rows)
    if result.comparison is not None:
        _show_comparison(result.comparison)
    if result.promise is not None:
        show_promise(result.promise)
    if result.headline is not None:
        say(result.headline)
    if result.meaning_of_map is not None:
        say(
            f"a probability in these lists is that of an item {result.meaning}; `sureness apply` gives other numbers, "
            f"those of an item {result.meaning_of_map}"
        )
    how = {
        None: "",
        True: " (read in batches: the rows are sorted by user)",
        False: " (read into memory: the rows are not sorted by user)",
    }
    say(f"wrote {result.output}{how[result.in_batches]}")
    say(*(f"wrote {path}" for path in (result.saved, result.report) if path is not None))


def _given(result: CutResult) -> bool:
    """Whether the probabilities are those of users who are there."""
    return result.meaning is not None and result.meaning.endswith("if the user is there")


def _hits(result: CutResult) -> str:
    """How many of the items in all lists are expected to be relevant, and which share that is."""
    share = f", {percent(result.expected_hits / result.n_rows)} of them" if result.n_rows else ""
    return f"{result.expected_hits:,.1f}{share}"


def _show_comparison(compared: PolicyComparison) -> None:
    """All policies, the best first, with paired differences."""
    rows = [
        (page_name(name), value, f"{size:.1f}", f"{difference:+.4f}", chance(p_value))
        for name, value, size, difference, p_value in compared.table.sort(compared.utility, descending=True).rows()
    ]
    header = ["policy", compared.utility, "mean size", "difference", "p"]
    caption = (
        f"Means over {counted(len(compared.users), 'user')} with a relevant item in the test; difference to "
        f"{page_name(compared.reference or '')}, and p of a paired t-test over users. The best in hindsight knows the "
        "answers."
    )
    print_table("What list sizes are worth", header, rows, caption)
