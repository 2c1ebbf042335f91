"""The manners of scikit-learn's estimators, without the cost of importing it.

A constructor stores its keyword arguments under their own names and nothing else; that is all `get_params`,
`set_params`, `clone` and the printed form need. ``sklearn.base.clone`` works on these objects as well.
"""

from __future__ import annotations

import inspect
from typing import Any, Self, TypeVar

from sureness._printing import card, short
from sureness.errors import SettingError

T = TypeVar("T", bound="Configurable")


class Configurable:
    """An object that knows the settings it was made with."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; with `deep` also those of nested objects, as ``outer__inner``."""
        settings = {name: getattr(self, name) for name in _names_of(type(self))}
        if deep:
            for name, value in list(settings.items()):
                if _has_settings(value):
                    settings |= {f"{name}__{inner}": part for inner, part in value.get_params().items()}
        return settings

    def set_params(self, **settings: Any) -> Self:
        """Change settings; learned values stay until the next fit."""
        for name, value in settings.items():
            outer, _, inner = name.partition("__")
            if outer not in _names_of(type(self)):
                known = ", ".join(_names_of(type(self)))
                raise SettingError(f"{type(self).__name__} has no setting {outer!r}; it has {known}")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def learned_facts(self) -> dict[str, str]:
        """What was learned, as short texts by name; nothing before `fit`."""
        return {}

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self.learned_facts().items())
        return f"{written(self)} <{facts}>" if facts else written(self)

    def _repr_html_(self) -> str:
        return card(written(self), self.learned_facts())


def written(value: object) -> str:
    """A value as one would write it: of a configured object its class and the settings that are not at their defaults.

    Unlike ``repr``, it says nothing about what was learned, so it names a method in tables and files.
    """
    if isinstance(value, Configurable):
        parameters = inspect.signature(type(value).__init__).parameters
        settings = {name: written(setting) for name, setting in value.get_params(deep=False).items()}
        changed = [f"{name}={text}" for name, text in settings.items() if text != written(parameters[name].default)]
        return f"{type(value).__name__}({', '.join(changed)})"
    if type(value) in (list, tuple) and any(isinstance(part, Configurable) for part in value):  # type: ignore[attr-defined]
        parts = ", ".join(map(written, value))  # type: ignore[call-overload]
        return f"[{parts}]" if isinstance(value, list) else f"({parts})"
    return short(value)


def clone(configured: T) -> T:
    """A new object with the same settings that has learned nothing."""
    settings = configured.get_params(deep=False)
    return type(configured)(**{name: _cloned(value) for name, value in settings.items()})


def _cloned(value: Any) -> Any:
    if _has_settings(value):
        return clone(value)
    return type(value)(_cloned(part) for part in value) if type(value) in (list, tuple) else value


def _has_settings(value: Any) -> bool:
    """As scikit-learn asks: an object, not a class, that tells its settings."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def _names_of(kind: type) -> list[str]:
    if kind.__init__ is object.__init__:  # type: ignore[misc]
        return []
    return [name for name in inspect.signature(kind.__init__).parameters if name != "self"]  # type: ignore[misc]
