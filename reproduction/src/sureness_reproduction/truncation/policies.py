"""AttnCut (Wu et al., 2021) and MtCut (Wang et al., 2022): policies that learn from past lists where to cut."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from sureness import Progress, silent
from sureness.errors import EmptyError, NotFittedError, SettingError
from sureness.lists import Lists, ListSizePolicy
from sureness.metrics import Utility, at_sizes, named_utility, utility_at_every_size
from sureness_reproduction.truncation.losses import cut_target
from sureness_reproduction.truncation.networks import (
    AttnCutNetwork,
    CutNetwork,
    Inputs,
    Labels,
    MtCutNetwork,
    PublicMtCutNetwork,
    Scales,
    ScoreScale,
    checked_scores,
    real_ranks,
)
from sureness_reproduction.truncation.training import CutTraining, seeded, using_threads

_HISTORY = {"epoch": pl.Int64, "loss": pl.Float64, "utility": pl.Float64, "seconds": pl.Float64}


class CutPolicy(ListSizePolicy):
    """A network reads the scores of a list and decides where to cut; the settings are explained in `AttnCut`."""

    _whole: ClassVar[tuple[str, ...]] = ("n_factors", "layers", "heads", "batch_size", "epochs", "patience", "threads")
    _weights: ClassVar[tuple[str, ...]] = ("weight_decay",)

    network_: CutNetwork
    scales_: Scales
    width_: int  # ranks that were learned from; sizes beyond are never chosen
    history_: pl.DataFrame  # one row per epoch: epoch, loss, utility, seconds
    best_epoch_: int
    best_utility_: float

    def __init__(
        self,
        utility: str | Utility = "f1",
        *,
        min_size: int = 1,
        max_size: int = 50,
        n_factors: int = 64,
        layers: int = 1,
        heads: int = 1,
        dropout: float = 0.2,
        tau: float = 0.95,
        learning_rate: float = 0.001,
        weight_decay: float = 0.0,
        batch_size: int = 64,
        epochs: int = 50,
        patience: int = 5,
        features: bool = False,
        selection_share: float = 0.2,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.utility = utility
        self.min_size, self.max_size = min_size, max_size
        self.n_factors, self.layers, self.heads, self.dropout = n_factors, layers, heads, dropout
        self.tau, self.learning_rate, self.weight_decay = tau, learning_rate, weight_decay
        self.batch_size, self.epochs, self.patience = batch_size, epochs, patience
        self.features, self.selection_share, self.seed, self.threads = features, selection_share, seed, threads

    @abstractmethod
    def new_network(self, width: int, n_features: int) -> CutNetwork:
        """A network with random weights, for lists of up to `width` items with some features."""

    # -- learning ---------------------------------------------------------------------------------------------------

    def fit(self, lists: Lists, *, progress: Progress = silent) -> Self:
        """Learn from lists with `scores`, `hits` and `n_relevant`, those of the validation period.

        Users without a relevant item are left out: normalised utilities are 0 for them at every size.

        Parameters
        ----------
        lists : Lists
        progress : Progress, optional
            Called after each epoch with a text, the epochs done and the epochs in total.
        """
        return self.end(self.begin(lists).run(progress=progress))

    def begin(self, lists: Lists) -> CutTraining:
        """A training that can be run epoch by epoch; `end` takes over what it learned."""
        self.check()
        learned, held_out = self._split(lists)
        width = min(self.max_size, lists.width)
        scales = self._scales(lists, learned, width)
        network = self._drawn_network(width, lists.needed("features", self).shape[2] if self.features else 0)
        inputs, judged = (self._inputs(some, scales, width) for some in (learned, held_out))
        target = cut_target(torch.from_numpy(self._utilities(learned, width)), inputs.allowed, self.tau)
        labels = Labels(target.float(), torch.from_numpy(self._hits(learned, width)).float())
        gained = self._utilities(held_out, width)
        return CutTraining(
            network,
            inputs,
            labels,
            scales=scales,
            judge=lambda: float(at_sizes(gained, network.sizes(judged)).mean()),
            schedule=self,
        )

    def end(self, training: CutTraining) -> Self:
        """Take over the best epoch of a training that `begin` returned."""
        self.network_, self.width_ = training.best(), training.inputs.allowed.shape[1]
        self.scales_, self.history_ = training.scales, pl.DataFrame(training.history, schema=_HISTORY)
        self.best_epoch_, self.best_utility_ = training.best_epoch, training.best_utility
        return self

    def _scales(self, lists: Lists, learned: Lists, width: int) -> Scales:
        """The scale of the scores of those who are learned from, and of their features."""
        checked_scores(lists, width, self)
        scale = ScoreScale.of(checked_scores(learned, width, self))
        if not self.features:
            return scale, None
        return scale, ScoreScale.of(learned.needed("features", self)[:, :width][real_ranks(learned, width)])

    def _drawn_network(self, width: int, n_features: int) -> CutNetwork:
        with seeded(self.seed):
            return self.new_network(width, n_features)

    def _split(self, lists: Lists) -> tuple[Lists, Lists]:
        """Users to learn from and users to choose the epoch by, drawn with the seed."""
        usable = np.flatnonzero((lists.needed("n_relevant", self) > 0) & (lists.lengths > 0))
        if len(usable) < 2:
            raise EmptyError(
                f"{self!r} needs at least 2 users with candidates and a relevant item, one to learn from and one to "
                f"choose the epoch by, got {len(usable)} of {lists.n_users:,}; give labels of a longer period"
            )
        drawn = np.random.default_rng([self.seed, 0]).permutation(usable)
        n_held_out = min(max(round(self.selection_share * len(usable)), 1), len(usable) - 1)
        return lists.take(np.sort(drawn[n_held_out:])), lists.take(np.sort(drawn[:n_held_out]))

    def _inputs(self, lists: Lists, scales: Scales, width: int) -> Inputs:
        return Inputs.of(lists, scales, width=width, min_size=self.min_size, by=self)

    def _utilities(self, lists: Lists, width: int) -> NDArray[np.floating]:
        return utility_at_every_size(self._hits(lists, width), lists.needed("n_relevant", self), self.utility)

    def _hits(self, lists: Lists, width: int) -> NDArray[np.bool_]:
        return np.asarray(lists.needed("hits", self)[:, :width].astype(bool) & real_ranks(lists, width))

    # -- choosing ---------------------------------------------------------------------------------------------------

    def _sizes(self, lists: Lists) -> NDArray[np.int64]:
        if not self.is_fitted:
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")
        if not (lists.lengths > 0).any():
            return np.zeros(lists.n_users, dtype=np.int64)
        width = min(self.width_, self.max_size, lists.width)
        checked_scores(lists, width, self)
        with using_threads(self.threads):
            return self.network_.sizes(self._inputs(lists, self.scales_, width))

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned anything yet."""
        return hasattr(self, "network_")

    # -- learned values ---------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any] | int | float]:
        if not self.is_fitted:
            return {}
        scale, features = self.scales_
        weights = self.network_.state_dict()
        return {
            "n_features": int(weights["reader.lstm.weight_ih_l0"].shape[1]) - 1,
            "feature_mean": features.mean if features else 0.0,
            "feature_deviation": features.deviation if features else 1.0,
            "width": self.width_,
            "score_mean": scale.mean,
            "score_deviation": scale.deviation,
            "best_epoch": self.best_epoch_,
            "best_utility": self.best_utility_,
            **{f"history.{column.name}": column.to_numpy() for column in self.history_},
            **{f"network.{name}": tensor.numpy().copy() for name, tensor in weights.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        n_features = int(state.get("n_features", 0))  # files of 0.1 have none
        features = ScoreScale(float(state.get("feature_mean", 0.0)), float(state.get("feature_deviation", 1.0)))
        scale = ScoreScale(float(state["score_mean"]), float(state["score_deviation"]))
        self.scales_, self.width_ = (scale, features if n_features else None), int(state["width"])
        network = self._drawn_network(self.width_, n_features)
        network.load_state_dict({name: torch.tensor(array) for name, array in _part(state, "network").items()})
        self.network_ = network.eval()
        self.history_ = pl.DataFrame(_part(state, "history"), schema=_HISTORY)
        self.best_epoch_, self.best_utility_ = int(state["best_epoch"]), float(state["best_utility"])

    # -- settings ---------------------------------------------------------------------------------------------------

    def check(self) -> None:
        super().check()
        named_utility(self.utility)
        for name in self._whole:
            self._require(name, Integral, lambda value: value >= 1, "a whole number, 1 or more")
        self._require("seed", Integral, lambda value: value >= 0, "a whole number, 0 or more")
        for name in ("tau", "learning_rate"):
            self._require(name, Real, lambda value: value > 0, "a number above 0")
        for name in self._weights:
            self._require(name, Real, lambda value: value >= 0, "a number, 0 or more")
        if not isinstance(self.features, bool):
            raise SettingError(f"features must be True or False, got {self.features!r}")
        self._require("dropout", Real, lambda value: 0 <= value < 1, "a number from 0 to below 1")
        self._require("selection_share", Real, lambda value: 0 < value < 1, "a number strictly between 0 and 1")
        if self.n_factors % 2 or self.n_factors % self.heads:
            raise SettingError(
                f"n_factors must be even and a multiple of heads, got n_factors={self.n_factors} and heads={self.heads}"
            )

    def _require(self, name: str, kind: Any, holds: Callable[[Any], bool], how: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind) or isinstance(value, bool) or not (math.isfinite(value) and holds(value)):
            raise SettingError(f"{name} must be {how}, got {value!r}")
        if isinstance(value, np.generic):  # torch takes Python numbers only
            setattr(self, name, value.item())


def _part(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}


class AttnCut(CutPolicy):
    """Learns from past lists where to cut, from their scores alone: a Bi-LSTM and attention over the scores.

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
    >>> from sureness.lists import Lists
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
        return AttnCutNetwork(self.n_factors, self.layers, self.heads, self.dropout, n_features=n_features)


class MtCut(CutPolicy):
    """AttnCut that learns two more tasks (MMoECut): which items are relevant, and to rank those first.

    Three tasks share several attention experts, mixed by a gate for each task. The other tasks only train the shared
    layers; sizes come from the cut alone. Parameters that are not listed are those of `AttnCut`.

    Parameters
    ----------
    experts : int
        Attention stacks that the tasks share.
    relevance_weight, rerank_weight : float
        Weights of the other tasks in the loss.
    variant : {"paper", "public"}
        As the paper describes it, or with the losses and gates of its public code: Jensen-Shannon divergence for the
        cut, a margin of 5e-4 between means of softmaxed scores, gates that read all ranks, and attention over the
        lists of a batch, so that the size of a list depends on the lists it is read with. That code has `tau=0.85`.

    Examples
    --------
    >>> MtCut("ndcg", experts=2, max_size=20)
    MtCut(utility='ndcg', max_size=20, experts=2)
    """

    _whole = (*CutPolicy._whole, "experts")
    _weights = (*CutPolicy._weights, "relevance_weight", "rerank_weight")

    def __init__(
        self,
        utility: str | Utility = "f1",
        *,
        min_size: int = 1,
        max_size: int = 50,
        n_factors: int = 64,
        layers: int = 1,
        heads: int = 1,
        dropout: float = 0.2,
        tau: float = 0.95,
        learning_rate: float = 0.001,
        weight_decay: float = 0.0,
        batch_size: int = 64,
        epochs: int = 50,
        patience: int = 5,
        features: bool = False,
        selection_share: float = 0.2,
        experts: int = 3,
        relevance_weight: float = 0.5,
        rerank_weight: float = 0.5,
        variant: Literal["paper", "public"] = "paper",
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        super().__init__(utility, min_size=min_size, max_size=max_size, features=features, seed=seed, threads=threads)
        self.n_factors, self.layers, self.heads, self.dropout = n_factors, layers, heads, dropout
        self.tau, self.learning_rate, self.weight_decay = tau, learning_rate, weight_decay
        self.batch_size, self.epochs, self.patience = batch_size, epochs, patience
        self.selection_share, self.variant = selection_share, variant
        self.experts, self.relevance_weight, self.rerank_weight = experts, relevance_weight, rerank_weight

    def new_network(self, width: int, n_features: int) -> MtCutNetwork:
        sizes = (self.n_factors, self.layers, self.heads, self.dropout, self.experts)
        weights = (self.relevance_weight, self.rerank_weight)
        if self.variant == "paper":
            return MtCutNetwork(*sizes, *weights, n_features=n_features)
        return PublicMtCutNetwork(*sizes, *weights, width=width, batch_size=self.batch_size, n_features=n_features)

    def check(self) -> None:
        super().check()
        if self.variant not in ("paper", "public"):
            raise SettingError(f'variant must be "paper" or "public", got {self.variant!r}')
