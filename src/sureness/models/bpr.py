"""BPR: each user prefers items with interactions to items without (Rendle et al., 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sureness.models.factors import FactorRecommender
from sureness.models.settings import POPULARITY, PULLS, RATES, Settings, Space

if TYPE_CHECKING:
    from sureness.models.networks.bpr import BPRNetwork


@dataclass(frozen=True, kw_only=True)
class BPRSettings(Settings):
    """Settings of BPR."""


class BPR(FactorRecommender, BPRSettings):
    """Bayesian personalised ranking with factors; `Settings` explains the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.interactions import Interactions
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> model = BPR(n_factors=8, epochs=5).fit(Interactions.from_matrix(world.train))
    >>> model.score_block(np.array([0, 1])).shape
    (2, 60)
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES, "l2": PULLS, "batch_size": (256, 1024, 4096), "popularity": POPULARITY,
    }  # fmt: skip

    @classmethod
    def network_type(cls) -> type[BPRNetwork]:
        from sureness.models.networks.bpr import BPRNetwork

        return BPRNetwork
