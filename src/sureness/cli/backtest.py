"""sureness backtest: would the promise have held in the last windows of a log, and what is it for the next one?"""

from __future__ import annotations

from typing import Annotated

from sureness.cli._console import present, print_notes, print_table, say, shown_progress
from sureness.cli._logs import Data, OfLogs
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.backtesting import BacktestOptions, BacktestResult, run_backtest
from sureness.jobs.logs import LogOptions
from sureness.recommender.forward import PROMISES
from sureness.report.formatting import ratio

_LOG = Spread(only=("folder", "option", "positive_above", "seed"), named={"folder": "--from"})


@spread
def backtest_recommender(
    *,
    data: Data,
    options: Annotated[BacktestOptions, Spread(named={"settings": "--set"})],
    log: Annotated[LogOptions, _LOG],
    columns: OfLogs,
    json: Json = False,
) -> None:
    """Train, calibrate and decide before each of the last windows of a log, and compare with what came.

    The log needs times. What is promised for the next window has an interval from the windows that were judged.
    """
    with shown_progress(json) as progress:
        result = run_backtest(data, options, log=log, columns=columns, progress=progress)
    present(result, json, _show)


def _show(result: BacktestResult) -> None:
    print_notes(result.notes)
    table = result.found.table()
    rows = [
        (row["start"], f"{row['users_promised']:,.0f} / {row['users_there']:,}",
         *(_ratio(row, of) for of in PROMISES), f"{row['f1']:.4f}", f"{row['f1_fixed']:.4f}")
        for row in table.to_dicts()
    ]  # fmt: skip
    header = ["window from", "users promised / there", "hits if there", "hits in the period", "F1", "of a fixed size"]
    caption = (
        "Hits are realised over promised ones of shown items: of users who took anything in the window, and of all. "
        "Below 1 lists promise too much, above 1 too little; 95% intervals over users. The fixed size was the best one "
        "in the windows before."
    )
    print_table("What came of what was promised", header, rows, caption)
    coming = [
        (what, f"{promised:,.2f}", f"{low:,.2f} to {high:,.2f}")
        for what, promised, low, high in result.found.coming().iter_rows()
    ]
    print_table("The next window", ["what", "promised", "90% interval"], coming)
    print_notes(result.found.recommender.cautions_)
    say(*(f"wrote {path}" for path in (result.saved, result.report) if path is not None))


def _ratio(row: dict[str, float | None], of: str) -> str:
    return ratio({name: row[f"{of}_{name}"] for name in ("ratio", "low", "high")})
