"""One process replaces a file with different content in turn while two others open it: whole, every time.

The short run is part of the tests; SURENESS_STRESS_SECONDS=20 makes it longer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sureness as sn
from tests.artefacts.kinds import ending, fingerprint
from tests.conftest import draw_pairs
from tests.pipeline.worlds import shop

SECONDS = float(os.environ.get("SURENESS_STRESS_SECONDS", "2"))
ROOT = Path(__file__).parents[2]


def calibrators():
    return [sn.IsotonicCalibrator().fit(*draw_pairs(2_000, seed=seed)) for seed in (0, 1)]


def worlds():
    return [shop(200, 30, names=True, seed=seed) for seed in (0, 1)]


def maps():
    return [sn.PerUserPlatt().fit_source(world.source, world.validation, seen=world.train) for world in worlds()]


def runs():
    return [sn.Run(world.source, world.train, world.validation, world.test) for world in worlds()]


def recommenders():
    policy = sn.ExpectedUtility(max_size=5)
    return [
        sn.ConfidentRecommender(world.source, sn.PerUserPlatt(), policy).fit(world.train, world.validation)
        for world in worlds()
    ]


def started(role, *arguments):
    words = [sys.executable, "-m", "tests.artefacts.saving_process", role, *map(str, arguments), str(SECONDS)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def result_of(process):
    output, errors = process.communicate(timeout=SECONDS + 300)
    assert process.returncode == 0, errors
    return json.loads(output), errors


@pytest.mark.parametrize("make", [calibrators, maps, runs, recommenders], ids=lambda make: make.__name__)
def test_readers_find_one_content_or_the_other_whole(make, tmp_path):
    first, second = make()
    assert fingerprint(first) != fingerprint(second)
    place, *files = [tmp_path / f"{name}{ending(first)}" for name in ("it", "first", "second")]
    for file, saved in zip([place, *files], [first, first, second], strict=True):
        saved.save(file)
    processes = [started(role, place, *files) for role in ("read", "read", "write")]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [result_of(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    sys.stdout.write(f"{make.__name__}: {[found for found, _ in results]}\n")
    for found, errors in results[:2]:
        assert (found["mixed"], found["refused"]) == (0, 0), errors
        assert found["first"] + found["second"] > 10
    assert all(sum(found[name] for found, _ in results[:2]) > 0 for name in ("first", "second"))
    assert results[2][0]["saved"] > 10
    assert sorted(os.listdir(tmp_path)) == sorted(file.name for file in (place, *files))
    assert fingerprint(sn.load(place)) in {fingerprint(first), fingerprint(second)}
