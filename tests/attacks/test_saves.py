"""A save that is killed, or meets a full disk, at any of its system calls: the old file or the new one, whole."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sureness as sn
from sureness.errors import OutputError
from tests.attacks.faults import at_number, watching
from tests.attacks.saving_process import CALLS
from tests.saving.kinds import ending, fingerprint, made

ROOT = Path(__file__).parents[2]
OLDER = {
    "calibrator/platt": "calibrator/beta",
    "map/per-user-platt": "map/per-user-gaussian",
    "saved/run": "saved/distilled",
    "saved/recommender": "saved/run",
}
"""What is saved, and the kind of the older object in its place."""

every_kind = pytest.mark.parametrize("kind", OLDER)


@pytest.fixture
def places(kind, tmp_path):
    """A file with the older object, alone in its folder, and the newer object in a file elsewhere."""
    place, newer = (tmp_path / folder / f"it{ending(made(kind))}" for folder in ("here", "elsewhere"))
    made(OLDER[kind]).save(place)
    made(kind).save(newer)
    return place, newer


@every_kind
def test_a_kill_at_any_system_call_leaves_the_old_file_or_the_new_one(kind, places):
    words = [sys.executable, "-m", "tests.attacks.saving_process", "kill", *map(str, places)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert {result["status"] for result in results} == {9}
    assert {"open", "write", "fsync", "replace", "unlink", "close", "flock"} <= {result["call"] for result in results}
    for after in (False, True):
        contents = [result["content"] for result in results if result["after"] == after]
        renamed = [result["call"] for result in results if result["after"] == after].index("replace") + (not after)
        assert contents == ["old"] * renamed + ["new"] * (len(contents) - renamed)
    calls = [result["call"] for result in results if not result["after"]]
    renaming = calls.index("replace")
    assert "fsync" in calls[:renaming], "the content is on the disk before it gets its name"
    assert "fsync" in calls[renaming:], "and the name after it"
    assert all(result["left"] <= 1 for result in results)
    assert any(result["left"] == 1 for result in results)
    assert all(result["swept"] for result in results), "the next save removes what a killed one left"


def noting(failed, act):
    """Note the name of the operation at which something happens."""

    def noted(name):
        failed.append(name)
        act(name)

    return noted


def disk_is_full(name):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(name):
    raise KeyboardInterrupt


@every_kind
def test_a_full_disk_at_any_system_call_is_said_in_one_sentence(kind, places):
    place, newer = places
    old, new = place.read_bytes(), newer.read_bytes()
    made(kind).pack()
    refused, was_renamed = [], False
    for number in range(1, 1_000):
        failed = []
        with watching(at_number(number, noting(failed, disk_is_full)), CALLS, reads=True):
            try:
                made(kind).save(place)
            except OutputError as error:
                assert "\n" not in str(error)
                assert os.strerror(errno.ENOSPC) in str(error)
                refused += failed
                assert place.read_bytes() == (new if was_renamed else old), failed
            else:
                assert place.read_bytes() == new, failed
        if not failed:
            break
        was_renamed = was_renamed or failed == ["replace"]
        assert os.listdir(place.parent) == [place.name], failed
        place.write_bytes(old)
    assert {"open", "write", "fsync", "replace", "flock", "fstat", "close"} <= set(refused)
    assert fingerprint(sn.load(place)) == fingerprint(made(kind))


@every_kind
def test_a_disk_that_really_runs_full_leaves_the_old_file(kind, places):
    """The process may not write more than 100 bytes to a file, and gets an error instead of a signal."""
    place, newer = places
    old = place.read_bytes()
    script = """if True:
        import resource, signal, sys
        from pathlib import Path
        from sureness.saving.objects import read_packed, write_packed
        from sureness.errors import OutputError
        place, newer, form = sys.argv[1:]
        packed = read_packed(Path(newer))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            write_packed(packed, place, form)
        except OutputError as error:
            sys.exit(error.code)
    """
    words = [sys.executable, "-c", script, str(place), str(newer), made(kind).saved_as]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.strip()) == (1, "output")
    assert place.read_bytes() == old
    assert os.listdir(place.parent) == [place.name]


@every_kind
def test_a_save_that_is_interrupted_leaves_the_old_file(kind, places):
    place, newer = places
    old, new = place.read_bytes(), newer.read_bytes()
    for number in range(1, 1_000):
        met = []
        with watching(at_number(number, noting(met, interrupted)), ("write", "fsync", "replace")):
            try:
                made(kind).save(place)
            except KeyboardInterrupt:
                assert os.listdir(place.parent) == [place.name]
                assert place.read_bytes() in (old, new)
            else:
                assert met == []
                break
        place.write_bytes(old)
    assert number > 3
