"""CML: users lie near the items they like (Hsieh et al., 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.models.base import FactorRecommender
from sureness.models.settings import POPULARITY, RATES, Settings, Space
from sureness.sources.base import FactorSource

if TYPE_CHECKING:
    from sureness.models.networks.factors import CMLNetwork


@dataclass(frozen=True, kw_only=True)
class CMLSettings(Settings):
    """Settings of CML."""

    margin: float = 0.5  # how much nearer a liked item must be, in squared distance
    l2: float = 0.0  # seldom needed: embeddings stay inside a ball
    radius: float = 1.0  # of that ball

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("above 0", "margin", "radius")


def distance_source(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
    """Scores as minus the squared distance of two embeddings: a product with biases for users and items."""
    user, item = arrays["user_factors"], arrays["item_factors"]
    return FactorSource(
        2 * user,
        item,
        user_bias=-np.square(user).sum(axis=1),
        item_bias=-np.square(item).sum(axis=1),
        users=users,
        items=items,
    )


class CML(FactorRecommender, CMLSettings):
    """Collaborative metric learning.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    margin : float
        How much nearer a liked item must be than another one, in squared distance.
    radius : float
        Of the ball that all embeddings stay in.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES,
        "margin": (0.2, 0.5, 1.0, 2.0),
        "batch_size": (512, 2048),
        "negatives": (1, 4),
        "popularity": POPULARITY,
        "radius": (1.0, 2.0),
    }
    source_of = staticmethod(distance_source)

    @classmethod
    def network_type(cls) -> type[CMLNetwork]:
        from sureness.models.networks.factors import CMLNetwork

        return CMLNetwork
