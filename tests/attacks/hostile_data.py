"""Give hostile data to every door: an error of ours, or an answer without NaN; other forms of good data count too."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl

from sureness.errors import SurenessError, SurenessWarning
from tests.attacks.doors import Door, doors, hostile_logs, hostile_paths
from tests.attacks.hostile_values import HOSTILE, SAME_FORMS, TABLES, WRONG_KINDS
from tests.attacks.outcome import Outcome

FAILURE = "another exception or warning than ours, NaN in an answer, another answer for another form, no answer in 30 s"
_MOST_SECONDS = 90  # a busy machine takes long to compile


def attack_door(door: Door, some: slice = slice(None)) -> Outcome:
    """Give one door all that is hostile to it, or some of it."""
    attempts = list(_attempts(door))[some]
    failures = [f"{door.name}, {what}: {problem}" for what, try_it in attempts if (problem := try_it())]
    return Outcome.of(f"hostile data: {door.name}", FAILURE, len(attempts), failures)


def attack_doors(some: slice = slice(None), chosen: Iterable[Door] | None = None) -> Outcome:
    """Give every door what is hostile to it."""
    outcomes = [attack_door(door, some) for door in (doors() if chosen is None else chosen)]
    notes = tuple(note for outcome in outcomes for note in outcome.notes)
    tried, failed = (sum(getattr(outcome, name) for outcome in outcomes) for name in ("tried", "failed"))
    return Outcome("hostile data for public functions", FAILURE, tried, failed, notes)


def _attempts(door: Door) -> Iterator[tuple[str, Callable[[], str | None]]]:
    if door.takes in ("values", "rows"):
        good = np.asarray(door.good)
        for name, make in HOSTILE.items():
            yield name, lambda make=make: problem(door, lambda: make(good))
        for name, make in WRONG_KINDS.items():
            yield name, lambda make=make: problem(door, lambda: make(good), may_be_type_error=True)
        for name, make in SAME_FORMS.items():
            yield name, lambda make=make: other_answer(door, lambda: make(good), good)
        return
    made = {"table": lambda: TABLES, "log": hostile_logs, "path": hostile_paths}[door.takes]()
    for name, value in made.items():
        yield name, lambda value=value: problem(door, value, may_be_type_error=True)


def problem(door: Door, make: Callable[[], Any], *, may_be_type_error: bool = False) -> str | None:
    """What is wrong with how a door takes a value, if anything."""
    try:
        value = make()
    except Exception:  # this form does not exist for these values
        return None
    try:
        with _strictly():
            answer = door.call(value)
    except SurenessError as error:
        return None if "\n" not in str(error) else f"more than one line: {error}"
    except TypeError as error:
        return None if may_be_type_error else repr(error)[:300]
    except BaseException as error:
        return repr(error)[:300]
    return "NaN in the answer" if not door.keeps_nan and has_nan(answer) else None


def other_answer(door: Door, make: Callable[[], Any], good: np.ndarray) -> str | None:
    """Whether another form of the same values gives another answer."""
    if found := problem(door, make, may_be_type_error=True):
        return found
    try:
        with _strictly():
            ours, theirs = door.call(good), door.call(make())
    except (SurenessError, TypeError):
        return None
    return None if same(ours, theirs) else "another answer than for an array"


@contextmanager
def _strictly() -> Iterator[None]:
    """Warnings of others are errors, and so is taking too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer in {_MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _MOST_SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", SurenessWarning)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _numbers(answer: Any) -> Iterator[np.ndarray]:
    """All numbers in an answer."""
    if isinstance(answer, np.ndarray | float | int):
        yield np.asarray(answer)
    elif isinstance(answer, pl.DataFrame):
        yield from (column.to_numpy() for column in answer.iter_columns() if column.dtype.is_numeric())
    elif isinstance(answer, pl.Series):
        yield answer.to_numpy()
    elif is_dataclass(answer) and not isinstance(answer, type):
        for each in fields(answer):
            yield from _numbers(getattr(answer, each.name))
    elif isinstance(answer, tuple | list):
        for each in answer:
            yield from _numbers(each)


def has_nan(answer: Any) -> bool:
    """Whether any number in an answer is NaN."""
    return any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in _numbers(answer))


def same(first: Any, second: Any) -> bool:
    """Whether two answers hold equal numbers."""
    ours, theirs = list(_numbers(first)), list(_numbers(second))
    if len(ours) != len(theirs):
        return False
    return all(
        one.shape == other.shape and (np.allclose(one, other, rtol=1e-6) if one.dtype.kind in "iufb" else True)
        for one, other in zip(ours, theirs, strict=True)
    )
