"""What the training loop expects of a network, and losses as free functions: one value for each pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.models.networks.batches import Batch, Batches, PairBatches, SoftItems
from sureness.models.networks.optimiser import RowAdam
from sureness.models.settings import Settings
from sureness.numerics.checks import check_memory
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import TorchSource


class Network(nn.Module, ABC):
    """Scores pairs and knows its loss; a model overrides `score` and `loss`, and what it can do faster."""

    settings: Settings
    has_fused_step: bool = False  # whether `fused_step` does a whole step in compiled code
    draws_dropout: ClassVar[bool] = False  # whether its steps take random numbers of torch
    weighs_positives: ClassVar[bool] = False  # whether every positive needs a weight of its own, such as a propensity
    starts_from_factors: ClassVar[bool] = False  # whether `start_from` can replace the first weights by given factors

    def __init__(self, train: Interactions, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.n_users, self.n_items = train.shape

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @abstractmethod
    def score(self, users: Tensor, items: Tensor) -> Tensor:
        """Scores of pairs: users (B,), items (B, n), result (B, n)."""

    def score_block(self, users: Tensor) -> Tensor:
        """Scores of all items; shape (B, n_items)."""
        items = torch.arange(self.n_items, device=users.device)
        return self.score(users, items.expand(len(users), -1))

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The loss of each pair of a batch with its L2 pull, any shape; the loop takes the mean."""

    def batches(self, train: Interactions) -> Batches:
        """The batches of an epoch."""
        return PairBatches(train, self.settings)

    def fused_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | None = None) -> float:
        """One whole step in compiled code, equal to `loss` and `RowAdam`; returns the mean loss without L2."""
        raise NotImplementedError

    def after_step(self, batch: Batch, soft: SoftItems | None = None) -> None:
        """Called after every step, to keep embeddings inside a ball for example."""

    def start_from(self, factors: FactorSource) -> None:
        """Replace the weights by factors of the same users, items and width; those that are 0 throughout stay."""
        raise NotImplementedError

    def settle(self) -> None:
        """Called before scoring, to compute what scores are read from."""

    def source(self, users: IdMap, items: IdMap) -> ScoreSource:
        """The scores as a source."""
        return TorchSource(
            self.score_block, self.n_users, self.n_items, users=users, items=items, device=str(self.device)
        )

    def arrays(self) -> dict[str, AnyArray]:
        """Its tensors as arrays, which is what is saved."""
        return {name: as_numpy(tensor) for name, tensor in self.state_dict().items()}

    @torch.no_grad()
    def pair_scores(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores of items (B, n) with the current weights and without dropout; items below 0 count as item 0."""
        training = self.training
        self.eval()
        scores = self.score(self.tensor(users), self.tensor(np.maximum(items, 0)))
        self.train(training)
        return np.asarray(scores.cpu().numpy(), dtype=np.float32)

    def tensor(self, rows: IntArray) -> Tensor:
        """Row numbers on the device of the network."""
        return torch.from_numpy(rows).to(self.device)


def new_table(n_rows: int, n_columns: int, scale: float) -> nn.Parameter:
    """A table of embeddings, normally distributed; training needs as much again for gradients and for Adam."""
    check_memory(
        4 * 4 * n_rows * n_columns,
        f"embeddings of {counted(n_rows, 'user')} or items with {counted(n_columns, 'factor')}",
    )
    return nn.Parameter(torch.randn(n_rows, n_columns) * scale)


def rows_of(table: Tensor, rows: Tensor) -> Tensor:
    """Rows of a table, whose gradient holds only these rows."""
    return functional.embedding(rows, table, sparse=True)


def products(users: Tensor, items: Tensor) -> Tensor:
    """Inner products of users (B, d) with their items (B, n, d); shape (B, n)."""
    return (users.unsqueeze(1) * items).sum(dim=-1)


def as_numpy(tensor: Tensor) -> AnyArray:
    """A tensor as an array with memory of its own."""
    return tensor.detach().cpu().numpy().copy()


def items_against(batch: Batch, network: Network) -> tuple[Tensor, Tensor, Tensor]:
    """A batch as tensors: users (B,), positives (B, 1) and negatives (B, n)."""
    return network.tensor(batch.users), network.tensor(batch.positives)[:, None], network.tensor(batch.negatives)


def chain(sizes: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU after each."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        check_memory(4 * 4 * before * after, f"layers of {before:,} and {counted(after, 'value')}")
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


def check_device(device: str) -> torch.device:
    """A device that is there."""
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise SettingError(f"device must be cpu or cuda, got {device!r}") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise SettingError("device is cuda, but torch finds no GPU here; use device='cpu'")
    return found


# --- losses: the caller reduces -------------------------------------------------------------------------------------


def pairwise_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """-log sigmoid(positive - negative): BPR, also of LightGCN.

    Parameters
    ----------
    positive : tensor of shape (B, 1)
    negative : tensor of shape (B, n)

    Returns
    -------
    tensor of shape (B, n)
    """
    return functional.softplus(negative - positive)


def unbiased_pairwise_loss(
    positive: Tensor,
    negative: Tensor,
    positive_propensity: Tensor,
    negative_observed: Tensor,
    negative_propensity: Tensor,
) -> Tensor:
    """UBPR: the pairwise loss weighted by (1 / omega_i) (1 - Y_j / omega_j); its mean is the loss on preferences.

    The second factor belongs to j, the item drawn against i; it is negative where j was observed and rarely seen.
    """
    weight = (1.0 / positive_propensity) * (1.0 - negative_observed / negative_propensity)
    return weight * pairwise_loss(positive, negative)


def pointwise_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Binary cross-entropy of a positive and the mean over its negatives: NeuMF; shape (B,)."""
    return functional.softplus(-positive).mean(dim=1) + functional.softplus(negative).mean(dim=1)


def margin_loss(positive_distance: Tensor, negative_distance: Tensor, margin: float) -> Tensor:
    """max(0, margin + d(u, i) - d(u, j)) on squared distances: CML; shape (B, n)."""
    return functional.relu(margin + positive_distance - negative_distance)


def embedding_penalty(*rows: Tensor) -> Tensor:
    """Half the squared length of the embeddings that a pair touches; shapes broadcast, the last one is summed."""
    total = rows[0].square().sum(dim=-1)
    for row in rows[1:]:
        total = total + row.square().sum(dim=-1)
    return total / 2


def soft_label_loss(scores: Tensor, labels: Tensor, weights: Tensor, slope: float = 1.0, shift: float = 0.0) -> Tensor:
    """Cross-entropy between the labels of another model and sigmoid(slope * score + shift), summed; shape (B,)."""
    logits = slope * scores + shift
    return (weights * functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")).sum(dim=1)
