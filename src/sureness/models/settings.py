"""The settings that every model has, frozen once they are made, and classes that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import wraps
from typing import Any, Literal, Self, cast, get_args

from sureness._settings import Configurable
from sureness.errors import SettingError
from sureness.metrics.ranking import parse_measure
from sureness.numerics.checks import check_choice, check_flag, check_number, check_whole

Setting = bool | int | float | str | Sequence[int]
"""The value of a setting."""

Adam = Literal["rows", "dense"]
"""What a step of Adam moves."""

Space = Mapping[str, tuple[Setting, ...]]
"""What a search chooses from: the values of each setting."""

_LARGEST = 2**31 - 1
_LONGEST = 100_000  # numbers of an embedding, and items drawn against one
_MOST_THREADS = 1_024
_SMALLEST, _GREATEST = 1e-12, 1e30  # beyond these, float32 overflows
_STEEPEST = 10.0  # power of popularity

RATES = (0.0005, 0.001, 0.002, 0.005, 0.01)
PULLS = (0.001, 0.003, 0.01, 0.03, 0.05, 0.1)
POPULARITY = (0.0, 0.5, 0.75)
"""Values of `learning_rate`, `l2` and `popularity` that the search spaces of several models share."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Size and training of a model."""

    n_factors: int = 64  # length of the embeddings
    learning_rate: float = 0.002  # of Adam
    end_rate: float = 1.0  # share of it after the last epoch, to which it falls evenly; distillation has its own
    l2: float = 0.01  # pull towards zero on each embedding that a pair uses, per pair
    adam: Adam = "rows"  # what a step moves: the rows of its batch, or every parameter
    weight_decay: float = 0.0  # of dense Adam: pull towards zero on every parameter in every step
    summed: bool = False  # a step learns from the sum of its losses, not their mean; makes weight_decay weaker
    batch_size: int = 1024  # positives per step
    negatives: int = 1  # items drawn against each positive
    popularity: float = 0.0  # negatives are drawn in proportion to popularity to this power; 0: uniformly
    start_scale: float = 0.05  # standard deviation of the initial embeddings
    epochs: int = 200  # at most
    patience: int = 5  # validations without improvement before training stops
    validate_every: int = 5  # epochs between validations
    validation_users: int = 5_000  # users per validation at most, drawn once; final evaluations use all users
    metric: str = "ndcg@50"  # by which the best epoch is chosen
    seed: int = 0
    device: str = "cpu"  # or "cuda"
    threads: int = 1  # of torch on the CPU; small batches gain nothing; some sums are rounded differently

    def __post_init__(self) -> None:
        parse_measure(self.metric)
        self.require_whole(1, "batch_size", "epochs", "patience", "validate_every", "validation_users")
        self.require_whole(1, "n_factors", "negatives", most=_LONGEST)
        self.require_whole(1, "threads", most=_MOST_THREADS)
        self.require_whole(0, "seed")
        self.require_number("above 0", "learning_rate", "start_scale")
        self.require_number("0 or more", "l2", "weight_decay")
        self.require_number("0 or more", "end_rate", most=1.0)
        self.require_number("0 or more", "popularity", most=_STEEPEST)
        self.require_one_of(get_args(Adam), "adam")
        self.require_flag("summed")
        if self.adam == "rows" and (self.weight_decay or self.summed):
            raise SettingError("weight_decay and summed belong to adam='dense'; set it, or use l2 instead")

    def require_whole(self, least: int, *names: str, most: int = _LARGEST) -> None:
        """Refuse settings that are not whole numbers from `least` to `most`; numpy numbers become Python numbers."""
        for name in names:
            object.__setattr__(self, name, check_whole(getattr(self, name), name, least, most))

    def require_number(self, how: Literal["above 0", "0 or more"], *names: str, most: float = _GREATEST) -> None:
        """Refuse settings that are not numbers of this sign up to `most`; numpy numbers become Python numbers."""
        least = _SMALLEST if how == "above 0" else 0.0
        for name in names:
            object.__setattr__(self, name, check_number(getattr(self, name), name, least, most))

    def require_one_of(self, known: tuple[str, ...], name: str) -> None:
        """Refuse a setting that is none of the known values."""
        check_choice(getattr(self, name), name, known)

    def require_flag(self, name: str) -> None:
        """Refuse a setting that is neither True nor False."""
        check_flag(getattr(self, name), name)

    def rate_of(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1.

        Examples
        --------
        >>> settings = Settings(learning_rate=0.1, end_rate=0.0, epochs=4)
        >>> [round(settings.rate_of(epoch), 3) for epoch in (1, 2, 3, 4)]
        [0.1, 0.075, 0.05, 0.025]
        """
        return self.learning_rate * (1.0 - (1.0 - self.end_rate) * (epoch - 1) / self.epochs)

    def plain(self) -> dict[str, Setting]:
        """The settings as JSON knows them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def of(cls, settings: Mapping[str, Setting]) -> Self:
        """Settings by name; an unknown name is refused.

        Examples
        --------
        >>> Settings.of({"n_factors": 8}).n_factors
        8
        """
        check_names(cls.__name__, [field.name for field in fields(cls)], settings)
        return cls(**cast(dict[str, Any], settings))


def check_names(owner: str, known: Sequence[str], names: Iterable[str]) -> None:
    """Refuse settings that `owner` does not have."""
    for name in names:
        if name not in known:
            raise SettingError(f"{owner} has no setting {name!r}; it has {', '.join(sorted(known))}")


class Configured(Configurable, Settings):
    """Base of ``class CML(Configured, CMLSettings)``: made like the settings, but compared by identity.

    People, `inspect` and type checkers see the constructor of the dataclass. A subclass of a frozen dataclass may set
    attributes that are not fields, so learned values can be stored; settings are changed by `set_params` alone.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__init__" not in vars(cls):
            cls.__init__ = _naming_settings(cls.settings_type().__init__)  # type: ignore[method-assign]

    @classmethod
    def settings_type(cls) -> type[Settings]:
        """The class of its settings."""
        return next(kind for kind in cls.__mro__ if issubclass(kind, Settings) and "__dataclass_params__" in vars(kind))

    @property
    def settings(self) -> Settings:
        """Its settings as a frozen object."""
        return self.settings_type()(**self.get_params())

    def set_params(self, **settings: Setting) -> Self:
        """Change settings; what was learned stays until the next fit."""
        known = self.get_params()
        check_names(type(self).__name__, list(known), settings)
        changed = self.settings_type()(**(known | settings))
        for field in fields(changed):
            object.__setattr__(self, field.name, getattr(changed, field.name))
        return self

    def __eq__(self, other: object) -> bool:  # objects with equal settings have learned different things
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _naming_settings(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a settings class, which answers an unknown name with the names there are."""

    @wraps(init)
    def checked(self: Configured, *args: Any, **settings: Any) -> None:
        check_names(type(self).__name__, [field.name for field in fields(self)], settings)
        init(self, *args, **settings)

    return checked
