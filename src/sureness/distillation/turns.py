"""Two models take turns within an epoch: whose step comes next, and with which random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from sureness._progress import Progress, silent
from sureness.models.networks.training import Trainer, seeded, using_threads


def interleaved(counts: Sequence[int]) -> Iterator[int]:
    """The order of steps that lets all end their epoch together, however many steps each takes.

    Examples
    --------
    >>> list(interleaved([2, 4]))
    [1, 0, 1, 1, 0, 1]
    """
    turns = [((place + 0.5) / count, who) for who, count in enumerate(counts) for place in range(count)]
    yield from (who for _, who in sorted(turns))


def joint_epoch(trainers: Sequence[Trainer], number: int, seed: int, progress: Progress = silent) -> list[float]:
    """One epoch of all trainers, step by step in turn; returns the mean loss of each.

    Each trainer gets the random numbers that it would get if it trained alone.
    """
    counts = [trainer.batches.n_batches for trainer in trainers]
    totals = [0.0] * len(trainers)
    threads = max((trainer.settings.threads for trainer in trainers), default=1)
    with seeded(seed, number), using_threads(threads):
        epochs = [trainer.steps(number) for trainer in trainers]
        states = {
            who: _random_state(trainer.settings.seed, number)
            for who, trainer in enumerate(trainers)
            if trainer.network.draws_dropout
        }
        for done, who in enumerate(interleaved(counts), start=1):
            if who in states:
                torch.set_rng_state(states[who])
            totals[who] += next(epochs[who])
            if who in states:
                states[who] = torch.get_rng_state()
            progress("steps", done, sum(counts))
        for epoch in epochs:
            next(epoch, None)  # runs what follows the last step
    return [
        trainer.checked(total / count, number) for trainer, total, count in zip(trainers, totals, counts, strict=True)
    ]


def _random_state(*seed: int) -> torch.Tensor:
    with seeded(*seed):
        return torch.get_rng_state()
