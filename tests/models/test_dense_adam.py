"""Dense Adam moves every parameter as torch does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from sureness.errors import SettingError
from sureness.models.bpr import BPR
from sureness.models.catalogue import make_recommender, model_names
from sureness.models.networks.batches import SoftItems
from sureness.models.networks.optimiser import RowAdam
from sureness.models.networks.training import Trainer, seeded
from tests.models.worlds import QUICK, simulated

RATE = 0.02
DENSE = {"adam": "dense", "l2": 0.0, "batch_size": 16, "learning_rate": RATE}
decays = pytest.mark.parametrize("decay", [0.0, 0.05])


def trainer(name="bpr", **changes):
    """A trainer with dense Adam on few pairs per step."""
    train = simulated().train
    return Trainer(make_recommender(name, **(QUICK | DENSE | changes)).build(train), train)


def soft_for(batch, seed, n_items):
    """Random soft labels, some of them missing."""
    rng = np.random.default_rng(seed)
    items = rng.integers(-1, n_items, (len(batch.users), 2))
    labels = rng.random(items.shape).astype(np.float32)
    return SoftItems(items, labels, np.full(items.shape, 0.5, dtype=np.float32))


def first_batches(made, n=12, *, labelled=False):
    some = [batch for epoch in range(3) for batch in made.batches.epoch(np.random.default_rng(epoch))][:n]
    n_items = made.network.n_items
    return [(batch, soft_for(batch, seed, n_items) if labelled else None) for seed, batch in enumerate(some)]


def torch_steps(made, batches, *, summed=False, decay=0.0):
    """What torch.optim.Adam makes of these batches, starting where the trainer starts."""
    network = made.network
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=decay)
    for batch, soft in batches:
        optimiser.zero_grad()
        loss = network.loss(batch).mean() + (0 if soft is None else made._soft_loss(batch, soft).mean())
        (loss * (len(batch.users) if summed else 1)).backward()
        for parameter in network.parameters():
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
        optimiser.step()
        network.after_step(batch, soft)
    return tables(network)


def tables(network):
    return {name: tensor.detach().numpy().copy() for name, tensor in network.named_parameters()}


@decays
@pytest.mark.parametrize("summed", [False, True], ids=["mean", "sum"])
@pytest.mark.parametrize("labelled", [False, True], ids=["alone", "labelled"])
def test_tables_move_as_with_adam_of_torch(decay, summed, labelled):
    made = trainer(weight_decay=decay, summed=summed, start_scale=1.0)
    batches = first_batches(made, labelled=labelled)
    expected = torch_steps(trainer(start_scale=1.0), batches, summed=summed, decay=decay)
    for batch, soft in batches:
        made.step(batch, soft)
    for name, table in tables(made.network).items():
        assert_allclose(table, expected[name], atol=3e-5)


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_dense_adam(name):
    """Layers and biases too; steps are seeded alike, for dropout."""
    made = trainer(name, weight_decay=0.05, summed=True)
    batches = first_batches(made, n=5)
    with seeded(0):
        expected = torch_steps(trainer(name), batches, summed=True, decay=0.05)
    with seeded(0):
        for batch, _ in batches:
            made.step(batch)
    for key, table in tables(made.network).items():
        assert_allclose(table, expected[key], atol=1e-4, err_msg=key)


@decays
def test_resumed_training_ends_the_same(decay, tmp_path):
    train = simulated().train
    settings = QUICK | DENSE | {"weight_decay": decay}
    whole = BPR(**(settings | {"epochs": 4})).fit(train)
    BPR(**(settings | {"epochs": 2})).fit(train, checkpoint=tmp_path / "half", checkpoint_seconds=0.0)
    resumed = BPR(**(settings | {"epochs": 4})).fit(train, checkpoint=tmp_path / "half")
    for name, table in tables(resumed.network_).items():
        assert_allclose(table, tables(whole.network_)[name], rtol=1e-5, atol=1e-6)


# --- settings --------------------------------------------------------------------------------------------------------


def test_adam_on_rows_is_the_default():
    assert type(Trainer(BPR().build(simulated().train), simulated().train).optimiser) is RowAdam


@pytest.mark.parametrize(
    "wrong",
    [{"weight_decay": 0.1}, {"summed": True}, {"adam": "sparse"}, {"adam": "dense", "weight_decay": -1.0},
     {"adam": "dense", "summed": 1}],
    ids=str,
)  # fmt: skip
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(SettingError):
        BPR(**wrong)
