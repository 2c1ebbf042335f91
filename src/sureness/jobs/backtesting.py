"""Live through the last windows of a log again, and promise the next one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.filtering import positives
from sureness.errors import SettingError
from sureness.jobs.logs import LogOptions, read_log
from sureness.jobs.options import OneOf, plain
from sureness.jobs.outputs import check_outputs
from sureness.jobs.training import model_settings, typed_settings
from sureness.models.catalogue import make_recommender
from sureness.recommender.backtesting import Backtest, backtest
from sureness.recommender.forward import Train
from sureness.saving.packed import JSON
from sureness.sources.svd import svd_source
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

SVD = "svd"
_OF_SVD = {"n_factors": 8, "smoothing": 1.0}


@dataclass(frozen=True, kw_only=True)
class BacktestOptions:
    """What is trained, and which windows are judged."""

    window: Annotated[str, "How long a window is, such as 30d, 2w, 12h or 1mo; or a share of the log such as 0.1."] = (
        "30d"
    )
    windows: Annotated[int, "How many of the last windows are judged."] = 5
    learned: Annotated[int, "How many windows before it each of them learns from."] = 3
    model: Annotated[str, "What is trained: svd, or a kind of recommender.", OneOf(("model",), others=(SVD,))] = SVD
    settings: Annotated[tuple[str, ...], "Any setting of the model, such as learning_rate=0.005; may repeat."] = ()
    save: Annotated[
        str | PathLike[str] | None, "Where the recommender for the next window goes, for list-size and serve."
    ] = None
    report: Annotated[Path | None, "Page about the windows, such as page.html."] = None


@dataclass(frozen=True, eq=False, kw_only=True)
class BacktestResult:
    """The judged windows, and what is promised for the next one."""

    found: Backtest
    notes: tuple[str, ...]
    saved: Path | None = None
    report: Path | None = None

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        outputs = {"saved": self.saved, "report": self.report}
        return plain({**self.found.plain(), "notes": self.notes, **outputs})  # type: ignore[no-any-return]


def run_backtest(
    data: Table,
    options: BacktestOptions | None = None,
    *,
    log: LogOptions | None = None,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> BacktestResult:
    """Judge a recommender on the last windows of a log, and promise the next one.

    Parameters
    ----------
    data : str, or table of any kind
        The name of a data set, a file (.parquet, .csv or .tsv), or a table in memory, with times.
    options : BacktestOptions, optional
    log : LogOptions, optional
        Where the log is and which ratings are positive; how it is split does not matter.
    columns : Columns, optional
    progress : Progress
    """
    options, log = options or BacktestOptions(), log or LogOptions()
    saved = None if options.save is None else Path(options.save)
    check_outputs([(saved, "file"), (options.report, "page")], [data, log.folder])
    train = trainer(options, log.seed)
    dataset, known = read_log(data, log, columns=columns, progress=progress)
    above = log.positive_above if log.positive_above is not None or known is None else known.positive_above
    events = dataset.interactions if above is None else positives(dataset.interactions, above)
    found = backtest(
        events, train, window=_window(options.window), windows=options.windows, learned=options.learned,
        progress=progress,
    )  # fmt: skip
    if saved is not None:
        found.recommender.save(saved)
    if options.report is not None:
        from sureness.report.page import write_backtest_report

        write_backtest_report(options.report, found)
    return BacktestResult(found=found, notes=dataset.notes, saved=saved, report=options.report)


def trainer(options: BacktestOptions, seed: int = 0) -> Train:
    """What trains the recommender that the options name."""
    if options.model == SVD:
        given: dict[str, Any] = typed_settings("svd", options.settings, _OF_SVD)
        return partial(svd_source, **given, seed=seed)
    settings = model_settings(options.model, None, options.settings) | {"seed": seed}
    return make_recommender(options.model, **settings)


def _window(text: str) -> str | float:
    """A length such as 30d, or a number in the unit of the log or a share of it."""
    try:
        return float(text)
    except ValueError:
        if not text.strip():
            raise SettingError("window must be a length such as 30d, got nothing") from None
        return text
