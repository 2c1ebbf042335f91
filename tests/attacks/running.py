"""The long form of every attack: `python -m tests.attacks`, or `make attack`.

Prints one table, and writes it into docs/maintainers/reliability.md. Words after the command choose attacks by name.
"""

from __future__ import annotations

import errno
import math
import multiprocessing
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.attacks import (
    coverage,
    crafted,
    damage,
    hostile_data,
    hostile_files,
    kills,
    masked_scores,
    odd_text,
    overwrites,
    races,
    streams,
)
from tests.attacks.commands import CASES
from tests.attacks.outcome import Outcome

PAGE = Path(__file__).parents[2] / "docs" / "maintainers" / "reliability.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"
SECONDS_OF_A_RACE = 20.0
SIMULATIONS, CHOICES = 100, 1_000
TABLES = [name for name in CASES if name.startswith(("apply", "list-size", "allocate", "data simulate"))]
"""Commands whose tables are written by compiled code."""

Attack = Callable[[Path], Outcome]


def attacks() -> dict[str, Attack]:
    """Every attack by its name, in the order of the table."""
    return {
        "kills": partial(kills.over_commands, "kills at every file operation of every command", kills.kill_everywhere),
        "full-disk": partial(kills.over_commands, "full disk at every file operation", kills.fail_everywhere),
        "broken-disk": partial(kills.over_commands, "input/output error at every file operation", _fail_with_eio),
        "limits": partial(_limits, "tables interrupted inside compiled code"),
        "signals": partial(kills.over_commands, "SIGKILL at random moments", _signals),
        "damage": partial(damage.damage_all, most=1_000_000),
        "crafted": crafted.attack_all,
        "races": partial(races.race_all, seconds=SECONDS_OF_A_RACE),
        "overwrites": lambda _: overwrites.overwrite_all(),
        "hostile-data": lambda _: hostile_data.attack_doors(),
        "hostile-files": hostile_files.attack_commands,
        "streams": streams.attack_streams,
        "odd-text": odd_text.attack_text,
        "masked-scores": lambda _: masked_scores.attack_all(),
        "coverage": lambda _: _coverage(),
        "false-wins": lambda _: _false_wins(),
    }


def _fail_with_eio(name: str, arena: kills.Arena) -> Outcome:
    return kills.fail_everywhere(name, arena, errno.EIO)


def _signals(name: str, arena: kills.Arena) -> Outcome:
    return kills.kill_from_outside(name, arena, times=8, seconds=1.5)


def _limits(what: str, folder: Path) -> Outcome:
    attack = partial(kills.limit_files, sizes=(700, 1_000, 1_500, 2_000, 3_000))
    return kills.over_commands(what, attack, folder, TABLES)


def _coverage() -> Outcome:
    """Every metric in every world of the promise; the chance alone may take two standard errors."""
    least = 0.9 - 2 * math.sqrt(0.9 * 0.1 / SIMULATIONS)
    cells = [cell for world in coverage.worlds() for cell in coverage.coverage(world, simulations=SIMULATIONS)]
    failures = [f"{cell.metric} covers {cell.share:.2f} in {cell.world}" for cell in cells if cell.share < least]
    failure = f"fewer than 90% of {SIMULATIONS} intervals hold the truth, by more than two standard errors"
    return Outcome.of("95% intervals in simulated worlds", failure, len(cells), failures)


def _false_wins() -> Outcome:
    """Five ways to choose list sizes that are equally good."""
    most = 0.1 + 2 * math.sqrt(0.1 * 0.9 / CHOICES)
    shares = {each: coverage.false_wins(each, simulations=CHOICES) / CHOICES for each in coverage.CORRELATIONS}
    failures = [f"correlation {each}: {share:.3f}" for each, share in shares.items() if share > most]
    failure = f"more than 10% of {CHOICES:,} choices prefer one, by more than two standard errors"
    return Outcome.of("choices among equally good list sizes", failure, len(shares), failures)


def run(name: str) -> Outcome:
    """One attack in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return attacks()[name](Path(folder) / name)


def table(outcomes: list[Outcome]) -> str:
    """Outcomes as a table in Markdown."""
    rows = [f"| {each.what} | {each.tried:,} | {each.failed:,} | {each.failure} |" for each in outcomes]
    return "\n".join(["| attack | tried | failed | what counts as a failure |", "|---|---:|---:|---|", *rows])


def written(page: str, found: str) -> str:
    """A page with a table between its markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{found}\n{END}{rest.partition(END)[2]}"


def main(chosen: list[str]) -> int:
    """Run the chosen attacks, two at a time; the page is written if all of them ran."""
    names = chosen or list(attacks())
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        outcomes = list(pool.map(run, names))
    found = table(outcomes)
    sys.stdout.write(found + "\n")
    for note in (note for each in outcomes for note in each.notes):
        sys.stdout.write(f"failed: {note}\n")
    if not chosen:
        PAGE.write_text(written(PAGE.read_text(), found))
    return int(any(each.failed for each in outcomes))
