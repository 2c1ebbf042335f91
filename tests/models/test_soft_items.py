"""A step that also learns from the soft labels of another model, compiled and plain; scores of pairs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_expit

from sureness.models.catalogue import make_recommender, model_names
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import soft_label_loss
from sureness.models.networks.training import Trainer, seeded, using_threads
from tests.models.worlds import QUICK, everyone, simulated

every = pytest.mark.parametrize("name", model_names())
FUSED = ("bpr", "ubpr")
NOTHING = 0.4  # the share of items that are not there, where some are not


@pytest.fixture(autouse=True)
def one_thread():
    """Small steps gain nothing from more, and a busy machine loses."""
    with using_threads(1):
        yield


def trainer(name="bpr", *, fused=True, **changes):
    """One of two trainers that begin alike, with or without the compiled step."""
    train = simulated().train
    made = Trainer(make_recommender(name, **(QUICK | {"start_scale": 0.3} | changes)).build(train), train)
    assert made.fused == (name in FUSED)
    made.fused = fused and made.fused
    return made


def soft_items_for(batch, n_items=100, *, n=4, missing=0.0, seed=0, slope=0.5, shift=0.2):
    """Random soft labels for a batch; one item may come twice for a pair, and be its positive too."""
    rng = np.random.default_rng(seed)
    shape = (len(batch.users), n)
    items = rng.integers(0, n_items, shape)
    items[rng.random(shape) < missing] = -1
    labels, weights = rng.random(shape).astype(np.float32), rng.uniform(0, 2, shape).astype(np.float32)
    return SoftItems(items, labels, weights, slope, shift)


def batches_of(one, n_steps):
    """Some batches of a first epoch."""
    made = one.batches.epoch(np.random.default_rng(0))
    return [next(made) for _ in range(n_steps)]


# --- the compiled step ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [NOTHING, 1.0])
@pytest.mark.parametrize("negatives", [3])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("bpr", {}),
        ("ubpr", {}),
        ("ubpr", {"seen_negatives": True}),
    ],
    ids=str,
)
def test_the_compiled_step_is_the_plain_one(name, changes, negatives, missing):
    """One step from the same start: loss, tables and moments; without L2, which the compiled loss leaves out."""
    compiled, plain = (
        trainer(name, fused=fused, negatives=negatives, batch_size=64, l2=0.0, **changes) for fused in (True, False)
    )
    (batch,) = batches_of(plain, 1)
    soft = soft_items_for(batch, missing=missing)
    assert_allclose(*(stepped(one, batch, soft) for one in (compiled, plain)), rtol=2e-6)
    _same(compiled, plain)


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_many_compiled_steps_are_many_plain_ones(name, l2):
    compiled, plain = (trainer(name, fused=fused, negatives=2, batch_size=100, l2=l2) for fused in (True, False))
    for number, batch in enumerate(batches_of(plain, 14)):
        soft = soft_items_for(batch, seed=number) if number % 3 else None
        for one in (compiled, plain):
            stepped(one, batch, soft, seed=number)
    _same(compiled, plain, rtol=2e-3, atol=2e-5)


def stepped(one, batch, soft, seed=0):
    """One step, whose dropout follows from the seed."""
    with seeded(seed):
        return one.step(batch, soft)


def test_missing_items_move_nothing_in_many_steps():
    compiled, plain = (trainer(fused=fused, batch_size=10) for fused in (True, False))
    for number, batch in enumerate(batches_of(plain, 20)):
        soft = soft_items_for(batch, missing=0.9, seed=number)
        for one in (compiled, plain):
            one.step(batch, soft)
    _same(compiled, plain, rtol=2e-3, atol=2e-5)


def _same(one, other, rtol=1e-4, atol=2e-6):
    """Adam divides by the size of a gradient, so tables are compared with the length of a step in mind."""
    for name, tensor in one.network.state_dict().items():
        assert_allclose(tensor, other.network.state_dict()[name], rtol=rtol, atol=atol * 100, err_msg=name)
    theirs = other.optimiser.state()
    for name, tensor in one.optimiser.state().items():
        assert_allclose(tensor, theirs[name], rtol=rtol, atol=atol, err_msg=name)
    assert one.optimiser.steps == other.optimiser.steps


def test_only_rows_of_the_batch_and_of_the_soft_items_are_touched():
    one = trainer()
    before = {name: tensor.clone() for name, tensor in one.network.state_dict().items()}
    batch = Batch(np.array([3, 3]), np.array([7, 8]), np.array([[9], [9]]), np.array([0, 1]))
    items = np.array([[20, -1], [21, 20]])
    soft = SoftItems(items, np.full((2, 2), 0.9, np.float32), np.ones((2, 2), np.float32))
    one.step(batch, soft)
    moved = {
        name: np.flatnonzero((tensor != before[name]).any(dim=1)).tolist()
        for name, tensor in one.network.state_dict().items()
    }
    assert moved == {"user_factors": [3], "item_factors": [7, 8, 9, 20, 21]}


def test_without_soft_items_it_is_a_plain_step():
    """Weights of 0, items that are not there, and none at all are the same first step."""
    ends = []
    for kind in ("none", "weightless", "missing"):
        one = trainer()
        (batch,) = batches_of(one, 1)
        soft = soft_items_for(batch, missing=1.0 if kind == "missing" else 0.0)
        if kind == "weightless":
            soft = soft._replace(weights=np.zeros_like(soft.weights))
        loss = one.step(batch, None if kind == "none" else soft)
        ends.append((loss, one.network.item_factors.detach().numpy().copy()))
    for loss, factors in ends[1:]:
        assert loss == ends[0][0]
        assert_array_equal(factors, ends[0][1])


# --- the loss ------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.data(), st.integers(1, 5), st.integers(1, 4), st.floats(0.1, 3), st.floats(-2, 2))
def test_the_soft_loss_is_weighted_cross_entropy(data, n_pairs, n_items, slope, shift):
    def numbers(low, high):
        return np.array(
            data.draw(st.lists(st.floats(low, high), min_size=n_pairs * n_items, max_size=n_pairs * n_items))
        )

    scores, labels, weights = (numbers(*ends).reshape(n_pairs, n_items) for ends in ((-8, 8), (0, 1), (0, 3)))
    found = soft_label_loss(*(torch.tensor(values) for values in (scores, labels, weights)), slope, shift)
    logits = slope * scores + shift
    entropy = -labels * log_expit(logits) - (1 - labels) * log_expit(-logits)
    assert_allclose(found, (weights * entropy).sum(axis=1), rtol=1e-7, atol=1e-9)


def test_the_soft_loss_of_far_scores_stays_finite():
    scores = torch.tensor([[1e4, -1e4]])
    assert soft_label_loss(scores, torch.tensor([[0.0, 1.0]]), torch.ones(1, 2)).tolist() == [2e4]


@every
def test_the_reported_loss_is_the_models_own_and_the_soft_one_together(name):
    """The mean over pairs of the sum over items."""
    one = trainer(name, fused=False, l2=0.0)
    (batch,) = batches_of(one, 1)
    soft = soft_items_for(batch, missing=NOTHING)
    one.network.eval()  # no dropout, so that both are of the same history
    one.network.settle()
    own = float(one.network.loss(batch).mean().detach())
    scores = (
        one.network.score(torch.from_numpy(batch.users), torch.from_numpy(np.maximum(soft.items, 0))).detach().numpy()
    )
    logits = soft.slope * scores + soft.shift
    entropy = np.logaddexp(0, logits) - soft.labels * logits
    added = (np.where(soft.items >= 0, soft.weights, 0) * entropy).sum(axis=1).mean()
    assert_allclose(one.step(batch, soft), own + added, rtol=1e-5)


@every
def test_a_learner_comes_to_predict_constant_soft_labels(name):
    """Its sigmoid(slope * score + shift) comes near the labels, for every model."""
    one = trainer(name, learning_rate=0.1, l2=0.0, **({"dropout": 0.0} if name == "cdae" else {}))
    (batch,) = batches_of(one, 1)
    some = np.isin(batch.users, np.unique(batch.users)[:4])
    batch = Batch(*(part[some] for part in batch))
    said = np.random.default_rng(1).uniform(0.3, 0.6, (150, 2)).astype(np.float32)  # by user, of two items each
    items = 2 * (batch.users[:, None] % 40) + np.array([0, 1])
    soft = SoftItems(items, said[batch.users], np.full(items.shape, 50.0, np.float32), 1.0, 0.8)
    one.network.train()
    before = _distance(one.network, batch, soft)
    for _ in range(60):
        one.step(batch, soft)
    assert _distance(one.network, batch, soft) < min(0.03, before)


@torch.no_grad()
def _distance(network, batch, soft):
    scores = network.score(torch.from_numpy(batch.users), torch.from_numpy(soft.items)).numpy()
    chance = 1 / (1 + np.exp(-(soft.slope * scores + soft.shift)))
    return float(np.abs(chance - soft.labels).mean())


def test_soft_items_leave_no_embedding_of_cml_outside_its_ball():
    one = trainer("cml", learning_rate=0.1, radius=0.5, start_scale=0.05, batch_size=8)
    (batch,) = batches_of(one, 1)
    for seed in range(10):
        one.step(batch, soft_items_for(batch, seed=seed, slope=3.0, shift=4.0))
    lengths = [
        float(table.detach().norm(dim=1).max()) for table in (one.network.user_factors, one.network.item_factors)
    ]
    assert max(lengths) <= 0.5 + 1e-5


# --- scores of pairs -----------------------------------------------------------------------------------------------

PAIRS = np.array([5, 5, 0, 149, 5, 31, 0]), np.random.default_rng(0).integers(0, 100, (7, 9))


@cache
def fitted(name):
    """A model that has learned a little."""
    return make_recommender(name, **QUICK).fit(simulated().train)


@pytest.mark.parametrize("name", model_names())
def test_scores_of_pairs_are_those_of_the_lists(name):
    """Users repeated and in any order."""
    model = fitted(name)
    users, items = PAIRS
    said = model.network_.pair_scores(users, items)
    assert (said.dtype, said.shape) == (np.float32, items.shape)
    assert_allclose(said, everyone(model)[users[:, None], items], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", model_names())
def test_scores_of_pairs_are_those_of_the_network(name):
    network = fitted(name).network_
    with torch.no_grad():
        scores = network.score(*(torch.from_numpy(rows) for rows in PAIRS))
    assert_allclose(network.pair_scores(*PAIRS), scores, rtol=1e-4, atol=1e-5)


@every
def test_scores_of_pairs_while_training_are_without_dropout_and_change_nothing(name):
    network = trainer(name).network
    network.settle()
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    network.train()
    first, second = network.pair_scores(*PAIRS), network.pair_scores(*PAIRS)
    assert network.training
    network.eval()
    assert_array_equal(first, second)
    assert_array_equal(first, network.pair_scores(*PAIRS))
    assert not network.training
    assert all(torch.equal(tensor, before[key]) for key, tensor in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


@every
def test_missing_items_get_a_finite_score_and_leave_the_others_alone(name):
    network = fitted(name).network_
    users, items = PAIRS
    gaps = np.where(np.random.default_rng(3).random(items.shape) < NOTHING, -1, items)
    said, whole = network.pair_scores(users, gaps), network.pair_scores(users, items)
    assert np.isfinite(said).all()
    assert_allclose(said[gaps >= 0], whole[gaps >= 0], rtol=1e-6, atol=1e-7)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 149), min_size=1, max_size=12))
def test_cdae_scores_any_users_in_any_order(users):
    model = fitted("cdae")
    rows = np.array(users)
    items = np.random.default_rng(len(users)).integers(0, 100, (len(users), 3))
    with torch.no_grad():
        scores = model.network_.score(torch.from_numpy(rows), torch.from_numpy(items))
    assert_allclose(scores, everyone(model)[rows[:, None], items], rtol=1e-4, atol=1e-5)
