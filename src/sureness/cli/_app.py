"""The table of commands, and how every failure becomes one sentence."""

from __future__ import annotations

import atexit
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from sureness._wording import visible
from sureness.errors import FileError, SettingError, SurenessError, SurenessWarning, missing_extra

_NAME = "sureness"  # also where it runs as a module; completions of shells look for it
_HELP = "How sure is your recommender? Turn ranking scores into calibrated probabilities, and these into lists."
_DATA_HELP = "Data sets and the simulator."

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo:demo", "Train, calibrate, choose list sizes and distil on simulated or real data; write a page."),
    "train": ("train:train_recommender", "Train a recommender on a log and judge it."),
    "distill": ("distill:distill_recommenders", "Let a large and a small recommender teach each other."),
    "evaluate": ("evaluate:evaluate_run", "Judge how well a run ranks."),
    "fit": ("fit:fit_calibrator", "Learn calibrated probabilities from scores and labels."),
    "apply": ("apply:apply_calibrator", "Add probabilities to a table of scores, or list the best items of a run."),
    "report": ("report:write_report", "Judge calibrators on labelled pairs and write a page."),
    "list-size": ("list_size:list_size", "Show each user as many items as are worth showing."),
    "backtest": (
        "backtest:backtest_recommender",
        "Judge a recommender on the last windows of a log, and promise the next one.",
    ),
    "allocate": ("allocate:allocate_lists", "Share the slots of a page, or a budget over all users."),
    "serve": ("serve:serve_recommender", "Answer over HTTP, and look at a recommender in a browser."),
    "sql": ("export:print_sql", "Print a calibrator as SQL, for the database that holds the scores."),
    "export": (
        "export:export_factors",
        "Write the factors of a model for a phone: arrays and ids, without its training log.",
    ),
    "inspect": ("inspect:inspect_file", "Say what a saved file holds."),
    "warm": ("warm:warm_kernels", "Compile all numerical kernels now instead of when they are first used."),
    "data list": ("data:list_data", "List the data sets that have a recipe."),
    "data fetch": ("data:fetch_data", "Download or copy the files of a data set."),
    "data describe": ("data:describe_data", "Show the statistics and the split of a data set or a log."),
    "data simulate": ("data:simulate_data", "Write the tables of a simulated world."),
}
"""Every command in the order of the help: its function in this package, and its line in the help."""

_GROUP = "sureness.commands"
_INTERRUPTED = 130  # typer turns Ctrl-C into this exit code, without a word
_NO_MEMORY = ("not enough memory", "can't allocate memory")  # as torch says it in a RuntimeError
_STOPPED = {
    "train": "rerun the same command to resume from the last checkpoint",
    "distill": "rerun the same command to resume from the last checkpoint",
    "reproduce": "finished cells are kept; rerun the same command to compute the others",
}


_warned: set[str] = set()
"""What the command that runs has warned about; the same table may be opened several times."""

_typed: dict[str, str] = {}
"""How arguments are typed in the command that runs, by their names in Python; see `as_typed`."""


def commands() -> dict[str, Callable[..., None]]:
    """The function of every command by its words, such as "data list"; imports all of them."""
    return {name: _function(target) for name, (target, _) in targets().items()}


def targets(prefix: str = "") -> dict[str, tuple[str, str]]:
    """The commands below a prefix: "module:function" and the help of each; other distributions add theirs.

    A distribution adds a command by an entry point of the group ``sureness.commands``; its summary is the help.
    """
    own = {name: (f"sureness.cli.{place}", text) for name, (place, text) in COMMANDS.items()}
    own |= {point.name: (point.value, _summary(point)) for point in entry_points(group=_GROUP)}
    return {name.removeprefix(prefix): found for name, found in own.items() if name.startswith(prefix)}


def loaded(name: str, target: str) -> Any:
    """The command of "module:function", imported now."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    alone.command(name)(_function(target))
    return get_command(alone)


def _function(target: str) -> Any:
    return EntryPoint("", target, _GROUP).load()


class LazyCommands(TyperGroup):
    """A group that lists its commands from text, and imports a command only when it is called."""

    prefix = ""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        groups, self.commands = dict(self.commands), {}  # groups come last
        self._targets: dict[str, str] = {}
        for name, (target, text) in targets(self.prefix).items():
            if " " not in name:  # else it belongs to a group below
                self._targets[name] = target
                self.commands[name] = TyperCommand(name, help=text)
        self.commands |= groups

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the line of the help by the command itself."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self._targets:
            target = self._targets[name]
            command = loaded(name, target)
            _typed.clear()
            _warned.clear()
            _typed.update(_flags(command.params) | getattr(_function(target), "typed", {}))
        return name, command, rest


class _DataCommands(LazyCommands):
    prefix = "data "


app = typer.Typer(
    cls=LazyCommands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_data = typer.Typer(cls=_DataCommands, help=_DATA_HELP, no_args_is_help=True)
app.add_typer(_data, name="data")


@_data.callback()
def _data_options() -> None:
    pass


def _version(wanted: bool) -> None:
    if wanted:
        from sureness import __version__
        from sureness.cli._output import write_out

        write_out(f"sureness {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options of all commands."""


def main() -> None:
    """Run the command line; bad input gives one sentence and exit code 1, wrong usage exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show must not end a job that is done
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", SurenessWarning)
        try:
            app(prog_name=_NAME)
        except SurenessError as error:
            fail(error)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            fail(missing_extra("this", "torch", "models"))
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and not any(words in str(error) for words in _NO_MEMORY):
                raise
            fail(SettingError("this needs more memory than there is; choose smaller sizes or fewer threads"))
        except OSError as error:  # such as a full disk while compiled code is cached
            fail(FileError(f"{error.strerror or error}: {error.filename or 'some file'}"))
        except (KeyboardInterrupt, SystemExit) as end:
            if isinstance(end, SystemExit) and end.code != _INTERRUPTED:
                atexit.unregister(_ignore_interrupts)
                atexit.register(_ignore_interrupts)
                raise
            _stop()


def fail(error: SurenessError) -> None:
    """Print what went wrong in one sentence, and exit."""
    _print_sentence("[bold red]error:[/] ", as_typed(str(error), _typed, names=error.code == SettingError.code))
    sys.exit(1)


def _stop() -> None:
    """Print that and exit at once; nothing is imported, since an import may be what was interrupted."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.stderr.write(f"stopped; {_STOPPED.get(command, 'unfinished output was discarded')}\n")
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(_INTERRUPTED)  # threads of polars that still call Python would abort an orderly end


def _ignore_interrupts() -> None:
    """Everything is written and printed: an interrupt while Python ends would only hide that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, SurenessWarning) and str(message) not in _warned:
        _warned.add(str(message))
        _print_sentence("[bold yellow]note:[/] ", in_words_of_command(str(message)))


def _print_sentence(prefix: str, sentence: str) -> None:
    from sureness.cli._console import err

    try:
        err.print(prefix, end="")
        err.print(visible(sentence), markup=False, soft_wrap=True)
        sys.stderr.flush()
    except OSError:  # such as a full disk: what cannot be shown must not end a job that is done
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 2)


def in_words_of_command(sentence: str) -> str:
    """A sentence of the library with the options of the command that runs."""
    return as_typed(sentence, _typed)


def as_typed(sentence: str, typed: Mapping[str, str], *, names: bool = False) -> str:
    """A sentence of the library with its arguments as they are typed on the command line.

    The library writes advice as in Python: ``seen=...``, ``Columns(decimal="comma")``. With `names`, names of several
    words such as max_size are arguments too; names of one word stay, since they may be plain words.

    Examples
    --------
    >>> typed = {"max_size": "--max-size ", "decimal": "--format decimal=", "user_id": "--columns user_id="}
    >>> as_typed("max_size must be at least min_size", typed, names=True)
    '--max-size must be at least min_size'
    >>> as_typed('name it with columns=Columns(user_id=...), or give Columns(decimal="comma")', typed)
    'name it with --columns user_id=..., or give --format decimal=comma'
    """
    sentence = re.sub(
        rf"(?:columns=)?Columns\(([^()]*)\)|(?<![\w./-]){_GIVEN}",
        lambda found: " ".join(_argument(each, typed) for each in (found[1] or found[0]).split(", ")),
        sentence,
    )
    if names:
        several = r"(?<![\w./-])[a-z]+(?:_[a-z]+)+\b(?![/.]\w)"
        sentence = re.sub(several, lambda found: typed.get(found[0], found[0]).rstrip(" ="), sentence)
    return sentence


_GIVEN = r"""[a-z]+(?:_[a-z]+)*=(?:\.\.\.|"[^"]*"|True|False)"""  # an argument as in Python: seen=..., decimal="comma"


def _argument(given: str, typed: Mapping[str, str]) -> str:
    """An argument such as decimal="comma" as it is typed; one that the command does not have stays."""
    name, _, value = given.partition("=")
    if name not in typed:
        return given
    return typed[name] + value.strip('"') if value not in ("True", "False") else typed[name].rstrip()


def _flags(parameters: Iterable[Any]) -> dict[str, str]:
    flags = [flag for parameter in parameters for flag in parameter.opts if flag.startswith("--")]
    return {flag.removeprefix("--").replace("-", "_"): f"{flag} " for flag in flags}


def _summary(point: EntryPoint) -> str:
    return str(point.dist.metadata["Summary"] or "") if point.dist is not None else ""
