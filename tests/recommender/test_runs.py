"""A run knows what was seen, whichever parts of the split it has."""

from __future__ import annotations

import pytest

import sureness as sn
from tests.recommender.worlds import shop


@pytest.fixture(scope="module")
def world():
    return shop(30, 20)


def pairs(log):
    return set(zip(log.user_rows.tolist(), log.item_rows.tolist(), strict=True))


def test_train_and_validation_are_seen_and_the_test_is_not(world):
    run = sn.recommender.Run(world.source, world.train, world.validation, world.test)
    assert pairs(run.seen()) == pairs(world.train) | pairs(world.validation)
    assert not pairs(run.seen()) & pairs(world.test)


def test_a_run_without_a_split_has_seen_nothing(world):
    assert sn.recommender.Run(world.source).seen() is None
    assert pairs(sn.recommender.Run(world.source, validation=world.validation).seen()) == pairs(world.validation)
