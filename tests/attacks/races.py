"""One process replaces a file with different content in turn while two others open it: whole, every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sureness as sn
from sureness.saving.packed import Savable
from tests.attacks.outcome import Outcome, joined
from tests.conftest import draw_pairs
from tests.recommender.worlds import Shop, shop
from tests.saving.kinds import ending, fingerprint

ROOT = Path(__file__).parents[2]
FAILURE = "a reader that finds a mixture, or is refused"


def calibrators() -> list[Savable]:
    return [sn.IsotonicCalibrator().fit(*draw_pairs(2_000, seed=seed)) for seed in (0, 1)]


def maps() -> list[Savable]:
    return [
        sn.calibration.PerUserPlatt().fit_source(world.source, world.validation, seen=world.train)
        for world in _worlds()
    ]


def runs() -> list[Savable]:
    return [sn.recommender.Run(world.source, world.train, world.validation, world.test) for world in _worlds()]


def recommenders() -> list[Savable]:
    policy = sn.ExpectedUtility(max_size=5)
    return [
        sn.ConfidentRecommender(world.source, sn.calibration.PerUserPlatt(), policy).fit(world.train, world.validation)
        for world in _worlds()
    ]


def _worlds() -> list[Shop]:
    return [shop(200, 30, names=True, seed=seed) for seed in (0, 1)]


KINDS: dict[str, Callable[[], list[Savable]]] = {
    make.__name__: make for make in (calibrators, maps, runs, recommenders)
}
"""Two objects of a kind that hold different things."""


def race(kind: str, folder: Path, seconds: float) -> Outcome:
    """Save two objects under one name in turn for a while; readers meet the one or the other."""
    first, second = KINDS[kind]()
    assert fingerprint(first) != fingerprint(second)
    place, *files = [folder / f"{name}{ending(first)}" for name in ("it", "first", "second")]
    for file, saved in zip([place, *files], [first, first, second], strict=True):
        saved.save(file)
    read, also_read, written = _together([("read", place, *files), ("read", place, *files), ("write", place, *files)],
                                         seconds)  # fmt: skip
    found = {name: read[name] + also_read[name] for name in read}
    assert min(found["first"], found["second"], written["saved"]) > 5, (found, written)
    notes = [f"{kind}: {count} {name}" for name, count in found.items() if name in ("mixed", "refused") and count]
    if more := set(os.listdir(folder)) - {file.name for file in (place, *files)}:
        notes.append(f"{kind}: {', '.join(more)} was left")
    failed = found["mixed"] + found["refused"] + len(more)
    return Outcome(f"race: {kind}", FAILURE, sum(found.values()), failed, tuple(notes))


def race_all(folder: Path, seconds: float) -> Outcome:
    """One race per kind."""
    folders = {kind: folder / kind for kind in KINDS}
    for each in folders.values():
        each.mkdir(parents=True)
    return joined("readers beside a writer", [race(kind, each, seconds) for kind, each in folders.items()])


def _together(roles: list[tuple[Any, ...]], seconds: float) -> list[dict[str, int]]:
    """What processes count that begin at the same moment."""
    processes = [_started(*role, seconds) for role in roles]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [_result(process, seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _started(role: str, *arguments: object) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.attacks.saving_process", role, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _result(process: subprocess.Popen[str], seconds: float) -> dict[str, int]:
    output, errors = process.communicate(timeout=seconds + 300)
    assert process.returncode == 0, errors
    found: dict[str, int] = json.loads(output)
    return found
