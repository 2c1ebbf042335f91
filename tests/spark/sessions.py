"""Real Spark sessions: classic, and through Spark Connect."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.sql.engines import java

MODES = ("classic", "connect")
ROOT = Path(__file__).parents[2]
SETTINGS = {
    "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # several batches in each partition
}  # fmt: skip
_STATIC = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
}  # fmt: skip


def why_absent(mode: str) -> str | None:
    """What this machine lacks; None: a session can be started."""
    needed = ["pyspark", "pyarrow", "pandas", *(["grpc", "google.protobuf"] if mode == "connect" else [])]
    lacks = [name for name in needed if not _is_installed(name)] + ([] if java() else ["java"])
    return f"Spark needs {', '.join(lacks)}, not installed here; make test-spark has it" if lacks else None


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of its parent
        return False


def environment() -> None:
    """Where processes of Spark find Java, Python, sureness and the tests."""
    os.environ["JAVA_HOME"] = str(java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1"  # short jobs: compiling well takes longer than running
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])


@contextmanager
def started(mode: str, master: str = "local[2,3]", **settings: str) -> Iterator[Any]:
    """A session with two cores, in which a task is tried up to three times."""
    environment()
    from pyspark.sql import SparkSession

    SparkSession.builder._options.clear()
    builder = SparkSession.builder.remote(master) if mode == "connect" else SparkSession.builder.master(master)
    for name, value in (SETTINGS | _STATIC | settings).items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Connect, that the server's settings cannot be changed any more
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()
