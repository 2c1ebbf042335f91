"""What a study found: the tables of its finished cells as one, means over seeds, and tests of its claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sureness.data import scan_table
from sureness.metrics import basic_interval
from sureness_reproduction.cells import Cell
from sureness_reproduction.contrasts import matches, over_seeds
from sureness_reproduction.store import CellStore
from sureness_reproduction.study import Asked, Study

SUMMARY = ("value", "deviation", "low", "high", "seeds")


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
        parts = []
        for point, cell in self.finished:
            found = self.store.find(cell)
            if found.has(name):
                plain = {key: pl.lit(value) for key, value in point.items() if isinstance(value, str | int | float)}
                parts.append(found.table(name).select(**plain, **{c: pl.col(c) for c in found.table(name).columns}))
        return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()

    @cached_property
    def samples(self) -> pl.DataFrame:
        """One row for each user (or draw) and number; empty where the study has none."""
        return _chosen(self.table("samples"), self.study)

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """One row for each seed and number: keys, seed, metric, value."""
        given = _chosen(self.table(self.study.numbers), self.study)
        if given.height or self.samples.is_empty():
            return given
        keys = [name for name in self.samples.columns if name not in ("unit", "value")]
        return self.samples.group_by(keys, maintain_order=True).agg(pl.col("value").mean())

    @property
    def keys(self) -> list[str]:
        """The columns that tell numbers apart, the seed aside."""
        apart = ("seed", "value", *self.study.average)
        return [name for name in self.numbers.columns if name not in apart]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Mean, deviation and number of seeds of every number; with draws also a 95% interval."""
        if self.numbers.is_empty():
            return pl.DataFrame()
        if self.study.average:
            seeds = self.numbers.group_by(*self.keys, "seed", maintain_order=True).agg(pl.col("value").mean())
        else:
            seeds = self.numbers
        means = seeds.group_by(self.keys, maintain_order=True).agg(
            pl.col("value").mean(), deviation=pl.col("value").std(), low=pl.lit(None, pl.Float64),
            high=pl.lit(None, pl.Float64), seeds=pl.col("value").count(),
        )  # fmt: skip
        return self._with_intervals(means) if self.study.samples == "draws" and not self.study.average else means

    def _with_intervals(self, means: pl.DataFrame) -> pl.DataFrame:
        """Intervals for draws of users and seeds, corrected for the bias that resampling shows."""
        if self.samples.is_empty():
            return means
        drawn = self.samples.sort("seed", "unit").group_by(self.keys, maintain_order=True).agg(
            draws="value", rows=pl.col("seed").n_unique()
        )  # fmt: skip
        both = means.join(drawn, on=self.keys, how="left", maintain_order="left")
        rows: list[tuple[float | None, float | None]] = []
        for value, draws, n_seeds in both.select("value", "draws", "rows").iter_rows():
            if value is None or draws is None:
                rows.append((None, None))
            else:
                interval = basic_interval(value, over_seeds(pl.Series(draws).to_numpy().reshape(n_seeds, -1)), 0.95)
                rows.append((interval.low, interval.high))
        low, high = zip(*rows, strict=True)
        return means.with_columns(low=pl.Series(low, dtype=pl.Float64), high=pl.Series(high, dtype=pl.Float64))


_NUMBERS = ("value", "deviation", "low", "high", "against", "difference", "p", "p_holm")


def read_csv(path: Path) -> pl.DataFrame:
    """A summary or its contrasts, as a run writes them."""
    kinds = dict.fromkeys(_NUMBERS, pl.Float64) | {"seeds": pl.Int64}
    table = scan_table(path).collect().with_columns(pl.col(pl.String).fill_null(""))
    casts = [pl.col(name).replace("", None).cast(kinds[name]) for name in table.columns if name in kinds]
    flags = [pl.col(name).cast(pl.String) == "true" for name in table.columns if name == "claimed"]
    return table.with_columns(*casts, *flags)


def _chosen(table: pl.DataFrame, study: Study) -> pl.DataFrame:
    """The rows that the study shows."""
    if study.metrics and table.height:
        table = table.filter(pl.col("metric").is_in(list(study.metrics)))
    return table.filter(matches(study.where, table.columns)) if table.height else table
