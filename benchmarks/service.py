"""What `sureness serve` holds under load, client and server on the same cores; writes RESULTS-service.md.

make bench-service
python -m benchmarks.service --items 5000 17000 --seconds 5 --rounds 1
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy.sparse import csr_matrix

import sureness as sn
from benchmarks.tables import Bar, Table, count_of, size_of, summary, time_of
from sureness.sources import FactorSource
from tests.service.running import Server

RESULTS = Path(__file__).with_name("RESULTS-service.md")
MLFLOW = Path(__file__).parents[1] / ".venv-mlflow" / "bin" / "python"
ITEMS = (5_000, 17_000, 100_000, 1_000_000)
AT = 17_000  # items of the catalogue that the bars are about
CONNECTIONS = (1, 8, 64, 256)
USUAL = 64  # connections, where only one number is needed
USERS, CANDIDATES, RATE = 2_000, 200, 1_000
THREADS = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

BARE = """
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ANSWER = {answer!r}

async def parsed(request):
    (group,) = (await request.json())["groups"]
    return JSONResponse({{"lists": [{{"user_id": group["user_id"], "scores": group["scores"][:40]}}]}})

async def unread(request):
    await request.body()
    return Response(ANSWER, media_type="application/json")

routes = [Route("/parsed", parsed, methods=["POST"]), Route("/unread", unread, methods=["POST"])]
uvicorn.run(Starlette(routes=routes), port={port}, log_level="error")
"""
BATCH = """
import sys, time
import numpy as np
import sureness as sn
from sureness.sources import FactorSource
recommender, rng, n = sn.load(sys.argv[1]), np.random.default_rng(0), int(sys.argv[2])
recommender.decide(rng.integers(recommender.source.n_users, size=n))
started, done = time.perf_counter(), 0
while time.perf_counter() - started < float(sys.argv[3]):
    recommender.decide(rng.integers(recommender.source.n_users, size=n))
    done += n
print(done / (time.perf_counter() - started))
"""


@dataclass(frozen=True)
class Load:
    """What a client saw."""

    rate: float  # answers a second
    latencies: dict[int, float]  # seconds, by percentile
    failed: int = 0

    def holds(self, rate: float) -> bool:
        """Whether a wanted rate was reached, all answered."""
        return self.rate >= 0.98 * rate and not self.failed


def main() -> None:
    asked = _arguments()
    console, tables = Console(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n_items in asked.items:
            saved(folder, n_items)
        for make in (open_loop, closed_loop, beside_batch, beside_bare, beside_mlflow):
            tables.append(make(folder, asked))
            tables[-1].show(console)
    parts = ["# The service under load", _about(asked), *(each.markdown() for each in (*tables, summary(tables)))]
    RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def saved(folder: Path, n_items: int) -> Path:
    """A recommender of 64 factors in a file; users took ten of their best 500 items in training and ten after it."""
    path = folder / f"{n_items}.sureness"
    if not path.exists():
        rng = np.random.default_rng(0)
        users, items = (rng.standard_normal((n, 64)).astype(np.float32) * 0.45 for n in (USERS, n_items))
        source = FactorSource(users, items)
        best = [_best(source, start) for start in range(0, USERS, 20)]
        taken = rng.permuted(np.concatenate(best), axis=1)[:, :20]
        rows, shape = np.repeat(np.arange(USERS), 10), (USERS, n_items)
        logs = [
            sn.Interactions.from_matrix(csr_matrix((np.ones(len(rows)), (rows, part.ravel())), shape))
            for part in (taken[:, :10], taken[:, 10:])
        ]
        sn.ConfidentRecommender(source).fit(*logs).save(path)
    return path


def _best(source: FactorSource, start: int) -> np.ndarray:
    """The best 500 items of twenty users."""
    scores = source.score_block(np.arange(start, start + 20))
    return np.argpartition(scores, -500, axis=1)[:, -500:].copy()


@contextmanager
def served(path: Path) -> Iterator[Server]:
    with Server((path, "--reload-seconds", "0"), environment=THREADS) as server:
        while (known := server.get("/v1/users").json)["n_known"] < known["n_users"]:  # nothing else is computed then
            time.sleep(0.2)
        yield server


# --- what is measured ---------------------------------------------------------------------------------------------


def open_loop(folder: Path, asked: argparse.Namespace) -> Table:
    """Requests that come whether earlier ones are answered or not."""
    rows, bars = [], []
    for n_items in asked.items:
        started = time.perf_counter()
        with served(saved(folder, n_items)) as server:
            ready = time.perf_counter() - started
            most = users_asked(server, USUAL, asked.seconds)
            rate = RATE if most.rate >= 1.05 * RATE else max(10, int(most.rate / 2))
            every = [at_rate(server, rate, asked.seconds, folder) for _ in range(asked.rounds)]
            found = min(every, key=lambda each: (not each.holds(rate), each.latencies[90]))
            memory = server.memory()
        held = f"{found.rate:,.0f}" + ("" if found.holds(rate) else f" of {rate:,}")
        times = (time_of(found.latencies[percent]) for percent in (50, 90, 99))
        rows.append((count_of(n_items), f"{most.rate:,.0f}", held, *times, size_of(memory), time_of(ready)))
        if n_items == AT:
            bars = [
                Bar.at_least(f"lists a second held open-loop, {AT:,} items", RATE * 0.98, found.rate),
                Bar.at_most("p90 at that rate", 7, found.latencies[90] * 1e3, " ms"),
                Bar.at_most("p99 at that rate", 15, found.latencies[99] * 1e3, " ms"),
            ]
    return Table(
        "Lists of one user each, by items of the catalogue",
        ("items", "most a second", "held open-loop", "p50", "p90", "p99", "memory", "ready, all users looked at"),
        rows, bars=tuple(bars),
        notes=(
            f"One process, 64 factors, {USERS:,} users. Most: {USUAL} connections that ask again at once. Open loop: "
            f"{RATE:,} requests a second, or half the most where that is less; the best of {asked.rounds} rounds.",
        ),
    )  # fmt: skip


def closed_loop(folder: Path, asked: argparse.Namespace) -> Table:
    """Clients that ask again as soon as they are answered."""
    with served(saved(folder, _size(asked))) as server:
        found = {n: users_asked(server, n, asked.seconds) for n in CONNECTIONS}
    rows = [
        (str(n), f"{load.rate:,.0f}", *(time_of(load.latencies[percent]) for percent in (50, 90, 99)), str(load.failed))
        for n, load in found.items()
    ]
    title = f"Lists by connections, closed loop, {_size(asked):,} items"
    return Table(title, ("connections", "lists a second", "p50", "p90", "p99", "failed"), rows)


def beside_batch(folder: Path, asked: argparse.Namespace) -> Table:
    """The same lists in Python, as many users at once as there are connections."""
    rows, bars = [], []
    for n_items in asked.items:
        path = saved(folder, n_items)
        with served(path) as server:
            over_http = max(users_asked(server, USUAL, asked.seconds).rate for _ in range(asked.rounds))
        words = [sys.executable, "-c", BATCH, str(path), str(USUAL), str(asked.seconds)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | THREADS)
        batch = float(done.stdout)
        rows.append((count_of(n_items), f"{batch:,.0f}", f"{over_http:,.0f}", f"{batch / over_http:.2f}"))
        if n_items == AT:
            what = f"cost of a list over HTTP, times the bare batch, {AT:,} items"
            bars.append(Bar.at_most(what, 2, batch / over_http))
    return Table(
        "Lists over HTTP and decide() in a loop", ("items", "decide(), lists a second", "HTTP", "times the cost"), rows,
        bars=tuple(bars), notes=(f"decide() of {USUAL} users at once; {USUAL} connections on the same cores.",),
    )  # fmt: skip


def beside_bare(folder: Path, asked: argparse.Namespace) -> Table:
    """Live scores, beside handlers of Starlette that take the same body and compute nothing."""
    scores = np.sort(np.random.default_rng(0).normal(size=CANDIDATES))[::-1].round(6).tolist()
    body = json.dumps({"groups": [{"user_id": "somebody new", "scores": scores, "history": 5}]})
    script = folder / "live.lua"
    script.write_text(
        f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = {json.dumps(body)}\n'
    )
    with served(saved(folder, _size(asked))) as server:
        answer = server.post("/v1/lists", body.encode()).body
        with _running([sys.executable, "-c", BARE.format(answer=answer, port=(port := _free_port()))], port):
            sides = {
                "sureness serve": (server.port, "/v1/lists"),
                "Starlette, request.json() in and JSONResponse out": (port, "/parsed"),
                "Starlette, bytes in and bytes out": (port, "/unread"),
            }
            rates: dict[str, list[float]] = {name: [] for name in sides}
            for _ in range(asked.rounds):
                for name, (at, path) in sides.items():
                    rates[name].append(wrk(at, script, USUAL, asked.seconds, path).rate)
    medians = {name: float(np.median(each)) for name, each in rates.items()}
    ours, bare, _ = medians.values()
    return Table(
        f"Lists from live scores of {CANDIDATES} candidates", ("server", "requests a second", "ours over it"),
        [(name, f"{rate:,.0f}", f"{ours / rate:.2f}") for name, rate in medians.items()],
        bars=(Bar.at_least("throughput over that of a bare Starlette handler that reads the JSON", 0.5, ours / bare),),
        notes=(f"{len(body):,} bytes of JSON in, {len(answer):,} out.",),
    )  # fmt: skip


def beside_mlflow(folder: Path, asked: argparse.Namespace) -> Table:
    """The same recommender in `mlflow models serve`, one worker."""
    title, path = f"Lists beside mlflow models serve, {_size(asked):,} items", saved(folder, _size(asked))
    if not MLFLOW.exists():
        return Table.skipped(title, "no .venv-mlflow; make test-adapters makes it")
    code = "import sys, sureness as sn, sureness.mlflow as m; m.save_model(sn.load(sys.argv[1]), sys.argv[2])"
    subprocess.run([MLFLOW, "-c", code, path, folder / "model"], check=True, capture_output=True)
    script, port = folder / "mlflow.lua", _free_port()
    script.write_text(
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nrequest = function()\n'
        '  return wrk.format(nil, "/invocations", nil, string.format(\'{"dataframe_records": [{"user_id": %d}]}\', '
        f"math.random(0, {USERS - 1})))\nend\n"
    )
    words = [
        MLFLOW,
        *["-m", "mlflow", "models", "serve", "--env-manager", "local", "--workers", "1", "--port"],
        port,
        "-m",
        folder / "model",
    ]
    on_path = {"PATH": f"{MLFLOW.parent}:{os.environ['PATH']}"}
    with served(path) as server, _running(words, port, on_path):
        one = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", b'{"dataframe_records": [{"user_id": 3}]}',
            {"Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(one, timeout=120) as answered:
            assert json.load(answered)["predictions"]
        ours = users_asked(server, USUAL, asked.seconds).rate
        theirs = wrk(port, script, USUAL, asked.seconds, "/invocations").rate
    return Table(
        title, ("server", "lists a second"),
        [("sureness serve", f"{ours:,.0f}"), ("mlflow models serve", f"{theirs:,.0f}")],
        bars=(Bar.at_least("times the throughput of mlflow models serve", 3, ours / theirs),),
    )  # fmt: skip


# --- clients ------------------------------------------------------------------------------------------------------


def users_asked(server: Server, connections: int, seconds: float) -> Load:
    """Lists of users at random from connections that ask again at once."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "users.lua"
        user = f"math.random(0, {USERS - 1})"
        script.write_text(f'request = function() return wrk.format("GET", "/v1/users/" .. {user} .. "/list") end\n')
        return wrk(server.port, script, connections, seconds)


def wrk(port: int, script: Path, connections: int, seconds: float, path: str = "/") -> Load:
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s", "--latency", "-s", str(script)]
    said = subprocess.run([*words, f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True).stdout
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    latencies = {
        int(percent): float(value) * units[unit]
        for percent, value, unit in re.findall(r"^\s+(50|90|99)%\s+([\d.]+)(us|ms|s)\s*$", said, re.MULTILINE)
    }
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None, said
    return Load(float(rate[1]), latencies, 0 if refused is None else int(refused[1]))


def at_rate(server: Server, rate: int, seconds: float, folder: Path) -> Load:
    """Requests at fixed moments, evenly over many connections that are opened one after the other."""
    log, uris = folder / "h2load.log", folder / "uris"
    log.unlink(missing_ok=True)
    users = np.random.default_rng(1).integers(USERS, size=1_000)
    uris.write_text("".join(f"{server.address}/v1/users/{user}/list\n" for user in users))
    clients = max(1, rate // 10)
    words = [
        "h2load", "--h1", "-i", uris, f"-n{int(rate * seconds)}", f"-c{clients}", "--rps", str(rate / clients),
        "-r1", f"--rate-period={max(1, round(1_000 / rate))}ms", f"--log-file={log}",
    ]  # fmt: skip
    subprocess.run([str(each) for each in words], capture_output=True, check=True)
    when, status, took = np.loadtxt(log, dtype=np.int64, unpack=True)
    good = (status >= 200) & (status < 300)
    latencies = dict(zip((50, 90, 99), np.percentile(took, (50, 90, 99)) / 1e6, strict=True))
    return Load((len(when) - 1) * 1e6 / (when.max() - when.min()), latencies, int((~good).sum()))


@contextmanager
def _running(words: list[object], port: int, environment: dict[str, str] | None = None) -> Iterator[None]:
    """Another server, until it answers at its port."""
    process = subprocess.Popen(
        [str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env=os.environ | THREADS | (environment or {}),
    )  # fmt: skip
    try:
        _wait(lambda: socket.create_connection(("127.0.0.1", port)).close())
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _wait(reached: Callable[[], object], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            reached()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _size(asked: argparse.Namespace) -> int:
    return AT if AT in asked.items else int(asked.items[0])


def _about(asked: argparse.Namespace) -> str:
    load = os.getloadavg()[0]
    return (
        f"`make bench-service`, {os.cpu_count()} cores shared by client and server, {asked.seconds:g} s a number; "
        f"load of the machine at the end {load:.1f}; wrk {_version('wrk', '-v')}, "
        f"h2load {_version('h2load', '--version')}."
    )


def _version(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    found = re.search(r"\d+\.\d+[.\d]*", done.stdout + done.stderr)
    return found[0] if found else "?"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
