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

_COPY = """
import sys, polars as pl
another = (pl.col("score").cast(pl.Float64) / 3).alias("another")
pl.scan_parquet(sys.argv[1]).with_columns(another).sink_parquet(sys.argv[2], compression="snappy")
"""
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
        small = _candidate_table(folder, 2, labelled=False)
        command = watched(COMMAND, "apply", folder / "gaussian.json", small, "--output", output)
        start_up = take_turns({"polars": python("import polars"), "sureness": command}, scale.rounds)
    bars = []
    for name in methods:
        sides = [runs[name] for runs in every]
        what = f"apply ({name}) to {scale.rows[-1]:,} rows"
        copy = every[-1]["polars"]
        bars += [
            Bar.at_most(f"{what}, times a polars copy with one more column", 1.2, ratio(sides[-1], copy).value),
            Bar.at_most(f"{what}, the same in processor time", 1.2, ratio(sides[-1].processor, copy.processor).value),
            *_memory_bars(what, sides),
        ]
    return Table(
        "`sureness apply` against a polars copy with one more column",
        ("rows", "command", "time", "times the copy", "processor time", "times the copy's", "peak memory", "file"),
        [*rows, *_growth_rows(scale.rows, every)],
        notes=(
            "Columns user_id and item_id (int64), score (float32). Whole processes, files in the page cache. The copy "
            "also writes a third of each score as a float64 column, which hardly compresses, as probabilities do; both "
            "are compressed with snappy. Ours syncs the file to the disk before it is renamed.",
            "Processor time is that of all threads; other work on the machine disturbs it less than the clock.",
            "Of the processor times, start-up alone: python with polars "
            f"{time_of(start_up['polars'].processor.median)}, `sureness apply` to two rows "
            f"{time_of(start_up['sureness'].processor.median)}.",
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
        ("rows", "command", "time", "times the scan", "processor time", "times the scan's", "peak memory", "file"),
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
    times = [
        (time_of(own.median), "1" if side is yardstick else str(ratio(own, other)))
        for own, other in ((side, yardstick), (side.processor, yardstick.processor))
    ]
    return count_of(n_rows), name, *times[0], *times[1], size_of(side.peak_bytes), size_of(file_bytes)


def _growth_rows(sizes: tuple[int, ...], every: list[dict[str, Runs]]) -> list[tuple[str, ...]]:
    return [
        ("growth exponent", name, f"{growth(sizes, [runs[name].median for runs in every]):.2f}", "",
         f"{growth(sizes, [runs[name].processor.median for runs in every]):.2f}", "",
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
