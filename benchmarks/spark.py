"""What confidence costs on Spark: each job beside the plain one that reads the same rows; writes RESULTS-spark.md.

make bench-spark
python -m benchmarks.spark --millions 2 20 100 --rounds 3
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf

import sureness as sn
from benchmarks.timing import Ratio, growth, ratio, take_turns, timed
from sureness.spark import apply, fit, lists

RESULTS = Path(__file__).with_name("RESULTS-spark.md")
CORES = 2
USERS, CANDIDATES = 20_000, 200


class Row(NamedTuple):
    """One comparison."""

    job: str
    plain: str
    rows: int
    seconds: float
    plain_seconds: float
    ratio: Ratio
    bar: float | None = None


def main() -> None:
    asked = _arguments()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder, _session(folder) as spark, Workers() as workers:
        rows: list[Row] = []
        for millions in asked.millions:
            path = write_pairs(spark, Path(folder), int(millions * 1_000_000))
            rows += [applied(spark, path, asked.rounds), fitted(spark, path, asked.rounds)]
            print(*rows[-2:], sep="\n", flush=True)
        path = write_candidates(spark, Path(folder), asked.users)
        rows.append(cut(spark, path, asked.users, asked.rounds))
        print(rows[-1], flush=True)
    RESULTS.write_text(page(rows, workers.peak), encoding="utf-8")


def applied(spark: SparkSession, path: str, rounds: int) -> Row:
    """Probabilities, beside a copy that writes a column of the same size."""
    frame = spark.read.parquet(path)
    calibrator = sn.GaussianCalibrator().fit([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], [0, 0, 1, 0, 1, 1])
    copied = frame.withColumn("probability", sf.col("score") * 0.5)
    return compared(
        "apply", lambda: write(apply(frame, calibrator), path), "scan and write", lambda: write(copied, path),
        frame.count(), rounds, 1.5,
    )  # fmt: skip


def fitted(spark: SparkSession, path: str, rounds: int) -> Row:
    """A fit, beside a reliability curve by hand."""
    frame = spark.read.parquet(path)
    by_hand = frame.groupBy(sf.floor(sf.col("score") * 1_000)).agg(
        sf.count("label"), sf.avg(sf.col("label").cast("int"))
    )
    return compared(
        "fit", lambda: fit(frame, "platt"), "aggregation", lambda: _noop(by_hand), frame.count(), rounds, 2.0
    )


def cut(spark: SparkSession, path: str, n_users: int, rounds: int) -> Row:
    """Lists of personal length, beside the best 50 of each user."""
    frame = spark.read.parquet(path)
    best_first = Window.partitionBy("user_id").orderBy(sf.desc("probability"))
    top = frame.withColumn("rank", sf.row_number().over(best_first)).filter("rank <= 50")
    return compared(
        "lists", lambda: _noop(lists(frame, expected_relevant=30.0)), "window top 50", lambda: _noop(top),
        n_users * CANDIDATES, rounds, 3.0,
    )  # fmt: skip


def compared(
    job: str, run: Callable[[], object], plain: str, run_plain: Callable[[], object], rows: int, rounds: int, bar: float
) -> Row:
    """Both sides in turns; the first runs, which start workers and compile, do not count."""
    found = take_turns({"job": timed(run), "plain": timed(run_plain)}, rounds)
    medians = (found[side].median for side in ("job", "plain"))
    return Row(job, plain, rows, *medians, ratio(found["job"], found["plain"]), bar)


def write(frame: Any, path: str) -> None:
    frame.write.mode("overwrite").parquet(f"{path}-written")


def _noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def write_pairs(spark: SparkSession, folder: Path, rows: int) -> str:
    path = str(folder / f"pairs-{rows}")
    scored = spark.range(rows).select((sf.col("id") % 1_000_003).alias("user_id"), sf.randn(1).alias("score"))
    chance = 1 / (1 + sf.exp(2 - sf.col("score")))
    scored.withColumn("label", sf.rand(2) < chance).write.parquet(path)
    return path


def write_candidates(spark: SparkSession, folder: Path, n_users: int) -> str:
    path = str(folder / "candidates")
    pairs = spark.range(n_users * CANDIDATES).select(
        sf.floor(sf.col("id") / CANDIDATES).alias("user_id"), (sf.col("id") % CANDIDATES).alias("item_id"),
        sf.pow(sf.rand(3), 4).alias("probability"),
    )  # fmt: skip
    pairs.repartition(8).write.parquet(path)
    return path


class Workers:
    """Watches how much memory one Python worker of Spark takes, at most."""

    def __enter__(self) -> Workers:
        self.peak, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.peak = max([self.peak, *_resident_workers()])


def _resident_workers() -> Iterator[int]:
    """Bytes of memory of each Python worker on this machine."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                yield int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:  # it has ended meanwhile
            continue


@contextmanager
def _session(folder: str) -> Iterator[SparkSession]:
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "8", "spark.local.dir": folder, "spark.driver.host": "127.0.0.1",
    }  # fmt: skip
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{CORES}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def page(rows: list[Row], peak: int) -> str:
    """The results as a page."""
    lines = [
        "# Speed on Spark", "",
        f"Written by `make bench-spark` on {time.strftime('%Y-%m-%d')}: local[{CORES}], sides in turns, medians. The "
        f"load of the machine was {os.getloadavg()[0]:.1f} at the end, so ratios say more than seconds.", "",
        "| job | beside | rows | seconds | plain | ratio | bar | core-seconds per million rows |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines += [
        f"| {row.job} | {row.plain} | {row.rows:,} | {row.seconds:.2f} | {row.plain_seconds:.2f} | "
        f"{row.ratio} | {row.bar} | "
        f"{CORES * row.seconds / row.rows * 1e6:.2f} |"
        for row in rows
    ]
    for job in ("apply", "fit"):
        own = [row for row in rows if row.job == job]
        if len(own) > 1:
            power = growth([row.rows for row in own], [row.seconds for row in own])
            lines += ["", f"`{job}` grows with the rows to the power {power:.2f}."]
    return "\n".join([*lines, "", f"A Python worker took at most {peak / 2**20:,.0f} MiB.", ""])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[2, 20, 100], help="millions of rows")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="for data of the benchmark; by default that of temporary files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
