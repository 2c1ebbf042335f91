"""Maps for lists, and candidates that a query gets wrong easily."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import sureness as sn
from sureness.errors import SurenessWarning

COUNTRIES = ("de", 'it\'s "new"', "back\\slash", "", "De", "line\nbreak")


class Candidates(NamedTuple):
    """A table of candidates, and what Python says about them."""

    table: pl.DataFrame  # id, query id, score, past, age, country
    probability: list[float | None]


class Case(NamedTuple):
    """What a map looks at, and how much it was fitted on."""

    n_groups: int = 400
    size: int = 30
    history: bool = False
    traits: bool = False
    exponential: bool = False
    base_rate: float | None = None


CASES = {
    "scores": Case(),
    "history": Case(history=True),
    "traits": Case(traits=True),
    "everything": Case(history=True, traits=True, exponential=True),
    "few positives": Case(n_groups=20, history=True, traits=True),
    "small groups only": Case(n_groups=1_500, size=8, history=True),
    "exponential scores": Case(exponential=True),
    "base rate": Case(history=True, base_rate=0.01),
}


@cache
def fitted(name: str) -> sn.ListCalibrator:
    case, rng = CASES[name], np.random.default_rng(4)
    groups = np.repeat(np.arange(case.n_groups), case.size)
    n = len(groups)
    past = rng.integers(0, 200, case.n_groups)[groups]
    scores = rng.normal(size=n) * (0.5 + groups % 4) + groups % 3
    age, country = rng.normal(40, 10, n), np.array(COUNTRIES)[rng.integers(0, len(COUNTRIES), n)]
    log_odds = 1.5 * (scores - groups % 3) / (0.5 + groups % 4) - 2.5 + 0.004 * past + (country == "de") + 0.02 * age
    labels = rng.random(n) < 1 / (1 + np.exp(1 - log_odds))
    data = sn.CalibrationSet.from_pairs(
        np.exp(scores) if case.exponential else scores, labels, users=groups, base_rate=case.base_rate
    )
    return sn.ListCalibrator(best=20).fit(
        data, history=past if case.history else None, traits={"age": age, "country": country} if case.traits else None
    )


def nasty(name: str, *, text: bool) -> Candidates:
    """Groups of all sizes that the map has never met, with ties and with what is missing, infinite or odd."""
    rng = np.random.default_rng(5)
    rows: list[tuple[Any, float | None]] = []
    for number, size in enumerate((1, 2, 3, 9, 10, 11, 19, 20, 21, 60, 300)):
        rows += [(number, float(score)) for score in rng.normal(size=size) * 2.0]
        rows += [(100 + number, float(score)) for score in rng.normal(size=size).round(1)]  # ties
        rows += [(200 + number, 0.7)] * size  # all are the same
        rows += [(300 + number, value) for value in ([0.3, 0.1 + 0.2] * size)[:size]]  # and the same but for rounding
        rows += [(400 + number, float(score)) for score in 5.0 + 1e-5 * rng.normal(size=size)]
        rows += [(500 + number, None)] * size
    odd = [None, np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-200, 1e-30, 1e20, -1e20, 1e100, -1e100]
    for number, others in enumerate((0, 5, 6, 7, 40)):
        rows += [(600 + number, value) for value in (*odd, *rng.normal(size=others).tolist())]
    rows += [(700, value) for value in (1e-180, 2e-180, 3e-180) * 4]
    rows += [(None, float(score)) for score in rng.normal(size=12)]
    n = len(rows)
    order = rng.permutation(n)
    groups, scores = ([rows[place][column] for place in order] for column in (0, 1))
    case = CASES[name]
    if case.exponential:
        scores = [float(np.exp(value)) if value is not None and abs(value) < 50 else value for value in scores]
    past = pl.Series([0.0, 3.0, 80.0, 1e6, None, np.nan, 0.5], dtype=pl.Float64)
    ages = pl.Series([40.0, -1e300, 60.5, None, np.nan, np.inf, -np.inf, 37.25], dtype=pl.Float64)
    countries = pl.Series([*COUNTRIES, None, "never seen"])
    table = pl.DataFrame({
        "id": np.arange(n), "query id": pl.Series(groups, dtype=pl.Int64),
        "score": pl.Series(scores, dtype=pl.Float64, strict=False, nan_to_null=False),
        "past": past.gather(pl.Series([0 if group is None else group % 7 for group in groups])),
        "age": ages.gather(rng.integers(0, len(ages), n)),
        "country": countries.gather(rng.integers(0, len(countries), n)),
    })  # fmt: skip
    if text:
        table = table.with_columns(pl.format("{}'s \\ ü", "query id").alias("query id"))
    return Candidates(table, expected(fitted(name), table, case))


def expected(calibrator: sn.ListCalibrator, table: pl.DataFrame, case: Case) -> list[float | None]:
    """Only finite scores with a group are candidates."""
    there = table["score"].is_finite().fill_null(False) & table["query id"].is_not_null()
    some = table.filter(there)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)
        answers = calibrator.probability(
            some["score"], groups=some["query id"], history=some["past"] if case.history else None,
            traits=some.select("age", "country") if case.traits else None,
        )  # fmt: skip
    found: list[float | None] = [None] * table.height
    for place, answer in zip(there.arg_true().to_list(), answers.tolist(), strict=True):
        found[place] = answer
    return found
