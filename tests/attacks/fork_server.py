"""Run commands of sureness in forked processes that meet a fault; one request per line on standard input.

Libraries are imported once, and nothing runs before the fork, so children are fast and inherit no work. The answer to
a request is the exit code (of a process that got a signal: minus its number).
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.attacks import faults

ROOT = Path(__file__).parents[2]
PRELOADED = (
    "sureness.jobs.allocating", "sureness.jobs.applying", "sureness.jobs.cutting",
    "sureness.jobs.datasets", "sureness.jobs.distilling", "sureness.jobs.fitting",
    "sureness.jobs.reporting", "sureness.jobs.datasets", "sureness.jobs.training",
    "sureness.models.networks.training", "sureness.report.page",
    "sureness.cli.demo", "sureness.demo", "numba", "requests", "platformdirs", "jinja2",
    "matplotlib.figure", "matplotlib.backends.backend_agg", "scipy.stats", "scipy.sparse.linalg",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to a command; nothing by default."""

    kill_at: int | None = None  # die at this file operation
    fail_at: int | None = None  # this file operation fails, and all after it if the disk stays full
    error: int = 0  # the number of its error
    stays: bool = False
    snapshots: str | None = None  # copy the folder to this one before every operation
    counted: str | None = None  # write the names of all operations to this file
    file_limit: int | None = None  # no file may become larger: the process is killed, or told so
    limit_kills: bool = True
    kill_after: float | None = None  # seconds until SIGKILL comes from outside


NONE = Fault()


class Server:
    """The other side: asks for commands and hands back their exit codes."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "tests.attacks.fork_server"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def run(self, words: Sequence[str], cwd: Path, fault: Fault = NONE, prepare: str | None = None) -> tuple[int, str]:
        """The exit code of a command in a folder, and what it said on standard error."""
        said = cwd.parent / f"{cwd.name}.said"
        said.write_text("")
        request = {"words": list(words), "cwd": str(cwd), "said": str(said), "fault": asdict(fault), "prepare": prepare}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        answer = self.process.stdout.readline()
        assert answer, "the server of commands is gone"
        return int(answer), said.read_text()


@contextmanager
def serving() -> Iterator[Server]:
    """A server, for as long as it is needed."""
    server = Server()
    try:
        yield server
    finally:
        server.process.communicate()


def _run(words: list[str], cwd: str, said: str, fault: Fault, prepare: str | None) -> None:
    from sureness.cli import main

    os.chdir(cwd)
    sys.argv = ["sureness", *words]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    if prepare is not None:
        module, function, argument = prepare.split(" ")
        getattr(importlib.import_module(module), function)(argument)
    counted: list[str] = []
    write_text = _plain_writer(fault.counted)
    _arm(fault, counted)
    code = 1
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        sys.stderr.write(f"Traceback: {error!r}\n")
    finally:
        sys.stderr.flush()
        write_text("\n".join(counted))
        os._exit(code)


def _plain_writer(path: str | None) -> Callable[[str], object]:
    """Writes a text by the functions that nobody watches."""
    if path is None:
        return lambda _: None
    write, handle = os.write, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    return lambda text: write(handle, text.encode())


def _arm(fault: Fault, counted: list[str]) -> None:
    if fault.kill_at is not None:
        faults.watch(faults.dying_at(fault.kill_at))
    if fault.fail_at is not None:
        faults.watch(faults.failing_at(fault.fail_at, fault.error, from_then_on=fault.stays))
    if fault.snapshots is not None:
        faults.watch(faults.copying_to(fault.snapshots))
    if fault.counted is not None:
        faults.watch(counted.append)
    if fault.file_limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault.limit_kills else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.file_limit, fault.file_limit))


def _compile_something() -> None:
    """Let numba set itself up, which takes longer than most commands; a function without threads is safe to fork."""
    import numba

    numba.njit(lambda number: number + 1)(1)


def _serve() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    _compile_something()
    for line in sys.stdin:
        request = json.loads(line)
        fault = Fault(**request.pop("fault"))
        child = os.fork()
        if child == 0:
            _run(**request, fault=fault)
        if fault.kill_after is not None:
            time.sleep(fault.kill_after)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
