"""What the dissertation asks of a calibration method, measured on fitted maps: input range, monotonicity, asymmetry."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl

from sureness.calibration import CalibrationSet, Calibrator
from sureness.errors import SurenessWarning
from sureness.numerics import logit
from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.grid import DATA, MODELS, needs_recommender, opened, threshold_of, with_recipe
from sureness_reproduction.calibration.maps import COUNTING, PARAMETRIC, fit
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.own import is_own
from sureness_reproduction.study import QUICK_AND_FULL, Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

_STRETCH = 10.0
_SAME = 1e-3  # probabilities closer than this are the same map
_STRAIGHT = 0.01  # log-odds that leave a straight line by less than this share of their rise are straight
_GRID = 1_000


@work(needs=needs_recommender, cost=2)
def desiderata_met(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Whether a map takes stretched scores alike and takes every score, never falls, and has bent log-odds."""
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    log, pairs = (None, sets.negatives(3)) if is_own(data) else (bench.training_log(data), sets.AS_LOGGED)
    built = sets.set_of(pairs, source, split, seed=seed, log=log, threshold=threshold_of(data))
    wide = built.map_scores(lambda scores: scores * _STRETCH)
    rows = [
        {"method": method, "desideratum": name, "metric": "met", "value": value}
        for method in methods
        for name, value in _met(built, wide, method, data).items()
    ]
    return {"numbers": pl.DataFrame(rows, schema_overrides={"value": pl.Float64})}


def _met(built: CalibrationSet, wide: CalibrationSet, method: str, data: str) -> dict[str, float | None]:
    risk = "" if method in COUNTING or is_own(method) else "naive"
    calibrator, stretched = fit(built, method, risk, data)[0], fit(wide, method, risk, data)[0]
    if calibrator is None or stretched is None:
        return dict.fromkeys(("Input range", "Monotonicity", "Asymmetricity"))
    grid = np.linspace(*calibrator.score_range_, _GRID)
    probability = calibrator.probability(grid)
    moved = float(np.quantile(np.abs(stretched.probability(grid * _STRETCH) - probability), 0.99))
    return {
        "Input range": float(moved < _SAME and _takes_everything(calibrator)),
        "Monotonicity": float(not (np.diff(probability) < -1e-12).any()),
        "Asymmetricity": float(bend(grid, probability) > _STRAIGHT),
    }


def bend(grid: FloatArray, probability: FloatArray) -> float:
    """How far the log-odds leave the straight line between their ends, as a share of their rise; 0 for a sigmoid.

    Examples
    --------
    >>> grid = np.linspace(-2, 2, 5)
    >>> round(bend(grid, 1 / (1 + np.exp(-grid))), 9), bend(grid, 1 / (1 + np.exp(-np.exp(grid)))) > 0.1
    (0.0, True)
    """
    z = logit(np.clip(probability, 1e-6, 1 - 1e-6))
    rise = float(z.max() - z.min())
    if rise < 1e-9:
        return 0.0
    line = z[0] + (z[-1] - z[0]) * (grid - grid[0]) / (grid[-1] - grid[0])
    return float(np.abs(z - line).max() / rise)


def _takes_everything(calibrator: Calibrator) -> bool:
    """Whether scores far outside what was fitted still get probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)  # that they lie far outside is the point
        far = calibrator.probability(np.array([-1e6, 0.0, 1e6]))
    return bool(np.isfinite(far).all() and (far >= 0).all() and (far <= 1).all())


STUDIES = (
    Study(
        name="desiderata", number="table-2.1", title="What each method meets, measured", measure=desiderata_met,
        settings=with_recipe, published="desiderata", average=("model",), columns=("desideratum",), digits=2,
        grid={"data": DATA, "model": MODELS, "methods": [[*COUNTING, *PARAMETRIC]], "seed": QUICK_AND_FULL},
        note="The share of fits that meet it / 1 where the dissertation says that the method does. Input range: "
        "probabilities move by less than 0.001 when all scores are stretched tenfold. Monotonicity: the map never "
        "falls. Asymmetricity: the log-odds leave a straight line by more than 1% of their rise.",
    ),
)  # fmt: skip
