"""A cluster of two workers on this machine, on which a slow task is started a second time.

python -m tests.spark.speculation folder
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import sureness as sn
from sureness.spark import fit, lists
from tests.spark.faults import faulty
from tests.spark.sessions import ROOT, environment, started
from tests.spark.tables import frame_of, same_tables, scored, table_of

SPECULATION = {
    "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5", "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.executorEnv.PYTHONPATH": f"{ROOT}:{ROOT}/src",
    "spark.shuffle.service.enabled": "false", "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s", "spark.sql.adaptive.enabled": "false",
}  # fmt: skip


@contextmanager
def cluster() -> Iterator[str]:
    """A master and two workers, each with its own address of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    commands += [
        [f"{deploy}.worker.Worker", "--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0", address]
        for host in ("127.0.0.2", "127.0.0.3")
    ]
    spark = Path(find_spec("pyspark").origin).parent / "bin" / "spark-class"
    processes = [
        subprocess.Popen([spark, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        yield address
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def main(folder: Path) -> None:
    environment()
    with cluster() as address, started("classic", address, **SPECULATION) as spark:
        table = scored(40_000, seed=0)
        frame = frame_of(spark, table, partitions=4)
        slow = faulty(frame, folder, "sleep", only=0)
        start = time.monotonic()
        found = fit(slow)
        assert time.monotonic() - start < 300, "the slow attempt was waited for"
        assert {"0-0", "whole-0-1"} <= {path.name for path in folder.iterdir()}, "no copy was started"
        expected = sn.PlattCalibrator().fit(table["score"], table["label"])
        assert found.n_pairs_ == 40_000
        np.testing.assert_allclose(found.probability([0.5]), expected.probability([0.5]), rtol=0, atol=1e-9)
        lists(slow, found).write.parquet(f"{folder}/lists")
        same_tables(table_of(spark.read.parquet(f"{folder}/lists")), table_of(lists(frame, found)), ["user_id", "rank"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
