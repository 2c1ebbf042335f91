"""Options of a command that are the fields of a dataclass: declared once, offered wherever they are needed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from sureness.jobs.options import OneOf, Usually
from sureness.tables.columns import TextFormat

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]

_OF_TEXT = tuple(each.name for each in fields(TextFormat))


@dataclass(frozen=True)
class Gathered:
    """Fields that share one option, written as name=value with commas between; the option may repeat."""

    fields: tuple[str, ...]
    help: str
    first: str | None = None  # field of a first word without a name, as in --split time,test_share=0.1


@dataclass(frozen=True)
class Spread:
    """How the fields of a dataclass become options."""

    only: tuple[str, ...] = ()  # fields to offer; all if empty
    panel: str | None = None  # heading in the help
    named: Mapping[str, str] = field(default_factory=dict)  # other names, such as {"settings": "--set"}
    parsers: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)  # for words that are not a plain value
    gathered: Mapping[str, Gathered] = field(default_factory=dict)  # by option


def columns(*agreed: str, groups: bool = True) -> Spread:
    """The options --columns, for these agreed names, and --format, for how text files are written."""
    text = Gathered(_OF_TEXT, "How text is written, such as separator=;,decimal=comma, also CSV that is made: {all}.")
    own = names(*agreed, groups=groups)
    return Spread((*own.only, *_OF_TEXT), "Tables", gathered={**own.gathered, "--format": text})


def names(*agreed: str, groups: bool = True) -> Spread:
    """The option --columns, for these agreed names, and --group for the users, queries or sessions of candidates."""
    own = Gathered(agreed, "Columns with other names, such as {0}=mine: {all}.")
    has_groups = groups and "user_id" in agreed and not {"score", "probability"}.isdisjoint(agreed)
    return Spread((*agreed, "group") if has_groups else agreed, "Tables", gathered={"--columns": own})


@dataclass(frozen=True)
class Offered:
    """The options of one dataclass, and the fields that each of them sets."""

    kind: type
    how: Spread
    hints: Mapping[str, Any]
    options: Mapping[str, Field[Any] | str]  # by the name of the parameter: a field, or a gathering option

    def made(self, given: dict[str, Any]) -> Any:
        """The dataclass with the given values, which are taken out."""
        values: dict[str, Any] = {}
        for parameter, what in self.options.items():
            value = given.pop(parameter)
            if isinstance(what, str):
                values |= named_values(what, self.how.gathered[what], value or (), self.hints)
            else:  # typer gives a list, or None, where the field has a tuple
                values[what.name] = tuple(value or ()) if isinstance(what.default, tuple) else value
        return self.kind(**values)

    def typed(self) -> dict[str, str]:
        """How each field is typed: max_size as "--max-size ", user_id as "--columns user_id="."""
        found: dict[str, str] = {}
        for what in self.options.values():
            if isinstance(what, str):
                own = self.how.gathered[what]
                found |= {name: f"{what} " if name == own.first else f"{what} {name}=" for name in own.fields}
            else:
                found[what.name] = f"{_flag(what, self.how)} "
        return found


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Offer the fields of every dataclass that a command takes as options of their own.

    A parameter ``options: Annotated[FitOptions, Spread()]`` becomes one option per field of `FitOptions`, and one for
    each group of fields that are gathered. Type and default are those of the field, the help is the string in its
    annotation. ``typed`` of the result says how each field is typed, ``offered`` has the options of each dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    owned: dict[str, Offered] = {}
    signature: list[inspect.Parameter] = []
    typed: dict[str, str] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *extra = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        how = _of_type(extra, Spread)
        if how is None:
            signature.append(parameter.replace(annotation=hints[name]))
            continue
        made = _parameters(name, kind, how)
        owned[name] = Offered(kind, how, get_type_hints(kind), {each.name: what for each, what in made})
        signature += [each for each, _ in made]
        typed |= owned[name].typed()

    @wraps(command)
    def run(**given: Any) -> None:
        for name, offered in owned.items():
            given[name] = offered.made(given)
        command(**given)

    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    run.typed = typed  # type: ignore[attr-defined]
    run.offered = owned  # type: ignore[attr-defined]
    return run


def named_values(option: str, own: Gathered, texts: Sequence[str], hints: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a gathering option, with the types of their fields.

    Examples
    --------
    >>> own = Gathered(("separator", "decimal"), "")
    >>> named_values("--format", own, ["separator=;,decimal=,"], {"separator": str, "decimal": str})
    {'separator': ';', 'decimal': ','}
    """
    found: dict[str, Any] = {}
    for text in texts:
        for number, part in enumerate(re.split(r",(?=\w+=)", text)):
            name, equals, value = part.partition("=")
            if not equals and number == 0 and own.first is not None:
                name, value = own.first, part
            elif not equals or name not in own.fields:
                raise typer.BadParameter(f"{option} takes name=value for {', '.join(own.fields)}, got {part!r}")
            found[name] = _converted(f"{option} {name}", value, hints[name])
    return found


def _converted(where: str, text: str, hint: Any) -> Any:
    plain = in_a_file(hint)
    type_ = next(each for each in get_args(plain) if each is not NoneType) if _is_optional(plain) else plain
    if type_ is bool:
        choices: dict[str, Any] = {"true": True, "false": False}
    else:
        choices = {str(each): each for each in get_args(type_)} if get_origin(type_) is Literal else {}
    if choices:
        if text.lower() not in choices:
            raise typer.BadParameter(f"{where} must be {' or '.join(choices)}, got {text!r}")
        return choices[text.lower()]
    try:
        return type_(text)
    except ValueError:
        raise typer.BadParameter(f"{where} must be of type {type_.__name__}, got {text!r}") from None


def _parameters(owner: str, kind: type, how: Spread) -> list[tuple[inspect.Parameter, Field[Any] | str]]:
    known, hints = {each.name: each for each in fields(kind)}, get_type_hints(kind, include_extras=True)
    gathered = {name for own in how.gathered.values() for name in own.fields}
    made: list[tuple[inspect.Parameter, Field[Any] | str]] = [
        (_parameter(owner, known[name], hints[name], how), known[name])
        for name in how.only or known
        if name not in gathered
    ]
    return made + [(_gathering(owner, option, own, how), option) for option, own in how.gathered.items()]


def _gathering(owner: str, option: str, own: Gathered, how: Spread) -> inspect.Parameter:
    """A keyword of the command for several fields."""
    names = ", ".join(name for name in own.fields if name != own.first)
    made = typer.Option(
        option, help=own.help.format(*own.fields, all=names), rich_help_panel=how.panel, metavar="NAME=VALUE,...",
        show_default=False,
    )  # fmt: skip
    name = f"{owner}_{option.removeprefix('--')}"
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[list[str] | None, made]
    )


def _flag(each: Field[Any], how: Spread) -> str:
    return how.named.get(each.name) or f"--{each.name.replace('_', '-')}"


def _parameter(owner: str, each: Field[Any], hint: Any, how: Spread) -> inspect.Parameter:
    """A keyword of the command, as typer reads it."""
    type_, *extra = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    type_ = in_a_file(type_)
    default = inspect.Parameter.empty if each.default is MISSING else each.default
    name = _flag(each, how)
    if each.name in how.parsers:
        type_ = str
    elif choice := _of_type(extra, OneOf):
        type_ = Literal[choice.names()] | None if _is_optional(type_) else Literal[choice.names()]
    elif get_origin(type_) is tuple:
        type_, default = list[get_args(type_)[0]] | None, None  # type: ignore[misc]  # how typer takes repeated options
    elif type_ is bool and default is True:
        name = f"{name}/--no-{name.removeprefix('--')}"
    usual = _of_type(extra, Usually)
    option = typer.Option(
        name, help=_of_type(extra, str), rich_help_panel=how.panel,
        show_default=True if usual is None else str(usual.value), parser=how.parsers.get(each.name),
    )  # fmt: skip
    return inspect.Parameter(
        f"{owner}_{each.name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, option]
    )


def _is_optional(type_: Any) -> bool:
    return NoneType in get_args(type_)


def in_a_file(type_: Any) -> Any:
    """Tables are files on the command line."""
    if get_origin(type_) is tuple:
        return tuple[in_a_file(get_args(type_)[0]), ...]  # type: ignore[misc]  # made for typer, not for mypy
    if PathLike[str] not in get_args(type_):
        return type_
    return Path | None if _is_optional(type_) else Path


def _of_type(values: Sequence[Any], type_: type[T]) -> T | None:
    return next((value for value in values if isinstance(value, type_)), None)
