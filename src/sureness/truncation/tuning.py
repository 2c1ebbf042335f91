"""A small seeded search over the grids of Kweon (2024), compared on users held out for selection."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, part_of, silent
from sureness._registry import find
from sureness._wording import counted
from sureness.errors import DivergedError, SettingError
from sureness.list_size.lists import Lists
from sureness.metrics.utility import Utility
from sureness.models.needs import need_torch
from sureness.models.settings import Setting, Space
from sureness.truncation.base import CutPolicy

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
    trials: pl.DataFrame  # trial, utility, epoch, seconds, settings as JSON; the best first

    def __repr__(self) -> str:
        return fields_repr(self)


def tune_cut(
    kind: str,
    lists: Lists,
    utility: str | Utility = "f1",
    trials: int = 8,
    *,
    seed: int = 0,
    grid: Space | None = None,
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
    need_torch(f"tuning {cut.__name__}")
    best, rows = None, []
    drawn = _drawn(cut, {name: values for name, values in (grid or GRID).items() if name not in fixed}, trials, seed)
    for number, some in enumerate(drawn, start=1):
        policy = cut(utility, **fixed, **some)
        report = part_of(progress, number - 1, len(drawn), f"trial {number} of {len(drawn)}")
        row = {"trial": number, **_tried(policy, lists, report), "settings": json.dumps(some)}
        rows.append(row)
        if math.isfinite(row["utility"]) and (best is None or policy.best_utility_ > best.best_utility_):
            best = policy
    if best is None:
        raise DivergedError(
            f"training diverged in all {counted(len(rows), 'trial')}; give a grid with lower learning rates"
        )
    return CutTuning(best, pl.DataFrame(rows).sort("utility", descending=True, maintain_order=True))


def cut_type(kind: str) -> type[CutPolicy]:
    """The class of a learned policy by its registered name.

    Examples
    --------
    >>> cut_type("mt-cut").__name__
    'MtCut'
    """
    found = find("policy", kind)
    if not (isinstance(found, type) and issubclass(found, CutPolicy)):
        raise SettingError(f"kind must be attn-cut, mt-cut or another registered CutPolicy, got {kind!r}")
    return found


def _tried(policy: CutPolicy, lists: Lists, progress: Progress) -> dict[str, Any]:
    try:
        policy.fit(lists, progress=progress)
    except DivergedError:
        return {"utility": -math.inf, "epoch": 0, "seconds": 0.0}  # worse than any utility; the search goes on
    seconds = float(policy.history_["seconds"].sum())
    return {"utility": policy.best_utility_, "epoch": policy.best_epoch_, "seconds": seconds}


def _drawn(cut: type[CutPolicy], grid: Space, trials: int, seed: int) -> list[dict[str, Any]]:
    """The defaults, then other points of the grid in random order."""
    defaults = cut().get_params()
    first = {name: defaults[name] for name in grid}
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    others = [points[place] for place in np.random.default_rng(seed).permutation(len(points)) if points[place] != first]
    return [first, *others][:trials]
