"""A recommender as people use it: settings in, ``fit``, then a source of scores."""

from __future__ import annotations

import inspect
from dataclasses import asdict, fields
from os import PathLike
from typing import Any, ClassVar, Self

import polars as pl
import torch
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, NotFittedError
from sureness.models.checkpoints import Checkpoint
from sureness.models.network import Network
from sureness.models.settings import Settings
from sureness.models.training import Report, seeded, train_network
from sureness.sources.base import ScoreSource

HISTORY = {"epoch": pl.Int64, "loss": pl.Float64, "metric": pl.Float64, "seconds": pl.Float64}


class Recommender(Configurable):
    """Learns from interactions and scores every pair; a fitted one is a ScoreSource with ids.

    Parameters
    ----------
    settings : Settings, optional
        Frozen settings of this kind of recommender.
    **changes
        Single settings by name.
    """

    settings_type: ClassVar[type[Settings]] = Settings
    network_type: ClassVar[type[Network]] = Network

    network_: Network
    source_: ScoreSource
    users: IdMap
    items: IdMap
    history_: pl.DataFrame  # one row an epoch, columns as in HISTORY
    best_epoch_: int
    best_metric_: float | None  # on the validation set, where there was one

    def __init__(self, settings: Settings | None = None, **changes: Any) -> None:
        if settings is not None and not isinstance(settings, self.settings_type):
            raise DataError(f"{type(self).__name__} takes {self.settings_type.__name__}, got {type(settings).__name__}")
        given = {} if settings is None else asdict(settings)
        self.settings: Settings = self.settings_type.of(given | changes)

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return type(self).__name__.lower()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {field.name: getattr(self.settings, field.name) for field in fields(self.settings)}

    def set_params(self, **settings: Any) -> Self:
        self.settings = self.settings_type.of(asdict(self.settings) | settings)
        return self

    def __repr__(self) -> str:
        default = asdict(self.settings_type())
        changed = [f"{name}={value!r}" for name, value in asdict(self.settings).items() if value != default[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    # -- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
        progress: Report | None = None,
        **knowledge: ArrayLike,
    ) -> Self:
        """Learn from a log.

        Parameters
        ----------
        train : Interactions
        validation : Interactions, optional
            Training stops when the metric on these stops rising, and the best epoch is kept. Without it, all epochs
            are run.
        checkpoint : path, optional
            A file to go on from: written at most every `checkpoint_seconds`, whole at any moment.
        progress : callable, optional
            Called with a text, the steps done and the steps there are.
        **knowledge
            What a kind of recommender knows besides, such as ``propensity`` of UBPR.
        """
        validation = checked_validation(train, validation)
        network = self.build(train, **knowledge)
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, self.name, self.settings, train, validation, checkpoint_seconds, knowledge)
        told = train_network(network, train, validation, checkpoint=saved, report=progress)
        self.history_ = pl.DataFrame(told.history, schema=HISTORY)
        self.best_epoch_ = told.best_epoch
        self.best_metric_ = told.best if told.best >= 0 else None
        return self._with(network, train.users, train.items)

    def build(self, train: Interactions, **knowledge: ArrayLike) -> Network:
        """A new network for a log, its first embeddings drawn with the seed."""
        known = list(inspect.signature(self.network_type).parameters)[2:]
        if others := [name for name in knowledge if name not in known]:
            taken = ", ".join(known) or "nothing else"
            raise DataError(f"{type(self).__name__} has no use for {others[0]!r}; it takes {taken}")
        with seeded(self.settings.seed):
            network = self.network_type(train, self.settings, **knowledge)
        return network.to(check_device(self.settings.device))

    def _with(self, network: Network, users: IdMap, items: IdMap) -> Self:
        self.network_, self.users, self.items = network, users, items
        self.source_ = network.source(users, items)
        return self

    # -- scoring ----------------------------------------------------------------------------------------------------

    @property
    def n_users(self) -> int:
        return len(self._fitted().users)

    @property
    def n_items(self) -> int:
        return len(self._fitted().items)

    @property
    def n_parameters(self) -> int:
        """How many numbers were learned."""
        return sum(parameter.numel() for parameter in self._fitted().network_.parameters())

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items for rows of users; float32 of shape (len(users), n_items)."""
        return self._fitted().source_.score_block(users)

    def recommend(self, users: ArrayLike, n: int = 10, *, seen: Interactions | None = None) -> pl.DataFrame:
        """The best items of users, given by their ids: user_id, rank, item_id, score; items in `seen` left out."""
        from sureness.evaluation.ranking import best_items

        return best_items(self._fitted(), users, n, seen=seen)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model as a folder: safetensors, ids and a manifest."""
        from sureness.models.saving import save_model

        save_model(self._fitted(), folder)

    def _fitted(self) -> Self:
        if not hasattr(self, "network_"):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")
        return self


def checked_validation(train: Interactions, validation: Interactions | None) -> Interactions | None:
    """The validation set with the rows of the training log; logs that nothing can be learned from are refused."""
    for name, log in (("train", train), ("validation", validation)):
        if not isinstance(log, Interactions) and not (log is None and name == "validation"):
            raise DataError(f"{name} must be Interactions, got {type(log).__name__}; use Interactions.from_matrix, "
                            ".from_table or .read")  # fmt: skip
    if not len(train):
        raise DataError("expected at least one interaction to learn from, got none")
    if validation is None:
        return None
    validation = validation.aligned(train.users, train.items)
    if not len(validation):
        raise DataError("validation has no pair of a known user and a known item; give None to run all epochs")
    return validation


def check_device(device: str) -> torch.device:
    """A device that is there."""
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise DataError(f"device must be cpu or cuda, got {device!r}") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise DataError("device is cuda, but torch finds no GPU here; use device='cpu'")
    return found
