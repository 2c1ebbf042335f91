"""Run the benchmarks, print their tables and write RESULTS.md: `python -m benchmarks.run`."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import psutil
import typer
from rich.console import Console

from benchmarks import (
    allocating,
    deciding,
    distilling,
    evaluating,
    fitting,
    importing,
    metrics,
    neural,
    sizing,
    streaming,
    training,
)
from benchmarks.tables import FULL, QUICK, Scale, Table, summary

SUBJECTS: dict[str, Callable[[Scale], Table | list[Table]]] = {
    "gaussian": fitting.gaussian,
    "families": fitting.families,
    "others": fitting.others,
    "metrics": metrics.calibration_errors,
    "interval": metrics.intervals,
    "apply": streaming.applying,
    "fit": streaming.fitting_files,
    "bpr": training.bpr_epochs,
    "lightgcn": training.lightgcn_epochs,
    "time-to-quality": training.time_to_quality,
    "neural": neural.epochs,
    "bpr-to-quality": neural.bpr_to_quality,
    "memory": training.memory,
    "ranking": evaluating.ranking,
    "user-maps": sizing.user_maps,
    "expected-utility": sizing.expected,
    "serving": sizing.serving,
    "fit-recommender": deciding.fitting_recommenders,
    "decide": deciding.one_user,
    "allocation": allocating.allocation,
    "distillation": distilling.epochs,
    "distillation-memory": distilling.memory,
    "import": importing.importing,
}
RESULTS = Path(__file__).with_name("RESULTS.md")
_PACKAGES = ("sureness", "numpy", "scipy", "scikit-learn", "numba", "polars", "netcal", "betacal", "torch", "implicit")


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, a smoke test; writes no file.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(SUBJECTS)}; may be repeated.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where the results go; by default RESULTS.md, for a full run of all.")
    ] = None,
) -> None:
    """Measure `sureness` against its yardsticks."""
    if unknown := set(only or ()) - set(SUBJECTS):
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(SUBJECTS)}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    tables: list[Table] = []
    loads = [psutil.getloadavg()[0]]
    for name in only or SUBJECTS:
        start = time.perf_counter()
        found = SUBJECTS[name](QUICK if quick else FULL)
        new = found if isinstance(found, list) else [found]
        for table in new:
            table.show(console)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s\n", style="dim")
        tables += new
        loads.append(psutil.getloadavg()[0])
    summary(tables).show(console)
    if output is None and not quick and not only:
        output = RESULTS
    if output is not None:
        options = [*(["--quick"] if quick else []), *(f"--only {name}" for name in only or ())]
        output.write_text(_page(tables, loads, options), encoding="utf-8")
        console.print(f"wrote {output}")


def _page(tables: list[Table], loads: list[float], options: list[str]) -> str:
    command = " ".join(["python -m benchmarks.run", *options])
    opening = "\n".join([
        "# How fast is sureness?",
        "",
        f"Written by `{command}` on {date.today().isoformat()}; do not edit.",
        "",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}.",
        f"Load average while it ran: {min(loads):.1f} to {max(loads):.1f}; above the number of cores others were at "
        "work, and single ratios can be off by their whole spread.",
        "Packages: " + ", ".join(_versions()) + ".",
        "",
        "Both sides of a comparison run in turns in the same process and on the same data, or as whole processes one "
        "after the other. Times are medians. Ratios are medians over rounds, with the smallest and largest in "
        "brackets. The growth exponent is the slope of log time (or memory) on log size.",
    ])  # fmt: skip
    return "\n\n".join([opening, *(table.markdown() for table in (summary(tables), *tables))]) + "\n"


def _versions() -> list[str]:
    """Of the packages that are there; some are yardsticks of other subjects."""
    found = []
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    typer.run(main)
