"""A small seeded search over the grids of Kweon (2024), compared on users held out for selection."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from sureness import Progress, silent
from sureness.errors import DivergedError, SettingError
from sureness.lists import Lists
from sureness.metrics import Utility
from sureness.models import Setting, Space
from sureness_reproduction.truncation.policies import AttnCut, CutPolicy, MtCut
from sureness_reproduction.truncation.training import CutTraining

GRID: Space = {
    "learning_rate": (1e-2, 1e-3, 1e-4),
    "weight_decay": (0.0, 1e-1, 1e-3, 1e-5, 1e-7, 1e-9),
    "layers": (1, 2),
    "heads": (1, 2),
    "tau": (0.1, 0.3, 0.95, 3.0),
}
"""What the search chooses from. Kweon (2024) does not say which tau was tried; its public code has 0.95."""


class CutTuning(NamedTuple):
    """What was tried and what was best."""

    policy: CutPolicy  # the best one, fitted
    trials: pl.DataFrame  # trial, utility, its epoch, epochs, seconds, settings as JSON; the best first


def tune_cut(
    kind: str,
    lists: Lists,
    utility: str | Utility = "f1",
    trials: int = 8,
    *,
    seed: int = 0,
    grid: Space | None = None,
    halving: int = 0,
    progress: Progress = silent,
    **settings: Setting,
) -> CutTuning:
    """Try the defaults, then settings drawn from the grid, and keep those with the best utility for held-out users.

    Parameters
    ----------
    kind : {"attn-cut", "mt-cut"}
    lists : Lists
        With scores and labels, as for `fit`; every trial holds out the same users.
    utility : str or Utility
    trials : int
        At most; fewer if the grid is smaller.
    seed : int
        Of the draw and of every trial.
    grid : mapping from setting to values, optional
        By default `GRID`.
    halving : int
        After this many epochs only the better half of the trials goes on, again after twice as many, and so on; with 0
        every trial is trained to its end. Twelve trials then cost as many epochs as three or four.
    progress : Progress, optional
    **settings
        Settings that are not searched.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = -np.sort(-rng.normal(size=(60, 6)))
    >>> lists = Lists.of(scores=scores, hits=rng.random((60, 6)) < 1 / (1 + np.exp(-scores)))
    >>> found = tune_cut("attn-cut", lists, "f1", trials=2, n_factors=4, epochs=2)
    >>> found.trials.height, found.policy.best_utility_ == found.trials["utility"][0]
    (2, True)
    """
    if trials < 1:
        raise SettingError(f"trials must be at least 1, got {trials}")
    cut, fixed = cut_type(kind), cast(dict[str, Any], settings | {"seed": seed})
    searched = {name: values for name, values in (grid or GRID).items() if name not in fixed}
    drawn = _drawn(cut, searched, trials, seed)
    policies = [cut(utility, **fixed, **some) for some in drawn]
    found = _trained(policies, lists, halving, progress)
    if not found:
        raise DivergedError(
            f"training diverged in every trial, {len(drawn)} in all; give a grid with lower learning rates"
        )
    rows = [
        {"trial": place + 1, **_row(found.get(place)), "settings": json.dumps(some)} for place, some in enumerate(drawn)
    ]
    best = max(sorted(found), key=lambda place: found[place].best_utility)
    table = pl.DataFrame(rows).sort("utility", descending=True, maintain_order=True)
    return CutTuning(policies[best].end(found[best]), table)


def _trained(policies: list[CutPolicy], lists: Lists, halving: int, progress: Progress) -> dict[int, CutTraining]:
    """The trainings that did not diverge by the place of their policy, each as far as it was worth while."""
    found = {place: policy.begin(lists) for place, policy in enumerate(policies)}
    rungs, done = _rungs(len(policies), policies[0].epochs, halving), 0
    left = list(found)
    for until, count in rungs:
        left = sorted(sorted(left, key=lambda place: -found[place].best_utility)[:count])
        for place in left:
            name = f"trial {place + 1} of {len(policies)}"
            try:
                found[place].run(until, _part_of(progress, done, sum(count for _, count in rungs), name))
            except DivergedError:
                del found[place]
            done += 1
        left = [place for place in left if place in found]
    return found


def _part_of(progress: Progress, number: int, count: int, name: str) -> Progress:
    """Progress of one of `count` equal parts, shown as progress of the whole."""
    return lambda step, done, total: progress(f"{name}: {step}", number * total + done, count * total)


def _rungs(trials: int, epochs: int, halving: int) -> list[tuple[int, int]]:
    """Epochs, and how many trials go on to them.

    Examples
    --------
    >>> _rungs(12, 30, 2), _rungs(12, 30, 0)
    ([(2, 12), (4, 6), (8, 3), (16, 2), (30, 1)], [(30, 12)])
    """
    found, until, left = [], halving or epochs, trials
    while until < epochs and left > 1:
        found.append((until, left))
        until, left = 2 * until, math.ceil(left / 2)
    return [*found, (epochs, left)]


def cut_type(kind: str) -> type[CutPolicy]:
    """The class of a learned policy by its registered name.

    Examples
    --------
    >>> cut_type("mt-cut").__name__
    'MtCut'
    """
    known: dict[str, type[CutPolicy]] = {"attn-cut": AttnCut, "mt-cut": MtCut}
    if kind not in known:
        raise SettingError(f"kind must be attn-cut or mt-cut, got {kind!r}")
    return known[kind]


def _row(training: CutTraining | None) -> dict[str, Any]:
    if training is None:
        return {"utility": -math.inf, "epoch": 0, "epochs": 0, "seconds": 0.0}  # diverged: worse than any utility
    seconds = sum(epoch["seconds"] for epoch in training.history)
    epochs = {"epoch": training.best_epoch, "epochs": len(training.history)}
    return {"utility": training.best_utility, **epochs, "seconds": seconds}


def _drawn(cut: type[CutPolicy], grid: Space, trials: int, seed: int) -> list[dict[str, Any]]:
    """The defaults, then other points at random: every value of a setting about equally often, then what is left."""
    rng, defaults = np.random.default_rng(seed), cut().get_params()
    columns = [
        [values[place] for place in rng.permutation(np.resize(np.arange(len(values)), trials))]
        for values in grid.values()
    ]
    every = list(product(*grid.values()))
    rest = (every[place] for place in rng.permutation(len(every)))
    points = [tuple(defaults[name] for name in grid), *zip(*columns, strict=True), *rest]
    return [dict(zip(grid, values, strict=True)) for values in list(dict.fromkeys(points))[:trials]]
