"""Progress of a long job out of the progress of its parts."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]

_STEPS = 1_000  # each part counts as so many


def part_of(progress: Progress | None, number: int, count: int, name: str = "") -> Progress | None:
    """The callback of one of several parts, which tells the whole job how far it is.

    Parameters
    ----------
    progress : callable or None
        Told about the whole job.
    number, count : int
        Which part this is, from 0, and how many there are.
    name : str
        Said before each step.

    Examples
    --------
    >>> told = []
    >>> part_of(lambda *step: told.append(step), 1, 4, "student")("epoch 3", 3, 6)
    >>> told
    [('student: epoch 3', 1500, 4000)]
    """
    if progress is None:
        return None

    def tell(step: str, done: int, total: int) -> None:
        share = min(1.0, done / total) if total else 0.0
        progress(f"{name}: {step}" if name else step, round(_STEPS * (number + share)), _STEPS * count)

    return tell
