"""sureness fit: a table of scores and labels becomes a calibrator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import typer
from rich.progress import Progress

from sureness._types import Estimand, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.catalogue import make_calibrator
from sureness.calibration.choosing import choose, cross_validate
from sureness.calibration.per_segment import SegmentCalibrator
from sureness.calibration.top_n import TopNCalibrator
from sureness.cli._calibrating import set_of_run
from sureness.cli._columns import (
    DomainColumn,
    ItemColumn,
    Json,
    LabelColumn,
    PropensityColumn,
    ScoreColumn,
    UserColumn,
    WeightColumn,
    renamed,
)
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.data.tables import count_rows, pairs_of_table, readable, require_columns, scan_table, stream_pairs
from sureness.errors import DataError, SurenessWarning
from sureness.metrics.intervals import Interval

AUTO = ("platt", "beta", "gaussian", "gamma", "isotonic")
_JUDGE_ROWS = 1_000_000  # up to so many pairs the fit is also judged by cross-fitting

Method = Literal[
    "auto", "minmax", "sigmoid", "histogram", "isotonic", "bbq", "temperature", "platt", "beta", "gaussian", "gamma",
    "manmatha", "kanoulas",
]  # fmt: skip
TrainingPairs = Literal["kept", "left_out"]


def fit(
    table: Annotated[
        Path,
        typer.Argument(help="Table with score and label (.parquet, .csv, .tsv), or a folder: run, model or source."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the calibrator goes.")] = Path(
        "calibrator.json"
    ),
    method: Annotated[
        Method, typer.Option(help="Calibration method; auto compares several by cross-fitting.")
    ] = "gaussian",
    risk: Annotated[Risk | None, typer.Option(help="What to minimise; by default what the data allow.")] = None,
    estimand: Annotated[
        Estimand | None, typer.Option(help="What the probability says; preference if there are propensities.")
    ] = None,
    held_out_share: Annotated[
        float, typer.Option(help="Share of the positives that is labelled 1 in the table.")
    ] = 1.0,
    training_pairs: Annotated[
        TrainingPairs, typer.Option(help="Whether the pairs of the training log are in the table (labelled 0).")
    ] = "kept",
    sampling_rate: Annotated[
        str, typer.Option(help="Share of the pairs labelled 0 that the table kept, or 'unknown'.")
    ] = "1.0",
    base_rate: Annotated[float | None, typer.Option(help="Known mean probability over all pairs.")] = None,
    anchor: Annotated[Path | None, typer.Option(help="Table with uniformly exposed pairs: score and label.")] = None,
    relative_propensity: Annotated[
        bool, typer.Option("--relative-propensity", help="Propensities are known up to a factor (popularity).")
    ] = False,
    held_out: Annotated[
        Path | None, typer.Option(help="Log of held-out pairs, for a folder; a run's validation part if not given.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Log the model learned from, for a folder; a run's own if not given.")
    ] = None,
    popularity_propensity: Annotated[
        bool, typer.Option("--popularity-propensity", help="For a folder: estimate propensities from popularity.")
    ] = False,
    segment_column: Annotated[str | None, typer.Option(help="Fit one map for each value of this column.")] = None,
    top_n: Annotated[int | None, typer.Option(help="Fit mostly on each user's top N items.")] = None,
    by: Annotated[str, typer.Option(help="What auto compares: nll, brier, ece, adaptive_ece or ece@N.")] = "nll",
    score_column: ScoreColumn = "score",
    label_column: LabelColumn = "label",
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    domain_column: DomainColumn = "domain",
    weight_column: WeightColumn = "weight",
    propensity_column: PropensityColumn = "propensity",
    json: Json = False,
) -> None:
    """Learn calibrated probabilities from scores and labels.

    The table is read in batches, so it may be larger than memory. Up to a million pairs the fit is also judged on
    users it has not seen.
    """
    columns = renamed(
        score=score_column, label=label_column, user_id=user_column, item_id=item_column, weight=weight_column,
        propensity=propensity_column,
    )  # fmt: skip
    of_logs = renamed(user_id=user_column, item_id=item_column, domain=domain_column)
    known: dict[str, Any] = {
        "held_out_share": held_out_share, "base_rate": base_rate, "anchor": _anchor(anchor, columns),
    }  # fmt: skip
    with progress_bar(json) as bar:
        if table.is_dir():
            if segment_column is not None:
                raise DataError("--segment-column names a column of a table; write one with sureness apply first")
            if sampling_rate != "1.0" or relative_propensity:
                raise DataError("--sampling-rate and --relative-propensity belong to a table, got a folder")
            known["estimand"] = estimand or ("preference" if popularity_propensity else "interaction")
            data, n_rows = set_of_run(table, held_out, train, of_logs, popularity_propensity, known, bar)
            frame = pl.LazyFrame()
        else:
            if held_out or train or popularity_propensity:
                raise DataError("--held-out, --train and --popularity-propensity belong to a folder, got a table")
            frame = scan_table(table, columns)
            require_columns(frame, ["score", "label"], table)
            n_rows = count_rows(frame, table)
            known |= {"training_pairs": training_pairs, "sampling_rate": _rate(sampling_rate)}
            known |= {"estimand": estimand, "relative_propensity": relative_propensity}
            data = _calibration_set(frame, table, n_rows, bar, **known)
        result: dict[str, Any] = {"table": str(table), "output": str(output), "pairs": n_rows}
        if method == "auto":
            if segment_column is not None:
                raise DataError("--method auto compares maps for all pairs; name a method with --segment-column")
            choice = choose([_unfitted(name, risk, top_n) for name in AUTO], data, by=by, progress=steps_of(bar))
            calibrator: Any = choice.best
            result |= {"chosen_because": choice.reason, "comparison": choice.table.to_dicts()}
        elif segment_column is not None:
            segments = _segments(frame, table, segment_column)
            calibrator = SegmentCalibrator(_unfitted(method, risk, top_n)).fit(data, segments=segments)
        else:
            calibrator = _unfitted(method, risk, top_n).fit(data)
        judgeable = segment_column is None and not data.relative_propensity  # else the level is not that of the labels
        if judgeable and n_rows <= _JUDGE_ROWS:
            result["out_of_fold"] = _judged(calibrator, data, top_n)
        calibrator.save(output)
    result |= _described(calibrator)
    print_json(result) if json else _print(result)


def _calibration_set(
    frame: pl.LazyFrame, table: Path, n_rows: int, bar: Progress, *, estimand: Estimand | None, **settings: Any
) -> CalibrationSet:
    task = bar.add_task("reading pairs", total=n_rows)

    def chunks() -> Any:
        bar.reset(task)
        return stream_pairs(frame, table, lambda n: bar.advance(task, n))

    if estimand is None:
        estimand = "preference" if "propensity" in frame.collect_schema().names() else "interaction"
    return CalibrationSet.from_chunks(chunks, estimand=estimand, **settings)


def _judged(calibrator: Calibrator, data: CalibrationSet, top_n: int | None) -> dict[str, dict[str, float]]:
    """Out-of-fold metrics, of the top items where the fit looks there; empty, with a note, where there are too few."""
    metrics = [name if top_n is None else f"{name}@{top_n}" for name in ("ece", "nll", "brier")]
    try:
        judged = cross_validate(calibrator, data, metrics=metrics)
    except DataError as error:
        warnings.warn(f"the fit cannot be judged on users it has not seen: {error}", SurenessWarning, stacklevel=2)
        return {}
    return {name: {"value": found.value, "low": found.low, "high": found.high} for name, found in judged.items()}


def _unfitted(method: str, risk: Risk | None, top_n: int | None) -> Calibrator:
    calibrator = make_calibrator(method, risk=risk)
    return calibrator if top_n is None else TopNCalibrator(calibrator, n=top_n)


def _rate(text: str) -> float | None:
    if text == "unknown":
        return None
    try:
        return float(text)
    except ValueError:
        raise DataError(f"--sampling-rate must be a number in (0, 1] or 'unknown', got {text!r}") from None


def _anchor(path: Path | None, columns: dict[str, str]) -> Any:
    if path is None:
        return None
    frame = scan_table(path, {ours: theirs for ours, theirs in columns.items() if ours in ("score", "label")})
    require_columns(frame, ["score", "label"], path)
    with readable(path):
        return pairs_of_table(frame.select("score", "label").collect())


def _segments(frame: pl.LazyFrame, table: Path, column: str) -> Any:
    require_columns(frame, [column], table)
    with readable(table):
        return frame.select(column).collect()[column].to_numpy()


def _described(calibrator: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "calibrator": repr(calibrator),
        "estimand": calibrator.estimand_,
        "score_range": list(calibrator.score_range_),
    }
    natural = getattr(getattr(calibrator, "base_", calibrator), "natural_parameters_", None)
    if natural is not None:
        described["parameters"] = natural
    if isinstance(calibrator, SegmentCalibrator):
        described |= {"strength": calibrator.strength_, "segments": calibrator.shares_}
    return described


def _print(result: dict[str, Any]) -> None:
    rows: list[tuple[str, object]] = [
        ("calibrator", result["calibrator"]),
        ("probability of", result["estimand"]),
        ("pairs", result["pairs"]),
        ("scores", "{:.4g} to {:.4g}".format(*result["score_range"])),
    ]
    rows += [(f"parameter {name}", value) for name, value in result.get("parameters", {}).items()]
    rows += [(f"own share of {name}", value) for name, value in result.get("segments", {}).items()]
    rows += [
        (f"{name.upper()} out of fold", str(Interval(found["value"], found["low"], found["high"])))
        for name, found in result.get("out_of_fold", {}).items()
    ]
    if "chosen_because" in result:
        rows.append(("chosen because", result["chosen_because"]))
    print_table("Fitted", ["what", "value"], rows)
    if "out_of_fold" not in result:
        out.print("for error figures, judge it on held-out pairs: sureness report", markup=False)
    out.print(f"wrote {result['output']}", markup=False)


COMMAND = fit
