"""What personal sizes cost: parameters, and the time of a user's list."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from sureness.evaluation import n_parameters, top_blocks
from sureness.list_size import ExpectedUtility
from sureness.pipeline import ConfidentRecommender
from sureness.sources import id_maps
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.runs import DATA, MAX_SIZE, base, needs_base, opened, with_recipe
from sureness_reproduction.study import Claim, Study
from sureness_reproduction.workbench import Workbench

TOP_K, PERK, MORE = "Top-k", "PerK", "more, as a share"
_MOST_USERS = 500
_ROUNDS = 9


@work(needs=needs_base, cost=15)
def serving_measured(bench: Workbench, **run: Any) -> Tables:
    """Lists of up to 50 items with and without personal sizes, in turns, so that a busy machine slows both alike."""
    made = opened(bench, **run)
    recommender = ConfidentRecommender(made.source, policy=ExpectedUtility("ndcg", max_size=MAX_SIZE))
    recommender.fit(made.split.train, made.split.validation)
    recommender.source = bench.found(base(**run)).source
    rows = np.arange(min(_MOST_USERS, recommender.source.n_users))
    users = id_maps(recommender.source)[0].at(rows)

    def plain() -> None:
        for _ in top_blocks(recommender.source, rows, MAX_SIZE, recommender.seen_):
            pass

    times = _in_turns({TOP_K: plain, PERK: lambda: recommender.sizes(users)}) * (1_000 / len(rows))
    learned = n_parameters(recommender.source) or 0
    parameters = np.array([learned, learned + 2 * recommender.source.n_users]) / 1e6
    found = {
        "parameters": [*parameters, parameters[1] / parameters[0] - 1],
        "time": [*np.median(times, axis=0), np.median(times[:, 1] / times[:, 0]) - 1],
    }
    return {"numbers": pl.DataFrame([
        {"method": method, "metric": metric, "value": float(value)}
        for metric, values in found.items()
        for method, value in zip((TOP_K, PERK, MORE), values, strict=True)
    ])}  # fmt: skip


def _in_turns(sides: dict[str, Callable[[], object]]) -> np.ndarray[Any, Any]:
    """Seconds of each side in each round; a first one, in which functions are compiled, does not count."""
    rows = []
    for _ in range(_ROUNDS + 1):
        row = []
        for side in sides.values():
            started = time.perf_counter()
            side()
            row.append(time.perf_counter() - started)
        rows.append(row)
    return np.array(rows[1:])


STUDIES = (
    Study(
        name="list-size-space-time", number="table-4.3", title="What personal list sizes cost", digits=3,
        measure=serving_measured, settings=with_recipe, published="list-size-space-time", rows=("model", "method"),
        grid={"data": {"quick": ["ml-100k"], "full": DATA["neumf"]["full"]}, "seed": [0],
              "model": ["bpr", "neumf", "lightgcn"]},
        claims=(Claim("inference takes about 10% more time (at most 15%)", "time", {"method": MORE}, 0.15, "-"),),
        note="Parameters in million; milliseconds a user, the median of nine rounds on one thread. Published times are "
        "those of a GPU: compare the increase. What PerK adds does not grow with the number of items.",
    ),
)  # fmt: skip
