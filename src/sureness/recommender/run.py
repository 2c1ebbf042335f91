"""A trained model with the split it was trained on: one file, so that everything after training needs one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Self

from sureness._printing import fields_repr
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, union
from sureness.errors import DataError, IdError, KindError
from sureness.saving.objects import load
from sureness.saving.packed import JSON, Packed, Parts, Savable, kind_of, packed_or_none, unpack
from sureness.sources.base import ScoreSource, id_maps

_PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Run(Savable):
    """A source of scores, and the parts of the split that are known.

    Examples
    --------
    >>> import numpy as np
    >>> from sureness.sources.base import MatrixSource
    >>> log = Interactions.of([0, 0, 1], [0, 1, 1])
    >>> Run(MatrixSource(np.zeros((2, 2))), train=log).seen()
    Interactions(2 users, 2 items, 3 pairs)
    """

    source: ScoreSource
    train: Interactions | None = None
    validation: Interactions | None = None
    test: Interactions | None = None
    about: Mapping[str, JSON] = field(default_factory=dict)  # data, protocol, seed, positive_above

    __repr__ = fields_repr

    def seen(self) -> Interactions | None:
        """What is not shown again when the test is judged or lists are made: train and validation."""
        parts = [part for part in (self.train, self.validation) if part is not None]
        return union(parts) if parts else None

    def pack(self) -> Packed:
        users, items = id_maps(self.source)
        parts = {"source": pack_source(self.source)}
        for name in _PARTS:
            log: Interactions | None = getattr(self, name)
            if log is not None:
                parts[name] = log.aligned(users, items).pack(with_ids=False)
        shape: list[JSON] = [self.source.n_users, self.source.n_items]
        return Packed(kind=kind_of("saved", type(self)), state={"shape": shape}, parts=parts, about=self.about)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        source = parts.opened("source", ScoreSource)
        if parts.given("source"):
            check_given_source(source, packed)
        users, items = id_maps(source)
        logs = {name: parts.open(name, users=users, items=items) for name in _PARTS if name in packed.parts}
        return cls(source, **logs, about=packed.about)


@dataclass(frozen=True, eq=False)
class DistilledRuns(Savable):
    """The two runs of a distillation in one file, so that a teacher and its student always belong together."""

    teacher: Run
    student: Run

    __repr__ = fields_repr

    def pack(self) -> Packed:
        parts = {"teacher": self.teacher.pack(), "student": self.student.pack()}
        return Packed(kind=kind_of("saved", type(self)), parts=parts)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        return cls(parts.opened("teacher", Run), parts.opened("student", Run))


def pack_source(source: ScoreSource) -> Packed:
    """A source packed, if it is of a kind that can be saved."""
    if (packed := packed_or_none(source)) is None:
        raise DataError(
            f"factors, matrices, candidate tables and our own models can be saved, got {type(source).__name__}; save "
            "the best items of each user as a CandidateSource"
        )
    return packed


def check_given_source(source: ScoreSource, packed: Packed) -> None:
    """Refuse a source in the place of the saved one if it has other users or items, or has them in another order."""
    shape = [source.n_users, source.n_items]
    if shape != packed.state["shape"]:
        raise IdError(
            f"the source must have the {packed.state['shape']} users and items of the one that was saved, got {shape}; "
            "give the same recommender"
        )
    saved = packed.parts.get("source", packed).parts  # a source that could not be saved left its ids in its place
    for side, ids in zip(("users", "items"), id_maps(source), strict=True):
        expected = unpack(saved[side]) if side in saved else IdMap.counting(len(ids))
        if not expected.same_as(ids):
            raise IdError(
                f"the source must have the {side} of the one that was saved, in the same order; give the same "
                "recommender"
            )


def open_run(path: str | PathLike[str]) -> Run:
    """Open a run, or a saved model or source as a run without a split.

    Parameters
    ----------
    path : path
        Of a file, or of a part of one, such as ``distilled.sureness/student``.
    """
    opened = load(path)
    if isinstance(opened, ScoreSource):
        return Run(opened)
    if isinstance(opened, DistilledRuns):
        raise KindError(f"{path} holds a teacher and a student; give {path}/student or {path}/teacher")
    if not isinstance(opened, Run):
        name = type(opened).__name__
        raise KindError(f"{path} holds a {name}, expected a run, a model or a source; give another file")
    return opened
