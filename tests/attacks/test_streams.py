"""Some commands with streams that cannot be written; `make attack` tries all of them."""

from __future__ import annotations

from tests.attacks.streams import attack_streams


def test_streams_that_cannot_be_written_lose_nothing_without_a_word(tmp_path):
    found = attack_streams(tmp_path, ["fit", "--version", "sql"])
    assert found.tried > 20
    assert found.failed == 0, found.notes
