"""Progress of a job whose stages take very different times."""

from __future__ import annotations

from collections.abc import Mapping

from sureness._progress import Progress, silent


class Stages:
    """Turns the progress of each stage into progress of the whole job, counted in tenths of a second.

    Parameters
    ----------
    seconds : mapping of stage to seconds
        About how long each stage takes, in their order.
    progress : Progress
        Told about the whole job.

    Examples
    --------
    >>> seen = []
    >>> stages = Stages({"train": 1.0, "judge": 3.0}, lambda *step: seen.append(step))
    >>> stages.stage("judge")("epoch 1", 1, 2)
    >>> seen
    [('judge', 10, 40), ('judge: epoch 1', 25, 40)]
    """

    def __init__(self, seconds: Mapping[str, float], progress: Progress = silent) -> None:
        self._seconds = dict(seconds)
        self._progress = progress
        self._done = 0.0

    def stage(self, name: str) -> Progress:
        """Begin a stage, which ends all stages before it, and return its progress callback."""
        names = list(self._seconds)
        start = sum(self._seconds[each] for each in names[: names.index(name)])
        self._report(name, start)

        def report(step: str, done: int, total: int) -> None:
            share = min(1.0, done / total) if total else 0.0
            self._report(f"{name}: {step}", start + share * self._seconds[name])

        return report

    def _report(self, step: str, done: float) -> None:
        self._done = max(self._done, done)  # a stage may count from 0 several times; the whole never goes back
        self._progress(step, round(10 * self._done), round(10 * sum(self._seconds.values())))
