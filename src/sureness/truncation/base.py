"""What AttnCut and MtCut have in common: settings, fitting with users held out, choosing, learned values as arrays."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import torch
from torch import Tensor

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError, NotFittedError
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.lists import Lists
from sureness.metrics.utility import Utility, at_sizes, named_utility, utility_at_every_size
from sureness.models.network import as_numpy
from sureness.models.training import Report, seeded, using_threads
from sureness.truncation.inputs import Inputs, Labels, ScoreScale, checked_scores, real_ranks
from sureness.truncation.losses import cut_target
from sureness.truncation.network import CutNetwork
from sureness.truncation.training import HISTORY, Schedule, train_cut


class CutPolicy(ListSizePolicy):
    """A network reads the scores of a list and says where to cut; the settings are explained in `AttnCut`."""

    _whole: ClassVar[tuple[str, ...]] = (
        "n_factors", "layers", "heads", "batch_size", "epochs", "patience", "threads",
    )  # fmt: skip
    _weights: ClassVar[tuple[str, ...]] = ("weight_decay",)

    network_: CutNetwork
    scale_: ScoreScale
    width_: int  # ranks that were learned from; sizes beyond are never chosen
    history_: pl.DataFrame  # one row an epoch, columns as in HISTORY
    best_epoch_: int
    best_utility_: float

    def __init__(
        self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50, n_factors: int = 64,
        layers: int = 1, heads: int = 1, dropout: float = 0.2, tau: float = 0.95, learning_rate: float = 0.001,
        weight_decay: float = 0.0, batch_size: int = 64, epochs: int = 50, patience: int = 5,
        selection_share: float = 0.2, seed: int = 0, threads: int = 1,
    ) -> None:  # fmt: skip
        self.utility = utility
        self.min_size, self.max_size = min_size, max_size
        self.n_factors, self.layers, self.heads, self.dropout = n_factors, layers, heads, dropout
        self.tau, self.learning_rate, self.weight_decay = tau, learning_rate, weight_decay
        self.batch_size, self.epochs, self.patience = batch_size, epochs, patience
        self.selection_share, self.seed, self.threads = selection_share, seed, threads

    @abstractmethod
    def _new_network(self) -> CutNetwork:
        """A network of this kind, its weights drawn by torch."""

    # -- learning ---------------------------------------------------------------------------------------------------

    def fit(self, lists: Lists, *, progress: Report | None = None) -> Self:
        """Learn from lists with `scores`, `hits` and `n_relevant`, those of the validation period.

        Users without a relevant item are left out: normalised utilities are 0 for them at every size.

        Parameters
        ----------
        lists : Lists
        progress : callable, optional
            Called after each epoch with a text, the epochs done and the epochs there are.
        """
        self.check()
        learned, held_out = self._split(lists)
        width = min(self.max_size, lists.width)
        checked_scores(lists, width, self)
        scale = ScoreScale.of(checked_scores(learned, width, self))
        with seeded(self.seed):
            network = self._new_network()
        inputs, judged = (self._inputs(some, scale, width) for some in (learned, held_out))
        gained = self._utilities(held_out, width)
        trained = train_cut(
            network, inputs, self._labels(learned, inputs.allowed),
            judge=lambda: float(at_sizes(gained, network.sizes(judged)).mean()),
            schedule=self._schedule(), report=progress,
        )  # fmt: skip
        self.network_, self.scale_, self.width_ = network, scale, width
        self.history_, self.best_epoch_, self.best_utility_ = trained
        return self

    def _split(self, lists: Lists) -> tuple[Lists, Lists]:
        """Users to learn from and users to choose the epoch by, drawn with the seed."""
        usable = np.flatnonzero((lists.needed("n_relevant", self) > 0) & (lists.lengths > 0))
        if len(usable) < 2:
            raise DataError(
                f"{self!r} needs at least 2 users with candidates and a relevant item, one to learn from and one to "
                f"choose the epoch by, got {len(usable)} of {lists.n_users:,}; give labels of a longer period"
            )
        drawn = np.random.default_rng([self.seed, 0]).permutation(usable)
        n_held_out = min(max(round(self.selection_share * len(usable)), 1), len(usable) - 1)
        return lists.take(np.sort(drawn[n_held_out:])), lists.take(np.sort(drawn[:n_held_out]))

    def _schedule(self) -> Schedule:
        return Schedule(
            learning_rate=self.learning_rate, weight_decay=self.weight_decay, batch_size=self.batch_size,
            epochs=self.epochs, patience=self.patience, seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def _inputs(self, lists: Lists, scale: ScoreScale, width: int) -> Inputs:
        return Inputs.of(lists, scale, width=width, min_size=self.min_size, by=self)

    def _labels(self, lists: Lists, allowed: Tensor) -> Labels:
        width = allowed.shape[1]
        target = cut_target(torch.from_numpy(self._utilities(lists, width)), allowed, self.tau)
        return Labels(target.float(), torch.from_numpy(self._hits(lists, width)).float())

    def _utilities(self, lists: Lists, width: int) -> FloatArray:
        return utility_at_every_size(self._hits(lists, width), lists.needed("n_relevant", self), self.utility)

    def _hits(self, lists: Lists, width: int) -> BoolArray:
        return lists.needed("hits", self)[:, :width].astype(bool) & real_ranks(lists, width)

    # -- choosing ---------------------------------------------------------------------------------------------------

    def _sizes(self, lists: Lists) -> IntArray:
        network = self._fitted().network_
        if not (lists.lengths > 0).any():
            return np.zeros(lists.n_users, dtype=np.int64)
        width = min(self.width_, self.max_size, lists.width)
        checked_scores(lists, width, self)
        with using_threads(self.threads):
            return network.sizes(self._inputs(lists, self.scale_, width))

    def _fitted(self) -> Self:
        if not hasattr(self, "network_"):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")
        return self

    # -- learned values ---------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        fitted = self._fitted()
        return {
            "width": fitted.width_, "score_mean": fitted.scale_.mean, "score_deviation": fitted.scale_.deviation,
            "best_epoch": fitted.best_epoch_, "best_utility": fitted.best_utility_,
            **{f"history.{column.name}": column.to_numpy() for column in fitted.history_},
            **{f"network.{name}": as_numpy(tensor) for name, tensor in fitted.network_.state_dict().items()},
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        with seeded(self.seed):
            network = self._new_network()
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
        self._require("dropout", Real, lambda value: 0 <= value < 1, "a number from 0 to below 1")
        self._require("selection_share", Real, lambda value: 0 < value < 1, "a number strictly between 0 and 1")
        if self.n_factors % 2 or self.n_factors % self.heads:
            raise DataError(
                f"n_factors must be even and a multiple of heads, got n_factors={self.n_factors} and heads={self.heads}"
            )

    def _require(self, name: str, kind: Any, holds: Callable[[Any], bool], how: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind) or isinstance(value, bool) or not (math.isfinite(value) and holds(value)):
            raise DataError(f"{name} must be {how}, got {value!r}")
        if isinstance(value, np.generic):  # torch takes plain numbers only
            setattr(self, name, value.item())


def _part(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
