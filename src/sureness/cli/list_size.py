"""sureness list-size: probabilities become lists that are no longer than they are good."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.progress import Progress

from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn, renamed
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.cli._cutting import Tally, decide_block
from sureness.cli._listing import (
    CALIBRATIONS,
    Listing,
    Wanted,
    compare_listing,
    number,
    open_lists,
    print_comparison,
)
from sureness.cli._probability_tables import blocks_of_users, check_table_name, looks_cut, survey, write_blocks
from sureness.data.tables import readable, require_columns, scan_table, write_table
from sureness.errors import DataError, SurenessWarning
from sureness.list_size.comparing import PolicyComparison
from sureness.metrics.utility import named_utility


def list_size(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the lists go: .parquet, .csv or .tsv.")],
    table: Annotated[
        Path | None, typer.Argument(help="Table with user_id, item_id, probability: .parquet, .csv or .tsv.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="In place of a table: folder of `sureness train`, or one that --save wrote.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="What a list is worth: ndcg, pdcg, f1, tp or dcg.", show_default="f1")
    ] = None,
    min_size: Annotated[
        int | None, typer.Option(help="Fewest items; with 0, a user may see none.", show_default="1")
    ] = None,
    max_size: Annotated[int | None, typer.Option(help="Most items.", show_default="50")] = None,
    expected_relevant: Annotated[
        str | None,
        typer.Option(help="Relevant items of a user, beyond the table too; for a model also carried or fitted."),
    ] = None,
    calibrator: Annotated[
        Path | None, typer.Option(help="Fitted calibrator: a file of `sureness fit`, or a folder of maps of users.",
                                  rich_help_panel="Model")
    ] = None,
    calibrate: Annotated[
        str | None, typer.Option(help=f"Calibrator to fit: {', '.join(CALIBRATIONS)}.", show_default="per-user-platt",
                                 rich_help_panel="Model")
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="Log to calibrate on, in place of the validation part.", rich_help_panel="Model")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Log the model learned from, in place of the run's.", rich_help_panel="Model")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Log to judge the lists by, in place of the run's.", rich_help_panel="Model")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Folder for the fitted recommender, for later lists.", rich_help_panel="Model")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Page about the lists (.html).", rich_help_panel="Model")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the page's figures as PNG and SVG.", rich_help_panel="Model")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="Table with item_id and title, for the page.", rich_help_panel="Model")
    ] = None,
    sizes_only: Annotated[
        bool, typer.Option("--sizes-only", help="Write one row a user instead of the lists.")
    ] = False,
    probability_column: Annotated[
        str, typer.Option(help="Column with the probabilities.", rich_help_panel="Columns")
    ] = "probability",
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    domain_column: DomainColumn = "domain",
    json: Json = False,
) -> None:  # fmt: skip
    """Show each user as many items as are worth showing.

    A table keeps its best rows, with rank, list_size and expected_utility. If its rows are sorted by user, it may be
    larger than memory. A model's probabilities are calibrated first, and with a test the lists are compared with
    lists of fixed and other sizes.
    """
    if (table is None) == (model is None):
        raise DataError("give either a table of probabilities, or with --model the folder of `sureness train`")
    wanted = Wanted(utility=utility, min_size=min_size, max_size=max_size, expected_relevant=expected_relevant,
                    calibrator=calibrator, calibrate=calibrate)  # fmt: skip
    named_utility(utility or "f1")
    check_table_name(output)
    folder = model if model is not None else table if table is not None and table.is_dir() else None
    compared = None
    with progress_bar(json) as bar:
        if folder is None:
            assert table is not None
            of_model = {"calibrator": calibrator, "calibrate": calibrate, "held-out": held_out, "train": train,
                        "test": test, "save": save, "report": report, "figures": figures, "items": items}  # fmt: skip
            _refuse(of_model)
            columns = renamed(user_id=user_column, item_id=item_column, probability=probability_column)
            result = _cut_table(table, columns, wanted, output, sizes_only, bar)
        else:
            columns = renamed(user_id=user_column, item_id=item_column, domain=domain_column)
            logs = {"train": train, "validation": held_out, "test": test}
            listing = open_lists(folder, wanted, logs, columns, steps_of(bar))
            compared = compare_listing(listing)
            if save is not None:
                listing.recommender.save(save)
            result = _cut_model(listing, output, sizes_only, bar)
            if report is not None:
                result["headline"] = _write_page(report, figures, items, columns, listing, compared, bar)
    result = {"input": str(folder or table), "output": str(output)} | result
    if compared is not None:
        result["comparison"] = compared.table.to_dicts()
    print_json(result | {"report": None if report is None else str(report)}) if json else _print(result, compared)


def _refuse(of_model: dict[str, Any]) -> None:
    said = [name for name, value in of_model.items() if value is not None]
    if said:
        raise DataError(f"--{said[0]} belongs to a model, got a table of probabilities; give a folder with --model")


def _cut_table(
    path: Path, columns: dict[str, str], wanted: Wanted, output: Path, sizes_only: bool, bar: Progress
) -> dict[str, Any]:
    policy, tally = wanted.policy(), Tally()
    total = None if wanted.expected_relevant is None else number(wanted.expected_relevant, "a number for a table")
    if output.resolve() == path.resolve():
        raise DataError(f"the output must be another file than the input {path}")
    frame = scan_table(path, columns, numbers=("probability", "expected_relevant"))
    require_columns(frame, ["user_id", "item_id", "probability"], path)
    found = survey(frame, path)
    normalised = named_utility(policy.utility).normaliser != "none"
    known = total is not None or "expected_relevant" in frame.collect_schema().names()
    if normalised and not known and looks_cut(frame, found, path):
        warnings.warn(
            f"{path} looks like the best {found.longest:,} items of each user; how many relevant items lie behind them "
            f"is not known, so lists for {policy.utility} may be too short. Say it with --expected-relevant or a "
            "column expected_relevant",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
    task = bar.add_task("cutting lists", total=found.n_rows)

    def blocks() -> Iterator[pl.DataFrame]:
        for block in blocks_of_users(frame, path, by_user=found.by_user):
            try:
                cut = decide_block(block, policy, total, tally, sizes_only=sizes_only)
            except DataError as error:
                raise DataError(f"{path}: {error}") from error
            bar.advance(task, block.height)
            yield cut.rename({ours: theirs for ours, theirs in columns.items() if ours in cut.columns})

    write_blocks(blocks(), output)
    if tally.unsorted:
        warnings.warn(
            f"the rows of {tally.unsorted:,} users were not in the order of their probabilities; they were sorted",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
    return {"utility": policy.utility, "read": "in batches" if found.by_user else "into memory"} | tally.summary()


def _cut_model(listing: Listing, output: Path, sizes_only: bool, bar: Progress) -> dict[str, Any]:
    recommender, tally = listing.recommender, Tally()
    n_users = recommender.source.n_users
    task = bar.add_task("making lists", total=n_users)

    def blocks() -> Iterator[pl.DataFrame]:
        for part, n_block in recommender.tables(np.arange(n_users)):
            first = part.filter(rank=1)
            sizes = np.pad(first["list_size"].to_numpy(), (0, n_block - first.height))  # the others see nothing
            tally.add(sizes, first["expected_utility"].fill_null(0.0).to_numpy(), first["unsure"].to_numpy())
            bar.advance(task, n_block)
            yield part

    if sizes_only:
        every = recommender.sizes()
        tally.add(*(every[name].fill_null(0).to_numpy() for name in ("list_size", "expected_utility", "unsure")))
        write_table(every, output)
    else:
        write_blocks(blocks(), output)
    about = {"calibrator": repr(recommender.calibrator), "policy": repr(recommender.policy_)}
    about |= {} if listing.chosen_because is None else {"chosen_because": listing.chosen_because}
    return {"utility": named_utility(getattr(recommender.policy_, "utility", "f1")).name} | about | tally.summary()


def _write_page(
    page: Path, figures: Path | None, items: Path | None, columns: dict[str, str], listing: Listing,
    compared: PolicyComparison | None, bar: Progress,
) -> str:  # fmt: skip
    from sureness.report import gather_list_sizes, write_list_size_report

    titles = None
    if items is not None:
        frame = scan_table(items, {ours: theirs for ours, theirs in columns.items() if ours == "item_id"})
        require_columns(frame, ["item_id", "title"], items)
        with readable(items):
            titles = frame.collect()
    test = listing.run.test if listing.run is not None and compared is not None else None
    found = gather_list_sizes(listing.recommender, test=test, compared=compared, items=titles)
    return write_list_size_report(page, found, figures_dir=figures, progress=steps_of(bar)).headline


def _print(result: dict[str, Any], compared: PolicyComparison | None) -> None:
    sizes = result["list_size"]
    rows: list[tuple[str, object]] = [
        *((name, result[name]) for name in ("calibrator", "policy", "chosen_because") if name in result),
        ("users", result["users"]),
        ("items in a list", f"{sizes['mean']:.1f} on average, {sizes['smallest']:.0f} to {sizes['largest']:.0f}"),
        (f"expected {result['utility']}", result["expected_utility"]),
        ("unsure users, better asked", result["unsure"]),
        ("users without a list", result["without_list"]),
    ]
    print_table("Lists", ["what", "value"], [(name.replace("_", " "), value) for name, value in rows])
    if compared is not None:
        print_comparison(compared)
    if "headline" in result:
        out.print(result["headline"], markup=False, soft_wrap=True)
    how = ""
    if "read" in result:
        sorted_rows = result["read"] == "in batches"
        how = f" (read {result['read']}: the rows are {'' if sorted_rows else 'not '}sorted by user)"
    out.print(f"wrote {result['output']}{how}", markup=False, soft_wrap=True)


COMMAND = list_size
