"""Losses against plain Python, list by list."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import jensenshannon

from sureness_reproduction.truncation.losses import (
    cut_loss,
    cut_target,
    divergence_loss,
    means_loss,
    relevance_loss,
    rerank_loss,
)

NUMBERS = st.floats(-5, 5)


def as_rows(*columns):
    return [torch.tensor([column]) for column in columns]


def of_equal_length(*elements):
    """Lists of one length, each with elements of its own."""
    return st.integers(1, 8).flatmap(
        lambda n: st.tuples(*(st.lists(element, min_size=n, max_size=n) for element in elements))
    )


@given(of_equal_length(NUMBERS, st.booleans()), st.floats(0.05, 20))
def test_the_target_weighs_allowed_sizes_by_the_exponential_of_their_utility(lists, tau):
    utilities, allowed = lists
    allowed[0] = True
    weights = [math.exp(value / tau) * may for value, may in zip(utilities, allowed, strict=True)]
    expected = [weight / sum(weights) for weight in weights]
    target = cut_target(*as_rows(utilities, allowed), tau)
    assert target[0].tolist() == pytest.approx(expected, abs=1e-5)
    assert float(target.sum()) == pytest.approx(1, abs=1e-5)


def test_a_tiny_tau_puts_everything_on_the_best_allowed_size():
    utilities = torch.tensor([[0.2, 0.4, 0.9], [0.3, 0.1, 0.3]], dtype=torch.float64)
    allowed = torch.tensor([[True, True, False], [True, True, True]])
    assert cut_target(utilities, allowed, 1e-300).tolist() == [[0, 1, 0], [0.5, 0, 0.5]]


@given(of_equal_length(NUMBERS, st.floats(0, 1), st.booleans()))
def test_the_cut_loss_is_cross_entropy_over_the_allowed_sizes(lists):
    logits, target, allowed = lists
    allowed[0] = True
    scale = math.log(sum(math.exp(logit) for logit, may in zip(logits, allowed, strict=True) if may))
    expected = -sum(q * (logit - scale) for logit, q, may in zip(logits, target, allowed, strict=True) if may)
    assert float(cut_loss(*as_rows(logits, target, allowed))) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_a_size_that_is_not_allowed_gets_no_gradient_and_spoils_none():
    logits = torch.tensor([[0.5, 1.0, 30.0]], requires_grad=True)
    allowed = torch.tensor([[True, True, False]])
    cut_loss(logits, torch.tensor([[1.0, 0.0, 0.0]]), allowed).sum().backward()
    chance = 1 / (1 + math.exp(0.5))
    assert logits.grad[0].tolist() == pytest.approx([chance - 1, 1 - chance, 0.0])


@given(of_equal_length(NUMBERS, st.booleans(), st.booleans()))
def test_the_relevance_loss_is_the_mean_cross_entropy_of_real_items(lists):
    logits, hits, real = lists
    real[0] = True
    terms = [
        math.log1p(math.exp(-logit if hit else logit))
        for logit, hit, there in zip(logits, hits, real, strict=True)
        if there
    ]
    loss = relevance_loss(*as_rows(logits, [float(hit) for hit in hits], real))
    assert float(loss) == pytest.approx(sum(terms) / len(terms), rel=1e-5, abs=1e-6)


@given(of_equal_length(NUMBERS, st.booleans(), st.booleans()), st.floats(0.1, 3))
def test_the_hinge_compares_every_relevant_item_with_every_irrelevant_one(lists, margin):
    scores, hits, real = lists
    hits = [hit and there for hit, there in zip(hits, real, strict=True)]
    relevant = [score for score, hit in zip(scores, hits, strict=True) if hit]
    others = [score for score, hit, there in zip(scores, hits, real, strict=True) if there and not hit]
    terms = [max(0.0, margin - (one - other)) for one in relevant for other in others]
    expected = sum(terms) / len(terms) if terms else 0.0
    loss = rerank_loss(*as_rows(scores, [float(hit) for hit in hits], real), margin)
    assert float(loss) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_losses_have_one_value_for_each_list():
    scores, hits = torch.randn(4, 6), (torch.arange(24).view(4, 6) % 3 == 0).float()
    real = torch.ones(4, 6, dtype=torch.bool)
    for loss in (relevance_loss, rerank_loss):
        together = loss(scores, hits, real)
        alone = [float(loss(scores[[row]], hits[[row]], real[[row]])) for row in range(4)]
        assert together.tolist() == pytest.approx(alone)


# --- the public code of MtCut ---------------------------------------------------------------------------------------


def test_the_divergence_is_that_of_scipy_and_ignores_sizes_that_are_not_allowed():
    rng = np.random.default_rng(0)
    logits, utilities = torch.tensor(rng.normal(size=(6, 5))), torch.tensor(rng.random((6, 5)))
    allowed = torch.arange(5) < torch.tensor([5, 4, 3, 2, 1, 5])[:, None]
    target = cut_target(utilities, allowed, 0.5)
    chances = torch.softmax(logits.masked_fill(~allowed, -torch.inf), dim=1)
    expected = jensenshannon(chances.numpy(), target.numpy(), axis=1) ** 2
    assert_allclose(divergence_loss(logits, target, allowed), expected, atol=1e-12)
    logits.requires_grad_()
    divergence_loss(logits, target, allowed).sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~allowed] == 0).all()


def test_the_hinge_on_means_is_zero_once_relevant_items_lead():
    hits = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    real = torch.tensor([[True, True, True, False], [True] * 4, [True] * 4])
    scores = torch.tensor([[2.0, 0.0, 0.0, 9.0], [0.0, 3.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    found = means_loss(scores, hits, real)
    shares = torch.softmax(scores[1], dim=0)
    expected = 5e-4 - (shares[[0, 3]].mean() - shares[[1, 2]].mean())
    assert_allclose(found, [0.0, float(expected), 0.0], rtol=1e-5)
