"""What the networks see and what they must not see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from sureness.lists import Lists
from sureness_reproduction.truncation.networks import (
    CUT,
    TASKS,
    AttnCutNetwork,
    Inputs,
    Labels,
    ListDropout,
    MtCutNetwork,
    PublicMtCutNetwork,
    ScoreReader,
    ScoreScale,
    allowed_sizes,
)


def networks():
    torch.manual_seed(0)
    common = {"size": 8, "layers": 2, "heads": 2, "dropout": 0.2}
    return [
        AttnCutNetwork(**common).eval(),
        MtCutNetwork(**common, experts=3, relevance_weight=0.7, rerank_weight=0.3).eval(),
    ]


every = pytest.mark.parametrize("network", networks(), ids=lambda network: type(network).__name__)


def inputs_of(scores, lengths, min_size=1):
    scores, lengths = np.asarray(scores, dtype=float), np.asarray(lengths)
    lists = Lists.of(scores=scores, lengths=lengths)
    return Inputs.of(lists, (ScoreScale(0.0, 1.0), None), width=scores.shape[1], min_size=min_size, by=None)


def some_inputs(n=6, width=5, seed=0, lengths=None):
    scores = -np.sort(-np.random.default_rng(seed).normal(size=(n, width)), axis=1)
    return inputs_of(scores, np.full(n, width) if lengths is None else lengths)


def test_the_scale_is_one_for_all_users_and_keeps_their_differences():
    scores = np.array([[3.0, 1.0], [-1.0, -3.0]])
    scaled = ScoreScale.of(scores.ravel())(scores)
    assert_allclose(scaled, scores / np.sqrt(5), rtol=1e-6)
    assert scaled.dtype == np.float32


def test_equal_scores_and_far_scores_stay_finite():
    assert ScoreScale.of(np.full(4, 7.0))([7.0, 8.0]).tolist() == [0.0, 1.0]
    assert np.isfinite(ScoreScale(0.0, 1e-300)([1e100, -1e100])).all()


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 9))
def test_allowed_sizes_are_those_a_policy_may_return(length, min_size, width):
    length = min(length, width)
    allowed = allowed_sizes(np.array([length]), width, min_size)[0]
    expected = {size for size in range(1, length + 1) if size >= min_size} or {length}
    assert set(np.flatnonzero(allowed) + 1) == expected


@every
def test_what_stands_behind_the_end_of_a_list_changes_nothing(network):
    scores = np.array([[2.0, 1.0, 0.5, -1.0], [1.0, 0.9, -np.inf, np.nan]])
    padded = network(inputs_of(scores, [4, 2]))
    other = network(inputs_of(np.where(np.isfinite(scores), scores, 77.0), [4, 2]))
    assert_array_equal(padded.detach(), other.detach())
    short = network(inputs_of(scores[1:, :2], [2]))
    assert_allclose(padded[1, :2].detach(), short[0].detach(), atol=1e-6)


@every
def test_a_list_does_not_depend_on_its_neighbours(network):
    inputs = some_inputs()
    together = network(inputs).detach()
    alone = torch.cat([network(inputs.rows(slice(row, row + 1))) for row in range(6)]).detach()
    assert_allclose(together, alone, atol=1e-6)


@every
def test_every_rank_sees_the_whole_list(network):
    """Both the first and the last score move the logit of every size."""
    inputs = some_inputs(n=1)
    scores = inputs.scores.clone().requires_grad_()
    for size in range(5):
        (gradient,) = torch.autograd.grad(network(inputs._replace(scores=scores))[0, size], scores)
        assert (gradient != 0).all()


@every
def test_sizes_that_are_not_allowed_are_never_chosen(network):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 8, size=600)  # more than one block
    inputs = inputs_of(-np.sort(-rng.normal(size=(600, 8))), lengths, min_size=3)
    sizes = network.sizes(inputs)
    assert (sizes <= lengths).all()
    assert (sizes >= np.minimum(3, lengths)).all()
    logits = network(inputs).detach().numpy()
    for size, row, may in zip(sizes, logits, inputs.allowed.numpy(), strict=True):
        assert row[size - 1] == pytest.approx(row[may].max(), abs=1e-5)


@every
def test_of_equal_sizes_the_smallest_is_chosen(network, monkeypatch):
    monkeypatch.setattr(type(network), "forward", lambda _, inputs: torch.zeros_like(inputs.scores))
    assert network.sizes(inputs_of(np.zeros((2, 4)), [4, 1], min_size=2)).tolist() == [2, 1]


def test_the_reader_reads_short_lists_as_if_they_were_alone():
    torch.manual_seed(1)
    reader = ScoreReader(6, 0.0)
    scores, lengths = torch.randn(3, 5), torch.tensor([5, 1, 3])
    states = reader(scores, lengths)
    for row, length in enumerate(lengths):
        alone = reader(scores[row : row + 1, :length], lengths[row : row + 1])
        assert_allclose(states[row, :length].detach(), alone[0].detach(), atol=1e-6)
        assert (states[row, length:] == 0).all()


def test_dropout_drops_the_same_parts_at_every_rank():
    torch.manual_seed(2)
    dropped = ListDropout(0.25)(torch.ones(400, 3, 10))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[:, 0] != dropped[:1, 0]).any()
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.05)
    assert (ListDropout(0.25).eval()(torch.ones(2, 3, 4)) == 1).all()


# --- MtCut ---------------------------------------------------------------------------------------------------------


def test_the_gates_of_each_task_sum_to_one_and_differ_between_lists_and_tasks():
    network, inputs = networks()[1], some_inputs(n=5, lengths=[5, 4, 3, 2, 1])
    states, real = network.reader(inputs.scores, inputs.lengths), inputs.real
    mixing = network.mixing(states, real).detach()
    assert mixing.shape == (5, 3, len(TASKS))
    assert (mixing > 0).all()
    assert_allclose(mixing.sum(dim=1), 1.0, rtol=1e-6)
    assert (mixing[0] != mixing[1]).any()
    assert (mixing[:, :, 0] != mixing[:, :, 1]).any()


def test_reading_then_mixing_equals_a_tower_on_the_mixture_of_experts():
    network, inputs = networks()[1], some_inputs()
    states, real = network.reader(inputs.scores, inputs.lengths), inputs.real
    outputs, mixing = [expert(states, real) for expert in network.experts], network.mixing(states, real)
    for task, found in enumerate(network.outputs(inputs)):
        mixture = sum(mixing[:, place, task, None, None] * output for place, output in enumerate(outputs))
        expected = mixture @ network.towers.weight[task] + network.towers.bias[task]
        assert_allclose(found.detach(), expected.detach(), atol=1e-6)


def test_only_the_cut_decides_sizes_and_all_tasks_are_learned():
    network, inputs = networks()[1], some_inputs()
    before = network.sizes(inputs)
    labels = Labels(torch.full((6, 5), 0.2), (torch.arange(30).view(6, 5) % 2).float())
    network.loss(inputs, labels).sum().backward()
    assert (network.towers.weight.grad.abs().sum(dim=1) > 0).all()
    with torch.no_grad():
        for task in range(len(TASKS)):
            if task != CUT:
                nn.init.normal_(network.towers.weight[task], std=9.0)
    assert_array_equal(network.sizes(inputs), before)


def test_the_total_loss_weighs_the_other_tasks():
    full, inputs = networks()[1], some_inputs()
    labels = Labels(torch.full((6, 5), 0.2), (torch.arange(30).view(6, 5) % 2).float())
    losses = {}
    for weights in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.7, 0.3)):
        full.relevance_weight, full.rerank_weight = weights
        losses[weights] = full.loss(inputs, labels).detach()
    cut = losses[0.0, 0.0]
    expected = cut + 0.7 * (losses[1.0, 0.0] - cut) + 0.3 * (losses[0.0, 1.0] - cut)
    assert_allclose(losses[0.7, 0.3], expected, rtol=1e-5)
    assert (losses[1.0, 0.0] > cut).all()


# --- the public code of MtCut, and features -------------------------------------------------------------------------


def public_network():
    torch.manual_seed(0)
    return PublicMtCutNetwork(8, 1, 2, 0.2, 3, 0.7, 0.3, width=5, batch_size=4).eval()


def test_the_public_code_compares_the_lists_of_a_batch_rank_by_rank():
    network, inputs = public_network(), some_inputs()
    layer = network.experts[0].layers[0]
    states, real = torch.randn(6, 5, 8), torch.ones(6, 5, dtype=torch.bool)
    found = layer(states, real).detach()
    other = states.clone()
    other[2, 3] += 1.0
    moved = (layer(other, real).detach() != found).any(dim=2)
    assert moved.any(dim=0).tolist() == [False, False, False, True, False]  # no other rank hears of it
    assert moved[:, 3].all()  # every list does
    assert (network(inputs)[:1] != network(inputs.rows(slice(0, 1)))).any()


def test_the_public_code_reads_short_lists_without_lists_of_their_length():
    network, lengths = public_network(), [3, 3, 2, 1, 1, 1]
    padded = network(some_inputs(lengths=lengths)).detach()
    assert torch.isfinite(padded).all()
    assert_array_equal(network.sizes(some_inputs(lengths=[1] * 6)), 1)


def test_the_public_gates_read_every_rank():
    network, states = public_network(), torch.randn(2, 5, 8, requires_grad=True)
    mixing = network.mixing(states, torch.ones(2, 5, dtype=torch.bool))
    assert_allclose(mixing.sum(dim=1).detach(), 1.0, rtol=1e-6)
    mixing[0, 0, CUT].backward()
    assert (states.grad[0] != 0).all()
    assert (states.grad[1] == 0).all()


def test_features_are_read_beside_the_scores():
    torch.manual_seed(0)
    network = AttnCutNetwork(8, 1, 2, 0.0, n_features=3).eval()
    inputs = some_inputs(n=2, lengths=[5, 3])
    features = torch.randn(2, 5, 3)
    found = network(inputs._replace(features=features)).detach()
    features[0, 2] += 1.0
    moved = network(inputs._replace(features=features)).detach() != found
    assert moved[0].all()
    assert not moved[1].any()
