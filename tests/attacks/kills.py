"""Kill every command that writes at each of its file operations, or let the operation fail: old or new, and whole."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sureness.errors import SurenessError
from tests.attacks import commands
from tests.attacks.commands import CASES, Case, content, digests, listing
from tests.attacks.faults import KILLED
from tests.attacks.fork_server import NONE, Fault, Server, serving
from tests.attacks.outcome import Outcome, joined

BROKEN = "an output that is neither the old nor the new one, a changed input, or something left after the next run"
UNTOLD = f"{BROKEN}, or not exactly one sentence"


@dataclass
class Arena:
    """A command with its inputs and an older output, ready to be attacked."""

    case: Case
    server: Server
    start: Path  # the folder before the command
    prepare: str | None
    inputs: dict[str, str]  # digest of every file that the command must not touch
    old: dict[str, str | None]
    new: dict[str, str | None]
    left: list[str]  # files after the command
    operations: int  # on files, that the command makes
    rerun: set[tuple[str, ...]] = field(default_factory=set)  # states from which the next run was tried
    count: int = 0

    def attacked(self, fault: Fault) -> tuple[Path, int, str]:
        """A fresh folder after the command met a fault; its exit code and what it said."""
        place = self.fresh()
        return place, *self.server.run(self.case.command, place, fault, self.prepare)

    def fresh(self) -> Path:
        """A copy of the folder before the command."""
        self.count += 1
        return shutil.copytree(self.start, self.start.with_name(f"{self.start.name}-{self.count}"))

    def problem(self, place: Path) -> str | None:
        """What is wrong with a folder in which the command was interrupted, also after the next run; None: nothing."""
        found = self._broken(place)
        state = tuple(listing(place))
        if found is None and state not in self.rerun:
            self.rerun.add(state)
            found = self._broken_again(place)
        shutil.rmtree(place)
        return found

    def _broken(self, place: Path) -> str | None:
        there = digests(place)
        if changed := [name for name, digest in self.inputs.items() if there.get(name) != digest]:
            return f"changed the input {changed[0]}"
        try:
            now = {name: content(place / name) for name in self.case.outputs}
        except SurenessError as error:
            return f"damaged: {error}"
        if strange := [name for name, held in now.items() if held not in (self.old[name], self.new[name])]:
            allowed = self.case.together and all(now[name] is None for name in strange)  # missing, but not mixed
            return None if allowed else f"{strange[0]} is neither old nor new"
        kinds = {held == self.new[name] for name, held in now.items() if held is not None}
        return "outputs of two runs are mixed" if self.case.together and len(kinds) > 1 else None

    def _broken_again(self, place: Path) -> str | None:
        code, said = self.server.run(self.case.command, place, NONE, self.prepare)
        if code != 0:
            return f"the next run failed: {said}"
        if {name: content(place / name) for name in self.case.outputs} != self.new:
            return "the next run gave something else"
        if more := set(listing(place)) ^ set(self.left):
            return f"after the next run there is {', '.join(sorted(more))}"
        return None


@dataclass(frozen=True)
class Ground:
    """Where commands are attacked: their inputs, a server of processes, and one of downloads."""

    folder: Path
    server: Server
    address: str
    ready: dict[str, Arena] = field(default_factory=dict)

    def arena(self, name: str) -> Arena:
        """The command of this name, ready to be attacked."""
        if name not in self.ready:
            self.ready[name] = self._arena(name)
        return self.ready[name]

    def _arena(self, name: str) -> Arena:
        case, start = CASES[name], self.folder / name.replace(" ", "-")
        prepare = f"tests.attacks.commands redirect {self.address}" if case.served else None
        shutil.copytree(self.folder / "inputs", start)
        old = self._outputs(case.before, case, start, prepare) if case.older else dict.fromkeys(case.outputs)
        after = shutil.copytree(start, start.with_name(f"{start.name}-new"))
        new = self._outputs(case.command, case, after, prepare)
        assert all(old[name] != new[name] for name in case.outputs), "the older output must differ"
        inputs = {name: digest for name, digest in digests(self.folder / "inputs").items() if name not in case.outputs}
        n_operations = len((self.folder / "counted").read_text().split())
        return Arena(case, self.server, start, prepare, inputs, old, new, listing(after), n_operations)

    def _outputs(self, words: tuple[str, ...], case: Case, place: Path, prepare: str | None) -> dict[str, str | None]:
        code, said = self.server.run(words, place, Fault(counted=str(self.folder / "counted")), prepare)
        assert code == 0, said
        return {name: content(place / name) for name in case.outputs}


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """A place to attack commands, for as long as it is needed."""
    commands.make_inputs(folder / "inputs")
    with serving() as server, commands.downloads(folder / "inputs" / "files") as address:
        yield Ground(folder, server, address)


def kill_everywhere(name: str, arena: Arena, *, every: int = 1) -> Outcome:
    """A real kill at every n-th file operation, with the next run from every different state that is left."""
    failures, numbers = [], range(1, arena.operations + 1, every)
    for number in numbers:
        place, code, said = arena.attacked(Fault(kill_at=number))
        problem = f"exit code {code}: {said}" if code != KILLED else arena.problem(place)
        if problem:
            failures.append(f"{name}, killed at operation {number}: {problem}")
    return Outcome.of(f"kills: {name}", BROKEN, len(numbers), failures)


def copy_everywhere(name: str, arena: Arena) -> Outcome:
    """What a kill at each file operation would leave, by copies of the folder during one single run."""
    place, copies = arena.fresh(), arena.start.with_name(f"{arena.start.name}-copies")
    code, said = arena.server.run(arena.case.command, place, Fault(snapshots=str(copies)), arena.prepare)
    assert code == 0, said
    moments = sorted(copies.iterdir())
    problems = {moment.name: arena.problem(moment) for moment in moments}
    failures = [f"{name}, before operation {at}: {problem}" for at, problem in problems.items() if problem]
    return Outcome.of(f"kills: {name}", BROKEN, len(moments), failures)


def fail_everywhere(name: str, arena: Arena, code: int = errno.ENOSPC, *, every: int = 1) -> Outcome:
    """Let every n-th file operation fail as on a full or broken disk."""
    failures, numbers = [], range(1, arena.operations + 1, every)
    for number in numbers:
        place, exit_code, said = arena.attacked(Fault(fail_at=number, error=code))
        problem = told_badly(exit_code, said) or arena.problem(place)
        if problem:
            failures.append(f"{name}, {errno.errorcode[code]} at operation {number}: {problem}")
    return Outcome.of(f"{errno.errorcode[code]}: {name}", UNTOLD, len(numbers), failures)


def limit_files(name: str, arena: Arena, sizes: Iterable[int]) -> Outcome:
    """Interrupt writes of compiled code: no file may become larger, by a signal or by an error."""
    failures, tried = [], 0
    for size in sizes:
        for kills in (True, False):
            place, code, said = arena.attacked(Fault(file_limit=size, limit_kills=kills))
            tried += 1
            problem = arena.problem(place) or (None if kills else told_badly(code, said))
            if problem:
                failures.append(f"{name}, files up to {size} bytes: {problem}")
    return Outcome.of(f"limited files: {name}", UNTOLD, tried, failures)


def kill_from_outside(name: str, arena: Arena, times: int, seconds: float, seed: int = 0) -> Outcome:
    """SIGKILL at moments drawn at random."""
    failures = []
    for moment in np.random.default_rng(seed).uniform(0, seconds, times):
        place, _, _ = arena.attacked(Fault(kill_after=float(moment)))
        if problem := arena.problem(place):
            failures.append(f"{name}, killed after {moment:.3f} s: {problem}")
    return Outcome.of(f"SIGKILL: {name}", BROKEN, times, failures)


def told_badly(code: int, said: str) -> str | None:
    """Whether a failure was told otherwise than in one sentence."""
    errors = [line for line in said.splitlines() if line and not line.startswith("note: ")]
    if code == 0:
        return None if not errors else f"succeeded, but said {said!r}"
    one = len(errors) == 1 and errors[0].startswith("error: ")
    return None if code == 1 and one else f"exit code {code}, said {said!r}"


def over_commands(
    what: str, attack: Callable[[str, Arena], Outcome], folder: Path, names: Iterable[str] = CASES
) -> Outcome:
    """One attack on several commands."""
    with ground(folder) as place:
        return joined(what, [attack(name, place.arena(name)) for name in names])
