"""CDAE: reconstruct a user's whole history from a part of it (Wu et al., 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.models.base import Recommender
from sureness.models.settings import POPULARITY, RATES, Settings, Space

if TYPE_CHECKING:
    from sureness.models.networks.cdae import CDAENetwork


@dataclass(frozen=True, kw_only=True)
class CDAESettings(Settings):
    """Settings of CDAE."""

    negatives: int = 5  # for each positive
    learning_rate: float = 0.001
    l2: float = 1e-4
    start_scale: float = 0.2  # histories are averages, so small embeddings would be smaller still
    dropout: float = 0.5  # share of the history that is dropped while training

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("0 or more", "dropout")
        if self.dropout >= 1:
            raise SettingError(f"dropout must be 0 or more and below 1, got {self.dropout!r}")


class CDAE(Recommender, CDAESettings):
    """Collaborative denoising auto-encoder.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    dropout : float
        Share of the history that is dropped while training.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES, "l2": (0.0, 1e-4, 1e-3, 1e-2), "batch_size": (1024, 4096), "dropout": (0.3, 0.5, 0.7),
        "popularity": POPULARITY,
    }  # fmt: skip

    @classmethod
    def network_type(cls) -> type[CDAENetwork]:
        from sureness.models.networks.cdae import CDAENetwork

        return CDAENetwork

    @staticmethod
    def log_of(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> Interactions:
        """The histories, which are among what is saved: scores are computed from them."""
        lengths = np.diff(arrays["history_starts"])
        return Interactions(users, items, np.repeat(np.arange(len(users)), lengths), arrays["history_items"])
