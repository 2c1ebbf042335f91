"""Compiled steps equal their readable form, and that equals torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from sureness.models.catalogue import make_recommender
from sureness.models.networks.network import pairwise_loss, products, rows_of
from sureness.models.networks.optimiser import RowAdam
from sureness.models.networks.training import Trainer
from tests.models.worlds import simulated

compiled_or_not = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "torch"])


class Table(nn.Module):
    """One table of embeddings."""

    def __init__(self, n_rows=9, n_columns=5, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(torch.randn(n_rows, n_columns, generator=generator))


def random_rows(step, n_rows, size, *, all_rows=False):
    """Rows with repetitions and a weight for each of their numbers; the weights are not small."""
    rng = np.random.default_rng(step)
    rows = rng.integers(0, n_rows, size)
    if all_rows:
        rows[:n_rows] = rng.permutation(n_rows)
    weights = rng.normal(size=(size, 5)) + np.sign(rng.normal(size=(size, 5)))
    return torch.from_numpy(rows), torch.from_numpy(weights).float()


def advance(table, step, size=30, *, sparse=True, all_rows=False):
    """The gradient of a loss that touches some rows."""
    rows, weights = random_rows(step, len(table), size, all_rows=all_rows)
    values = rows_of(table, rows) if sparse else table[rows]
    (values * weights + 0.1 * values.square()).sum().backward()


# --- fused steps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bpr", {}),
        ("bpr", {"negatives": 3}),
        ("bpr", {"l2": 0.0}),
        ("bpr", {"l2": 0.3, "negatives": 3, "popularity": 0.75}),
        ("ubpr", {}),
        ("ubpr", {"negatives": 3}),
        ("ubpr", {"seen_negatives": True, "negatives": 3, "l2": 0.2}),
    ],
    ids=str,
)
def test_a_fused_step_is_autograd_and_adam(name, settings):
    train = simulated().train
    model = make_recommender(
        name, **({"n_factors": 7, "batch_size": 64, "learning_rate": 0.01, "l2": 0.05, "start_scale": 0.7} | settings)
    )
    fast, slow = (Trainer(model.build(train), train) for _ in range(2))
    slow.fused, slow.optimiser = False, RowAdam(slow.network, 0.01, compiled=False)
    assert fast.fused
    for done, batch in enumerate(fast.batches.epoch(np.random.default_rng(0))):
        with torch.no_grad():
            network = slow.network
            users, positives = torch.from_numpy(batch.users), torch.from_numpy(batch.positives)[:, None]
            if name == "bpr":
                plain = pairwise_loss(
                    network.score(users, positives), network.score(users, torch.from_numpy(batch.negatives))
                ).mean()
        slow.step(batch)
        loss = fast.step(batch)
        if name == "bpr":
            assert loss == pytest.approx(float(plain), rel=1e-5)
        for key, table in fast.network.named_parameters():
            assert_allclose(table.detach(), getattr(slow.network, key).detach(), atol=1e-5, err_msg=f"{key}, {done}")
    assert done > 5


@pytest.mark.parametrize("seen_negatives", [False, True])
def test_the_weights_of_a_fused_step_are_those_of_the_loss(seen_negatives):
    """Without L2, the loss that a fused step returns is the mean of the weighted losses."""
    train = simulated().train
    model = make_recommender("ubpr", n_factors=4, batch_size=64, l2=0.0, start_scale=0.5, seen_negatives=seen_negatives)
    trainer = Trainer(model.build(train, propensity=np.linspace(0.05, 1.0, len(train))), train)
    for batch in trainer.batches.epoch(np.random.default_rng(0)):
        with torch.no_grad():
            expected = float(trainer.network.loss(batch).mean())
        assert trainer.step(batch) == pytest.approx(expected, rel=1e-4, abs=1e-5)


# --- Adam on rows --------------------------------------------------------------------------------------------------


def test_compiled_rows_move_as_torch_moves_them():
    fast, slow = Table(), Table()
    compiled, readable = RowAdam(fast, 0.05), RowAdam(slow, 0.05, compiled=False)
    for step in range(40):
        for network, optimiser in ((fast, compiled), (slow, readable)):
            advance(network.table, step, size=6)
            optimiser.step()
        assert_allclose(fast.table.detach(), slow.table.detach(), atol=1e-5)
    for key, moment in compiled.state().items():
        assert_allclose(moment, readable.state()[key], rtol=1e-4, atol=1e-6)


@compiled_or_not
@pytest.mark.parametrize("sparse", [True, False], ids=["rows", "dense"])
def test_a_table_touched_everywhere_moves_as_with_plain_adam(compiled, sparse):
    network, other = Table(), Table()
    ours, theirs = RowAdam(network, 0.03, compiled=compiled), torch.optim.Adam(other.parameters(), lr=0.03)
    for step in range(60):
        advance(network.table, step, sparse=sparse, all_rows=True)
        ours.step()
        theirs.zero_grad()
        advance(other.table, step, sparse=False, all_rows=True)
        theirs.step()
        assert_allclose(network.table.detach(), other.table.detach(), atol=1e-5)


@compiled_or_not
def test_rows_that_are_not_touched_stay_to_the_last_bit(compiled):
    network = Table(n_rows=20)
    optimiser = RowAdam(network, 0.1, compiled=compiled)
    for step in range(10):
        touched = random_rows(step, 20, 6)[0].unique()
        others = np.setdiff1d(np.arange(20), touched)
        before = [tensor.detach().clone() for tensor in (network.table, *optimiser.moments["table"])]
        advance(network.table, step, size=6)
        optimiser.step()
        assert network.table.grad is None
        for old, new in zip(before, (network.table, *optimiser.moments["table"]), strict=True):
            assert torch.equal(old[others], new.detach()[others])
            assert not (old[touched] == new.detach()[touched]).all(dim=1).any()


@compiled_or_not
def test_saved_moments_go_on_to_the_same_end(compiled):
    whole, halves = Table(), Table()
    one, first = RowAdam(whole, 0.05, compiled=compiled), RowAdam(halves, 0.05, compiled=compiled)
    for step in range(20):
        advance(whole.table, step)
        one.step()
    for step in range(10):
        advance(halves.table, step)
        first.step()
    second = RowAdam(halves, 0.05, compiled=compiled)
    second.restore({key: moment.clone() for key, moment in first.state().items()}, first.steps)
    for step in range(10, 20):
        advance(halves.table, step)
        second.step()
    assert torch.equal(whole.table, halves.table)


def test_a_parameter_without_a_gradient_does_not_move():
    network = Table()
    before = network.table.detach().clone()
    RowAdam(network, 0.1).step()
    assert torch.equal(network.table, before)


def test_products_are_those_of_a_loop():
    users, items = torch.randn(4, 3), torch.randn(4, 2, 3)
    expected = [[float(users[b] @ items[b, n]) for n in range(2)] for b in range(4)]
    assert_allclose(products(users, items), expected, rtol=1e-5, atol=1e-6)


def test_the_learning_rate_falls_evenly_to_its_end():
    train, rates = simulated().train, []
    made = Trainer(make_recommender("bpr", learning_rate=0.2, end_rate=0.5, epochs=4).build(train), train)
    for number in range(1, 5):
        made.epoch(number)
        rates.append(made.optimiser.learning_rate)
    assert rates == pytest.approx([0.2, 0.175, 0.15, 0.125])
