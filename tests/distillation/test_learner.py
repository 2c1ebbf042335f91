"""A learner's steps: which drawn items, which soft labels, which loss."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sureness.data.sampling import NegativeSampler
from sureness.distillation.learner import Learner, soft_labels
from sureness.distillation.refresh import Pool, Refreshed
from sureness.distillation.settings import Direction
from sureness.models.networks.training import Trainer
from tests.distillation.worlds import fitted, model, parts


class Watched(Learner):
    """A learner that records the batches and soft labels of its steps."""

    def __init__(self, *given):
        super().__init__(*given)
        self.steps_made = []

    def _step(self, batch, soft):
        self.steps_made.append((batch, soft))
        return 0.0


def watched(direction, monkeypatch, name="bpr", **changes):
    train = parts()[0]
    fitted(), fitted("lightgcn")  # before steps are replaced
    learner = Watched(model(name, **changes).build(train), train, direction)
    monkeypatch.setattr(Trainer, "step", lambda self, batch, soft=None: self._step(batch, soft))
    return learner


def imitating(learner, pool, log=None):
    """Give the learner a guide and drawn items; returns the guide."""
    guide = fitted("lightgcn").network_
    made = soft_labels(learner.direction, learner.network, guide, None)
    learner.imitate(guide, Refreshed(parts()[0] if log is None else log, pool), made)
    return guide


def pool_of(n=3, rounds=2, seed=0, missing=0.2, **parts_of_it):
    """Unseen items for each pair, some of them missing."""
    rng, train = np.random.default_rng(seed), parts()[0]
    drawn = NegativeSampler(train).draw(np.repeat(train.user_rows, rounds * n), rng)
    items = drawn.reshape(len(train), rounds, n).astype(np.int32)
    items[rng.random(items.shape) < missing] = -1
    return Pool(items, by_user=False, **parts_of_it)


def first_batch(learner):
    return next(learner.batches.epoch(np.random.default_rng(0)))


def test_the_guides_scores_of_the_drawn_items_become_soft_labels(monkeypatch):
    direction = Direction(weight=0.7, temperature=3.0)
    learner = watched(direction, monkeypatch)
    pool = pool_of()
    guide = imitating(learner, pool)
    batch = first_batch(learner)
    for learner.epochs_since_refresh in (0, 1, 2, 5):
        learner.step(batch)
        given, soft = learner.steps_made[-1]
        items = pool.items[batch.places, learner.epochs_since_refresh % 2]
        assert given is batch
        assert_array_equal(soft.items, items)
        there = items >= 0
        assert_allclose(soft.labels[there], expit(guide.pair_scores(batch.users, soft.items) / 3.0)[there], rtol=1e-5)
        assert_array_equal(soft.weights, np.full(items.shape, np.float32(0.7)))
        assert soft.weights.dtype == soft.labels.dtype == np.float32
        assert (soft.slope, soft.shift) == (1 / 3.0, 0.0)


def test_soft_labels_follow_the_guides_current_weights(monkeypatch):
    learner = watched(Direction(), monkeypatch)
    imitating(learner, pool_of())
    learner.guide = model(n_factors=3).build(parts()[0])
    batch = first_batch(learner)
    learner.step(batch)
    learner.guide.item_factors.data.mul_(-40.0)
    learner.step(batch)
    before, after = (soft.labels for _, soft in learner.steps_made)
    assert not np.allclose(before, after, atol=1e-3)


def test_stored_scores_are_used_instead_of_asking_the_guide(monkeypatch):
    learner = watched(Direction(temperature=1.0), monkeypatch)
    pool = pool_of(scores=np.random.default_rng(1).normal(size=(len(parts()[0]), 2, 3)).astype(np.float32))
    imitating(learner, pool)
    learner.guide = object()  # it has no scores to ask for
    batch = first_batch(learner)
    learner.step(batch)
    assert_allclose(learner.steps_made[0][1].labels, expit(pool.scores[batch.places, 0]), rtol=1e-5)


def test_position_weights_multiply_the_weight_of_the_direction(monkeypatch):
    learner = watched(Direction(weight=0.5, scheme="top", position_decay=2.0), monkeypatch)
    rng = np.random.default_rng(0)
    shares = rng.random((150, 4)).astype(np.float32)
    imitating(learner, Pool(rng.integers(0, 100, (150, 1, 4)).astype(np.int32), by_user=True, weights=shares))
    batch = first_batch(learner)
    learner.step(batch)
    assert_allclose(learner.steps_made[0][1].weights, 0.5 * shares[batch.users])


def test_without_a_pool_the_learner_is_a_plain_trainer(monkeypatch):
    learner = watched(Direction(), monkeypatch)
    batch = first_batch(learner)
    learner.step(batch)
    assert learner.steps_made == [(batch, None)]


@pytest.mark.parametrize("name", ["bpr", "cdae"])
def test_batches_come_from_the_log_with_added_positives(name):
    """The places of a batch are positions in the new log."""
    train, validation = parts()
    learner = Learner(model(name, batch_size=100).build(train), train, Direction(weight=0.0))
    before = learner.batches
    imitating(learner, None)
    assert learner.batches is before
    imitating(learner, None, log=validation)
    learned = np.concatenate([batch.places for batch in learner.batches.epoch(np.random.default_rng(0))])
    assert_array_equal(np.sort(learned), np.arange(len(validation)))


@pytest.mark.parametrize("name", ["bpr", "neumf", "lightgcn", "cml", "ubpr", "cdae"])
def test_the_loss_is_that_of_the_dissertation(name):
    """L_CF + weight * L_BD: its own loss plus the summed cross-entropies of its drawn items, averaged over pairs."""
    train, weight, temperature = parts()[0], 0.6, 2.5
    unpulled = {"l2": 0.0} | ({"dense_l2": 0.0} if name == "neumf" else {})  # compiled losses leave L2 out
    network = model(name, start_scale=0.3, **unpulled).build(train)
    learner = Learner(network, train, Direction(weight=weight, temperature=temperature))
    guide = imitating(learner, pool_of())
    batch = first_batch(learner)
    network.eval()
    network.settle()
    own = float(network.loss(batch).mean().detach())
    items = learner.pool.items[batch.places, 0]
    scores = (
        network.score(network.tensor(batch.users), network.tensor(np.maximum(items, 0))).detach().numpy().astype(float)
    )
    labels, chance = (
        expit(guide.pair_scores(batch.users, np.maximum(items, 0)) / temperature),
        expit(scores / temperature),
    )
    entropy = -labels * np.log(chance) - (1 - labels) * np.log(1 - chance)
    expected = own + weight * np.where(items >= 0, entropy, 0.0).sum(axis=1).mean()
    assert_allclose(learner.step(batch), expected, rtol=1e-5)
