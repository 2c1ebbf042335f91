"""The list of commands, and how every failure becomes one sentence."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import Annotated

import typer

import sureness
from sureness.cli._console import err, out
from sureness.errors import SurenessError, SurenessWarning

app = typer.Typer(
    help="How sure is your recommender? Turn ranking scores into calibrated probabilities, and these into lists.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)
data_app = typer.Typer(help="Data sets and the simulator.", no_args_is_help=True)
app.add_typer(data_app, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"sureness {sureness.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options of all commands."""


_INTERRUPTED = 130  # typer turns Ctrl-C into this exit code, without a word

_DISCARDED = "what was being written is discarded"
_STOPPED = {
    "train": "the same command goes on from the last checkpoint",
    "distill": "the same command goes on from the last checkpoint",
    "reproduce": "finished cells are kept, the same command goes on with the others",
}

_COMMANDS: dict[tuple[str, ...], str] = {
    ("demo",): "demo",
    ("train",): "train",
    ("distill",): "distill",
    ("evaluate",): "evaluate",
    ("fit",): "fit",
    ("apply",): "apply",
    ("report",): "report",
    ("list-size",): "list_size",
    ("allocate",): "allocate",
    ("reproduce",): "reproduce",
    ("data", "list"): "data_list",
    ("data", "fetch"): "data_fetch",
    ("data", "describe"): "data_describe",
    ("data", "simulate"): "simulate",
}
"""Every command, in the order of the help: the words that call it and the file it lives in."""


def _register(words: list[str]) -> None:
    """Load the command that is called, since importing all of them takes longer than many a run; else all."""
    called = [path for path in _COMMANDS if tuple(words[: len(path)]) == path]
    for path in called or _COMMANDS:
        module = import_module(f"sureness.cli.{_COMMANDS[path]}")
        group = data_app if path[0] == "data" else app
        if all(known.callback is not module.COMMAND for known in group.registered_commands):  # main may be called twice
            group.command(path[-1])(module.COMMAND)


def main() -> None:
    """Run the command line; bad input gives one sentence and exit code 1, wrong usage exit code 2."""
    _register(sys.argv[1:])
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", SurenessWarning)
        try:
            app()
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            err.print("[bold red]error:[/] this needs torch; install it with: pip install 'sureness\\[models]'")
            sys.exit(1)
        except SurenessError as error:
            err.print("[bold red]error:[/] ", end="")
            err.print(str(error), markup=False, soft_wrap=True)
            sys.exit(1)
        except OSError as error:  # such as a full disk while compiled code is cached
            err.print("[bold red]error:[/] ", end="")
            err.print(f"{error.strerror or error}: {error.filename or 'some file'}", markup=False, soft_wrap=True)
            sys.exit(1)
        except (KeyboardInterrupt, SystemExit) as end:
            if isinstance(end, SystemExit) and end.code != _INTERRUPTED:
                raise
            err.print(f"stopped; {_STOPPED.get(sys.argv[1], _DISCARDED)}", soft_wrap=True)
            sys.stderr.flush()
            os._exit(_INTERRUPTED)  # threads of polars that still call Python would abort an orderly end


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, SurenessWarning):
        err.print("[bold yellow]note:[/] ", end="")
        err.print(str(message), markup=False, soft_wrap=True)
