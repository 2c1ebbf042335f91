"""Which part of a split a log is."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """What held-out pairs remember of their split."""

    share: float  # of all pairs of the split
    n_training: int  # pairs of its training part
