"""A large and a small model on some data, with all that was declared for them, as a maker of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.distillation.comparisons import compared, measured
from sureness_reproduction.distillation.judging import judged
from sureness_reproduction.distillation.works import METRICS, Settings, alone_cell, chosen, distilled
from sureness_reproduction.experiment import Finder

NAMES = {
    ("alone", "teacher"): "Teacher", ("bd", "teacher"): "BD-Teacher", ("bd", "student"): "BD-Student",
    ("cd", "student"): "CD", ("rd", "student"): "RD", ("alone", "student"): "Student", ("svd", "student"): "SVD",
    ("teacher-positives", "student"): "Teacher positives", ("combined", "student"): "Combined",
    ("bd-best", "teacher"): "BD-Teacher, best guides", ("bd-best", "student"): "BD-Student, best guides",
}  # fmt: skip
"""What the tables call a method and a role; the first six are those of the dissertation, in its order."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models of one kind, where they start, and what is tried for each method."""

    data: str
    start: str  # "published" (cold, the dissertation's optimiser) or "strong" (from the best models alone)
    model: str
    teacher: list[Settings]  # what is tried for it alone
    student: list[Settings]
    schedule: Settings
    grids: dict[str, list[Settings]] = field(default_factory=dict)  # method -> what is tried; others: their defaults

    @property
    def about(self) -> dict[str, Any]:
        """What every cell of the pair is told."""
        return {
            "data": self.data, "start": self.start, "model": self.model, "schedule": self.schedule,
            "bases": {"teacher": self.teacher, "student": self.student},
        }  # fmt: skip

    def judged(self, method: str, seed: int, grid: Sequence[Settings] | None = None) -> Cell:
        """The test numbers of a method."""
        return judged.cell(**self.about, **self._method(method, grid), seed=seed)

    def distilled(self, method: str, seed: int) -> Cell:
        """The models of a method."""
        return distilled.cell(**self.about, **self._method(method, None), seed=seed)

    def compared(self, method: str, seed: int) -> Cell:
        """The ranks of both models after a method."""
        return compared.cell(**self.about, **self._method(method, None), seed=seed)

    def chosen(self, method: str) -> Cell:
        """The settings that were tried for a method."""
        return chosen.cell(**self.about, **self._method(method, None))

    def measured(self) -> Cell:
        """Size and speed of both models alone."""
        return measured.cell(**self.about, method="alone", grid=[], seed=0)

    def alone(self, role: str, seed: int) -> Cell:
        """One of the models alone."""
        return alone_cell(role, seed, **self.about)

    def _method(self, method: str, grid: Sequence[Settings] | None) -> dict[str, Any]:
        if method in ("alone", "svd"):
            return {"method": method, "grid": []}
        return {"method": method, "grid": list(self.grids.get(method, [{}]) if grid is None else grid)}

    def quality(self, methods: Sequence[str], seeds: Sequence[int], find: Finder) -> pl.DataFrame:
        """The test numbers, one row per method; `way` is our name of it, `method` that of the dissertation."""
        parts = []
        for way in methods:
            for seed in seeds:
                table = find(self.judged(way, seed)).table("quality")
                names = [NAMES.get((way, role), f"{way}, {role}") for role in table["role"]]
                parts.append(table.with_columns(pl.Series("method", names), way=pl.lit(way), seed=pl.lit(seed)))
        return pl.concat(parts).select(
            data=pl.lit(self.data), start=pl.lit(self.start), model=pl.lit(self.model), way="way", role="role",
            method="method", seed="seed", metric="metric", value="value",
        )  # fmt: skip

    def users(self, method: str, role: str, seeds: Sequence[int], find: Finder) -> pl.DataFrame:
        """Every user's test numbers of one method and role: user, seed, and the metrics."""
        parts = [
            find(self.judged(method, seed)).table("users").filter(role=role).with_columns(seed=pl.lit(seed))
            for seed in seeds
        ]
        return pl.concat(parts).select(pl.col("user_id").alias("user"), "seed", *METRICS)
