"""What AttnCut and MtCut share: settings, fitting with held-out users, choosing sizes, saving. Imports torch late."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.artefacts.packed import Packed
from sureness.errors import EmptyError, NotFittedError, SettingError
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.lists import Lists
from sureness.metrics.utility import Utility, at_sizes, named_utility, utility_at_every_size
from sureness.models.needs import need_torch
from sureness.truncation.scaling import ScoreScale, checked_scores, real_ranks

if TYPE_CHECKING:
    from torch import Tensor

    from sureness.truncation.networks.inputs import Inputs, Labels
    from sureness.truncation.networks.network import CutNetwork
    from sureness.truncation.networks.training import CutTraining, Schedule

HISTORY = {"epoch": pl.Int64, "loss": pl.Float64, "utility": pl.Float64, "seconds": pl.Float64}
"""The columns of a training history; one row per epoch."""


class CutPolicy(ListSizePolicy):
    """A network reads the scores of a list and says where to cut; the settings are explained in `AttnCut`."""

    _whole: ClassVar[tuple[str, ...]] = (
        "n_factors", "layers", "heads", "batch_size", "epochs", "patience", "threads",
    )  # fmt: skip
    _weights: ClassVar[tuple[str, ...]] = ("weight_decay",)

    network_: CutNetwork
    scale_: ScoreScale
    feature_scale_: ScoreScale | None  # None where features are not read
    n_features_: int
    width_: int  # ranks that were learned from; sizes beyond are never chosen
    history_: pl.DataFrame  # one row per epoch, columns as in HISTORY
    best_epoch_: int
    best_utility_: float

    def __init__(
        self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50, n_factors: int = 64,
        layers: int = 1, heads: int = 1, dropout: float = 0.2, tau: float = 0.95, learning_rate: float = 0.001,
        weight_decay: float = 0.0, batch_size: int = 64, epochs: int = 50, patience: int = 5,
        features: bool = False, selection_share: float = 0.2, seed: int = 0, threads: int = 1,
    ) -> None:  # fmt: skip
        self.utility = utility
        self.min_size, self.max_size = min_size, max_size
        self.n_factors, self.layers, self.heads, self.dropout = n_factors, layers, heads, dropout
        self.tau, self.learning_rate, self.weight_decay = tau, learning_rate, weight_decay
        self.batch_size, self.epochs, self.patience = batch_size, epochs, patience
        self.features, self.selection_share, self.seed, self.threads = features, selection_share, seed, threads

    @abstractmethod
    def new_network(self, width: int, n_features: int) -> CutNetwork:
        """A network with random weights, for lists of up to `width` items with some features; imports torch."""

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
        need_torch(f"fitting {type(self).__name__}")
        from sureness.truncation.networks.training import CutTraining

        self.check()
        learned, held_out = self._split(lists)
        width = min(self.max_size, lists.width)
        scales = self._scales(lists, learned, width)
        n_features = lists.needed("features", self).shape[2] if self.features else 0
        network = self._drawn_network(width, n_features)
        inputs, judged = (self._inputs(some, scales, width) for some in (learned, held_out))
        gained = self._utilities(held_out, width)
        return CutTraining(
            network, inputs, self._labels(learned, inputs.allowed), scales=scales,
            judge=lambda: float(at_sizes(gained, network.sizes(judged)).mean()), schedule=self._schedule(),
        )  # fmt: skip

    def end(self, training: CutTraining) -> Self:
        """Take over the best epoch of a training that `begin` returned."""
        self.history_, self.best_epoch_, self.best_utility_ = training.best()
        self.network_, self.width_ = training.network, training.inputs.allowed.shape[1]
        self.scale_, self.feature_scale_ = training.scales
        self.n_features_ = 0 if training.inputs.features is None else training.inputs.features.shape[2]
        return self

    def _scales(self, lists: Lists, learned: Lists, width: int) -> tuple[ScoreScale, ScoreScale | None]:
        """The scale of the scores of those who are learned from, and of their features."""
        checked_scores(lists, width, self)
        scale = ScoreScale.of(checked_scores(learned, width, self))
        if not self.features:
            return scale, None
        return scale, ScoreScale.of(learned.needed("features", self)[:, :width][real_ranks(learned, width)])

    def _drawn_network(self, width: int, n_features: int) -> CutNetwork:
        from sureness.models.networks.training import seeded

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

    def _schedule(self) -> Schedule:
        from sureness.truncation.networks.training import Schedule

        return Schedule(
            learning_rate=self.learning_rate, weight_decay=self.weight_decay, batch_size=self.batch_size,
            epochs=self.epochs, patience=self.patience, seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def _inputs(self, lists: Lists, scales: tuple[ScoreScale, ScoreScale | None], width: int) -> Inputs:
        from sureness.truncation.networks.inputs import Inputs

        return Inputs.of(lists, scales[0], width=width, min_size=self.min_size, by=self, feature_scale=scales[1])

    def _labels(self, lists: Lists, allowed: Tensor) -> Labels:
        import torch

        from sureness.truncation.networks.inputs import Labels
        from sureness.truncation.networks.losses import cut_target

        width = allowed.shape[1]
        target = cut_target(torch.from_numpy(self._utilities(lists, width)), allowed, self.tau)
        return Labels(target.float(), torch.from_numpy(self._hits(lists, width)).float())

    def _utilities(self, lists: Lists, width: int) -> FloatArray:
        return utility_at_every_size(self._hits(lists, width), lists.needed("n_relevant", self), self.utility)

    def _hits(self, lists: Lists, width: int) -> BoolArray:
        return lists.needed("hits", self)[:, :width].astype(bool) & real_ranks(lists, width)

    # -- choosing ---------------------------------------------------------------------------------------------------

    def _sizes(self, lists: Lists) -> IntArray:
        from sureness.models.networks.training import using_threads

        network = self._fitted().network_
        if not (lists.lengths > 0).any():
            return np.zeros(lists.n_users, dtype=np.int64)
        width = min(self.width_, self.max_size, lists.width)
        checked_scores(lists, width, self)
        with using_threads(self.threads):
            return network.sizes(self._inputs(lists, (self.scale_, self.feature_scale_), width))

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned anything yet."""
        return hasattr(self, "network_")

    def _fitted(self) -> Self:
        if not self.is_fitted:
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")
        return self

    # -- learned values ---------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        return replace(super().pack(), needs=("models",) if self.is_fitted else ())

    def state(self) -> dict[str, AnyArray | int | float]:
        if not self.is_fitted:
            return {}
        from sureness.models.networks.network import as_numpy

        features = self.feature_scale_ or ScoreScale(0.0, 1.0)
        return {
            "n_features": self.n_features_, "feature_mean": features.mean, "feature_deviation": features.deviation,
            "width": self.width_, "score_mean": self.scale_.mean, "score_deviation": self.scale_.deviation,
            "best_epoch": self.best_epoch_, "best_utility": self.best_utility_,
            **{f"history.{column.name}": column.to_numpy() for column in self.history_},
            **{f"network.{name}": as_numpy(tensor) for name, tensor in self.network_.state_dict().items()},
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        import torch

        self.n_features_ = int(state.get("n_features", 0))  # files of 0.1 have none
        features = ScoreScale(float(state.get("feature_mean", 0.0)), float(state.get("feature_deviation", 1.0)))
        self.feature_scale_ = features if self.n_features_ else None
        network = self._drawn_network(int(state["width"]), self.n_features_)
        network.load_state_dict({name: torch.tensor(array) for name, array in _part(state, "network").items()})
        network.eval()
        self.network_, self.width_ = network, int(state["width"])
        self.scale_ = ScoreScale(float(state["score_mean"]), float(state["score_deviation"]))
        self.history_ = pl.DataFrame(_part(state, "history"), schema=HISTORY)
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
