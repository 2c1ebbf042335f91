"""Losses as free functions: one value for each list, the caller reduces."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def cut_target(utilities: Tensor, allowed: Tensor, tau: float) -> Tensor:
    """The distribution over sizes that a network learns: q(k) in proportion to exp(U(k) / tau).

    A network learns the mean of q over lists that look alike. With a large tau that mean is nearly linear in U, so the
    likeliest size is the one of the best expected utility, but differences are small and learned slowly. With a small
    tau it is how often each size was the best one, and the likeliest size, often 1, may be a poor one on average.

    Parameters
    ----------
    utilities : tensor of shape (n, K)
        What the first k items were worth.
    allowed : tensor of shape (n, K)
        Sizes that may be chosen; the others get 0.
    tau : float

    Examples
    --------
    >>> cut_target(torch.tensor([[0.0, 1.0, 0.5]]), torch.tensor([[True, True, False]]), tau=1.0)
    tensor([[0.2689, 0.7311, 0.0000]])
    """
    usable = utilities.masked_fill(~allowed, -torch.inf)
    lead = usable - usable.amax(dim=1, keepdim=True)  # before the division, so that a tiny tau cannot overflow
    return torch.softmax(lead / tau, dim=1)


def cut_loss(logits: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """Cross-entropy of the softmax over the allowed sizes with the target; all (n, K), result (n,)."""
    chances = functional.log_softmax(logits.masked_fill(~allowed, -torch.inf), dim=1)
    return -(target * chances.masked_fill(~allowed, 0.0)).sum(dim=1)


def relevance_loss(logits: Tensor, hits: Tensor, real: Tensor) -> Tensor:
    """Binary cross-entropy of each item, averaged over the list; all (n, K), result (n,)."""
    losses = functional.binary_cross_entropy_with_logits(logits, hits, reduction="none")
    return (losses * real).sum(dim=1) / real.sum(dim=1)


def rerank_loss(scores: Tensor, hits: Tensor, real: Tensor, margin: float = 1.0) -> Tensor:
    """Pairwise hinge: by how much relevant items fail to lead irrelevant ones by `margin`, averaged over such pairs.

    All (n, K), result (n,); 0 where all items of a list are of one kind.
    """
    short = functional.relu(margin - (scores[:, :, None] - scores[:, None, :]))  # (n, K, K): row against column
    pairs = hits[:, :, None] * ((1 - hits) * real)[:, None, :]
    return (short * pairs).sum(dim=(1, 2)) / pairs.sum(dim=(1, 2)).clamp(min=1)


def divergence_loss(logits: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """Jensen-Shannon divergence of the softmax over the allowed sizes and the target; all (n, K), result (n,).

    Examples
    --------
    >>> allowed = torch.tensor([[True, True]])
    >>> round(divergence_loss(torch.tensor([[-99.0, 99.0]]), torch.tensor([[1.0, 0.0]]), allowed).item(), 4)  # log 2
    0.6931
    """
    chances = torch.softmax(logits.masked_fill(~allowed, -torch.inf), dim=1)
    middle = (chances + target) / 2
    return (_information(chances, middle) + _information(target, middle)) / 2


def _information(first: Tensor, second: Tensor) -> Tensor:
    """Kullback-Leibler divergence of rows; second is 0 only where first is."""
    there = first > 0
    ratio = torch.where(there, first, 1.0) / torch.where(there, second, 1.0)
    return (first * torch.log(ratio)).sum(dim=1)


def means_loss(scores: Tensor, hits: Tensor, real: Tensor, margin: float = 5e-4) -> Tensor:
    """Hinge on means: by how much relevant items fail to lead irrelevant ones by `margin`, in softmaxed scores.

    All (n, K), result (n,); 0 where all items of a list are of one kind.
    """
    chances = torch.softmax(scores.masked_fill(~real, -torch.inf), dim=1)
    relevant, others = hits * real, (1 - hits) * real
    means = [(chances * some).sum(dim=1) / some.sum(dim=1).clamp(min=1) for some in (relevant, others)]
    both = relevant.any(dim=1) & others.any(dim=1)
    return functional.relu(margin - (means[0] - means[1])) * both
