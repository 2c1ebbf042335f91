"""What a study found: the tables of its finished cells as one, means over seeds, and its claims tested, after Holm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm, ttest_1samp
from scipy.stats import t as student

from sureness.data import scan_table
from sureness.metrics import basic_interval
from sureness_reproduction.cells import Cell, CellStore
from sureness_reproduction.study import Asked, Claim, Study
from sureness_reproduction.types import FloatArray

SUMMARY = ("value", "deviation", "low", "high", "seeds")
CONTRAST = ("claim", "claimed", "metric", "first", "second", "value", "against", "difference", "low", "high", "p",
            "sign", "seeds", "p_holm", "holds")  # fmt: skip
_NUMBERS = ("value", "deviation", "low", "high", "against", "difference", "p", "p_holm")
_LEVEL = 0.05
_NO_CHANCE = 1e-12  # of a difference that is the same in every draw


@dataclass(frozen=True, eq=False)
class Results:
    """The finished cells of a study; those that are not there are counted, not computed."""

    study: Study
    asked: Asked
    store: CellStore

    @cached_property
    def points(self) -> list[tuple[dict[str, Any], Cell]]:
        """The points whose data are there."""
        return [point for point in self.study.points(self.asked) if self.store.shelf.has(point[0]["data"])]

    @cached_property
    def absent(self) -> list[str]:
        """Data sets of the grid that are not in the data folder."""
        return [name for name in self.study.axes(self.asked)["data"] if not self.store.shelf.has(name)]

    @cached_property
    def finished(self) -> list[tuple[dict[str, Any], Cell]]:
        """The points whose cells are finished."""
        return [point for point in self.points if self.store.has(point[1])]

    @property
    def missing(self) -> int:
        """How many cells are not finished."""
        return len(self.points) - len(self.finished)

    def table(self, name: str) -> pl.DataFrame:
        """A table of all finished cells, with the point of each in front; seeds and names only, no groups."""
        parts = []
        for point, cell in self.finished:
            if (found := self.store.find(cell)).has(name):
                plain = {key: pl.lit(value) for key, value in point.items() if isinstance(value, str | int | float)}
                table = found.table(name)
                parts.append(table.select(**plain, **{column: pl.col(column) for column in table.columns}))
        return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()

    @cached_property
    def samples(self) -> pl.DataFrame:
        """One row for each user (or draw) and number; empty where the study has none."""
        return shown_rows(self.study, self.table("samples"))

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """One row for each seed and number: keys, seed, metric, value."""
        given = shown_rows(self.study, self.table(self.study.numbers))
        if given.height or self.samples.is_empty():
            return given
        keys = [name for name in self.samples.columns if name not in ("unit", "value")]
        return self.samples.group_by(keys, maintain_order=True).agg(pl.col("value").mean())

    @property
    def keys(self) -> list[str]:
        """The columns that tell numbers apart; the seed only where the study shows every seed."""
        apart = ("value", *self.study.average, *(() if "seed" in self.study.rows else ("seed",)))
        return [name for name in self.numbers.columns if name not in apart]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Mean, deviation and number of seeds of every number; with draws also a 95% interval."""
        if self.numbers.is_empty():
            return pl.DataFrame()
        seeds = self.numbers
        if self.study.average:
            seeds = seeds.group_by(*self.keys, "seed", maintain_order=True).agg(pl.col("value").mean())
        means = seeds.group_by(self.keys, maintain_order=True).agg(
            pl.col("value").mean(), deviation=pl.col("value").std(), low=pl.lit(None, pl.Float64),
            high=pl.lit(None, pl.Float64), seeds=pl.col("value").count(),
        )  # fmt: skip
        drawn = self.study.samples == "draws" and not self.study.average and self.samples.height
        return self._with_intervals(means) if drawn else means

    def _with_intervals(self, means: pl.DataFrame) -> pl.DataFrame:
        """Intervals for draws of users and seeds, corrected for the bias that resampling shows."""
        sorted_draws = self.samples.sort("seed", "unit").group_by(self.keys, maintain_order=True)
        drawn = sorted_draws.agg(draws="value", rows=pl.col("seed").n_unique())
        both = means.join(drawn, on=self.keys, how="left", maintain_order="left")
        ends: list[tuple[float | None, float | None]] = []
        for value, draws, n_seeds in both.select("value", "draws", "rows").iter_rows():
            if value is None or draws is None:
                ends.append((None, None))
            else:
                interval = basic_interval(value, over_seeds(pl.Series(draws).to_numpy().reshape(n_seeds, -1)), 0.95)
                ends.append((interval.low, interval.high))
        low, high = zip(*ends, strict=True)
        return means.with_columns(low=pl.Series(low, dtype=pl.Float64), high=pl.Series(high, dtype=pl.Float64))

    @cached_property
    def contrasts(self) -> pl.DataFrame:
        """Every claim in every place: both sides, their difference, its interval and p-value, and whether it holds."""
        rows = [row for claim in self.study.claims for row in _contrasts_of(self, claim)]
        if not rows:
            return pl.DataFrame()
        table = pl.DataFrame(rows, infer_schema_length=None)
        corrected = holm(table["p"].to_list())
        decided = zip(table["difference"], corrected, table["sign"], table["seeds"], strict=True)
        held = pl.Series([verdict(*row) for row in decided])
        return table.with_columns(p_holm=pl.Series(corrected, dtype=pl.Float64), holds=held)


def shown_rows(study: Study, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table that the study shows."""
    if study.metrics and "metric" in table.columns:
        table = table.filter(pl.col("metric").is_in(list(study.metrics)))
    return table.filter(matches(study.where, table.columns)) if table.height else table


def read_csv(path: Path) -> pl.DataFrame:
    """A summary or its contrasts, as a run writes them."""
    kinds = dict.fromkeys(_NUMBERS, pl.Float64) | {"seeds": pl.Int64}
    table = scan_table(path).collect().with_columns(pl.col(pl.String).fill_null(""))
    casts = [pl.col(name).replace("", None).cast(kinds[name]) for name in table.columns if name in kinds]
    flags = [pl.col(name).cast(pl.String) == "true" for name in table.columns if name == "claimed"]
    return table.with_columns(*casts, *flags)


def matches(choice: Any, columns: Sequence[str]) -> pl.Expr:
    """Whether a row belongs to a choice, or to one of several; keys that the table does not have do not matter.

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["bd", "cd", "rd"]})
    >>> table.filter(matches({"method": ("bd", "rd"), "x": 1}, table.columns)).rows()
    [('bd',), ('rd',)]
    """
    if isinstance(choice, tuple):
        return pl.any_horizontal([matches(each, columns) for each in choice])
    wanted = {key: value for key, value in choice.items() if key in columns}
    each = [pl.col(key).is_in(list(value) if isinstance(value, tuple) else [value]) for key, value in wanted.items()]
    return pl.all_horizontal([pl.lit(True), *each])


# --- contrasts --------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """How much larger one mean is than another: with a 95% interval and the p-value of no difference."""

    value: float
    low: float | None
    high: float | None
    p: float | None


def _contrasts_of(results: Results, claim: Claim) -> list[dict[str, Any]]:
    """The rows of a claim, one for each place where both of its sides are."""
    if results.numbers.is_empty():
        return []
    part = results.numbers.filter(metric=claim.metric).drop_nulls("value")
    per = [name for name in claim.per if name in part.columns]
    keys = [name for name in results.keys if name not in (*per, "metric", "seed")]
    found = []
    for place, rows in part.group_by(per, maintain_order=True) if per else [((), part)]:
        where = dict(zip(per, place, strict=True))
        row = _contrast(results, claim, rows, keys, where)
        found += [] if row is None else [where | row]
    return found


def _contrast(
    results: Results, claim: Claim, rows: pl.DataFrame, keys: Sequence[str], where: dict[str, Any]
) -> dict[str, Any] | None:
    up = claim.sign == "+"
    first = best(rows, claim.first, keys, up)
    if first is None:
        return None
    seeds = rows.filter(matches(first[0], rows.columns))["value"].to_numpy()
    if isinstance(claim.second, float):
        against, names = claim.second, [_name({key: first[0][key] for key in keys if key in claim.first}), ""]
        apart = of_units(seeds - against)
    else:
        second = best(rows, claim.second, keys, up)
        if second is None or first == second:
            return None
        against, differing = second[1], [key for key in keys if first[0][key] != second[0][key]]
        names = [_name({key: side[0][key] for key in differing}) for side in (first, second)]
        apart = _apart(results, rows, where | {"metric": claim.metric}, first[0], second[0])
    about = (claim.text, claim.claimed, claim.metric, *names, first[1], against, *apart, claim.sign, len(seeds))
    return dict(zip(CONTRAST, about, strict=False))  # the last two are known when all p-values are


def _name(keys: dict[str, Any]) -> str:
    return " ".join(str(value) for value in keys.values() if value != "")


def _apart(results: Results, rows: pl.DataFrame, where: dict[str, Any], *sides: dict[str, Any]) -> Difference:
    """The difference of two rows by samples; of a study without samples, over seeds."""
    samples = results.samples
    if samples.is_empty():
        samples = rows.rename({"seed": "unit"}).with_columns(seed=pl.lit(0))
    part = samples.filter(matches(where, samples.columns))
    first, second = (part.filter(matches(side, part.columns)) for side in sides)
    if results.study.samples == "users":
        return paired(first, second)
    one, other = (rows.filter(matches(side, rows.columns)).select("seed", "value") for side in sides)
    both = one.join(other, on="seed", suffix="_other")
    return drawn(float((both["value"] - both["value_other"]).mean()), first, second)  # type: ignore[arg-type]


def best(rows: pl.DataFrame, choice: Any, keys: Sequence[str], up: bool) -> tuple[dict[str, Any], float] | None:
    """The row with the best mean over seeds among those of a choice that have as many seeds as any of them."""
    there = rows.filter(matches(choice, rows.columns))
    means = there.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), seeds=pl.len())
    whole = means.filter(pl.col("seeds") == pl.col("seeds").max()).sort("value", descending=up, maintain_order=True)
    if whole.is_empty():
        return None
    row = whole.row(0, named=True)
    return {key: row[key] for key in keys}, row["value"]


def paired(first: pl.DataFrame, second: pl.DataFrame) -> Difference:
    """Paired t-test over users; a user's differences are averaged over seeds first, since seeds share users."""
    both = first.join(second, on=["unit", "seed"], suffix="_other")
    gains = both.group_by("unit", maintain_order=True).agg(gain=(pl.col("value") - pl.col("value_other")).mean())
    return of_units(gains["gain"].to_numpy())


def of_units(gains: FloatArray) -> Difference:
    """The mean of differences with the t-interval and t-test; none of both with a single one."""
    mean = float(gains.mean()) if len(gains) else float("nan")
    if len(gains) < 2:
        return Difference(mean, None, None, None)
    if not np.ptp(gains):
        return Difference(mean, mean, mean, 0.0 if mean else 1.0)
    half = float(student.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)))
    return Difference(mean, mean - half, mean + half, float(ttest_1samp(gains, 0.0).pvalue))


def drawn(value: float, first: pl.DataFrame, second: pl.DataFrame) -> Difference:
    """The difference of two metrics on the same draws of users, over drawn seeds, with its basic bootstrap interval."""
    both = first.join(second, on=["unit", "seed"], suffix="_other").sort("seed", "unit")
    gains = (both["value"] - both["value_other"]).to_numpy().reshape(both["seed"].n_unique(), -1)
    reflected = 2 * value - over_seeds(gains)
    low, high = np.quantile(reflected, [0.025, 0.975])
    error = float(reflected.std(ddof=1))  # shares of 500 draws are too coarse for the correction of many p-values
    p = 2 * float(norm.sf(abs(reflected.mean()) / error)) if error > _NO_CHANCE else float(abs(value) <= _NO_CHANCE)
    return Difference(value, float(low), float(high), p)


def over_seeds(resampled: FloatArray) -> FloatArray:
    """Means over drawn seeds, for values of shape (seeds, draws of users): both kinds of chance in one."""
    n_seeds, n_draws = resampled.shape
    chosen = np.random.default_rng(1).integers(n_seeds, size=(n_draws, n_seeds))
    return np.asarray(resampled[chosen, np.arange(n_draws)[:, None]].mean(axis=1))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for their number; those that are missing stay so.

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        found[place] = largest
    return found


def verdict(difference: float, p: float | None, sign: str, seeds: int) -> str:
    """Whether a contrast has the claimed sign beyond chance; one seed says nothing about others and decides nothing.

    Examples
    --------
    >>> verdict(0.1, 0.01, "+", 2), verdict(-0.1, 0.01, "+", 2), verdict(0.1, 0.2, "+", 2), verdict(0.1, 0.01, "+", 1)
    ('yes', 'no', 'open', 'open')
    """
    if p is None or p >= _LEVEL or seeds < 2:
        return "open"
    return "yes" if (difference > 0) == (sign == "+") else "no"
