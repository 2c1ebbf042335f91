"""MtCut (MMoECut): three tasks share several attention experts, mixed by a gate for each task (Wang et al., 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sureness.errors import SettingError
from sureness.metrics.utility import Utility
from sureness.truncation.base import CutPolicy

if TYPE_CHECKING:
    from sureness.truncation.networks.mt_cut import MtCutNetwork


class MtCut(CutPolicy):
    """AttnCut that learns two more tasks: which items are relevant, and to rank those first.

    The other tasks only train the shared layers; sizes come from the cut alone. Parameters that are not listed are
    those of `AttnCut`.

    Parameters
    ----------
    experts : int
        Attention stacks that the tasks share.
    relevance_weight, rerank_weight : float
        Weights of the other tasks in the loss.
    variant : {"paper", "public"}
        As the paper describes it, or with the losses and gates of its public code: Jensen-Shannon divergence for the
        cut, a margin of 5e-4 between means of softmaxed scores, gates that read all ranks, and attention over the
        lists of a batch, so that the size of a list depends on the lists beside it. That code has `tau=0.85`.

    Examples
    --------
    >>> MtCut("ndcg", experts=2, max_size=20)
    MtCut(utility='ndcg', max_size=20, experts=2)
    """

    _whole = (*CutPolicy._whole, "experts")
    _weights = (*CutPolicy._weights, "relevance_weight", "rerank_weight")

    def __init__(
        self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50, n_factors: int = 64,
        layers: int = 1, heads: int = 1, dropout: float = 0.2, tau: float = 0.95, learning_rate: float = 0.001,
        weight_decay: float = 0.0, batch_size: int = 64, epochs: int = 50, patience: int = 5,
        features: bool = False, selection_share: float = 0.2, experts: int = 3, relevance_weight: float = 0.5,
        rerank_weight: float = 0.5, variant: Literal["paper", "public"] = "paper", seed: int = 0, threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(
            utility, min_size=min_size, max_size=max_size, n_factors=n_factors, layers=layers, heads=heads,
            dropout=dropout, tau=tau, learning_rate=learning_rate, weight_decay=weight_decay, batch_size=batch_size,
            epochs=epochs, patience=patience, features=features, selection_share=selection_share, seed=seed,
            threads=threads,
        )  # fmt: skip
        self.experts, self.relevance_weight, self.rerank_weight = experts, relevance_weight, rerank_weight
        self.variant = variant

    def new_network(self, width: int, n_features: int) -> MtCutNetwork:
        from sureness.truncation.networks.mt_cut import MtCutNetwork, PublicMtCutNetwork

        sizes = (
            self.n_factors, self.layers, self.heads, self.dropout, self.experts, self.relevance_weight,
            self.rerank_weight,
        )  # fmt: skip
        if self.variant == "public":
            return PublicMtCutNetwork(*sizes, width=width, batch_size=self.batch_size, n_features=n_features)
        return MtCutNetwork(*sizes, n_features=n_features)

    def check(self) -> None:
        super().check()
        if self.variant not in ("paper", "public"):
            raise SettingError(f'variant must be "paper" or "public", got {self.variant!r}')
