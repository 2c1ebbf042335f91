"""Steps of two models alternate so that both epochs end together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sureness.distillation.joint import interleaved, joint_epoch
from sureness.models.networks.training import Trainer
from tests.distillation.worlds import model, parts


@given(st.lists(st.integers(1, 30), min_size=0, max_size=3))
def test_turns_are_spread_evenly_and_all_epochs_end_together(counts):
    turns = list(interleaved(counts))
    assert [turns.count(who) for who in range(len(counts))] == counts
    for done in range(1, len(turns) + 1):
        for who, count in enumerate(counts):
            assert abs(turns[:done].count(who) - count * done / len(turns)) <= 1 + 1e-9


def test_a_joint_epoch_gives_each_trainer_the_loss_of_an_epoch_alone():
    """Also with dropout, whose random numbers must not depend on the other model."""
    train = parts()[0]

    def trainers():
        return [
            Trainer(model(name, batch_size=size).build(train), train) for name, size in (("cdae", 700), ("bpr", 200))
        ]

    together = joint_epoch(trainers(), 1, seed=9)
    assert together == [trainer.epoch(1) for trainer in trainers()]


def test_a_joint_epoch_reports_every_step():
    train, reported = parts()[0], []
    trainers = [Trainer(model(batch_size=size).build(train), train) for size in (200, 700)]
    joint_epoch(trainers, 1, 0, lambda step, done, total: reported.append((done, total)))
    total = sum(trainer.batches.n_batches for trainer in trainers)
    assert reported == [(done, total) for done in range(1, total + 1)]
