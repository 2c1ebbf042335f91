"""Change every byte of every kind of file that sureness saves, and cut it at every length: noticed each time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import sureness as sn
from sureness.errors import ArtefactError
from sureness.saving.objects import read_packed
from sureness.saving.packed import arrays_of, tree_of
from sureness.saving.records import read_record, write_record
from tests.attacks.outcome import Outcome, joined
from tests.saving.kinds import HAS_TORCH, KINDS, ending, made

WAYS = (0x01, 0x80, 0x20, 0xFF, 0x07)
"""What a byte is combined with; the ways take turns, so that all bits change."""

FAILURE = "other content is read without a word, or another error than ours"


def _tuning_record(folder: Path) -> Path:
    trial = {"model": "bpr", "data": {"train": "1a"}, "settings": {"seed": 0}, "result": {"metric": 0.5}}
    write_record(folder / "trials.json", "trials", {"trials": [trial, trial]})
    return folder / "trials.json"


def _checkpoint(folder: Path) -> Path:
    """What a training keeps until it ends; the stop in its last epoch leaves it there."""
    from tests.models.worlds import simulated  # needs torch

    class StopHereError(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        if done == total:
            raise StopHereError

    split = simulated(20, 20)
    with suppress(StopHereError):
        sn.BPR(n_factors=2, epochs=3).fit(
            split.train, split.validation, checkpoint=folder / "model", checkpoint_seconds=0.0, progress=stop
        )
    return folder / "model"


def _object(kind: str) -> Callable[[Path], Path]:
    def save(folder: Path) -> Path:
        place = folder / f"it{ending(made(kind))}"
        made(kind).save(place)
        return place

    return save


FILES: dict[str, Callable[[Path], Path]] = {
    **{kind: _object(kind) for kind in KINDS},
    "record of trials": _tuning_record,
    **({"checkpoint": _checkpoint} if HAS_TORCH else {}),
}
"""Every kind of file: a function that writes a small one into a folder."""


def damage(kind: str, folder: Path, most: int) -> Outcome:
    """Change and cut a file at every place, or at `most` places spread over it."""
    folder.mkdir(parents=True, exist_ok=True)
    place = FILES[kind](folder)
    whole, content = place.read_bytes(), _content(place)
    places = range(0, len(whole), max(1, -(-len(whole) // most)))
    failures = []
    handle = os.open(place, os.O_RDWR)
    try:
        for number in places:
            os.pwrite(handle, bytes([whole[number] ^ WAYS[number % len(WAYS)]]), number)
            failures += _unnoticed(place, content, f"{kind}, byte {number} changed")
            os.pwrite(handle, whole[number : number + 1], number)
        for length in reversed(places):
            os.ftruncate(handle, length)
            failures += _unnoticed(place, content, f"{kind}, cut after {length} bytes")
    finally:
        os.close(handle)
    return Outcome.of(f"damage: {kind}", FAILURE, 2 * len(places), failures)


def damage_all(folder: Path, most: int, kinds: Iterable[str] = FILES) -> Outcome:
    """Every kind of file."""
    outcomes = [damage(kind, folder / kind.replace("/", "-"), most) for kind in kinds]
    return joined("bytes changed and files cut", outcomes)


def _unnoticed(place: Path, content: object, what: str) -> list[str]:
    try:
        found = _content(place)
    except ArtefactError:
        return []
    except Exception as error:
        return [f"{what}: {error!r}"]
    return [] if found == content else [what]


def _content(place: Path) -> object:
    """What a file says, by the door through which it is read."""
    if place.name == "trials.json":
        return read_record(place, "trials")
    packed = read_packed(place)
    return tree_of(packed), {name: array.tobytes() for name, array in arrays_of(packed).items()}
