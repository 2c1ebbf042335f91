"""What confidence costs on Spark: each job beside the plain one that reads the same rows; writes RESULTS-spark.md.

make bench-spark
python -m benchmarks.spark --millions 2 20 100 --users 5000 20000 60000 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as sf

import sureness as sn
from benchmarks.timing import Measured, Ratio, Runs, growth, ratio
from sureness.spark import apply, fit, lists

RESULTS = Path(__file__).with_name("RESULTS-spark.md")
CORES, CANDIDATES, HEAP = 2, 200, "1g"
BARS = {"apply": 1.5, "fit": 2.0, "lists": 3.0}


@dataclass(frozen=True)
class Row:
    """A job of one size, beside a plain one."""

    job: str
    beside: str
    rows: int
    runs: Runs
    plain: Runs
    shuffled: int  # bytes

    @property
    def wall(self) -> Ratio:
        return ratio(self.runs, self.plain)

    @property
    def processor(self) -> Ratio:
        return ratio(self.runs.processor, self.plain.processor)


def main() -> None:
    asked = _arguments()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder, Application(folder) as spark:
        for millions in asked.millions:
            path = write_pairs(spark.session, Path(folder), int(millions * 1_000_000))
            rows += [applied(spark, path, asked.rounds), *fitted(spark, path, asked.rounds)]
            print(*(line(row) for row in rows[-3:]), sep="\n", flush=True)
        for n_users in asked.users:
            path = write_candidates(spark.session, Path(folder), n_users)
            rows += [cut(spark, path, asked.rounds), *of_lists(spark, path, asked.rounds)]
            print(*(line(row) for row in rows[-3:]), sep="\n", flush=True)
        RESULTS.write_text(page(rows, spark.peak), encoding="utf-8")


def applied(spark: Application, path: str, rounds: int) -> Row:
    """Probabilities, beside a copy that writes a column of the same size."""
    frame = spark.session.read.parquet(path)
    calibrator = sn.GaussianCalibrator().fit([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], [0, 0, 1, 0, 1, 1])
    copied = frame.withColumn("probability", sf.col("score") * 0.5)
    sides = {"apply": lambda: write(apply(frame, calibrator), path), "scan and write": lambda: write(copied, path)}
    return spark.compared(sides, frame.count(), rounds)[0]


def fitted(spark: Application, path: str, rounds: int) -> list[Row]:
    """A fit, beside a reliability curve by hand, and beside two numbers for all rows."""
    frame = spark.session.read.parquet(path)
    aggregates = sf.count("label"), sf.avg(sf.col("label").cast("int"))
    by_hand = frame.groupBy(sf.floor(sf.col("score") * 1_000)).agg(*aggregates)
    sides = {
        "fit": lambda: fit(frame, "platt"), "aggregation": lambda: _noop(by_hand),
        "count and mean": lambda: _noop(frame.agg(*aggregates)),
    }  # fmt: skip
    return spark.compared(sides, frame.count(), rounds)


def cut(spark: Application, path: str, rounds: int) -> Row:
    """Lists of personal length, beside the best 50 of each user."""
    frame = spark.session.read.parquet(path)
    best_first = Window.partitionBy("user_id").orderBy(sf.desc("probability"))
    top = frame.withColumn("rank", sf.row_number().over(best_first)).filter("rank <= 50")
    sides = {"lists": lambda: _noop(lists(frame, expected_relevant=30.0)), "window top 50": lambda: _noop(top)}
    return spark.compared(sides, frame.count(), rounds)[0]


def of_lists(spark: Application, path: str, rounds: int) -> list[Row]:
    """The map for lists and its probabilities, beside the best 50 of each user."""
    frame = spark.session.read.parquet(path).drop("probability").withColumnRenamed("taken", "label")
    best_first = Window.partitionBy("user_id").orderBy(sf.desc("score"))
    top = frame.withColumn("rank", sf.row_number().over(best_first)).filter("rank <= 50")
    calibrator = fit(frame, sn.ListCalibrator())
    jobs = {
        "fit, map for lists": lambda: fit(frame, sn.ListCalibrator()),
        "apply, map for lists": lambda: _noop(apply(frame, calibrator)),
    }
    made: list[Row] = []
    for name, job in jobs.items():
        made += spark.compared({name: job, "window top 50": lambda: _noop(top)}, frame.count(), rounds)
    return made


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
    path = str(folder / f"candidates-{n_users}")
    pairs = spark.range(n_users * CANDIDATES).select(
        sf.floor(sf.col("id") / CANDIDATES).alias("user_id"), (sf.col("id") % CANDIDATES).alias("item_id"),
        sf.pow(sf.rand(3), 4).alias("probability"), sf.randn(4).cast("float").alias("score"),
    ).withColumn("taken", sf.rand(5) < 1 / (1 + sf.exp(4 - 1.5 * sf.col("score"))))  # fmt: skip
    pairs.repartition(8).write.parquet(path)
    return path


class Application:
    """A session on this machine, and what its processes and stages took."""

    def __init__(self, folder: str) -> None:
        settings = {
            "spark.ui.showConsoleProgress": "false", "spark.ui.port": "0", "spark.driver.memory": HEAP,
            "spark.sql.shuffle.partitions": "8", "spark.local.dir": folder, "spark.driver.host": "127.0.0.1",
            "spark.log.level": "ERROR",
        }  # fmt: skip
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{CORES}]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.peak, self._done = 0, threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Application:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()
        self.session.stop()

    def compared(self, sides: dict[str, Callable[[], object]], rows: int, rounds: int) -> list[Row]:
        """The first side beside each other one, in turns; a first round, which compiles, does not count."""
        for run in sides.values():
            run()
        runs: dict[str, list[Measured]] = {name: [] for name in sides}
        before = self.shuffled()
        for number in range(rounds):
            for name, run in sides.items():
                runs[name].append(self._measured(run))
                if number == 0 and name == next(iter(sides)):
                    shuffled = self.shuffled() - before
        (job, own), *others = ((name, Runs(tuple(found))) for name, found in runs.items())
        return [Row(job, name, rows, own, plain, shuffled) for name, plain in others]

    def _measured(self, run: Callable[[], object]) -> Measured:
        processor, start = self._processor(), time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        return Measured(seconds, processor_seconds=self._processor() - processor)

    def _processor(self) -> float:
        """Processor seconds of the driver, of Java and of all Python workers, those that have ended included."""
        ticks = sum(sum(map(int, fields[11:15])) for fields in _family(os.getpid()).values())
        return ticks / os.sysconf("SC_CLK_TCK")

    def shuffled(self) -> int:
        """Bytes that all stages wrote for others, as Spark counts them."""
        context = self.session.sparkContext
        address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
        time.sleep(1.0)  # what stages took is known a little later
        with urllib.request.urlopen(address) as answer:
            return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            resident = [int(fields[21]) for pid, fields in _family(os.getpid()).items() if _is_worker(pid)]
            self.peak = max([self.peak, *(pages * os.sysconf("SC_PAGE_SIZE") for pages in resident)])


def _family(root: int) -> dict[int, list[str]]:
    """A process and all below it, with the fields of /proc/pid/stat behind the name."""
    found: dict[int, list[str]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
    family, size = {root}, 0
    while size < len(family):
        size = len(family)
        family |= {pid for pid, fields in found.items() if int(fields[1]) in family}
    return {pid: found[pid] for pid in family if pid in found}


def _is_worker(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return False


def line(row: Row) -> str:
    """A row of the table."""
    per_million = row.runs.processor.median / row.rows * 1e6
    bar = BARS.get(row.job) if row.beside != "count and mean" else None
    return (
        f"| {row.job} | {row.beside} | {row.rows:,} | {row.runs.median:.2f} | {row.plain.median:.2f} | {row.wall} | "
        f"{row.processor} | {bar or ''} | {per_million:.2f} | {row.shuffled / row.rows:.3g} |"
    )


def page(rows: list[Row], peak: int) -> str:
    """The results as a page."""
    lines = [
        "# Speed on Spark", "",
        f"Written by `make bench-spark` on {time.strftime('%Y-%m-%d')}: local[{CORES}], sides in turns, medians. The "
        f"load of the machine was {os.getloadavg()[0]:.1f} at the end for {os.cpu_count()} cores, so ratios say more "
        "than seconds, and those of processor time (of Java, of Python workers and of the driver together) more than "
        "those of wall time. Shuffled bytes are Spark's own count.", "",
        "| job | beside | rows | seconds | plain | ratio | ratio, processor time | bar | processor seconds per million "
        "rows | bytes shuffled per row |",
        "|---|---|---|---|---|---|---|---|---|---|", *(line(row) for row in rows), "", "## Growth", "",
        "How processor seconds grow with the rows, and what a line through the two smaller sizes, fixed cost and cost "
        "per row, predicts for the largest one, which it has not seen.", "",
        "| job | exponent | per million rows | fixed | predicted for the largest | found | off by |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for job in dict.fromkeys(row.job for row in rows):
        own = {row.rows: row.runs.processor.median for row in rows if row.job == job}
        if len(own) > 2:
            sizes, seconds = np.array(list(own)), np.array(list(own.values()))
            slope, fixed = np.polyfit(sizes[:2], seconds[:2], 1)
            predicted = fixed + slope * sizes[2]
            lines.append(
                f"| {job} | {growth(sizes.tolist(), seconds.tolist()):.2f} | {slope * 1e6:.2f} | {fixed:.2f} | "
                f"{predicted:.1f} | {seconds[2]:.1f} | {predicted / seconds[2] - 1:+.0%} |"
            )
    return "\n".join([
        *lines, "", f"Java had a heap of {HEAP[0]} GB (`spark.driver.memory`), for driver and executor together, at "
        f"every size. A Python worker took at most {peak / 2**20:,.0f} MiB; there are as many as cores.", "",
    ])  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="*", default=[2, 20, 100], help="millions of rows")
    parser.add_argument(
        "--users", type=int, nargs="*", default=[5_000, 20_000, 60_000], help="with 200 candidates each"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="for data of the benchmark; by default that of temporary files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
