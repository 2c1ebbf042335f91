"""PyTorch models as sources: the same numbers, no gradients, no dropout, nothing changed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn

torch = pytest.importorskip("torch", reason="torch is not installed")

TASTES, QUALITIES = torch.randn(7, 3, generator=torch.Generator().manual_seed(0)), torch.randn(5, 3)
EXPECTED = (TASTES @ QUALITIES.T).numpy()


class Pairwise:
    """Scores pairs, as the models of many papers do."""

    def score(self, users, items):
        assert users.shape == items.shape
        return (TASTES[users] * QUALITIES[items]).sum(-1)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tastes = torch.nn.Parameter(TASTES.clone())
        self.dropout = torch.nn.Dropout(0.9)

    def forward(self, users):
        return self.dropout(self.tastes[users]) @ QUALITIES.T


MODELS = {"function": lambda users: TASTES[users] @ QUALITIES.T, "pairs": Pairwise(), "module": Module()}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_every_kind_of_model_scores_all_items(model):
    source = sn.sources.TorchSource(model, n_users=7, n_items=5)
    assert isinstance(source, sn.sources.ScoreSource)
    block = source.score_block(np.array([6, 0, 6]))
    assert type(block) is np.ndarray
    assert block.dtype == np.float32
    assert_allclose(block, EXPECTED[[6, 0, 6]], rtol=1e-5)
    assert source.score_block(np.empty(0, dtype=int)).shape == (0, 5)


def test_pairs_are_scored_in_blocks(monkeypatch):
    monkeypatch.setattr("sureness.sources.function.BLOCK_SCORES", 10)
    assert_allclose(sn.sources.TorchSource(Pairwise(), 7, 5).score_block(np.arange(7)), EXPECTED, rtol=1e-5)


def test_a_module_is_left_as_it_was():
    module = Module()
    assert module.training
    sn.sources.TorchSource(module, 7, 5, device="cpu").score_block(np.arange(7))
    assert module.training
    module.eval()
    sn.sources.TorchSource(module, 7, 5).score_block(np.arange(7))
    assert not module.training


def test_half_precision_becomes_single():
    source = sn.sources.TorchSource(lambda users: (TASTES[users] @ QUALITIES.T).to(torch.bfloat16), 7, 5)
    assert_allclose(source.score_block(np.arange(7)), EXPECTED, rtol=0.05, atol=0.02)


def test_what_cannot_score_is_refused():
    with pytest.raises(sn.errors.DataError, match="Tensor"):
        sn.sources.TorchSource(TASTES, 7, 5)
    with pytest.raises(sn.errors.DataError, match=r"\(1, 6\), got \(1, 5\)"):
        sn.sources.TorchSource(MODELS["function"], 7, 6).score_block(np.array([0]))
    with pytest.raises(sn.errors.DataError, match="users"):
        sn.sources.TorchSource(MODELS["function"], 7, 5).score_block(np.array([7]))
