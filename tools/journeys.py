"""Count the files that a command crosses, and the calls that lead from one package into another.

    python tools/journeys.py            # fit, train, list-size and distill on a small log
    python tools/journeys.py fit --list # and the files of one of them

A file is crossed if one of its functions runs; a change of package is a pair of functions of which the first calls the
second, in different packages of sureness. Imports and comprehensions do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import sureness

ROOT = Path(sureness.__file__).parent
TRAINING = ["--factors", "4", "--set", "epochs=2"]
ROLES = ["bpr:4", "bpr:2", "epochs=2", "epochs=2", "epochs=2"]


class Journey(NamedTuple):
    """What a command ran through."""

    files: set[str]
    changes: set[tuple[str, str]]


def travelled(run: Callable[[], object]) -> Journey:
    """The functions of sureness that run, in all threads."""
    found = Journey(set(), set())

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (own := _place(frame)) is None:
            return
        found.files.add(own.partition(":")[0])
        caller = frame.f_back
        while caller is not None and _place(caller) is None:
            caller = caller.f_back
        before = None if caller is None else _place(caller)
        if before is not None and _package(before) != _package(own):
            found.changes.add((before, own))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def _place(frame: FrameType) -> str | None:
    """The file and the function that run; None outside sureness, and for imports and comprehensions."""
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    if not file.startswith(str(ROOT)) or name.startswith("<") or name == "__getattr__":
        return None
    if frame.f_code.co_flags & 0x2 == 0:  # the body of a module or a class
        return None
    return f"{Path(file).relative_to(ROOT).as_posix()}:{frame.f_code.co_qualname}"


def _package(place: str) -> str:
    return place.partition("/")[0] if "/" in place else place.partition(":")[0]


def journeys(folder: Path) -> dict[str, list[str]]:
    """The words of each command, on a log of its own; in the order in which they can run."""
    rng = np.random.default_rng(0)
    tastes = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 60))
    users, items = np.nonzero(rng.random(tastes.shape) < 0.4 / (1 + np.exp(-2 * tastes)))
    pl.DataFrame({"user_id": users, "item_id": items}).write_parquet(folder / "log.parquet")
    score = rng.normal(size=2_000)
    label = rng.random(2_000) < 1 / (1 + np.exp(-score))
    pl.DataFrame({"user_id": np.arange(2_000) % 50, "score": score, "label": label}).write_parquet(folder / "t.parquet")
    log, run = str(folder / "log.parquet"), str(folder / "run.sureness")
    teacher, student, *sets = ROLES
    roles = ["--teacher", teacher, "--student", student, "--teacher-set", sets[0], "--student-set", sets[1]]
    return {
        "fit": ["fit", str(folder / "t.parquet"), "--method", "platt", "-o", str(folder / "map.json")],
        "train": ["train", log, *TRAINING, "-o", run],
        "list-size": ["list-size", run, "-o", str(folder / "lists.parquet")],
        "distill": ["distill", log, *roles, "--set", sets[2], "-o", str(folder / "both.sureness")],
    }


def main() -> None:
    """Print one line for each journey."""
    from sureness.cli import app

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="?", choices=["fit", "train", "list-size", "distill"])
    parser.add_argument("--list", action="store_true", help="name the files")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in journeys(Path(folder)).items():
            wanted = asked.name in (None, name)
            command = [*words, "--json"]
            if not wanted and name != "train":  # whose run the lists are made of
                continue

            def call(command: list[str] = command) -> None:
                app(command, standalone_mode=False)

            found = travelled(call)
            if wanted:
                sys.stderr.write(f"{name}: {len(found.files)} files, {len(found.changes)} changes of package\n")
                sys.stderr.writelines(f"  {each}\n" for each in sorted(found.files) if asked.list)


if __name__ == "__main__":
    main()
