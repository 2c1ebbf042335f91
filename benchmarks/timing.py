"""Measure two sides of a comparison in turns, so that a busy machine slows both alike."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

SLOW = 20.0  # seconds; a side that takes longer is run once
_WATCH = Path(__file__).with_name("_watch.py")


@dataclass(frozen=True)
class Measured:
    """One run of one side."""

    seconds: float
    peak_bytes: int = 0  # largest resident memory of the process, for sides that are commands
    output: str = ""
    processor_seconds: float = 0.0  # of all threads, for sides that are commands


@dataclass(frozen=True)
class Runs:
    """All counted runs of one side, in order."""

    runs: tuple[Measured, ...]

    @property
    def seconds(self) -> np.ndarray:
        return np.array([run.seconds for run in self.runs])

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def processor(self) -> Runs:
        """The same runs, by their processor time."""
        return Runs(tuple(replace(run, seconds=run.processor_seconds) for run in self.runs))

    @property
    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.runs)


@dataclass(frozen=True)
class Ratio:
    """Median of the ratios of each round, and their range."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 0 if self.low >= 100 else 1 if self.low >= 10 else 2 if self.low >= 0.1 else 3
        return f"{self.value:,.{digits}f} ({self.low:,.{digits}f}-{self.high:,.{digits}f})"


def take_turns(sides: Mapping[str, Callable[[], Measured]], rounds: int) -> dict[str, Runs]:
    """Run every side once for each round, one after the other.

    A first round, in which functions are compiled and files cached, does not count, except for a side slower than
    `SLOW`: that is its only run.
    """
    first = {name: side() for name, side in sides.items()}
    once = {name for name, run in first.items() if run.seconds > SLOW}
    counted: dict[str, list[Measured]] = {name: [first[name]] if name in once else [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            if name not in once:
                counted[name].append(side())
    return {name: Runs(tuple(runs)) for name, runs in counted.items()}


def timed(function: Callable[[], object]) -> Callable[[], Measured]:
    """A function as a side."""

    def run() -> Measured:
        start = time.perf_counter()
        function()
        return Measured(time.perf_counter() - start)

    return run


def watched(*command: str | Path) -> Callable[[], Measured]:
    """A command as a side: its wall time and its peak memory, both seen by a small process that starts it."""

    def run() -> Measured:
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(_WATCH), *map(str, command)],
            capture_output=True, text=True, check=False, env=_environment(),
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")
        return Measured(**json.loads(done.stdout))

    return run


def python(code: str, *arguments: str | Path) -> Callable[[], Measured]:
    """A few lines of Python in a process of their own as a side."""
    return watched(sys.executable, "-c", code, *arguments)


def processed(function: Callable[[], object]) -> Callable[[], Measured]:
    """A function of one thread as a side, by its processor time: others that wait for the same core do not count."""

    def run() -> Measured:
        gc.collect()  # what earlier runs left behind is theirs
        start = time.process_time()
        function()
        return Measured(time.process_time() - start)

    return run


def per_epoch(function: Callable[[], object], n_epochs: int) -> Callable[[], Measured]:
    """A function of one thread that runs so many epochs as a side; its processor time is that of one."""

    def run() -> Measured:
        return Measured(processed(function)().seconds / n_epochs)

    return run


@contextmanager
def one_thread() -> Iterator[None]:
    """torch, compiled loops and matrix products use one thread."""
    import torch
    from threadpoolctl import threadpool_limits

    from sureness.numerics import at_most_threads

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1), at_most_threads(1):
            yield
    finally:
        torch.set_num_threads(before)


def ratio(of: Runs, to: Runs) -> Ratio:
    """How many times longer `of` took than `to`, round by round; a single run is compared with every round."""
    each = of.seconds / to.seconds
    return Ratio(float(np.median(each)), float(each.min()), float(each.max()))


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent e for which time grows like size**e: the slope of log time on log size."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _environment() -> dict[str, str]:
    """Bytecode is kept, as after an installation; otherwise every start would compile the package anew."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
