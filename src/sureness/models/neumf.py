"""NeuMF: products of factors and a small network on both embeddings (He et al., 2017); NCF in Kweon (2024)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

from sureness.errors import SettingError
from sureness.models.base import Recommender
from sureness.models.settings import POPULARITY, PULLS, RATES, Settings, Space

if TYPE_CHECKING:
    from sureness.models.networks.neumf import NeuMFNetwork

_WIDEST = 100_000


@dataclass(frozen=True, kw_only=True)
class NeuMFSettings(Settings):
    """Settings of NeuMF."""

    l2: float = 0.01  # embeddings are pulled towards 0 and the weights of their products towards 1
    dense_l2: float = 0.003  # pull towards zero on the weights of the layers
    layer_widths: tuple[int, ...] = ()  # empty: n_factors and half as many

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("0 or more", "dense_l2")
        widths = tuple(self.layer_widths) if isinstance(self.layer_widths, tuple | list) else (0,)
        if not all(isinstance(width, Integral) and 1 <= width <= _WIDEST for width in widths):
            raise SettingError(f"layer_widths must be widths from 1 to {_WIDEST:,}, got {self.layer_widths!r}")
        object.__setattr__(self, "layer_widths", tuple(int(width) for width in widths))

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the layers; embeddings of length d enter as 2d values and go through d and d/2 by default.

        Examples
        --------
        >>> NeuMFSettings(n_factors=50).widths, NeuMFSettings(n_factors=5).widths
        ((50, 25), (5, 2))
        """
        return self.layer_widths or (self.n_factors, max(self.n_factors // 2, 1))


class NeuMF(Recommender, NeuMFSettings):
    """Neural matrix factorisation: products of factors next to a multi-layer perceptron.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    l2 : float
        Pulls embeddings towards 0 and the output weights of their products towards 1. Without the latter, output
        weights grow while embeddings shrink, and the pull has no effect.
    dense_l2 : float
        Pulls the weights of the layers, and their output weights, towards 0.
    layer_widths : tuple of int
        Widths of the perceptron's layers; by default `n_factors` and half as many.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES,
        "l2": PULLS,
        "dense_l2": (1e-4, 1e-3, 1e-2),
        "batch_size": (512, 2048),
        "negatives": (1, 4),
        "popularity": POPULARITY,
    }

    @classmethod
    def network_type(cls) -> type[NeuMFNetwork]:
        from sureness.models.networks.neumf import NeuMFNetwork

        return NeuMFNetwork
