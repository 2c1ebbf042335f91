"""Losses as free functions: one value for each pair, the caller reduces."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


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
