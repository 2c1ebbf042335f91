"""How large the data are after the preparation of each chapter."""

from __future__ import annotations

from typing import Any

import polars as pl

from sureness.data import union
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.study import Scale, Study
from sureness_reproduction.workbench import Workbench


@work(judges=True, cost=5)
def counted(bench: Workbench, *, data: str, seed: int, options: dict[str, Any]) -> Tables:
    """Users, items, interactions and the share of pairs that have none, in percent."""
    split = bench.split(data, **options)
    whole = union([split.train, split.validation, split.test])
    sparsity = 100 * (1 - len(whole) / (whole.n_users * whole.n_items))
    found = {"users": whole.n_users, "items": whole.n_items, "interactions": len(whole), "sparsity": sparsity}
    return {"numbers": pl.DataFrame({"metric": list(found), "value": [float(value) for value in found.values()]})}


def statistics(name: str, number: str, data: dict[Scale, Any], settings: Any) -> Study:
    """The table of the data of a chapter; `settings` gives how a data set is prepared."""
    return Study(
        name=name, number=number, title="Data after preparation", measure=counted, rows=("data",), digits=1,
        settings=lambda scale, point: {"options": settings(point["data"])}, published=name,
        grid={"data": data, "seed": [0]}, note="Ours / the published number; sparsity in percent.",
    )  # fmt: skip
