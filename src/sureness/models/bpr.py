"""BPR: each user prefers items with interactions to items without; UBPR does so without the bias of exposure.

Rendle et al. (2009) and Saito (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Self

from numpy.typing import ArrayLike

from sureness._progress import Progress, silent
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.models.base import FactorRecommender
from sureness.models.settings import POPULARITY, PULLS, RATES, Settings, Space

if TYPE_CHECKING:
    from sureness.models.networks.factors import BPRNetwork, UBPRNetwork


class BPR(FactorRecommender):
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
        "learning_rate": RATES,
        "l2": PULLS,
        "batch_size": (256, 1024, 4096),
        "popularity": POPULARITY,
    }

    @classmethod
    def network_type(cls) -> type[BPRNetwork]:
        from sureness.models.networks.factors import BPRNetwork

        return BPRNetwork


@dataclass(frozen=True, kw_only=True)
class UBPRSettings(Settings):
    """Settings of UBPR."""

    propensity_power: float = 0.5  # propensity = popularity to this power, where no propensities are given
    propensity_clip: float = 0.1  # the smallest propensity
    seen_negatives: bool = False  # draw any item and weight observed ones by 1 - 1/omega: unbiased, but noisier

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("0 or more", "propensity_power")
        self.require_number("above 0", "propensity_clip")
        if self.propensity_clip > 1:
            raise SettingError(f"propensity_clip must be at most 1, got {self.propensity_clip!r}")


class UBPR(FactorRecommender, UBPRSettings):
    """Unbiased BPR: positives that were unlikely to be seen weigh more.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    propensity_power : float
        Where no propensities are given, they are popularity to this power.
    propensity_clip : float
        Smaller propensities are raised to this one.
    seen_negatives : bool
        Draw against any item and weight observed ones by 1 - 1/propensity, which is unbiased but noisier.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES,
        "l2": (*PULLS, 0.3),
        "batch_size": (256, 1024, 4096),
        "popularity": POPULARITY,
        "propensity_power": (0.25, 0.5),
        "propensity_clip": (0.1, 0.3),
    }

    @classmethod
    def network_type(cls) -> type[UBPRNetwork]:
        from sureness.models.networks.factors import UBPRNetwork

        return UBPRNetwork

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        *,
        propensity: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
        progress: Progress = silent,
    ) -> Self:
        """Learn from a log; arguments that are not listed are those of `Recommender.fit`.

        Parameters
        ----------
        propensity : array of shape (n,), optional
            How likely each training pair was to be observed, in the order of `train`.
        """
        given = {} if propensity is None else {"propensity": propensity}
        return self._learn(
            lambda: self.build(train, propensity),
            train,
            validation,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            progress=progress,
            given=given,
        )

    def build(self, train: Interactions, propensity: ArrayLike | None = None) -> UBPRNetwork:
        settings = UBPRSettings(**self.get_params())
        return self._built(lambda: self.network_type()(train, settings, propensity))
