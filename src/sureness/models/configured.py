"""A class that holds its own settings: the fields of a frozen dataclass are its parameters, typed and documented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, Self

from sureness._settings import Configurable
from sureness.models.settings import Setting, Settings, check_names


class Configured(Configurable, Settings):
    """Base of ``class BPR(Configured, BPRSettings)``: made like the settings, but compared by identity.

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
