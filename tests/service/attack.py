"""`make attack-service`: ten minutes of reloads under load, 100,000 mixed requests, 10,000 connections, a kill."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

from tests.service.loading import Crowd, shown_by
from tests.service.running import Server, exact_recommender


def replace(path: Path, content: bytes) -> None:
    """As a careful writer does it."""
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    os.replace(beside, path)


def reloads(folder: Path, seconds: float, every: float = 0.5) -> dict[str, object]:
    """Old, new and damaged files in turn while a crowd asks."""
    recommenders = [exact_recommender(seed=seed) for seed in (0, 1)]
    contents = []
    for number, each in enumerate(recommenders):
        each.save(folder / f"{number}.sureness")
        contents.append((folder / f"{number}.sureness").read_bytes())
    damaged = bytearray(contents[1])
    damaged[len(damaged) // 2] ^= 1
    served = folder / "served.sureness"
    shutil.copy(folder / "0.sureness", served)
    memory = []
    with Server((served, "--reload-seconds", "0.1", "--max-seconds", "60")) as server:
        with Crowd(server, [shown_by(each) for each in recommenders]) as crowd:
            started, turn = time.monotonic(), 0
            while time.monotonic() - started < seconds:
                turn += 1
                if turn % 4 == 3:
                    served.write_bytes(contents[0][: len(contents[0]) // 2])  # in place, and not whole
                else:
                    replace(served, (contents[1], bytes(damaged), b"", contents[0])[turn % 4])
                time.sleep(every)
                memory.append(server.memory())
            replace(served, contents[1])
            time.sleep(2)
        metrics = server.get("/metrics").body.decode()
        loaded = server.get("/v1/artefacts").json
        assert loaded["problem"] is None
        errors = server.stop()
    early, late = (
        sorted(part)[len(part) // 2]
        for part in (memory[len(memory) // 3 : len(memory) // 2], memory[-len(memory) // 6 :])
    )
    return {
        "requests": sum(crowd.statuses.values()), "statuses": dict(crowd.statuses), "wrong": crowd.wrong[:5],
        "reloads": loaded["reloads"], "refused": 'sureness_reloads_total{result="refused"}' in metrics,
        "memory": late / early, "log": errors,
    }  # fmt: skip


def mixed(folder: Path, n_requests: int) -> dict[str, object]:
    """Requests of many kinds at once."""
    recommender = exact_recommender()
    recommender.save(folder / "mixed.sureness")
    with Server((folder / "mixed.sureness", "--max-seconds", "60")) as server:  # a busy machine is not its mistake
        with Crowd(server, [shown_by(recommender)], threads=8) as crowd:
            while sum(crowd.statuses.values()) < n_requests:
                time.sleep(0.2)
        errors = server.stop()
    return {
        "requests": sum(crowd.statuses.values()),
        "statuses": dict(crowd.statuses),
        "wrong": crowd.wrong[:5],
        "log": errors,
    }


def connections(folder: Path, n: int) -> dict[str, object]:
    """Many clients that say nothing, and one that does."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    n = min(n, most - 200)
    with Server((folder / "mixed.sureness",)) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(n)]
        found = server.list_of(3)["list_size"]
        for client in clients:
            client.close()
        assert server.list_of(3)["list_size"] == found
        errors = server.stop()
    return {"connections": n, "log": errors}


def killed(folder: Path, n_users: int = 100_000) -> dict[str, object]:
    """How long a killed server takes to be ready again."""
    large = exact_recommender(n_users, 60)
    large.save(folder / "large.sureness")
    with Server((folder / "large.sureness",)) as server:
        server.stop(signal.SIGKILL)
    started = time.monotonic()
    with Server((folder / "large.sureness",)) as server:
        seconds = time.monotonic() - started
        assert server.list_of(5)
    return {"users": n_users, "seconds until ready": round(seconds, 2)}


def main(minutes: float) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "mixed requests": mixed(folder, 100_000), "connections": connections(folder, 10_000),
            "kill -9 and restart": killed(folder), f"{minutes:g} minutes of reloads": reloads(folder, 60 * minutes),
        }  # fmt: skip
    for what, result in found.items():
        sys.stdout.write(f"{what}: {result}\n")
    failed = any(result.get("wrong") or result.get("log") for result in found.values())
    return int(failed or abs(found[f"{minutes:g} minutes of reloads"]["memory"] - 1) > 0.05)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
