"""A short race for each kind of artefact; `make attack` runs longer ones."""

from __future__ import annotations

import pytest

from tests.attacks.races import KINDS, race


@pytest.mark.parametrize("kind", KINDS)
def test_readers_find_one_content_or_the_other_whole(kind, tmp_path):
    found = race(kind, tmp_path, seconds=1.5)
    assert found.tried > 10
    assert found.failed == 0, found.notes
