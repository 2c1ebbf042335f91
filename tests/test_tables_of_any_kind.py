"""Every public function that takes a table takes it from any library, and finds the same in it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import sureness as sn
from sureness import calibration, data, jobs, report, sources, tables
from tests.attacks.doors import doors
from tests.attacks.hostile_data import same
from tests.kinds_of_tables import KINDS, comes_back, rows_of
from tests.recommender.worlds import shop

N = 60
PAIRS = pl.DataFrame(
    {
        "user_id": [f"u{number % 6}" for number in range(N)],
        "item_id": [number // 6 for number in range(N)],
        "score": [((number * 37) % 41) / 8 - 2 for number in range(N)],
        "label": [int((number * 37) % 41 + (number * 11) % 17 > 28) for number in range(N)],
        "weight": [1.0 + number % 3 for number in range(N)],
    }
)
LOG = pl.DataFrame(
    {"user_id": ["a", "b", "a", "c", "b"], "item_id": ["x", "x", "y", "z", "z"], "rating": [5, 3, 4, 1, 2],
     "time": [5.5, 4.0, 3.0, 2.0, 1.0]}
)  # fmt: skip
TOP = PAIRS.drop("label", "weight")
CLICKS = PAIRS.filter(pl.col("label") == 1).select("user_id", "item_id")
CHANCES = TOP.select("user_id", "item_id", probability=(pl.col("score") + 2) / 8).sort("user_id", maintain_order=True)
JUDGED = PAIRS.with_columns(probability=(pl.col("score") + 2) / 8)
PAGE = CHANCES.with_columns(domain=pl.Series([f"d{number % 2}" for number in range(N)]))
USERS = pl.DataFrame({"user_id": [f"u{number}" for number in range(6)], "degree": [3, 1, 4, 1, 5, 9]})
TITLES = pl.DataFrame({"item_id": [f"item {number:03d}" for number in range(9)], "title": list("abcdefghi")})
HISTORY = pl.DataFrame({"epoch": [0, 1, 2], "model": ["student"] * 3, "metric": [0.1, 0.3, 0.2]})
PLATT = sn.PlattCalibrator().fit(PAIRS["score"], PAIRS["label"])


@cache
def logs() -> Any:
    return shop(12, 9, names=True)


def part(name: str) -> pl.DataFrame:
    return getattr(logs(), name).table()


class Door(NamedTuple):
    """One argument that takes a table."""

    table: pl.DataFrame  # one that is accepted
    call: Callable[[Any, Path], Any]  # what is found in it; the path is that of a saved run, in a folder to write to
    few: bool = False  # whether it is slow, and so tried with some kinds only


def _fitted(result: jobs.FitResult) -> Any:
    return result.n_pairs, result.calibrator.probability([0.0, 1.0]).tolist()


def _written(table: Any, path: Path) -> Any:
    tables.write_table(table, path.with_name("written.csv"))
    return pl.read_csv(path.with_name("written.csv")).height


def _applied(run: Path, **options: Any) -> Any:
    found = jobs.apply(PLATT, run, options=jobs.ApplyOptions(top=3, **options))
    return found.frame.rows()


def _by_segment(segments: Any, run: Path) -> Any:
    small = sn.SegmentCalibrator().fit(PAIRS["score"], PAIRS["label"], segments=PAIRS["item_id"] % 2)
    options = jobs.ApplyOptions(top=3, segments=segments)
    return jobs.apply(small, run, options=options, columns=sn.Columns(segment="half")).frame.rows()


def _evaluated(run: Path, **options: Any) -> Any:
    return jobs.evaluate(run, jobs.EvaluateOptions(**options)).quality.means


def _listed(run: Path, **options: Any) -> Any:
    calibration = jobs.CalibrationOptions(calibrator="platt", **options)
    return jobs.open_listing(run, jobs.ListOptions(), calibration).recommender.recommend().rows()


def _reported(table: Any, run: Path, **options: Any) -> Any:
    """What is written on the page; see the fixture `pages`."""
    PLATT.save(run.with_name("platt.json"))
    page, chosen = run.with_name("page.html"), jobs.ReportOptions(**options)
    return jobs.report(table, [run.with_name("platt.json")], page, chosen)


def _background(**tables: Any) -> Any:
    pairs = sn.data.ScoredPairs.of(PAIRS["score"], PAIRS["label"], users=PAIRS["user_id"], items=PAIRS["item_id"])
    found = report.gather_contents(pairs, {"platt": PLATT}, background=report.Background(**tables), n_resamples=2)
    return [item for case in found.cases for item in case.items], found.degree and found.degree.value.tolist()


def _list_cases(items: Any) -> Any:
    small = logs()
    recommender = sn.ConfidentRecommender(small.source, sn.PlattCalibrator()).fit(small.train, small.validation)
    return [case.items for case in report.gather_list_sizes(recommender, items=items).cases]


def _cut(run: Path, items: Any) -> Any:
    """What is written on the page; see the fixture `pages`."""
    page = jobs.PageOptions(report=run.with_name("lists.html"), items=items)
    calibration = jobs.CalibrationOptions(calibrator="platt")
    return jobs.cut_run(run, run.with_name("lists.csv"), None, calibration, page).headline


ITEM_TITLES = pl.DataFrame({"item_id": list(range(10)), "title": list("abcdefghij")})
SEGMENTS = pl.DataFrame({"item_id": [f"item {number:03d}" for number in range(9)], "half": [0, 1, 0, 1, 0, 1, 0, 1, 0]})

DOORS: dict[str, Door] = {
    "CalibrationSet.from_table(table)": Door(
        PAIRS, lambda table, _: sn.PlattCalibrator().fit(sn.CalibrationSet.from_table(table)).probability([0.5]).item()
    ),
    "Interactions.from_table(table)": Door(LOG, lambda table, _: sn.Interactions.from_table(table).table().rows()),
    "CandidateSource.from_table(table)": Door(
        TOP, lambda table, _: sn.CandidateSource.from_table(table).table().rows()
    ),
    "Interactions.with_features(users)": Door(
        USERS, lambda table, _: sn.Interactions.of(["u3"], [1]).with_features(users=table).user_features.rows()
    ),
    "Interactions.with_features(items)": Door(
        TITLES, lambda table, _: sn.Interactions.of([1], ["item 003"]).with_features(items=table).item_features.rows()
    ),
    "pairs_of_table(given)": Door(PAIRS, lambda table, _: data.pairs_of_table(table).weight.tolist()),
    "read_table(table)": Door(LOG, lambda table, _: rows_of(tables.read_table(table, None, ["item_id", "user_id"]))),
    "scan_table(path)": Door(
        LOG, lambda table, _: rows_of(tables.scan_table(table, numbers=["rating"]).select("rating"))
    ),
    "column_names(path)": Door(LOG, lambda table, _: tables.column_names(table)),
    "write_table(table)": Door(LOG, _written),
    "score_pairs(table)": Door(part("test"), lambda table, _: sources.score_pairs(logs().source, table)),
    "Background(items)": Door(ITEM_TITLES, lambda table, _: _background(items=table)),
    "Background(user_degree)": Door(USERS, lambda table, _: _background(user_degree=table)),
    "gather_list_sizes(items)": Door(TITLES, lambda table, _: _list_cases(table), few=True),
    "prepare_confidence_by_degree(candidates)": Door(
        CHANCES.with_columns(score="probability"),
        lambda table, _: report.prepare_confidence_by_degree(table, USERS).value.tolist(),
    ),
    "prepare_confidence_by_degree(user_degree)": Door(
        USERS,
        lambda table, _: report.prepare_confidence_by_degree(
            CHANCES.with_columns(score="probability"), table
        ).degree.tolist(),
    ),
    "draw_training_curves(history)": Door(
        HISTORY, lambda table, _: report.draw_training_curves(table).lines[0].get_ydata().tolist()
    ),
    "fit(data)": Door(PAIRS, lambda table, _: _fitted(jobs.fit(table))),
    "FitOptions(anchor)": Door(PAIRS, lambda table, _: _fitted(jobs.fit(PAIRS, jobs.FitOptions(anchor=table)))),
    "FitOptions(held_out)": Door(CLICKS, lambda table, _: _fitted(jobs.fit(TOP, jobs.FitOptions(held_out=table)))),
    "FitOptions(seen)": Door(
        TOP.head(7),
        lambda table, _: _fitted(jobs.fit(TOP, jobs.FitOptions(held_out=CLICKS.tail(15), seen=(table,)))),
    ),
    "apply(data)": Door(TOP, lambda table, _: jobs.apply(PLATT, table).frame),
    "ApplyOptions(seen)": Door(part("train"), lambda table, run: _applied(run, seen=(table,))),
    "ApplyOptions(segments)": Door(SEGMENTS, _by_segment),
    "cut_table(table)": Door(CHANCES, lambda table, _: jobs.cut_table(table, options=AT_MOST_3).frame),
    "Fields.of(users)": Door(
        part("train").unique("user_id", maintain_order=True),
        lambda table, _: calibration.Fields.of(logs().source, users=table).tables["users"].rows(),
    ),
    "Fields.of(items)": Door(
        TITLES, lambda table, _: calibration.Fields.of(logs().source, items=table).tables["items"].rows()
    ),
    "cut_table(seen)": Door(
        CHANCES.head(3).select("user_id", "item_id"),
        lambda table, _: jobs.cut_table(CHANCES, options=AT_MOST_3, seen=[table]).frame.rows(),
    ),
    "allocate(table)": Door(PAGE, lambda table, _: jobs.allocate(table, None, jobs.AllocateOptions(slots=4)).frame),
    "report(table)": Door(PAIRS, _reported),
    "evaluate_table(table)": Door(JUDGED, lambda table, _: jobs.evaluate_table(table).metrics["log loss"].value),
    "ReportOptions(items)": Door(ITEM_TITLES, lambda table, run: _reported(PAIRS, run, items=table)),
    "ReportOptions(seen)": Door(CLICKS, lambda table, run: _reported(PAIRS, run, seen=table)),
    "EvaluateOptions(test)": Door(part("test"), lambda table, run: _evaluated(run, test=table)),
    "EvaluateOptions(seen)": Door(part("train"), lambda table, run: _evaluated(run, seen=(table,))),
    "CalibrationOptions(held_out)": Door(part("validation"), lambda table, run: _listed(run, held_out=table)),
    "CalibrationOptions(seen)": Door(part("train"), lambda table, run: _listed(run, seen=(table,))),
    "CalibrationOptions(test)": Door(part("test"), lambda table, run: _listed(run, test=table)),
    "PageOptions(items)": Door(TITLES, lambda table, run: _cut(run, table)),
    "read_log(data)": Door(LOG, lambda table, _: jobs.read_log(table)[0].interactions.table().rows()),
    "split_log(data)": Door(part("train"), lambda table, _: jobs.split_log(table).sizes),
    "describe(data)": Door(LOG, lambda table, _: jobs.describe(table).statistics),
}
AT_MOST_3 = jobs.ListOptions(max_size=3, expected_relevant=4.0)

OTHERS = {
    "train(data)": "reads its log with split_log",
    "distill(data)": "reads its log with split_log",
    "check_outputs(inputs)": "looks at paths only",
    "require_columns(frame)": "of our own frames",
    "add_column(frame)": "of our own frames",
    "count_rows(frame)": "of our own frames",
    "stream_pairs(frame)": "of our own frames",
    "in_kind_of(frame)": "of our own frames",
    "SegmentCalibrator.numbers_of_file(table)": "of our own frames",
    "SegmentCalibrator.unknown_of(groups)": "of our own frames",
    **dict.fromkeys(
        ("LogTables(rows)", "LogTables(users)", "LogTables(items)", "parts_of(parts)", "rows_of(raw)"),
        "made by readers of data sets",
    ),
    "draw_promise(table)": "a result of promise",
    "draw_windows(table)": "a result of backtest",
    "run_backtest(data)": "reads its log with read_log",
    "ProbabilityQuality(table)": "a result",
    "draw_group_ratios(tables)": "results of promise",
    "RankingQuality(per_user)": "a result",
    "FitResult(data)": "a result",
    "FitResult(comparison)": "a result",
    "ApplyResult(data)": "a result",
    "CutResult(input)": "a result",
    "AllocateResult(table)": "a result",
    "Description(split)": "a result",
    "TrainResult(trials)": "a result",
    "Tuning(trials)": "a result",
    "Choice(table)": "a result",
    "Interactions(user_features)": "made by with_features",
    "Interactions(item_features)": "made by with_features",
}
"""Arguments with tables that no user brings along."""

_OF_TABLES = re.compile(r"\b(DataFrame|LazyFrame|Frame|Table|Place)\b")


def _callables() -> Iterator[tuple[str, Any]]:
    """Every public function, class, and method of a class, by its name."""
    found = [each.name for each in pkgutil.iter_modules(sn.__path__, "sureness.") if each.name != "sureness.spark"]
    packages = [sn, *map(importlib.import_module, found)]  # frames of Spark are tried in tests/spark
    for package in packages:
        for name in getattr(package, "__all__", ()) if hasattr(package, "__path__") else ():
            found = getattr(package, name)
            yield name, found
            for method, value in vars(found).items() if inspect.isclass(found) else ():
                if not method.startswith("_"):
                    yield f"{name}.{method}", getattr(value, "__func__", value)


def _arguments_with_tables() -> set[str]:
    found = set()
    for name, value in _callables():
        try:
            parameters = inspect.signature(value).parameters.values() if callable(value) else ()
        except (TypeError, ValueError):
            continue
        found |= {f"{name}({each.name})" for each in parameters if _OF_TABLES.search(str(each.annotation))}
    return found


def test_every_public_argument_that_takes_a_table_is_tried_with_all_kinds():
    assert _arguments_with_tables() == set(DOORS) | set(OTHERS)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path, small = tmp_path_factory.mktemp("run") / "run.sureness", logs()
    sn.recommender.Run(small.source, train=small.train, validation=small.validation, test=small.test).save(path)
    return path


@pytest.fixture
def pages(monkeypatch):
    """Pages take long to draw; here it only matters what they are made of."""

    def write_report(_path, pairs, _fitted, *, background, **_):
        tables = [background.items, background.user_degree]
        return (
            pairs.scores.tolist(),
            pairs.labels.tolist(),
            [sorted(rows_of(table)) for table in tables if table is not None],
        )

    monkeypatch.setattr("sureness.jobs.reporting.write_report", write_report)
    monkeypatch.setattr("sureness.jobs.cutting._write_page", lambda _page, _figures, titles, *_: rows_of(titles))


@pytest.fixture(scope="module")
def with_polars():
    return {}  # what each door finds in a DataFrame of polars


SOME = ("pandas nullable", "polars lazy", "arrow reader", "duckdb")
MATRIX = [(name, kind) for name, door in DOORS.items() for kind in (SOME if door.few else KINDS)]


@pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")
@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(("name", "kind"), MATRIX)
def test_tables_of_any_kind(name, kind, run, with_polars, tmp_path):
    door = DOORS[name]
    if name not in with_polars:
        with_polars[name] = door.call(door.table, run)
    given = KINDS[kind](door.table, tmp_path)
    if isinstance(given, Path | str) and not _takes_files(name):
        return
    expected, found = with_polars[name], door.call(given, run)
    if isinstance(expected, pl.DataFrame):
        assert isinstance(found, comes_back(kind))
        expected, found = rows_of(expected), rows_of(found)
    assert found == expected


def _takes_files(name: str) -> bool:
    """Whether the argument is declared as a table or a file, not as a table in memory."""
    callable_, argument = re.fullmatch(r"(.+)\((.+)\)", name).groups()
    found = next(value for each, value in _callables() if each == callable_)
    return "Table" in str(inspect.signature(found).parameters[argument].annotation)


def _of_numbers(make: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    return lambda good: make(good) if good.dtype.kind in "iuf" else pd.Series(good, dtype="string")


COLUMNS: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas with an index": lambda good: pd.Series(good, index=np.arange(len(good))[::-1]),
    "pandas nullable": lambda good: pd.Series(good).convert_dtypes(),
    "pandas of arrow": lambda good: pd.Series(good).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categories": lambda good: pd.Series(good, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda good: pa.chunked_array([good[:5], good[5:]]),
    "tensor": _of_numbers(torch.tensor),
}


@pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_any_kind(kind):
    """All public functions that take columns; tests/attacks sees to it that none is left out."""
    every = [door for door in doors() if door.takes == "values" and ".decide(" not in door.name]  # which takes rows
    assert len(every) > 100
    for door in every:
        assert same(door.call(np.asarray(door.good)), door.call(COLUMNS[kind](door.good))), door.name


@pytest.mark.parametrize("door", ["calibration set", "candidates", "fit", "apply"])
@pytest.mark.parametrize("broken", ["a function", "a file"])
def test_a_lazy_frame_that_fails_is_refused_in_one_sentence(door, broken, tmp_path):
    def fails(column):
        raise KeyError("no such price\nsecond line")

    table = pl.LazyFrame({"user_id": [1, 1], "item_id": [1, 2], "score": [0.1, 0.9], "label": [0, 1]})
    lazy = table.with_columns(pl.col("score").map_batches(fails, return_dtype=pl.Float64))
    lazy = lazy if broken == "a function" else pl.scan_parquet(tmp_path / "nowhere.parquet")
    doors = {
        "calibration set": sn.CalibrationSet.from_table,
        "candidates": sn.CandidateSource.from_table,
        "fit": jobs.fit,
        "apply": lambda given: jobs.apply(sn.PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]), given),
    }
    with pytest.raises(sn.errors.SurenessError, match="cannot read") as refused:
        doors[door](lazy)
    assert "\n" not in str(refused.value)
