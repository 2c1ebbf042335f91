"""What every recommender can be told, frozen once it is made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, Self

from sureness.errors import DataError
from sureness.metrics.ranking import parse_measure


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Size and training of a recommender."""

    n_factors: int = 64  # length of the embeddings
    learning_rate: float = 0.002  # of Adam
    l2: float = 0.01  # pull of every embedding that a pair touches towards zero, for each pair
    batch_size: int = 1024  # positives a step
    negatives: int = 1  # drawn for each positive
    popularity: float = 0.0  # negatives are drawn in proportion to popularity to this power; 0: uniformly
    start_scale: float = 0.05  # standard deviation of the first embeddings
    epochs: int = 200  # at most
    patience: int = 5  # validations without a better one before training stops
    validate_every: int = 5  # epochs between validations
    validation_users: int = 5_000  # judged at most, drawn once; the final numbers judge everyone
    metric: str = "ndcg@50"  # by which the best epoch is chosen
    seed: int = 0
    device: str = "cpu"  # or "cuda"
    threads: int = 1  # of torch on the CPU: small batches gain nothing from more, and a busy machine loses

    def __post_init__(self) -> None:
        parse_measure(self.metric)
        self.require_whole(1, "n_factors", "batch_size", "negatives", "epochs", "patience")
        self.require_whole(1, "validate_every", "validation_users", "threads")
        self.require_whole(0, "seed")
        self.require_number("above 0", "learning_rate", "start_scale")
        self.require_number("0 or more", "l2", "popularity")

    def require_whole(self, least: int, *names: str) -> None:
        """Refuse settings that are not whole numbers of at least so much; those of numpy become plain ones."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise DataError(f"{name} must be a whole number of at least {least}, got {value!r}")
            object.__setattr__(self, name, int(value))

    def require_number(self, how: Literal["above 0", "0 or more"], *names: str) -> None:
        """Refuse settings that are not finite numbers of this kind; those of numpy become plain ones."""
        for name in names:
            value = getattr(self, name)
            if (
                not isinstance(value, Real)
                or not math.isfinite(value)
                or value < 0
                or (value == 0 and how == "above 0")
            ):
                raise DataError(f"{name} must be {how}, got {value!r}")
            object.__setattr__(self, name, float(value))

    def plain(self) -> dict[str, Any]:
        """The settings as JSON knows them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """Settings by name, an unknown name refused."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise DataError(f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
        return cls(**values)
