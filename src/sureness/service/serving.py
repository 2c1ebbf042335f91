"""What all routes share: settings, keys, limits, the compute thread and the files in force."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request

from sureness._wording import counted
from sureness.service import messages
from sureness.service.artefacts import Artefacts, ServedFiles
from sureness.service.engine import Engine
from sureness.service.messages import RefusedError
from sureness.service.metrics import Metrics
from sureness.service.questions import Question
from sureness.service.worker import Reply, Worker, hear_notes

_SWITCH = 0.0005  # seconds that the compute thread may let the loop wait; by default ten times as many

T = TypeVar("T", bound=messages.Answer)


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """How the service answers."""

    files: ServedFiles
    keys: tuple[str, ...] = ()  # none: everybody may ask
    max_body: int = 8 << 20  # bytes
    max_waiting: int = 1_000  # requests
    max_seconds: float = 10.0  # for a body to arrive, and for an answer
    reload_seconds: float = 5.0  # 0: only when asked


class Service:
    """What all routes share."""

    def __init__(self, settings: ServiceSettings) -> None:
        hear_notes()
        self.settings = settings
        self.metrics = Metrics()
        self.worker = Worker(
            most_waiting=settings.max_waiting, seconds=settings.max_seconds, observe=self.metrics.batch
        )
        self.artefacts = Artefacts(settings.files, self.in_force, self.metrics.reloaded)
        self.ends = False
        self._keys = [_digest(key) for key in settings.keys]

    @property
    def engine(self) -> Engine:
        """What answers now; a question that has begun keeps the one it has."""
        return self.artefacts.engine

    def in_force(self, engine: Engine) -> None:
        """Look at all users in spare time."""
        self.worker.spend_spare_time(engine.survey.steps())

    @asynccontextmanager
    async def living(self, _: Starlette) -> AsyncIterator[None]:
        sys.setswitchinterval(_SWITCH)
        self.worker.start()
        self.in_force(self.engine)
        seconds = self.settings.reload_seconds
        watching = asyncio.create_task(self.artefacts.watch(seconds)) if seconds else None
        try:
            yield
        finally:
            self.ends = True
            if watching is not None:
                watching.cancel()
            self.worker.spend_spare_time(None)
            await asyncio.to_thread(self.worker.stop)

    def check_key(self, request: Request) -> None:
        """Refuse those who have none of the keys; every comparison takes the same time."""
        if not self._keys:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        digest = _digest(given.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", ""))
        if not sum(hmac.compare_digest(digest, key) for key in self._keys):  # a sum, so that all are compared
            raise RefusedError(
                401, "key", "a key is needed: send the header Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"}
            )

    async def body(self, request: Request) -> bytes:
        """The whole body, if it is not too large and not too slow."""
        most, seconds = self.settings.max_body, self.settings.max_seconds
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > most:
            raise _too_large(most)
        parts, n_bytes = [], 0
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    parts.append(part)
                    n_bytes += len(part)
                    if n_bytes > most:
                        raise _too_large(most)
        except TimeoutError:
            raise RefusedError(
                408,
                "time",
                f"the body took longer than {seconds:g} s to arrive; send it again",
                {"Connection": "close"},
            ) from None
        return b"".join(parts)

    async def ask(self, question: Question) -> Reply:
        """The answer of the compute thread."""
        reply = await self.worker.ask(question)
        if reply.notes:
            self.metrics.noted()
        return reply

    async def answer(self, kind: type[T], question: Question, field: str | None = None) -> T:
        """The answer as a message, with the artefact that gave it and what the library has to say about it."""
        reply = await self.ask(question)
        fields = reply.answer if field is None else {field: reply.answer}
        return kind(artefact=question.artefact, notes=list(reply.notes), **fields)


def _too_large(most: int) -> RefusedError:
    sentence = f"the body may have {counted(most, 'byte')}; send fewer scores in each request"
    return RefusedError(413, "body", sentence, {"Connection": "close"})


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
