"""The page of all commands, made from what `--help` shows: the annotated parameters of each command's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from mkdocs.structure.files import File
from typer.models import ArgumentInfo

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

KINDS = {int: "number", float: "number", str: "text", Path: "path"}


class Parameter(NamedTuple):
    """One argument or option of a command."""

    name: str
    kind: Any
    info: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def is_argument(self) -> bool:
        return isinstance(self.info, ArgumentInfo)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "reference/commands.md", content=page()))
    return files


def page() -> str:
    from sureness.cli import app, commands

    parts = [
        "# Command line",
        app.info.help,
        "Every command has `--help`, shows progress on a terminal, prints JSON with `--json`, and answers bad input "
        "with one sentence. Exit codes: 0 it worked, 1 bad input, 2 wrong usage.",
        "`sureness --install-completion` lets your shell (bash, zsh, fish, PowerShell) complete commands and options; "
        "`--show-completion` prints what it would install. Where the command is not on the path, `python -m sureness` "
        "is the same.",
        *(part for words, function in commands().items() for part in section(f"sureness {words}", function)),
    ]
    return "\n\n".join(parts) + "\n"


def section(words: str, function: Callable[..., None]) -> list[str]:
    parameters = list(_parameters(function))
    usage = " ".join([words, *(_placeholder(each) for each in parameters if each.is_argument), "[options]"])
    parts = [f"## {words}", f"```text\n{usage}\n```", inspect.getdoc(function) or ""]
    panels: dict[str, list[Parameter]] = {}
    for each in sorted(parameters, key=lambda each: not each.is_argument):
        panels.setdefault(each.info.rich_help_panel or "", []).append(each)
    for panel, members in panels.items():
        rows = [f"| {_names(each)} | {_takes(each.kind)} | {_says(each)} |" for each in members]
        parts += [f"**{panel}**"] * bool(panel)
        parts += ["\n".join(["| name | takes | what it says |", "|---|---|---|", *rows])]
    return parts


def _parameters(function: Callable[..., None]) -> Iterator[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name], typer.Option())
        if not info.hidden:
            yield Parameter(name, kind, info, parameter.default)


def _placeholder(argument: Parameter) -> str:
    return argument.name if argument.required else f"[{argument.name}]"


def _names(parameter: Parameter) -> str:
    if parameter.is_argument:
        return f"`{_placeholder(parameter)}`"
    given = [parameter.info.default, *(parameter.info.param_decls or ())]  # typer keeps the first name as a default
    names = [name for name in given if isinstance(name, str) and name.startswith("-")]
    if not names:
        name = parameter.name.replace("_", "-")
        names = [f"--{name}/--no-{name}" if parameter.kind is bool else f"--{name}"]
    return ", ".join(f"`{part}`" for name in names for part in name.split("/"))


def _takes(kind: Any) -> str:
    inner = [each for each in get_args(kind) if each is not NoneType]
    if get_origin(kind) is Literal:
        return " ".join(f"`{choice}`" for choice in inner)
    if get_origin(kind) is list:
        return f"{_takes(inner[0])}, may repeat"
    if inner:
        return _takes(inner[0])
    return KINDS.get(kind, "")


def _says(parameter: Parameter) -> str:
    said = " ".join((parameter.info.help or "").split()).replace("|", "\\|")
    if parameter.required:
        return f"{said} Required."
    if parameter.default is None or parameter.default is False or parameter.default == "":
        return said
    return f"{said} Default: `{'yes' if parameter.default is True else parameter.default}`."
