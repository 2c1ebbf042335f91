"""Contrasts of a study tested on paired samples, with the p-values of all of them corrected after Holm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm, ttest_1samp
from scipy.stats import t as student

from sureness_reproduction.types import FloatArray

if TYPE_CHECKING:
    from sureness_reproduction.results import Results
    from sureness_reproduction.study import Claim

LEVEL = 0.05
_NO_CHANCE = 1e-12  # of a difference that is the same in every draw
COLUMNS = (
    "claim", "claimed", "metric", "first", "second", "value", "against", "difference", "low", "high", "p", "sign",
    "seeds",
)  # fmt: skip


class Difference(NamedTuple):
    """How much larger one mean is than another: with a 95% interval and the p-value of no difference."""

    value: float
    low: float | None
    high: float | None
    p: float | None


def contrasts_of(results: Results) -> pl.DataFrame:
    """Every claim in every place: both sides, their difference, its interval and p-value, and whether it holds."""
    rows = [row for claim in results.study.claims for row in _rows(results, claim)]
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None)
    corrected = holm(table["p"].to_list())
    held = [verdict(*row) for row in zip(table["difference"], corrected, table["sign"], table["seeds"], strict=True)]
    return table.with_columns(p_holm=pl.Series(corrected, dtype=pl.Float64), holds=pl.Series(held))


def _rows(results: Results, claim: Claim) -> list[dict[str, Any]]:
    numbers = results.numbers
    if numbers.is_empty():
        return []
    part = numbers.filter(metric=claim.metric).drop_nulls("value")
    per = [name for name in claim.per if name in part.columns]
    found = []
    for place, rows in part.group_by(per, maintain_order=True) if per else [((), part)]:
        keys = [name for name in results.keys if name not in (*per, "metric")]
        where = dict(zip(per, place, strict=True))
        row = _row(results, claim, rows, keys, where)
        if row is not None:
            found.append(where | row)
    return found


def _row(
    results: Results, claim: Claim, rows: pl.DataFrame, keys: Sequence[str], where: dict[str, Any]
) -> dict[str, Any] | None:
    up = claim.sign == "+"
    first = best(rows, claim.first, keys, up)
    second = None if first is None or isinstance(claim.second, float) else best(rows, claim.second, keys, up)
    if first is None or (second is None and not isinstance(claim.second, float)) or first == second:
        return None
    if isinstance(claim.second, float):
        against, names = claim.second, [_name({key: first[0][key] for key in keys if key in claim.first}), ""]
        apart = of_units(_seeds(rows, first[0]) - against)
    else:
        assert second is not None
        against, differing = second[1], [key for key in keys if first[0][key] != second[0][key]]
        names = [_name({key: side[0][key] for key in differing}) for side in (first, second)]
        apart = _apart(results, rows, where | {"metric": claim.metric}, first[0], second[0])
    about = (claim.text, claim.claimed, claim.metric, *names, first[1], against)
    return dict(zip(COLUMNS, (*about, *apart, claim.sign, len(_seeds(rows, first[0]))), strict=True))


def _apart(
    results: Results, rows: pl.DataFrame, where: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> Difference:
    """The difference of two rows by samples; of a study without samples, over seeds."""
    samples = results.samples
    if samples.is_empty():
        samples = rows.rename({"seed": "unit"}).with_columns(seed=pl.lit(0))
    part = samples.filter(matches(where, samples.columns))
    sides = [part.filter(matches(side, part.columns)) for side in (first, second)]
    return paired(*sides) if results.study.samples == "users" else drawn(_gap(rows, first, second), *sides)


def best(rows: pl.DataFrame, choice: Any, keys: Sequence[str], up: bool) -> tuple[dict[str, Any], float] | None:
    """The row with the best mean over seeds among those of a choice that have as many seeds as any of them."""
    there = rows.filter(matches(choice, rows.columns))
    means = there.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), seeds=pl.len())
    whole = means.filter(pl.col("seeds") == pl.col("seeds").max()).sort("value", descending=up, maintain_order=True)
    if whole.is_empty():
        return None
    row = whole.row(0, named=True)
    return {key: row[key] for key in keys}, row["value"]


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


def paired(first: pl.DataFrame, second: pl.DataFrame) -> Difference:
    """Paired t-test over users; a user's differences are averaged over seeds first, since seeds share users.

    Examples
    --------
    >>> one = pl.DataFrame({"unit": [1, 2, 3], "seed": [0, 0, 0], "value": [1.0, 2.0, 3.0]})
    >>> paired(one, one)
    Difference(value=0.0, low=0.0, high=0.0, p=1.0)
    """
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
    """Means over drawn seeds, for values of shape (seeds, draws of users): both kinds of chance in one.

    Examples
    --------
    >>> over_seeds(np.array([[0.1, 0.3]]))
    array([0.1, 0.3])
    """
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
    if p is None or p >= LEVEL or seeds < 2:
        return "open"
    return "yes" if (difference > 0) == (sign == "+") else "no"


def _gap(rows: pl.DataFrame, *sides: dict[str, Any]) -> float:
    """The mean difference over the seeds that both sides have."""
    one, other = (rows.filter(matches(side, rows.columns)).select("seed", "value") for side in sides)
    both = one.join(other, on="seed", suffix="_other")
    return float((both["value"] - both["value_other"]).mean())  # type: ignore[arg-type]


def _seeds(rows: pl.DataFrame, choice: dict[str, Any]) -> FloatArray:
    return rows.filter(matches(choice, rows.columns))["value"].to_numpy()


def _name(keys: dict[str, Any]) -> str:
    return " ".join(str(value) for value in keys.values() if value != "")
