"""Compiled passes over rows and layers, against numpy and torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from sureness.data.interactions import Interactions
from sureness.errors import DivergedError
from sureness.models.catalogue import make_recommender
from sureness.models.networks import _layer_kernels
from sureness.models.networks.batches import Batch
from sureness.models.networks.network import rows_of
from sureness.models.networks.optimiser import RowAdam
from sureness.models.networks.training import Trainer, seeded
from tests.models.worlds import simulated


def tables(*, compiled=True, seed=0):
    """An optimiser of one table and one layer."""
    with seeded(seed):
        network = nn.ModuleDict({"rows": nn.Embedding(30, 7), "layer": nn.Linear(7, 3)})
    return network, RowAdam(network, 0.01, compiled=compiled)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-1, 29), min_size=1, max_size=60), st.data())
def test_rows_are_numbered_in_the_order_in_which_they_come(rows, data):
    n_counted = data.draw(st.integers(0, len(rows)))
    _, optimiser = tables()
    for _ in range(2):  # the second time finds the same
        placed = optimiser.placed("rows.weight", np.array(rows), n_counted)
        found = list(dict.fromkeys(row for row in rows if row >= 0))
        assert placed.rows.tolist() == found
        assert placed.counts.tolist() == [rows[:n_counted].count(row) for row in found]
        assert placed.places.tolist() == [found.index(row) if row >= 0 else 0 for row in rows]


def test_placed_rows_move_as_those_of_torch_do_and_resume():
    """Gradient and L2 of distinct rows; the moments that are saved put another optimiser where this one is."""
    rng, (fast, optimiser), (slow, plain) = np.random.default_rng(0), tables(), tables(compiled=False)
    for _ in range(4):
        rows = rng.permutation(30)[:12]
        gradient, pulls = rng.normal(size=(12, 7)).astype(np.float32), rng.random(12).astype(np.float32)
        table = slow["rows"].weight
        values = rows_of(table, torch.from_numpy(rows))
        loss = torch.from_numpy(gradient) * values + torch.from_numpy(pulls)[:, None] * values.square() / 2
        (loss.sum() / 8).backward()
        plain.step()
        optimiser.steps += 1
        optimiser.move_placed("rows.weight", rows, gradient, pulls, 1 / 8)
        assert_allclose(fast["rows"].weight.detach(), table.detach(), rtol=1e-5, atol=1e-6)
    for name, tensor in optimiser.state().items():
        assert tensor.is_contiguous()
        assert_allclose(tensor, plain.state()[name], rtol=1e-5, atol=1e-7, err_msg=name)
    _, again = tables()
    again.restore(optimiser.state(), optimiser.steps)
    optimiser.restore(again.state(), again.steps)
    assert all(torch.equal(tensor, optimiser.state()[name]) for name, tensor in again.state().items())


@pytest.mark.parametrize(("n_rows", "n_inputs", "n_outputs"), [(1, 3, 2), (700, 50, 25), (90, 150, 130)])
def test_a_layer_and_its_gradients_are_those_of_torch(n_rows, n_inputs, n_outputs):
    rng = np.random.default_rng(0)
    inputs, weight, bias, slopes = (
        rng.normal(size=size).astype(np.float32)
        for size in ((n_rows, n_inputs), (n_outputs, n_inputs), n_outputs, (n_rows, n_outputs))
    )
    tensors = [torch.from_numpy(array).requires_grad_() for array in (inputs, weight, bias)]
    straight = nn.functional.linear(*tensors)
    for rectify, expected in ((False, straight), (True, straight.relu())):
        outputs = np.empty((n_rows, n_outputs), dtype=np.float32)
        _layer_kernels.forward(inputs, weight, bias, rectify, outputs)
        assert_allclose(outputs, expected.detach(), rtol=1e-4, atol=1e-4)
    straight.backward(torch.from_numpy(slopes))
    of_inputs, of_weight, of_bias = (np.empty_like(array) for array in (inputs, weight, bias))
    _layer_kernels.backward(slopes, inputs, weight, of_weight, of_bias, of_inputs)
    for found, tensor in zip((of_inputs, of_weight, of_bias), tensors, strict=True):
        assert_allclose(found, tensor.grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("widths", [(40,), (40, 20), (6, 40, 3), (3, 2)])
@pytest.mark.parametrize("n_users", [1, 200])
def test_scores_of_all_items_are_those_of_pairs(widths, n_users):
    """More items than a tile and more users than one product holds, in layers for the BLAS library and small ones."""
    log = Interactions.of(np.arange(300) % 200, np.arange(300))
    network = make_recommender("neumf", n_factors=70, layer_widths=widths, start_scale=0.5).build(log).eval()
    users = torch.arange(n_users)
    with torch.no_grad():
        expected = network.score(users, torch.arange(300).expand(n_users, -1))
    assert_allclose(network.score_block(users), expected, rtol=1e-4, atol=1e-4)


def test_a_user_whose_pairs_stand_apart_is_moved_once():
    """As the batch would be whose pairs stand together, without dropout."""
    train = simulated().train
    user, other = 0, 1
    order = np.concatenate([np.flatnonzero(train.user_rows == user)[:2], np.flatnonzero(train.user_rows == other)[:1]])
    negatives = np.array([[5], [6], [7]])
    ends = []
    for places in ([0, 1, 2], [0, 2, 1]):
        one = Trainer(make_recommender("cdae", n_factors=4, dropout=0.0, start_scale=0.3).build(train), train)
        some = order[places]
        one.network.train()
        one.step(Batch(train.user_rows[some], train.item_rows[some], negatives[places], some))
        ends.append(one.network.users_in.detach().numpy())
    assert_allclose(ends[0], ends[1], rtol=1e-5)
    assert_array_equal(ends[0][5:], ends[1][5:])


def test_scores_of_all_items_on_a_machine_with_short_vectors(tmp_path):
    script = (
        "from llvmlite import binding; binding.get_host_cpu_features = binding.targets.FeatureMap\n"
        "from sureness.models.networks import _scoring_kernels as kernels; assert kernels._LANES == 8\n"
        "from tests.models.test_architectures import test_neumf_scores_all_items_as_it_scores_pairs as check\n"
        "check(100, (7, 6)), check(131, (9, 6, 4)), check(48, (5,))"
    )
    own_cache, root = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", script], cwd=root, env=own_cache, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["of_user.bias", "of_item.weight", "layers.0.weight", "user_inputs", "output.weight"])
def test_a_network_that_is_not_a_number_any_more_says_so(name):
    """A rectifier must not turn NaN into 0, in training or in scores."""
    train = simulated().train
    network = make_recommender("neumf", n_factors=4).build(train)
    dict(network.named_parameters())[name].data.fill_(np.nan)
    assert network.score_block(torch.arange(3)).isnan().all()
    with pytest.raises(DivergedError):
        Trainer(network, train).epoch(1)
