"""`sureness apply` and `sureness fit` on Parquet files, against plain polars."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from benchmarks.importing import COMMAND
from benchmarks.samples import gaussian_pairs
from benchmarks.tables import Bar, Scale, Table, count_of, size_of, time_of
from benchmarks.timing import Measured, Runs, growth, python, ratio, take_turns, watched

_COPY = "import sys, polars as pl; pl.scan_parquet(sys.argv[1]).sink_parquet(sys.argv[2])"
_READ = """
import sys, polars as pl
print(pl.scan_parquet(sys.argv[1]).select(pl.col("score").sum(), pl.col("label").sum()).collect(engine="streaming"))
"""
_CANDIDATES = 200  # rows of each user
_BYTES_A_ROW = 100  # more than an input and an output take on disk together
_CONSTANT = 1.25  # memory counts as constant if the largest file needs at most so many times that of the smallest


def applying(scale: Scale) -> Table:
    """A file of scores gets a column of probabilities."""
    methods = {"gaussian": sn.GaussianCalibrator(), "isotonic": sn.IsotonicCalibrator()}
    rows, every = [], []
    with _folder(scale) as folder:
        for name, calibrator in methods.items():
            calibrator.fit(*gaussian_pairs(1_000_000)).save(folder / f"{name}.json")
        for n_rows in scale.rows:
            table, output = _candidate_table(folder, n_rows, labelled=False), folder / "output.parquet"
            sides = {"polars": python(_COPY, table, output)} | {
                name: watched(COMMAND, "apply", folder / f"{name}.json", table, "--output", output) for name in methods
            }
            every.append(take_turns({name: _leaving_nothing(side, output) for name, side in sides.items()},
                                    scale.file_rounds))  # fmt: skip
            rows += [
                _row(n_rows, name, side, every[-1]["polars"], table.stat().st_size) for name, side in every[-1].items()
            ]
            table.unlink()
        start_up = take_turns({"polars": python("import polars"), "sureness": watched(COMMAND, "--version")},
                              scale.rounds)  # fmt: skip
    bars = []
    for name in methods:
        sides = [runs[name] for runs in every]
        what = f"apply ({name}) to {scale.rows[-1]:,} rows"
        bars += [Bar.at_most(f"{what}, times a plain polars copy", 1.5, ratio(sides[-1], every[-1]["polars"]).value),
                 *_memory_bars(what, sides)]  # fmt: skip
    return Table(
        "`sureness apply` against a plain polars copy of the file",
        ("rows", "command", "time", "times the copy", "peak memory", "file"),
        [*rows, *_growth_rows(scale.rows, every)],
        notes=(
            "Columns user_id and item_id (int64), score (float32). Whole processes, files in the page cache; the copy "
            "is `pl.scan_parquet(a).sink_parquet(b)`. Ours also writes a float64 column that hardly compresses and "
            "syncs the file to the disk before it is renamed.",
            f"Of these times, start-up alone: python with polars {time_of(start_up['polars'].median)}, "
            f"`sureness --version` {time_of(start_up['sureness'].median)}.",
            "Peak memory is the resident memory that the system reports of the process when it has ended.",
        ),
        bars=tuple(bars),
    )


def fitting_files(scale: Scale) -> Table:
    """A file of scores and labels becomes a calibrator."""
    rows, every = [], []
    with _folder(scale) as folder:
        for n_rows in scale.rows:
            table, output = _candidate_table(folder, n_rows, labelled=True), folder / "calibrator.json"
            every.append(take_turns(
                {"polars": python(_READ, table), "gaussian": watched(COMMAND, "fit", table, "--output", output)},
                scale.file_rounds,
            ))  # fmt: skip
            rows += [
                _row(n_rows, name, side, every[-1]["polars"], table.stat().st_size) for name, side in every[-1].items()
            ]
            table.unlink()
    return Table(
        "`sureness fit` against a polars scan of the two columns",
        ("rows", "command", "time", "times the scan", "peak memory", "file"),
        [*rows, *_growth_rows(scale.rows, every)],
        notes=(
            "Columns user_id and item_id (int64), score (float32), label (boolean). Whole processes; the scan sums "
            "score and label, streaming. Up to a million rows `fit` also judges itself by cross-fitting.",
        ),
        bars=tuple(_memory_bars(f"fit (gaussian) of {scale.rows[-1]:,} rows", [runs["gaussian"] for runs in every])),
    )


def _memory_bars(what: str, sides: list[Runs]) -> list[Bar]:
    return [
        Bar.at_most(f"{what}, peak memory", 2.0, sides[-1].peak_bytes / 1e9, " GB"),
        Bar.at_most(
            f"{what}, peak memory against the smallest file", _CONSTANT, sides[-1].peak_bytes / sides[0].peak_bytes
        ),
    ]


def _row(n_rows: int, name: str, side: Runs, yardstick: Runs, file_bytes: int) -> tuple[str, ...]:
    against = "1" if side is yardstick else str(ratio(side, yardstick))
    return count_of(n_rows), name, time_of(side.median), against, size_of(side.peak_bytes), size_of(file_bytes)


def _growth_rows(sizes: tuple[int, ...], every: list[dict[str, Runs]]) -> list[tuple[str, ...]]:
    return [
        ("growth exponent", name, f"{growth(sizes, [runs[name].median for runs in every]):.2f}", "",
         f"{growth(sizes, [runs[name].peak_bytes for runs in every]):.2f}", "")
        for name in every[0]
    ]  # fmt: skip


def _leaving_nothing(side: Callable[[], Measured], output: Path) -> Callable[[], Measured]:
    def run() -> Measured:
        measured = side()
        output.unlink()
        return measured

    return run


@contextmanager
def _folder(scale: Scale) -> Iterator[Path]:
    """A folder that is removed at the end, on a disk with enough room."""
    with tempfile.TemporaryDirectory(prefix="sureness-bench-") as name:
        needed, free = scale.rows[-1] * _BYTES_A_ROW, shutil.disk_usage(name).free
        if free < needed:
            raise RuntimeError(
                f"the temporary folder has {size_of(free)} free, {size_of(needed)} are needed; set TMPDIR to another"
            )
        yield Path(name)


def _candidate_table(folder: Path, n_rows: int, *, labelled: bool) -> Path:
    """Every user with the same number of candidates; ids are large, as those of real systems."""
    rng = np.random.default_rng(2)
    pairs = gaussian_pairs(n_rows)
    user_ids = rng.integers(0, 2**62, n_rows // _CANDIDATES + 1)
    item_ids = rng.integers(0, 2**62, 100_000)
    popular = (len(item_ids) * rng.random(n_rows) ** 2).astype(np.int64)
    columns = {
        "user_id": np.repeat(user_ids, _CANDIDATES)[:n_rows],
        "item_id": item_ids[popular],
        "score": pairs.scores.astype(np.float32),
    }
    path = folder / f"candidates-{n_rows}.parquet"
    pl.DataFrame(columns | ({"label": pairs.labels} if labelled else {})).write_parquet(path)
    return path
