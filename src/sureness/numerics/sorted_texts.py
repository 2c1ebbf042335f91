"""Sorted texts in two arrays, their bytes and where each starts: searched where they lie, nothing is built."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sureness._types import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class SortedTexts:
    """Distinct texts in the order of their UTF-8 bytes.

    Examples
    --------
    >>> texts = SortedTexts.of(["ann", "bob", "zoë"])
    >>> texts.find(["zoë", "nobody"]).tolist(), texts.at([1, 0])
    ([2, -1], ['bob', 'ann'])
    """

    content: AnyArray  # uint8, the bytes of all texts
    offsets: IntArray  # (n + 1,) where each text starts

    @classmethod
    def of(cls, texts: Sequence[str]) -> SortedTexts:
        """From texts that are sorted and distinct."""
        return cls(*_joined(texts))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int) -> bytes:
        return self.content[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def at(self, places: Sequence[int] | IntArray) -> list[str]:
        """The texts at some places."""
        return [self[int(place)].decode() for place in places]

    def every(self) -> list[str]:
        """All texts."""
        whole, bounds = self.content.tobytes(), self.offsets.tolist()
        return [whole[start:stop].decode() for start, stop in pairwise(bounds)]

    def find(self, texts: Sequence[str]) -> IntArray:
        """The place of each text, -1 where there is none; the cost grows with the logarithm of their number."""
        return np.array([self._find(text.encode()) for text in texts], dtype=np.int64)

    def _find(self, text: bytes) -> int:
        place = bisect_left(self, text)  # it has len() and [], which is all that is asked
        return place if place < len(self) and self[place] == text else -1


def _joined(texts: Sequence[str]) -> tuple[AnyArray, IntArray]:
    parts = [text.encode() for text in texts]
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.frombuffer(b"".join(parts), dtype=np.uint8), offsets
