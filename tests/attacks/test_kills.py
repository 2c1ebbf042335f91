"""Commands that are killed, or whose disk fails, leave the old output or the new one, whole.

Here the folder is copied before every operation of one run, which shows what a kill would leave; `make attack` kills
at every operation.
"""

from __future__ import annotations

import errno

import pytest

from tests.attacks import kills
from tests.attacks.commands import CASES


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    with kills.ground(tmp_path_factory.mktemp("commands") / "ground") as found:
        yield found


@pytest.mark.parametrize("name", CASES)
def test_at_every_file_operation_outputs_are_whole(name, ground):
    arena = ground.arena(name)
    found = kills.copy_everywhere(name, arena)
    assert found.tried >= arena.operations >= 5
    assert found.failed == 0, found.notes


@pytest.mark.parametrize("name", ["fit", "train"])
def test_copies_are_what_kills_leave(name, ground):
    found = kills.kill_everywhere(name, ground.arena(name), every=4)
    assert found.tried > 1
    assert found.failed == 0, found.notes


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["fit", "apply"])
def test_a_disk_that_fails_is_told_in_one_sentence(name, code, ground):
    found = kills.fail_everywhere(name, ground.arena(name), code, every=3)
    assert found.failed == 0, found.notes


def test_compiled_code_that_is_interrupted_leaves_the_old_table(ground):
    found = kills.limit_files("apply", ground.arena("apply"), sizes=[700, 2_000])
    assert found.failed == 0, found.notes


def test_signals_at_random_moments_leave_whole_outputs(ground):
    found = kills.kill_from_outside("apply", ground.arena("apply"), times=4, seconds=0.5)
    assert found.failed == 0, found.notes
