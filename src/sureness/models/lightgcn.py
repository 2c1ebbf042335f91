"""LightGCN: embeddings averaged over the graph of interactions (He et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.models.base import FactorRecommender
from sureness.models.settings import POPULARITY, Settings, Space
from sureness.sources.base import FactorSource

if TYPE_CHECKING:
    from sureness.models.networks.lightgcn import LightGCNNetwork

DIVISORS = ("root", "degree")


@dataclass(frozen=True, kw_only=True)
class LightGCNSettings(Settings):
    """Settings of LightGCN."""

    layers: int = 2  # how many steps along the graph an embedding averages over
    divided_by: str = "root"  # of both degrees: an edge weighs 1 / sqrt(d_u d_i), or with "degree" 1 / (d_u d_i)
    l2: float = 1e-4
    batch_size: int = 4096  # every step walks the whole graph, so few large steps are cheaper
    learning_rate: float = 0.01
    start_scale: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_whole(1, "layers", most=1_000)
        self.require_one_of(DIVISORS, "divided_by")


def smoothed_source(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
    """Scores as products of smoothed embeddings, which stand in one table: users first, then items."""
    smooth = arrays["smooth"]
    return FactorSource(smooth[: len(users)], smooth[len(users) :], users=users, items=items)


class LightGCN(FactorRecommender, LightGCNSettings):
    """Light graph convolution.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    layers : int
        How many steps along the graph an embedding averages over.
    divided_by : {"root", "degree"}
        What the edge between a user and an item is divided by: the roots of their degrees, as published, or the
        degrees themselves, as in the public code of Kweon (2024, chapter 2).
    """

    search_space: ClassVar[Space] = {
        "learning_rate": (0.002, 0.005, 0.01, 0.02),
        "l2": (1e-5, 1e-4, 1e-3, 1e-2),
        "batch_size": (2048, 8192),
        "layers": (1, 2, 3),
        "popularity": POPULARITY,
    }
    source_of = staticmethod(smoothed_source)

    @classmethod
    def network_type(cls) -> type[LightGCNNetwork]:
        from sureness.models.networks.lightgcn import LightGCNNetwork

        return LightGCNNetwork
