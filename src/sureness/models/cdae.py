"""CDAE: reconstruct a user's whole history from a part of it (Wu et al., 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.models.base import Recommender
from sureness.models.settings import POPULARITY, RATES, Settings, Space
from sureness.saving.packed import JSON, Packed, Parts

if TYPE_CHECKING:
    from sureness.models.networks.cdae import CDAENetwork

HISTORIES = ("sum", "root")


@dataclass(frozen=True, kw_only=True)
class CDAESettings(Settings):
    """Settings of CDAE."""

    negatives: int = 5  # for each positive
    learning_rate: float = 0.005
    l2: float = 0.003
    start_scale: float = 0.01
    dropout: float = 0.5  # share of the history that is dropped while training
    history: str = (
        "root"  # how a history is added up: "sum", as published, or "root", divided by the root of its length
    )
    deep: bool = False  # three layers of tanh instead of one of sigmoid

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("0 or more", "dropout")
        if self.dropout >= 1:
            raise SettingError(f"dropout must be 0 or more and below 1, got {self.dropout!r}")
        self.require_one_of(HISTORIES, "history")
        self.require_flag("deep")


class CDAE(Recommender, CDAESettings):
    """Collaborative denoising auto-encoder.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    dropout : float
        Share of the history that is dropped while training.
    history : {"root", "sum"}
        How the embeddings of a history are added up: divided by the root of their number, or as a plain sum, as
        published. With a plain sum, long histories saturate the hidden layer.
    deep : bool
        Three hidden layers of tanh instead of one of sigmoid. One layer ranks better on every log we tried.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES,
        "l2": (0.0, 1e-4, 1e-3, 1e-2),
        "batch_size": (1024, 4096),
        "dropout": (0.3, 0.5, 0.7),
        "popularity": POPULARITY,
    }

    @classmethod
    def network_type(cls) -> type[CDAENetwork]:
        from sureness.models.networks.cdae import CDAENetwork

        return CDAENetwork

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        """Put a model together; files that know no `deep` are of the deep form, which was the only one."""
        deep: dict[str, JSON] = {"deep": True, "history": "root"}
        return super().unpack(replace(packed, settings={**deep, **packed.settings}), parts)

    @staticmethod
    def log_of(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> Interactions:
        """The histories, which are among what is saved: scores are computed from them."""
        lengths = np.diff(arrays["history_starts"])
        return Interactions(users, items, np.repeat(np.arange(len(users)), lengths), arrays["history_items"])
