"""Finished cells that nobody computed: numbers that are known, for the tests of what is made of them."""

from __future__ import annotations

import json
from functools import cache
from zlib import crc32

import numpy as np
import polars as pl

from sureness.distillation import distillation_method
from sureness_reproduction.distillation.works import METRICS, ROLES

USERS = 60


class MadeUp:
    """The tables of a cell."""

    def __init__(self, tables):
        self._tables = tables

    def table(self, name):
        return self._tables[name]


def finder(quality=lambda cell, role: 0.1, gap=lambda cell: 0.1):
    """A finder of made-up cells; `quality` gives the H@50 of a judged cell, `gap` the average rank difference."""

    @cache
    def find(cell):
        return MadeUp(globals()[f"_{cell.work.split(':')[1]}"](cell, quality, gap))

    return find


def _roles(cell):
    if cell["method"] in ("alone", "svd"):
        return ROLES if cell["method"] == "alone" else ("student",)
    settings = distillation_method(cell["method"])
    learns = {"teacher": settings.teacher_learns, "student": settings.student_learns}
    return tuple(role for role in ROLES if learns[role])


def _judged(cell, quality, gap):
    wave = np.random.default_rng(crc32(cell.text.encode())).normal(0, 0.001, USERS)
    wave -= wave.mean()  # users differ, means do not
    parts = [
        pl.DataFrame({"role": [role] * USERS, "user_id": range(USERS),
                      **{metric: quality(cell, role) + wave * (1 + place) for metric in METRICS}})
        for place, role in enumerate(_roles(cell))
    ]  # fmt: skip
    users = pl.concat(parts)
    means = users.drop("user_id").group_by("role", maintain_order=True).mean()
    return {"users": users, "quality": means.unpivot(index="role", variable_name="metric")}


def _chosen(cell, quality, gap):
    return {"trials": pl.DataFrame({"changes": [json.dumps(each) for each in cell["grid"]]})}


def _measured(cell, quality, gap):
    return {"sizes": pl.DataFrame({"role": ROLES, "parameters": [1_000_000, 100_000], "seconds": [2.0, 1.0]})}


def _compared(cell, quality, gap):
    rng = np.random.default_rng(0)
    ranks = pl.DataFrame({"user_id": range(USERS), "item_id": range(USERS), "teacher_rank": rng.uniform(1, 50, USERS),
                          "student_rank": rng.uniform(1, 50, USERS)})  # fmt: skip
    points = pl.DataFrame({"drawn_by": ["teacher", "student"], "teacher_rank": [1, 20], "student_rank": [5, 2]})
    summary = pl.DataFrame({"n_items": [100], "student_better": [0.36], "equal": [0.0],
                            "average_difference": [gap(cell)],
                            "known_to_student": [0.7], "known_to_teacher": [0.6]})  # fmt: skip
    return {"ranks": ranks, "points": points, "summary": summary}
