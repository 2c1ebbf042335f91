"""Size and speed of the models, and what the size of the other model does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from sureness_reproduction.base_models import statistics
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation.comparison import judged, models_needed, models_of
from sureness_reproduction.distillation.declared import (
    DATA,
    KEPT,
    MODELS,
    RECOMMENDED,
    SIZES,
    Settings,
    alone,
    settings,
)
from sureness_reproduction.distillation.training import ROLES, split_of, split_options
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.workbench import Workbench

_FIXED = ("one-way", "to-teacher")


@work(needs=models_needed, cost=20)
def measured(bench: Workbench, **parameters: Any) -> Tables:
    """How many million numbers each model has learned, and how many seconds the lists of all users take."""
    from sureness.evaluation import inference_table

    both = models_of(bench, **parameters)
    split = split_of(bench, parameters["data"], parameters["start"])
    sizes = inference_table({role: both[role] for role in ROLES}, length=50, seen=split.train, repeats=2)
    found = sizes.select(role="model", parameters=pl.col("parameters") / 1e6, time="seconds")
    return {"numbers": found.unpivot(index="role", variable_name="metric")}


def _sized(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """BD as the dissertation recommends it, for two models of other sizes; a fixed partner for the usual sizes only."""
    found, method = settings(scale, point), point["methods"][0]
    teacher, student = (int(size) for size in point["sizes"].split(" and "))
    usual = (teacher, student) == (SIZES["teacher"], SIZES["student"])
    if found is None or (method in _FIXED and not usual) or (method == "alone" and teacher != SIZES["teacher"]):
        return None
    start, model = point["start"], point["model"]
    bases = {
        role: alone(scale, start, model, "student" if size == SIZES["student"] else "teacher", size)
        for role, size in (("teacher", teacher), ("student", student))
    }
    return found | {"bases": bases, "tried": {"alone": [], "bd": [RECOMMENDED]}.get(method, [KEPT])}


_PAIRS: dict[Scale, list[str]] = {
    "quick": ["50 and 5", "50 and 15", "50 and 25", "50 and 50", "25 and 5", "5 and 5"],
    "full": ["50 and 5", "50 and 10", "50 and 15", "50 and 25", "50 and 50", "25 and 5", "5 and 5"],
}


def _partner(role: str, best: str, other: str) -> Claim:
    one, two = ({"role": role, "method": "bd", "sizes": sizes} for sizes in (best, other))
    return Claim(f"the {role} gains most from the most different partner", "hit@50", one, two)


_DATA: dict[Scale, Any] = {"quick": DATA["quick"], "full": ["citeulike-bd"]}

STUDIES = (
    statistics("distillation-data", "table-3.1", DATA, lambda data: split_options(data, "published")),
    Study(
        name="distillation-size-time", number="table-3.6", title="Model size and time to rank", measure=measured,
        settings=settings, published="distillation-size-time", rows=("model", "role"), digits=3,
        grid={"data": _DATA, "start": ["published"], "model": MODELS, "methods": [["alone"]], "seed": [0]},
        note="Million parameters, and seconds to list 50 items for every user: ours on one thread of a processor, the "
        "dissertation's on a GPU.",
    ),
    Study(
        name="model-sizes", number="figure-3.4", title="Partners of other sizes", measure=judged, settings=_sized,
        metrics=("hit@50",), rows=("sizes", "method"), columns=("role",),
        grid={"data": _DATA, "start": ["published"], "model": {"quick": ["bpr"], "full": ["bpr", "neumf"]},
              "sizes": _PAIRS, "methods": [["bd"], ["alone"], *([name] for name in _FIXED)],
              "seed": {"quick": range(1), "full": range(3)}},
        claims=(*(_partner("teacher", "50 and 5", other) for other in ("50 and 25", "50 and 50")),
                *(_partner("student", "50 and 5", other) for other in ("25 and 5", "5 and 5")),
                Claim("a student of 20 to 30% of the size reaches its teacher alone", "hit@50",
                      {"role": "student", "method": "bd", "sizes": "50 and 15"},
                      {"role": "teacher", "method": "alone", "sizes": "50 and 5"})),
        note="H@50 by the factors of teacher and student (figures 3.4 and 3.5), BD as the dissertation recommends it. "
        "one-way: a fixed teacher; to-teacher: a fixed student. The dissertation prints no numbers.",
    ),
)  # fmt: skip
