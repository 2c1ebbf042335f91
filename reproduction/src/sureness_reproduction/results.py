"""What a study found: the tables of its finished cells as one, means over seeds, and its claims tested, after Holm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from sureness.metrics import Difference, Interval, paired_difference
from sureness.numerics import holm
from sureness.tables import scan_table
from sureness_reproduction.cells import Cell, CellStore
from sureness_reproduction.study import Asked, Claim, Study

SUMMARY = ("value", "deviation", "low", "high", "seeds")
CONTRAST = ("claim", "claimed", "metric", "first", "second", "value", "against", "difference", "low", "high", "p",
            "sign", "seeds", "p_holm", "holds")  # fmt: skip
_NUMBERS = ("value", "deviation", "low", "high", "against", "difference", "p", "p_holm")
_LEVEL = 0.05


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

    def table(self, name: str) -> pl.DataFrame:
        """A table of all finished cells, with the point of each in front; seeds and names only, no groups."""
        parts = [pl.DataFrame()]
        for point, cell in self.finished:
            if (found := self.store.find(cell)).has(name):
                table = found.table(name)
                plain = {key: pl.lit(value) for key, value in point.items() if isinstance(value, str | int | float)}
                parts.append(table.select(**plain | {column: pl.col(column) for column in table.columns}))
        return pl.concat(parts, how="diagonal_relaxed")

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
        """Mean, deviation and number of seeds of every number; with draws also a 95% interval, for users and seeds."""
        seeds = self.numbers
        if seeds.is_empty():
            return pl.DataFrame()
        if self.study.average:
            seeds = seeds.group_by(*self.keys, "seed", maintain_order=True).agg(pl.col("value").mean())
        means = seeds.group_by(self.keys, maintain_order=True).agg(
            pl.col("value").mean(), deviation=pl.col("value").std(), low=pl.lit(None, pl.Float64),
            high=pl.lit(None, pl.Float64), seeds=pl.col("value").count(),
        )  # fmt: skip
        if self.study.samples == "users" or self.study.average or self.samples.is_empty():
            return means
        samples = self.samples.with_columns(pl.col("value").cast(pl.Float64))
        draws = {key: _over_seeds(part) for key, part in samples.group_by(self.keys)}
        both = zip(means["value"], map(draws.get, means.select(self.keys).iter_rows()), strict=True)
        ends = [None if value is None or drawn is None else basic_interval(value, drawn) for value, drawn in both]
        return means.with_columns(
            pl.Series(name, [getattr(end, name, None) for end in ends], pl.Float64) for name in ("low", "high")
        )

    @cached_property
    def contrasts(self) -> pl.DataFrame:
        """Every claim in every place: both sides, their difference, its interval and p-value, and whether it holds."""
        rows = [row for claim in self.study.claims for row in _contrasts_of(self, claim)]
        return with_verdicts(pl.DataFrame(rows, infer_schema_length=None).fill_nan(None))


def shown_rows(study: Study, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table that the study shows."""
    if study.metrics and "metric" in table.columns:
        table = table.filter(pl.col("metric").is_in(list(study.metrics)))
    return table.filter(matches(study.where, table.columns)) if table.height else table


def matches(choice: Any, columns: Sequence[str]) -> pl.Expr:
    """Whether a row belongs to a choice, or to one of several; keys that the table does not have do not matter.

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["bd", "cd", "rd"]})
    >>> table.filter(matches({"method": ["bd", "rd"], "x": 1}, table.columns)).rows()
    [('bd',), ('rd',)]
    """
    if isinstance(choice, list | tuple):
        return pl.any_horizontal([matches(each, columns) for each in choice])
    wanted = {key: value if isinstance(value, list | tuple) else [value] for key, value in choice.items()}
    return pl.all_horizontal(pl.lit(True), *(pl.col(key).is_in(wanted[key]) for key in wanted if key in columns))


# --- contrasts --------------------------------------------------------------------------------------------------------


def _contrasts_of(results: Results, claim: Claim) -> Iterator[dict[str, Any]]:
    """The rows of a claim, one for each place where both of its sides are."""
    if results.numbers.is_empty():
        return
    part = results.numbers.filter(metric=claim.metric).drop_nulls("value")
    per = [name for name in claim.per if name in part.columns]
    keys = [name for name in results.keys if name not in (*per, "metric", "seed")]
    fixed = isinstance(claim.second, int | float)
    for place, rows in part.group_by(per, maintain_order=True) if per else [((), part)]:
        where = dict(zip(per, place, strict=True))
        first = best(rows, claim.first, keys, claim.sign)
        second = ({}, claim.second) if fixed else best(rows, claim.second, keys, claim.sign)
        if first is None or second is None or first == second:
            continue
        told = [key for key in keys if (key in claim.first if fixed else first[0][key] != second[0][key])]
        names = [" ".join(str(row[key]) for key in told if row.get(key, "") != "") for row, _ in (first, second)]
        seeds = rows.filter(matches(first[0], rows.columns))["value"]
        about = where | {"metric": claim.metric}
        found = (
            paired_difference(seeds - second[1]) if fixed else _difference(results, rows, about, first[0], second[0])
        )
        if found is None:
            continue
        yield where | {
            "claim": claim.text, "claimed": claim.claimed, "metric": claim.metric, "first": names[0],
            "second": names[1], "value": first[1], "against": second[1], "difference": found.value, "low": found.low,
            "high": found.high, "p": found.p_value, "sign": claim.sign, "seeds": len(seeds),
        }  # fmt: skip


def best(rows: pl.DataFrame, choice: Any, keys: Sequence[str], sign: str) -> tuple[dict[str, Any], float] | None:
    """The row with the best mean over seeds among those of a choice that have as many seeds as any of them."""
    there = rows.filter(matches(choice, rows.columns))
    means = there.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), seeds=pl.len())
    whole = means.filter(pl.col("seeds") == pl.col("seeds").max())
    for row in whole.sort("value", descending=sign == "+", maintain_order=True).iter_rows(named=True):
        return {key: row[key] for key in keys}, row["value"]
    return None


def _difference(
    results: Results, rows: pl.DataFrame, where: Mapping[str, Any], *sides: Mapping[str, Any]
) -> Difference | None:
    """The difference of two rows by samples; of a study without samples, over seeds. None if they share no unit."""
    samples = results.samples
    if samples.is_empty():
        samples = rows.rename({"seed": "unit"}).with_columns(seed=pl.lit(0))
    gains = gains_of(samples.filter(matches(where, samples.columns)), sides, "unit", "seed")
    if gains.is_empty():
        return None
    if results.study.samples == "users":
        of_units = gains.group_by("unit", maintain_order=True).agg(pl.col("value").mean())  # seeds share users
        return paired_difference(of_units["value"])
    value: Any = gains_of(rows, sides, "seed")["value"].mean()
    return resampled_difference(value, _over_seeds(gains))


def gains_of(table: pl.DataFrame, sides: Sequence[Mapping[str, Any]], *units: str) -> pl.DataFrame:
    """How much larger the first side is than the second for each unit that has both."""
    first, second = (table.filter(matches(side, table.columns)) for side in sides)
    both = first.join(second, on=units, suffix="_other")
    return both.select(*units, value=pl.col("value") - pl.col("value_other"))


def _over_seeds(draws: pl.DataFrame) -> NDArray[Any]:
    """Means over drawn seeds of every draw of users: both kinds of chance in one."""
    resampled = draws.sort("seed", "unit")["value"].to_numpy().reshape(draws["seed"].n_unique(), -1)
    n_seeds, n_draws = resampled.shape
    chosen = np.random.default_rng(1).integers(n_seeds, size=(n_draws, n_seeds))
    return np.asarray(resampled[chosen, np.arange(n_draws)[:, None]].mean(axis=1))


def with_verdicts(contrasts: pl.DataFrame) -> pl.DataFrame:
    """Contrasts with their p-values after Holm, and whether each holds: "yes", "no", or "open" where it may be chance.

    One seed says nothing about others and decides nothing. A row without a p-value keeps the verdict that it has.

    Examples
    --------
    >>> rows = [(0.1, 0.01, "+", 2), (-0.1, 0.01, "+", 2), (0.1, 0.2, "+", 2), (0.1, 0.01, "+", 1), (0.1, None, "+", 2)]
    >>> table = with_verdicts(pl.DataFrame(rows, schema=["difference", "p", "sign", "seeds"], orient="row"))
    >>> table["p_holm"].to_list(), table["holds"].to_list()
    ([0.04, 0.04, 0.2, 0.04, None], ['yes', 'no', 'open', 'open', 'open'])
    """
    if contrasts.is_empty():
        return contrasts
    p = contrasts["p"].cast(pl.Float64)
    corrected = np.full(len(p), np.nan)
    corrected[p.is_not_null().to_numpy()] = holm(p.drop_nulls().to_numpy())
    as_claimed = pl.when((pl.col("difference") > 0) == (pl.col("sign") == "+")).then(pl.lit("yes"))
    verdict = (
        pl.when(pl.col("p_holm").is_null()).then(pl.col("holds") if "holds" in contrasts.columns else pl.lit("open"))
        .when((pl.col("p_holm") >= _LEVEL) | (pl.col("seeds").fill_null(0) < 2)).then(pl.lit("open"))
        .otherwise(as_claimed.otherwise(pl.lit("no")))
    )  # fmt: skip
    return contrasts.with_columns(p_holm=pl.Series(corrected, nan_to_null=True)).with_columns(holds=verdict)


# --- results in files -------------------------------------------------------------------------------------------------


def read_csv(path: Path) -> pl.DataFrame:
    """A summary or its contrasts, as a run writes them."""
    kinds = dict.fromkeys(_NUMBERS, pl.Float64) | {"seeds": pl.Int64}
    table = scan_table(path).collect().with_columns(pl.col(pl.String).fill_null(""))
    casts = [pl.col(name).replace("", None).cast(kinds[name]) for name in table.columns if name in kinds]
    flags = [pl.col(name).cast(pl.String) == "true" for name in table.columns if name == "claimed"]
    return table.with_columns(*casts, *flags)


def merged(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Two summaries, or two tables of contrasts, as one: rows of `new` take the place of those with the same keys.

    The keys of a contrast are its claim, metric and place; Holm's correction and the verdicts are those of all rows.

    Examples
    --------
    >>> two = pl.DataFrame({"model": ["bpr", "cml"], "value": [0.1, 0.2], "seeds": [3, 3]})
    >>> one = pl.DataFrame({"model": ["bpr", "ubpr"], "value": [0.4, 0.5], "seeds": [5, 5]})
    >>> merged(two, one).rows()
    [('bpr', 0.4, 5), ('cml', 0.2, 3), ('ubpr', 0.5, 5)]
    """
    if new.is_empty():
        return old
    uncounted = pl.DataFrame(schema={"seeds": pl.Int64})  # the first files have no seeds
    both = pl.concat([old, new, uncounted], how="diagonal_relaxed").with_columns(pl.col(pl.String).fill_null(""))
    keys = [name for name in both.columns if name in ("claim", "metric") or name not in (*SUMMARY, *CONTRAST)]
    is_new = pl.col("_row") >= old.height
    placed = both.with_row_index("_row").sort(pl.col("_row").min().over(keys), maintain_order=True)
    rows = placed.filter(is_new == is_new.max().over(keys)).drop("_row")
    return with_verdicts(rows) if "p" in rows.columns else rows


_CONFIDENCE = 0.95  # of the intervals
_NO_CHANCE = 1e-12  # standard error of a difference that is the same in every resample


def basic_interval(value: float, resampled: NDArray[Any]) -> Interval:
    """The quantiles of the resamples, reflected at the value; not negative, and widened to contain the value."""
    low, high = 2 * value - np.quantile(resampled, [(1 + _CONFIDENCE) / 2, (1 - _CONFIDENCE) / 2])
    return Interval(value, max(0.0, min(float(low), value)), max(float(high), value), _CONFIDENCE)


def resampled_difference(value: float, resampled: NDArray[Any]) -> Difference:
    """A difference of two metrics on the same resampled users, with its basic bootstrap interval.

    The p-value is that of a normal distribution with the spread of the resamples: shares of a few hundred resamples are
    too coarse where many p-values are corrected.
    """
    reflected = 2 * value - resampled
    low, high = np.quantile(reflected, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    error = float(reflected.std(ddof=1))
    if error <= _NO_CHANCE:
        return Difference(value, error, float(low), float(high), float(abs(value) <= _NO_CHANCE))
    in_errors = float(abs(reflected.mean()) / error)
    return Difference(value, error, float(low), float(high), float(2 * ndtr(-in_errors)))
