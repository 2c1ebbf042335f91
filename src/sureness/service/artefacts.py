"""The files that are served: load beside, warm up, swap; a file that cannot be used leaves the old one in force."""

from __future__ import annotations

import asyncio
import gc
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from sureness.calibration.maps import ProbabilityMap
from sureness.errors import FileError, SurenessError
from sureness.recommender import ConfidentRecommender
from sureness.recommender.promises import meaning_in
from sureness.saving import load
from sureness.saving.objects import split_path
from sureness.service import messages
from sureness.service.engine import Engine
from sureness.service.items import Items
from sureness.service.promises import FoundPromise, read_promise
from sureness.service.questions import warm
from sureness.service.worker import noted

Identity: TypeAlias = tuple[tuple[int, int, int, int] | None, ...]

_START = 1 << 20  # bytes at the start of a file that hold the checksums of all others
_TRIES = 3  # of a file that changes while it is read


@dataclass(frozen=True, kw_only=True)
class ServedFiles:
    """What is served."""

    recommender: Path
    calibrator: Path | None = None
    items: Path | None = None
    backtest: Path | None = None

    def identity(self) -> Identity:
        """What differs as soon as one of the files is another; asked for again and again, so it reads none of them."""
        every = (self.recommender, self.calibrator, self.items, self.backtest)
        return tuple(_stat(path) for path in every if path is not None)

    def opened(self) -> Engine:
        """Load everything, check it, and answer one question of each kind."""
        # Arrays are read into memory: a file that is overwritten in place would change under a mapping.
        recommender = load(self.recommender, ConfidentRecommender, mapped=False)
        fitted: ProbabilityMap = recommender.map_
        if self.calibrator is not None:
            fitted = load(self.calibrator, ProbabilityMap, mapped=False)
            fitted.check_fitted()
        lists = _artefact(self.recommender, recommender.map_, str(recommender.horizon_), meaning_in(recommender))
        pairs = _artefact(self.calibrator or self.recommender, fitted, str(fitted.horizon_), fitted.meaning)
        items = Items() if self.items is None else Items.read(self.items)
        promise = FoundPromise() if self.backtest is None else read_promise(self.backtest)
        engine = Engine(recommender, fitted, lists, pairs, items, promise)
        with noted():  # a warm-up is nobody's answer
            warm(engine)
        return engine


def _stat(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = split_path(path)[0].stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _artefact(path: Path, fitted: ProbabilityMap, horizon: str, meaning: str) -> messages.Artefact:
    file, parts = split_path(path)
    try:
        with file.open("rb") as opened:
            start = opened.read(_START)
        version = hashlib.blake2b(start + str((file.stat().st_size, parts)).encode(), digest_size=6).hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    return messages.Artefact(path.name, version, fitted.estimand_, horizon, meaning)


class Artefacts:
    """The engine in force, and how it is replaced."""

    def __init__(self, files: ServedFiles, swapped: Callable[[Engine], None], counted: Callable[[str], None]) -> None:
        self.files = files
        self.problem: messages.Complaint | None = None
        self.n_reloads = 0
        self._swapped, self._counted = swapped, counted
        self._busy: asyncio.Lock | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sureness-load")
        self._seen, self.engine = self._open()
        self.loaded_at = datetime.now(UTC)

    def _open(self) -> tuple[Identity, Engine]:
        for _ in range(_TRIES):
            before = self.files.identity()
            engine = self.files.opened()
            if self.files.identity() == before:
                break
        return before, engine

    async def watch(self, seconds: float) -> None:
        """Look for other files now and then, for ever; network mounts send no events."""
        while True:
            await asyncio.sleep(seconds)
            with suppress(SurenessError):  # it is in `problem`, and counted
                await self.reload()

    async def reload(self) -> None:
        """Put other files in force, if there are any; what cannot be used raises and changes nothing."""
        if self._busy is None:
            self._busy = asyncio.Lock()
        loop = asyncio.get_running_loop()
        async with self._busy:
            identity = await loop.run_in_executor(self._thread, self.files.identity)
            if identity == self._seen:
                return
            try:
                self._seen, self.engine = await loop.run_in_executor(self._thread, self._open)
            except SurenessError as error:
                self._seen = identity  # not tried again until the file is another one
                self.problem = messages.Complaint(error.code, f"the file in force stays: {error}")
                self._counted("refused")
                raise
            self.problem, self.loaded_at = None, datetime.now(UTC)
            self.n_reloads += 1
            self._swapped(self.engine)
            self._counted("loaded")
            await loop.run_in_executor(self._thread, gc.collect)

    def answer(self) -> messages.ArtefactsAnswer:
        """What is in force, and why the last other file is not."""
        engine, when = self.engine, self.loaded_at.isoformat(timespec="seconds")
        calibrator = None
        if self.files.calibrator is not None:
            calibrator = messages.Loaded(
                artefact=engine.map_artefact, path=str(self.files.calibrator), loaded_at=when,
                facts={"map": type(engine.map).__name__, **engine.map.learned_facts()},
            )  # fmt: skip
        recommender = messages.Loaded(
            artefact=engine.artefact, path=str(self.files.recommender), loaded_at=when,
            facts=engine.recommender.learned_facts(),
        )  # fmt: skip
        return messages.ArtefactsAnswer(
            recommender=recommender, calibrator=calibrator, reloads=self.n_reloads, problem=self.problem,
            about=engine.about(),
        )  # fmt: skip
