"""A training that is killed at any file operation leaves the old output or the new one, whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.workflows import evaluate
from tests.workflows.killing_server import KILLED

SHORT = ("epochs=2", "validate_every=1")
TRAIN = ["train", "--data", "log.csv", "--factors", "2", *(word for each in SHORT for word in ("--set", each))]
DISTILL = [
    "distill", "--data", "log.csv", "--teacher", "bpr:4", "--student", "bpr:2", "--set", "epochs=2",
    *(word for each in SHORT for role in ("teacher", "student") for word in (f"--{role}-set", each)),
]  # fmt: skip
CASES = {"train": (TRAIN, "run.sureness", ("",)), "distill": (DISTILL, "distilled.sureness", ("teacher", "student"))}


@pytest.fixture(scope="module")
def server():
    """Runs commands in processes that die, or copy their folder, at their file operations."""
    script = Path(__file__).with_name("killing_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def run(words: list[str], cwd: Path, **how: int | str) -> int:
        process.stdin.write(json.dumps({"words": words, "cwd": str(cwd), **how}) + "\n")
        return int(process.stdout.readline())

    yield run
    process.communicate()


@pytest.fixture
def folder(tmp_path):
    world = simulate(SimulatorSettings(n_users=40, n_items=25, exposure_rate=0.4, seed=2))
    (tmp_path / "work").mkdir()
    Interactions.from_matrix(world.train).table().write_csv(tmp_path / "work" / "log.csv")
    return tmp_path / "work"


def numbers(path: Path, parts: tuple[str, ...]) -> list[dict[str, float]]:
    return [evaluate(path / part if part else path).quality.means for part in parts]


def listing(folder: Path) -> list[str]:
    """The files of a folder; temporary ones without their random names."""
    return sorted(re.sub(r"\.[0-9a-f]{8}\.", ".", str(path.relative_to(folder))) for path in folder.rglob("*"))


@pytest.mark.parametrize("case", CASES)
def test_a_kill_at_any_file_operation_leaves_the_old_or_the_new(server, folder, case):
    words, name, parts = CASES[case]
    assert server([*words, "--seed", "1"], folder) == 0
    old = numbers(folder / name, parts)
    again = [*words, "--seed", "0"]
    snapshots = folder.parent / "snapshots"
    assert server(again, folder, snapshots=str(snapshots)) == 0
    new = numbers(folder / name, parts)
    assert old != new
    assert listing(folder) == sorted(["log.csv", name])
    moments = sorted(snapshots.iterdir())
    assert len(moments) > 30
    found, resumed = [], set()
    for moment in moments:
        left = numbers(moment / name, parts)
        assert left in (old, new), moment.name
        found.append(left == new)
        if (state := tuple(listing(moment))) not in resumed:  # what the next run finds
            resumed.add(state)
            assert server(again, moment) == 0
            assert numbers(moment / name, parts) == new
            assert listing(moment) == sorted(["log.csv", name])
    assert found == sorted(found)  # once the new one is there, it stays
    assert set(found) == {False, True}


def test_a_snapshot_is_what_a_kill_leaves(server, folder):
    assert server([*TRAIN, "--seed", "1"], folder) == 0
    shutil.copytree(folder, folder.parent / "start")
    again = [*TRAIN, "--seed", "0"]
    assert server(again, folder, snapshots=str(folder.parent / "snapshots")) == 0
    moments = sorted((folder.parent / "snapshots").iterdir())
    for kill_at in range(5, len(moments), 12):
        place = shutil.copytree(folder.parent / "start", folder.parent / f"killed{kill_at}")
        assert server(again, place, kill_at=kill_at) == KILLED
        assert listing(place) == listing(moments[kill_at - 1])
