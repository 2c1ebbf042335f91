"""Some hostile data for every public function that takes data; `make attack` gives all of it."""

from __future__ import annotations

import pytest

import sureness as sn
from tests.attacks.doors import EXCLUDED, covered, doors
from tests.attacks.hostile_data import attack_doors


def test_every_public_name_is_attacked_or_excluded_with_a_reason():
    every = covered()
    assert set(sn.__all__) <= every | set(EXCLUDED)
    assert not every & set(EXCLUDED)
    assert all(EXCLUDED.values())


@pytest.mark.parametrize("part", range(4))
def test_hostile_data_is_refused_or_answered(part):
    found = attack_doors(slice(part, None, 8), doors()[part::4])
    assert found.tried > 300
    assert found.failed == 0, found.notes
