"""Losses by hand, and UBPR's without bias by enumeration."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.models.networks.network import (
    embedding_penalty,
    margin_loss,
    pairwise_loss,
    pointwise_loss,
    unbiased_pairwise_loss,
)

POSITIVE = torch.tensor([[2.0], [-1.0]], dtype=torch.float64)
NEGATIVE = torch.tensor([[0.5, 3.0], [-1.0, -4.0]], dtype=torch.float64)
CHANCES = st.floats(0.05, 1.0)
SCORES = st.floats(-8.0, 8.0)


def log1p_exp(x):
    return torch.log(1 + torch.exp(torch.as_tensor(x, dtype=torch.float64)))


def test_the_pairwise_loss_compares_every_negative_with_its_positive():
    expected = [[log1p_exp(0.5 - 2), log1p_exp(3 - 2)], [log1p_exp(0.0), log1p_exp(-3.0)]]
    assert_allclose(pairwise_loss(POSITIVE, NEGATIVE), expected, rtol=1e-12)
    assert float(pairwise_loss(torch.tensor(-500.0), torch.tensor(500.0))) == 1_000.0


def test_the_pointwise_loss_is_cross_entropy_with_the_mean_over_negatives():
    expected = [
        log1p_exp(-2.0) + (log1p_exp(0.5) + log1p_exp(3.0)) / 2,
        log1p_exp(1.0) + (log1p_exp(-1.0) + log1p_exp(-4.0)) / 2,
    ]
    assert_allclose(pointwise_loss(POSITIVE, NEGATIVE), expected, rtol=1e-12)


def test_the_margin_loss_is_nothing_once_the_other_is_far_enough():
    near, far = torch.tensor([[1.0], [0.2]]), torch.tensor([[1.2, 1.6], [0.1, 0.7]])
    assert_allclose(margin_loss(near, far, 0.5), [[0.3, 0.0], [0.6, 0.0]], atol=1e-6)


def test_the_penalty_is_half_the_squared_length_of_all_rows():
    user, items = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 0.0], [0.0, 1.0]]])
    assert embedding_penalty(user, items).tolist() == [[(5 + 9) / 2, (5 + 1) / 2]]


@given(CHANCES, CHANCES, CHANCES, CHANCES, SCORES, SCORES)
def test_ubpr_is_unbiased(rho_i, rho_j, omega_i, omega_j, score_i, score_j):
    """Y = O x R: over all four outcomes, the mean is the loss with weight rho_i (1 - rho_j), as formula note 9 says."""
    mean = 0.0
    tensors = [torch.tensor(value, dtype=torch.float64) for value in (score_i, score_j, omega_i, omega_j)]
    positive, negative, of_i, of_j = tensors
    for y_i, y_j in product((0.0, 1.0), repeat=2):
        chance = 1.0
        for y, rate in ((y_i, omega_i * rho_i), (y_j, omega_j * rho_j)):
            chance *= rate if y else 1 - rate
        loss = unbiased_pairwise_loss(positive, negative, of_i, torch.tensor(y_j, dtype=torch.float64), of_j)
        mean += chance * y_i * float(loss)  # only an observed i is ever a positive
    expected = rho_i * (1 - rho_j) * float(pairwise_loss(positive, negative))
    assert mean == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_rarely_seen_positive_weighs_more_and_an_observed_negative_less():
    ones = torch.ones(1)
    plain = pairwise_loss(ones, -ones)
    assert_allclose(unbiased_pairwise_loss(ones, -ones, 0.25 * ones, 0 * ones, ones), 4 * plain)
    assert_allclose(unbiased_pairwise_loss(ones, -ones, ones, ones, 0.5 * ones), -plain)
    assert_allclose(unbiased_pairwise_loss(ones, -ones, ones, ones, ones), 0 * plain)
