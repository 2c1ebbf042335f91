"""Odd files for two commands; `make attack` gives them to all."""

from __future__ import annotations

import pytest

from tests.attacks.hostile_files import attack_commands


@pytest.mark.parametrize("command", ["fit", "inspect"])
def test_odd_files_are_told_in_one_sentence(command, tmp_path):
    found = attack_commands(tmp_path / "files", [command])
    assert found.tried > 10
    assert found.failed == 0, found.notes
