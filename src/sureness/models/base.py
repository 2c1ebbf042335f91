"""A model as people use it: settings in, ``fit``, then a source of scores. Nothing here imports torch by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._progress import Progress, silent
from sureness._registry import name_of
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.errors import DamagedError, EmptyError, NotFittedError, missing_extra
from sureness.models.checkpoints import HISTORY, CheckpointFile, TrainingState, run_identity
from sureness.models.settings import Configured, Setting, Space
from sureness.saving.packed import JSON, Packed, Parts, Savable, kind_of
from sureness.sources.aligned import Seen, unseen
from sureness.sources.base import FactorSource, ScoreSource

if TYPE_CHECKING:
    from sureness.models.networks.network import Network

N = TypeVar("N", bound="Network")


class Recommender(Configured, Savable):
    """Learns from interactions and scores every pair; a fitted one is a ScoreSource with ids.

    A kind of model is one class over its frozen settings, ``class CML(Recommender, CMLSettings)``: the settings are
    its parameters, with their types and defaults. It names its torch network, which is imported when it is needed.

    Attributes
    ----------
    history_ : polars.DataFrame
        Epoch, loss, validation metric and seconds; one row per epoch.
    best_epoch_ : int
    best_metric_ : float or None
        On the validation set, None without one.
    users, items : IdMap
        Ids of the rows and columns.
    trained_pairs : int or None
        How many pairs it was fitted on; None before that.
    """

    needs: ClassVar[tuple[str, ...]] = ("models",)  # extras without which a saved model cannot be opened
    search_space: ClassVar[Space] = {}  # what `tune` chooses from

    source_: ScoreSource
    users: IdMap
    items: IdMap
    history_: pl.DataFrame
    best_epoch_: int
    best_metric_: float | None
    trained_pairs: int | None = None
    _n_parameters: int
    _network: Network | None = None
    _arrays: Mapping[str, AnyArray] | None = None  # of a model from a file, until its network is needed

    @classmethod
    def network_type(cls) -> type[Network]:
        """The class of its network; imports torch."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name under which it is registered, such as "bpr"."""
        return name_of("model", type(self)) or type(self).__name__.lower()

    def set_params(self, **settings: Setting) -> Self:
        """Change settings; what was learned stays until the next fit. A new `device` moves a fitted network."""
        moved = self._network is not None and settings.get("device", self.device) != self.device
        if moved:
            from sureness.models.networks.network import check_device

            check_device(str(settings["device"]))  # before anything is changed
        super().set_params(**settings)
        if moved:
            self.source_ = self.network_.to(self.device).source(self.users, self.items)
        return self

    def learned_facts(self) -> dict[str, str]:
        if not self.is_fitted:
            return {}
        facts = {"users": f"{self.n_users:,}", "items": f"{self.n_items:,}", "best epoch": str(self.best_epoch_)}
        return facts if self.best_metric_ is None else facts | {self.metric: f"{self.best_metric_:.4f}"}

    # -- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
        progress: Progress = silent,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        train : Interactions
        validation : Interactions, optional
            Training stops when the metric on these stops rising, and the best epoch is kept. Without it, all epochs
            are run.
        checkpoint : path, optional
            Interrupted training resumes from this file when `fit` is called again. It is written at most every
            `checkpoint_seconds`, and complete at any moment.
        checkpoint_seconds : float
        progress : Progress, optional
            Called with a text, the steps done and the steps in total.
        """
        return self._learn(
            lambda: self.build(train),
            train,
            validation,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            progress=progress,
        )

    def _learn(
        self,
        build: Callable[[], Network],
        train: Interactions,
        validation: Interactions | None,
        *,
        checkpoint: str | PathLike[str] | None,
        checkpoint_seconds: float,
        progress: Progress,
        given: Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Train the network that `build` makes; `given` is what it knows besides the log and its settings."""
        need_torch(f"fitting {type(self).__name__}")
        from sureness.models.networks.training import train_network

        validation = checked_validation(train, validation)
        network, saved = build(), None
        if checkpoint is not None:
            identity = run_identity(self.name, self.settings, train, validation, given or {})
            saved = CheckpointFile(checkpoint, identity, checkpoint_seconds)
        state = train_network(network, train, validation, checkpoint=saved, progress=progress)
        return self.fitted_with(network, train, state)

    def build(self, train: Interactions) -> Network:
        """A new network for a log; its initial embeddings follow from the seed."""
        return self._built(lambda: self.network_type()(train, self.settings))

    def _built(self, build: Callable[[], N]) -> N:
        from sureness.models.networks.network import check_device
        from sureness.models.networks.training import seeded

        with seeded(self.seed):
            network = build()
        return network.to(check_device(self.device))

    def fitted_with(self, network: Network, train: Interactions, state: TrainingState | None = None) -> Self:
        """Take over a network that was trained on a log elsewhere, and what is known of its training."""
        known, users, items = TrainingState() if state is None else state, train.users, train.items
        self.trained_pairs = len(train)
        self.history_, self.best_epoch_, self.best_metric_ = known.table, known.best_epoch, known.best_metric
        self._network, self._arrays, self.users, self.items = network, None, users, items
        self._n_parameters = sum(parameter.numel() for parameter in network.parameters())
        self.source_ = network.source(users, items)
        return self

    # -- scoring ----------------------------------------------------------------------------------------------------

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned anything yet."""
        return hasattr(self, "source_")

    @property
    def network_(self) -> Network:
        """The torch network; that of a model from a file is built when it is first asked for."""
        if self._fitted()._network is None:
            need_torch(f"the network of {type(self).__name__}")
            self._network, self._arrays = self._rebuilt(), None
        return cast("Network", self._network)

    @property
    def n_users(self) -> int:
        return len(self._fitted().users)

    @property
    def n_items(self) -> int:
        return len(self._fitted().items)

    @property
    def n_parameters(self) -> int:
        """How many numbers were learned."""
        return self._fitted()._n_parameters

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items for rows of users; float32 of shape (len(users), n_items)."""
        return self._fitted().source_.score_block(users)

    def recommend(self, users: ArrayLike, n: int = 10, *, seen: Seen = None) -> pl.DataFrame:
        """The best items of users, given by their ids: user_id, rank, item_id, score; items in `seen` are left out."""
        from sureness.metrics.ranking import best_items

        return best_items(self._fitted(), users, n, seen=seen)

    def _fitted(self) -> Self:
        if not self.is_fitted:
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")
        return self

    # -- saving -----------------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        """Settings, how training went, the tensors of the network, and the ids."""
        arrays = self._fitted()._arrays
        return Packed(
            kind=kind_of("model", type(self)),
            settings=cast(dict[str, JSON], self.settings.plain()),
            state={
                "best_epoch": self.best_epoch_,
                "best_metric": self.best_metric_,
                "n_parameters": self.n_parameters,
                "trained_pairs": self.trained_pairs,
                "history": {column.name: column.to_list() for column in self.history_},
            },
            arrays=self.network_.arrays() if arrays is None else arrays,
            parts={"users": self.users.pack(), "items": self.items.pack()},
            about={"n_users": self.n_users, "n_items": self.n_items, "best_metric": self.best_metric_},
            needs=self.needs,
        )

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        """Put a model together; it is on the CPU, even if it was trained on a GPU."""
        model = cls.of({**packed.settings, "device": "cpu"})
        state: Mapping[str, Any] = packed.state
        model.best_epoch_, model.best_metric_ = state["best_epoch"], state["best_metric"]
        model._n_parameters, model.trained_pairs = state["n_parameters"], state.get("trained_pairs")
        model.history_ = pl.DataFrame(state["history"], schema=HISTORY)
        model.users, model.items = parts.opened("users", IdMap), parts.opened("items", IdMap)
        model._arrays = packed.arrays
        model.source_ = model._opened()
        return model

    def _opened(self) -> ScoreSource:
        """The scores of a model whose arrays are at hand."""
        self._network, self._arrays = self._rebuilt(), None
        return self._network.source(self.users, self.items)

    def _rebuilt(self) -> Network:
        import torch

        arrays = self._arrays or {}
        network = self.build(self.log_of(arrays, self.users, self.items))
        try:
            network.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
        except RuntimeError as error:
            raise DamagedError(
                f"the saved {self.name} has other arrays than its settings need; save it again"
            ) from error
        return network.eval()

    @staticmethod
    def log_of(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> Interactions:
        """The log that a saved network is built for; most networks only need to know how many users and items."""
        return Interactions(users, items, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


def product_source(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
    """Scores as products of the rows of two tables."""
    return FactorSource(arrays["user_factors"], arrays["item_factors"], users=users, items=items)


class FactorRecommender(Recommender):
    """A model whose arrays become factors by one function, which its network uses too."""

    needs = ()

    @staticmethod
    def source_of(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
        """The scores, from the arrays of the network."""
        return product_source(arrays, users, items)

    def _opened(self) -> FactorSource:
        return self.source_of(self._arrays or {}, self.users, self.items)


def as_recommender(source: ScoreSource) -> Recommender | None:
    """A source as one of our models, which can be fitted and has settings; None for any other source."""
    return source if isinstance(source, Recommender) else None


def checked_validation(train: Interactions, validation: Interactions | None) -> Interactions | None:
    """The validation set with the rows of the training log; logs that nothing can be learned from are refused."""
    if not len(check_log(train, "train")):
        raise EmptyError("expected at least one interaction to learn from, got none")
    if validation is None:
        return None
    validation = unseen(check_log(validation, "validation").aligned(train.users, train.items), train, "validation")
    if not len(validation):
        raise EmptyError("validation has no pair of a known user and a known item; give None to run all epochs")
    return validation


def need_torch(what: str) -> None:
    """Refuse what cannot be done without torch, before any work is done.

    Parameters
    ----------
    what : str
        The start of the sentence, such as "fitting BPR".
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise missing_extra(what, "torch", "models") from error
