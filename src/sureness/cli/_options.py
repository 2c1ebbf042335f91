"""Options of a command that are the fields of a dataclass: declared once, offered wherever they are needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from sureness.jobs.options import OneOf, Usually
from sureness.tables.text.format import TextFormat

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]

_COLUMN_HELP = {
    "user_id": "Column with the users.",
    "item_id": "Column with the items.",
    "score": "Column with the scores.",
    "label": "Column with 0 or 1.",
    "probability": "Column with the probabilities.",
    "weight": "Column with weights, if any.",
    "propensity": "Column with the chance that a pair was seen, if any.",
    "rating": "Column with ratings, if any.",
    "time": "Column with times, if any.",
    "domain": "Column with domains, if any.",
    "segment": "Column with segments, if any.",
    "cost": "Column with the cost of each item, if any.",
}


@dataclass(frozen=True)
class Spread:
    """How the fields of a dataclass become options."""

    only: tuple[str, ...] = ()  # fields to offer; all if empty
    panel: str | None = None  # heading in the help
    panels: Mapping[str, str] = field(default_factory=dict)  # other headings of some fields
    named: Mapping[str, str] = field(default_factory=dict)  # other names, such as {"settings": "--set"}
    help: Mapping[str, str] = field(default_factory=dict)  # for fields that do not carry their own
    parsers: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)  # for words that are no plain value


def columns(*names: str) -> Spread:
    """The column options of these agreed names, such as --user-column for user_id, and how text files are written."""
    named = {name: f"--{name.removesuffix('_id')}-column" for name in names}
    of_text = [each.name for each in fields(TextFormat)]
    return Spread((*names, *of_text), "Columns", dict.fromkeys(of_text, "Text files"), named, _COLUMN_HELP)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Offer the fields of every dataclass that a command takes as options of their own.

    A parameter ``options: Annotated[FitOptions, Spread()]`` becomes one option per field of `FitOptions`. The type
    and the default are those of the field, the help is the string in its annotation.
    """
    hints = get_type_hints(command, include_extras=True)
    owned: dict[str, tuple[type, dict[str, str]]] = {}  # the class of each such parameter, its fields by option
    signature: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *extra = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        how = _of_type(extra, Spread)
        if how is None:
            signature.append(parameter.replace(annotation=hints[name]))
            continue
        known = {each.name: each for each in fields(kind)}
        of_fields = get_type_hints(kind, include_extras=True)
        made = {each: _parameter(name, known[each], of_fields[each], how) for each in how.only or known}
        owned[name] = kind, {each: option.name for each, option in made.items()}
        signature += made.values()

    @wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, options) in owned.items():
            values = {each: given.pop(option) for each, option in options.items()}
            given[name] = kind(**{each: _of_field(kind, each, value) for each, value in values.items()})
        command(**given)

    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    return run


def _of_field(kind: type, name: str, value: Any) -> Any:
    """A value as the field takes it: typer gives a list, or None, where the field has a tuple."""
    return tuple(value or ()) if isinstance(getattr(kind, name, None), tuple) else value


def _parameter(owner: str, each: Field[Any], hint: Any, how: Spread) -> inspect.Parameter:
    """A keyword of the command, as typer reads it."""
    type_, *extra = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    type_ = _in_a_file(type_)
    default = inspect.Parameter.empty if each.default is MISSING else each.default
    name = how.named.get(each.name) or f"--{each.name.replace('_', '-')}"
    if each.name in how.parsers:
        type_ = str
    elif choice := _of_type(extra, OneOf):
        type_ = Literal[choice.names()] | None if NoneType in get_args(type_) else Literal[choice.names()]
    elif get_origin(type_) is tuple:
        type_, default = list[get_args(type_)[0]] | None, None  # type: ignore[misc]  # how typer takes repeated options
    elif type_ is bool and default is True:
        name = f"{name}/--no-{name.removeprefix('--')}"
    usual = _of_type(extra, Usually)
    option = typer.Option(
        name, help=_of_type(extra, str) or how.help.get(each.name),
        rich_help_panel=how.panels.get(each.name, how.panel),
        show_default=True if usual is None else str(usual.value), parser=how.parsers.get(each.name),
    )  # fmt: skip
    return inspect.Parameter(
        f"{owner}_{each.name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, option]
    )


def _in_a_file(type_: Any) -> Any:
    """Tables are files on the command line."""
    if get_origin(type_) is tuple:
        return tuple[_in_a_file(get_args(type_)[0]), ...]  # type: ignore[misc]  # made for typer, not for mypy
    if PathLike[str] not in get_args(type_):
        return type_
    return Path | None if NoneType in get_args(type_) else Path


def _of_type(values: Sequence[Any], type_: type[T]) -> T | None:
    return next((value for value in values if isinstance(value, type_)), None)
