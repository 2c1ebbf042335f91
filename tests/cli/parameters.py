"""What every command takes, found from the commands themselves, so that no test forgets an option."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from sureness.cli import commands
from sureness.cli._options import in_a_file


class Parameter(NamedTuple):
    """A parameter of a command."""

    hint: Any  # its type
    word: str | None  # the option as it is typed; None for an argument
    parsed: bool  # whether a function of the command reads its text
    prefix: str = ""  # what stands before the value, such as test_share= in --split


def parameters_of(command: str) -> dict[str, Parameter]:
    """All parameters of a command by their names; fields that share an option are parameters of their own."""
    function = commands()[command]
    hints = get_type_hints(function, include_extras=True)
    found = {name: _parameter(name, hints[name]) for name in inspect.signature(function).parameters}
    for owner, offered in getattr(function, "offered", {}).items():
        for name, option in offered.options.items():
            if isinstance(option, str):
                del found[name]
                own = offered.how.gathered[option]
                found |= {
                    f"{owner}_{each}": Parameter(
                        in_a_file(offered.hints[each]), option, False, "" if each == own.first else f"{each}="
                    )
                    for each in own.fields
                }
    return found


def options_of(command: str) -> dict[str, str]:
    """The options of a command as they are typed, and what each takes: a number, a path, text or nothing."""
    every = [each for each in parameters_of(command).values() if each.word is not None]
    return {each.word.partition("/")[0]: "text" if each.prefix else kind_of(each.hint) for each in reversed(every)}


def kind_of(hint: Any) -> str:
    """What a value is, in one word."""
    kinds = {bool: "nothing", int: "number", float: "number", Path: "path", str: "text"}
    if hint in kinds:
        return kinds[hint]
    return next((kind for each in get_args(hint) if (kind := kind_of(each)) != "text"), "text")


def _parameter(name: str, annotation: Any) -> Parameter:
    hint, *extra = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    options = [each for each in extra if isinstance(each, OptionInfo)]
    words = [word for each in options for word in _option_words(each)]
    argument = any(isinstance(each, ArgumentInfo) for each in extra)
    word = None if argument else words[0] if words else f"--{name.replace('_', '-')}"
    return Parameter(hint, word, any(each.parser is not None for each in options))


def _option_words(option: OptionInfo) -> list[str]:
    """The names of an option; the first stands where its default would, if that is in the signature."""
    return [word for word in (option.default, *(option.param_decls or ())) if isinstance(word, str)]
