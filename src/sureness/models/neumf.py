"""NeuMF: products of factors beside a small network on both embeddings (He et al., 2017); Kweon (2024) calls it NCF."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

from sureness.errors import SettingError
from sureness.models.base import Recommender
from sureness.models.settings import POPULARITY, RATES, Settings, Space

if TYPE_CHECKING:
    from sureness.models.networks.neumf import NeuMFNetwork

_WIDEST = 100_000


@dataclass(frozen=True, kw_only=True)
class NeuMFSettings(Settings):
    """Settings of NeuMF."""

    l2: float = 0.001
    layer_widths: tuple[int, ...] = (64, 32)

    def __post_init__(self) -> None:
        super().__post_init__()
        widths = tuple(self.layer_widths) if isinstance(self.layer_widths, tuple | list) else ()
        if not widths or not all(isinstance(width, Integral) and 1 <= width <= _WIDEST for width in widths):
            raise SettingError(
                f"layer_widths must be one or more widths from 1 to {_WIDEST:,}, got {self.layer_widths!r}"
            )
        if widths is not self.layer_widths or any(type(width) is not int for width in widths):
            object.__setattr__(self, "layer_widths", tuple(int(width) for width in widths))


class NeuMF(Recommender, NeuMFSettings):
    """Neural matrix factorisation: products of factors beside a multi-layer perceptron.

    Parameters that are not listed are those of `Settings`.

    Parameters
    ----------
    layer_widths : tuple of int
        Widths of the perceptron's layers.
    """

    search_space: ClassVar[Space] = {
        "learning_rate": RATES, "l2": (0.0, 1e-5, 1e-4, 1e-3, 1e-2), "batch_size": (512, 2048), "negatives": (1, 4),
        "popularity": POPULARITY,
    }  # fmt: skip

    @classmethod
    def network_type(cls) -> type[NeuMFNetwork]:
        from sureness.models.networks.neumf import NeuMFNetwork

        return NeuMFNetwork
