"""Pairs in chunks that can be read again for every pass, and sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sureness._types import FloatArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError
from sureness.propensity.base import PropensityModel
from sureness.sources.base import user_blocks
from sureness.sources.labelled import LabelledSource

_BLOCK_SCORES = 2_000_000  # scores held at a time while a source is streamed

Chunks = Callable[[], Iterable[ScoredPairs]]
"""Called anew for every pass."""


@dataclass(frozen=True, eq=False)
class HeldChunks:
    """Chunks in memory."""

    held: tuple[ScoredPairs, ...]

    def __call__(self) -> Iterable[ScoredPairs]:
        return self.held


@dataclass(frozen=True, eq=False)
class SourceChunks:
    """The candidates of a source in blocks of users, or a random share of those labelled 0."""

    labelled: LabelledSource
    propensity: PropensityModel | None
    sampling_rate: float
    seed: int

    def __call__(self) -> Iterator[ScoredPairs]:
        rng = np.random.default_rng(self.seed) if self.sampling_rate < 1.0 else None  # the same sample in every pass
        for users in user_blocks(self.labelled.source, _BLOCK_SCORES):
            yield self.labelled.pairs(users, self.propensity, self.sampling_rate, rng)


@dataclass(frozen=True, eq=False)
class MappedChunks:
    """The same pairs with other scores."""

    chunks: Chunks
    function: Callable[[FloatArray], FloatArray]

    def __call__(self) -> Iterator[ScoredPairs]:
        return (replace(pairs, scores=self.function(pairs.scores)) for pairs in self.chunks())


def agreeing(chunks: Iterable[ScoredPairs]) -> Iterator[ScoredPairs]:
    """The chunks, refused as soon as one has weights or propensities and another has not."""
    first: ScoredPairs | None = None
    for number, pairs in enumerate(chunks, start=1):
        first = pairs if first is None else first
        for name in ("weight", "propensity"):
            if (getattr(pairs, name) is None) != (getattr(first, name) is None):
                there, missing = (1, number) if getattr(pairs, name) is None else (number, 1)
                raise DataError(
                    f"{name} must be given for all chunks or for none, got it for chunk {there:,} and not for chunk "
                    f"{missing:,}; give 1 where nothing else is known"
                )
        yield pairs
