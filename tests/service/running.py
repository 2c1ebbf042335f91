"""A real server in a process of its own, on a free port of this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sureness as sn
from sureness.sources import MatrixSource


def exact_recommender(n_users=240, n_items=80, *, seed=0, names=False):
    """A recommender whose scores are a matrix: those of one user do not depend on who else is in a batch."""
    world = sn.simulate(sn.SimulatorSettings(n_users=n_users, n_items=n_items, seed=seed))
    log = sn.Interactions.from_matrix(world.train)
    if names:
        users = [f"user/{row} é" for row in log.user_rows.tolist()]
        items = [f"item {row}" for row in log.item_rows.tolist()]
        log = sn.Interactions.of(users, items)
    split = sn.by_ratio(log, seed=0)
    factors = sn.svd_source(split.train, n_factors=4)
    scores = factors.score_block(range(factors.n_users))
    source = MatrixSource(scores, split.train.users, split.train.items)
    return sn.ConfidentRecommender(source).fit(split.train, split.validation)


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """`sureness serve` with some words, and what it prints."""

    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    free_port: bool = True

    def __enter__(self) -> Server:
        words = [sys.executable, "-m", "sureness", "serve", *map(str, self.words)]
        words += ["--port", "0"] if self.free_port else []
        environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1", **self.environment}
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        found = None
        lines = []
        while found is None:
            line = self.process.stdout.readline()
            lines.append(line)
            if not line:
                raise AssertionError(f"the server ended: {''.join(lines)}{self.process.communicate()[1]}")
            found = re.search(r"explorer\s+(http://\S+?)/\s", line)
        self.address = found[1]
        while "openapi" not in line:
            line = self.process.stdout.readline()
        for _ in range(200):
            try:
                self.get("/health/ready")
                return self
            except urllib.error.URLError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.address).port

    def stop(self, how: int = signal.SIGTERM) -> str:
        """End it; returns what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        if not self.process.stderr.closed:
            self.errors = self.process.communicate(timeout=60)[1]
        return self.errors

    def ask(self, path: str, body: object = None, method: str | None = None, headers=None, timeout=60.0) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, method=method, headers=headers or {})
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as found:
                return Answer(found.status, found.read(), dict(found.headers))
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read(), dict(error.headers))

    def get(self, path: str, **options: Any) -> Answer:
        return self.ask(path, **options)

    def post(self, path: str, body: object, **options: Any) -> Answer:
        return self.ask(path, body, "POST", **options)

    def list_of(self, user: object, **query: object) -> Any:
        """The list of a user, which must be there."""
        asked = "?" + urllib.parse.urlencode(query) if query else ""
        found = self.get(f"/v1/users/{urllib.parse.quote(str(user), safe='')}/list{asked}")
        assert found.status == 200, found.body
        return found.json["list"]

    def memory(self) -> int:
        """Bytes of the process in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024
