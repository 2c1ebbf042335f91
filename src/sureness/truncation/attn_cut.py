"""AttnCut: a Bi-LSTM and attention over the scores of a list, then a softmax over where to cut (Wu et al., 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sureness.truncation.base import CutPolicy

if TYPE_CHECKING:
    from sureness.truncation.networks.attn_cut import AttnCutNetwork


class AttnCut(CutPolicy):
    """Learns from past lists where to cut, from their scores alone.

    It needs no probabilities, but many users with labels: a list is known by its scores only.

    Parameters
    ----------
    utility : str or Utility
        What a list is worth.
    min_size, max_size : int
        Bounds of the size.
    n_factors : int
        Length of the state at each rank; even, and a multiple of `heads`.
    layers, heads : int
        Attention layers, and parts in which each compares the ranks.
    dropout : float
    tau : float
        How evenly the target weighs sizes, on the scale of the utility; see `cut_target`. On ML-1M and CiteULike-a
        with scores of an SVD, 0.95 was the best of 0.03, 0.1, 0.3 and 0.95 for users held out, or as good.
    learning_rate, weight_decay : float
        Of Adam; the decay is added to the gradient.
    batch_size : int
        Lists per step.
    epochs : int
        At most.
    patience : int
        Epochs without a better utility before training stops.
    features : bool
        Read `lists.features` as well, such as embeddings of the items.
    selection_share : float
        Share of the users that are not learned from; the epoch is chosen by the utility of their lists.
    seed : int
    threads : int
        Of torch; with one, the same seed gives the same sizes.

    Attributes
    ----------
    history_ : polars.DataFrame
        Epoch, loss, utility of the users held out for selection, seconds.
    best_epoch_ : int
    best_utility_ : float
        Of the best epoch; optimistic, since the epoch was chosen by it.

    Examples
    --------
    >>> import numpy as np
    >>> from sureness.list_size.lists import Lists
    >>> level = np.tile([-1.0, 1.0], 200)  # low lists have one relevant item, high ones five
    >>> lists = Lists.of(
    ...     scores=level[:, None] - np.arange(8) / 10,
    ...     hits=np.arange(8) < np.where(level > 0, 5, 1)[:, None],
    ... )
    >>> policy = AttnCut("f1", n_factors=8, learning_rate=0.01, epochs=30, patience=30).fit(lists)
    >>> policy.sizes(lists)[:2]
    array([1, 5])
    """

    def new_network(self, width: int, n_features: int) -> AttnCutNetwork:
        from sureness.truncation.networks.attn_cut import AttnCutNetwork

        return AttnCutNetwork(self.n_factors, self.layers, self.heads, self.dropout, n_features=n_features)
