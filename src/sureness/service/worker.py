"""One compute thread: it takes all waiting questions as one batch, and works on something else when nobody asks.

What one question does wrong never touches the answer of another: a batch that fails, or that the library has a note
about, is answered again one by one.
"""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from sureness.errors import SurenessWarning
from sureness.service.messages import RefusedError

_IN_BATCH = 512  # users, groups or requests of one batch


class Computable(Protocol):
    """Something to compute. Questions of one type that one engine answers are answered together."""

    engine: Any

    @property
    def size(self) -> int:
        """How many users or groups it is about."""
        ...

    def together(self, questions: Sequence[Any]) -> list[Any]:
        """The answer to each of several questions of this type, or the error that it makes."""
        ...


@dataclass(frozen=True, eq=False)
class Reply:
    """An answer, with what the library had to say about it."""

    answer: Any
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class _Waiting:
    question: Computable
    future: asyncio.Future[Reply]
    until: float


class Worker:
    """The compute thread and those who wait for it."""

    def __init__(self, *, most_waiting: int, seconds: float, observe: Callable[[int], None]) -> None:
        self.most_waiting, self.seconds = most_waiting, seconds
        self._observe = observe  # called with the number of questions of each batch
        self._waiting: SimpleQueue[_Waiting | None] = SimpleQueue()  # None: look again whether there is something to do
        self._next: _Waiting | None = None  # did not fit into the last batch
        self._spare: Iterator[object] | None = None
        self._ends = False
        self._thread = threading.Thread(target=self._run, name="sureness-compute", daemon=True)

    @property
    def n_waiting(self) -> int:
        return self._waiting.qsize()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, then end."""
        self._ends = True
        self._waiting.put(None)
        self._thread.join()

    def spend_spare_time(self, steps: Iterator[object] | None) -> None:
        """Take these steps, one at a time, while nobody waits; they replace the steps that were given before."""
        self._spare = steps
        self._waiting.put(None)

    async def ask(self, question: Computable) -> Reply:
        """The answer to a question; refused if too many wait, or if it takes too long."""
        if self.n_waiting >= self.most_waiting:
            raise _busy(f"{self.most_waiting:,} requests wait already")
        waiting = _Waiting(question, self._loop.create_future(), time.monotonic() + self.seconds)
        self._waiting.put(waiting)
        late = self._loop.call_later(self.seconds, _give_up, waiting.future, self.seconds)
        try:
            return await waiting.future
        finally:
            late.cancel()

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ends or self._next is not None or self._waiting.qsize():
            if batch := self._batch():
                self._observe(len(batch))
                replies = answered([each.question for each in batch])
                self._loop.call_soon_threadsafe(_deliver, batch, replies)
            elif (steps := self._spare) is not None:
                self._take_a_step(steps)

    def _batch(self) -> list[_Waiting]:
        """All who wait, or as many as are answered at once; waits for somebody if there is nothing else to do."""
        batch: list[_Waiting] = []
        size = 0
        while size < _IN_BATCH:
            waiting, self._next = self._next, None
            if waiting is None:
                try:
                    waiting = self._waiting.get(block=not (batch or self._spare or self._ends))
                except Empty:
                    break
            if waiting is None:
                continue
            if batch and size + waiting.question.size > _IN_BATCH:
                self._next = waiting
                break
            if waiting.until > time.monotonic() and not waiting.future.cancelled():
                batch.append(waiting)
                size += waiting.question.size
        return batch

    def _take_a_step(self, steps: Iterator[object]) -> None:
        try:
            with noted():
                next(steps)
        except Exception:  # at its end, or because the library refuses: whoever asks for it is told
            if self._spare is steps:
                self._spare = None


def answered(questions: Sequence[Computable]) -> list[Reply | Exception]:
    """Answers to all questions, those of one type together."""
    replies: list[Reply | Exception] = [Reply(None)] * len(questions)
    kinds: dict[object, list[int]] = {}
    for place, question in enumerate(questions):
        kinds.setdefault((type(question), question.engine), []).append(place)
    for places in kinds.values():
        for place, reply in zip(places, _of_one_type([questions[place] for place in places]), strict=True):
            replies[place] = reply
    return replies


def _of_one_type(questions: Sequence[Computable]) -> list[Reply | Exception]:
    try:
        with noted() as notes:
            answers = questions[0].together(questions)
        if not notes or len(questions) == 1:
            return [each if isinstance(each, Exception) else Reply(each, tuple(notes)) for each in answers]
    except Exception as error:
        if len(questions) == 1:
            return [error]
    return [_of_one_type([question])[0] for question in questions]


def _deliver(batch: Sequence[_Waiting], replies: Sequence[Reply | Exception]) -> None:
    for waiting, reply in zip(batch, replies, strict=True):
        if waiting.future.done():  # it took too long, or the client went away
            continue
        if isinstance(reply, Exception):
            waiting.future.set_exception(reply)
        else:
            waiting.future.set_result(reply)


def _give_up(future: asyncio.Future[Reply], seconds: float) -> None:
    if not future.done():
        future.set_exception(_busy(f"the answer took longer than {seconds:g} s"))


def _busy(why: str) -> RefusedError:
    return RefusedError(429, "busy", f"{why}; ask again later, or run more replicas", {"Retry-After": "1"})


# --- what the library has to say ------------------------------------------------------------------------------------

_heard = threading.local()


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes of the library in this thread, each once."""
    before, _heard.notes = getattr(_heard, "notes", None), []
    try:
        yield _heard.notes
    finally:
        _heard.notes = before


def hear_notes() -> None:
    """Send the library's warnings to whoever listens in the thread they come from, for as long as the process lives.

    `warnings.catch_warnings` is not for several threads.
    """
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *others: Any, **named: Any) -> None:
        notes = getattr(_heard, "notes", None)
        if notes is None or not issubclass(category, SurenessWarning):
            shown(message, category, *others, **named)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.showwarning = show
    warnings.simplefilter("always", SurenessWarning)
