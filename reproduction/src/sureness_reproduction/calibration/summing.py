"""Judgements of several seeds as one number with its interval, and differences of two methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness.metrics import basic_interval
from sureness_reproduction.calibration.fitting import maps_cell
from sureness_reproduction.calibration.grid import bases
from sureness_reproduction.calibration.judging import judged_cell
from sureness_reproduction.experiment import Finder, Plan
from sureness_reproduction.types import FloatArray

PLACE = ["data", "model"]
KEYS = ["data", "model", "method", "risk"]


def judgements(plan: Plan, find: Finder, pairs: str) -> pl.DataFrame:
    """What was judged on a calibration set: one row for each model, seed, method, risk and part of the test."""
    return pl.concat(_named(find(judged_cell(base, pairs)).table("judged"), base) for base in bases(plan))


def problems(plan: Plan, find: Finder, pairs: str) -> pl.DataFrame:
    """Which maps could not be fitted, and why; one row for each model, seed, method and risk."""
    return pl.concat(_named(find(maps_cell(base, pairs)).table("maps"), base) for base in bases(plan)).drop_nulls(
        "problem"
    )


def _named(table: pl.DataFrame, base: dict[str, object]) -> pl.DataFrame:
    return table.select(*(pl.lit(base[name]).alias(name) for name in (*PLACE, "seed")), pl.all())


def summary(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Mean over seeds, deviation, and an interval for draws of users and seeds; a row for each of `KEYS`."""
    found = []
    for key, group in rows.sort("seed").group_by(KEYS, maintain_order=True):
        values = group[metric].to_numpy()
        interval = basic_interval(float(values.mean()), over_seeds(_resampled(group, metric)), 0.95)
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        numbers = (interval.value, deviation, interval.low, interval.high, len(values))
        found.append(dict(zip(KEYS, key, strict=True)) | dict(zip(_NUMBERS, numbers, strict=True)))
    return pl.DataFrame(found, infer_schema_length=None)


_NUMBERS = ("value", "deviation", "low", "high", "seeds")


def over_seeds(resampled: FloatArray) -> FloatArray:
    """Means over drawn seeds, for values of shape (seeds, draws of users): both kinds of chance in one.

    Examples
    --------
    >>> over_seeds(np.array([[0.1, 0.3]]))
    array([0.1, 0.3])
    """
    n_seeds, n_draws = resampled.shape
    drawn = np.random.default_rng(1).integers(n_seeds, size=(n_draws, n_seeds))
    return np.asarray(resampled[drawn, np.arange(n_draws)[:, None]].mean(axis=1))


def _resampled(group: pl.DataFrame, metric: str) -> FloatArray:
    return group[f"{metric}_resampled"].explode().to_numpy().astype(np.float64).reshape(group.height, -1)


def mean_of(rows: pl.DataFrame, column: str) -> float:
    """The mean of a column, NaN of none."""
    return float(rows[column].mean()) if rows.height else float("nan")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Difference:
    """How much larger a metric is for one method than for another."""

    value: float
    low: float
    high: float

    @property
    def is_told(self) -> bool:
        """Whether chance is excluded, at 5%."""
        return self.low > 0 or self.high < 0

    @property
    def side(self) -> str:
        """What the first is against the second, in words."""
        return ("lower" if self.value < 0 else "higher") + ("" if self.is_told else ", within chance")

    def __str__(self) -> str:
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def difference(rows: pl.DataFrame, first: tuple[str, str], second: tuple[str, str], metric: str = "ece") -> Difference:
    """One method and risk less another of the same data and model; users and seeds are drawn for both alike."""
    one, other = (rows.filter(method=method, risk=risk).sort("seed") for method, risk in (first, second))
    common = sorted(set(one["seed"]) & set(other["seed"]))
    one, other = (table.filter(pl.col("seed").is_in(common)) for table in (one, other))
    value = float((one[metric] - other[metric]).mean())  # type: ignore[arg-type]
    drawn = over_seeds(_resampled(one, metric) - _resampled(other, metric))
    low, high = 2 * value - np.quantile(drawn, [0.975, 0.025])
    return Difference(value, float(low), float(high))
