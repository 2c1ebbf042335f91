"""The study of M: how far the dissertation's sum over the number of relevant items has to go."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sureness.list_size import ExpectedUtility, Lists, ListSizePolicy, compare_policies, expected_utility
from sureness.pipeline import ConfidentRecommender
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.perk import published_map
from sureness_reproduction.list_size.runs import MAX_SIZE, SEEDS, needs_base, opened, parts_of, with_recipe
from sureness_reproduction.study import Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

TERMS = (5, 10, 20, 50, 100, 500, 2_000, 3_000)  # the dissertation's largest is 2,000, its notebook's 3,000


class _Truncated(ExpectedUtility):
    """The approximate form with a number of terms."""

    def __init__(self, utility: str, *, min_size: int = 1, max_size: int = 50, terms: int = 2_000) -> None:
        super().__init__(utility, min_size=min_size, max_size=max_size, method="approximate")
        self.terms = terms

    def expected(self, lists: Lists) -> FloatArray:
        return expected_utility(
            np.asarray(lists.probabilities), self.utility, max_size=self.max_size, lengths=lists.lengths,
            tail=lists.tail, method="approximate", terms=self.terms,
        )  # fmt: skip


@work(needs=needs_base, judges=True, cost=30)
def by_terms(bench: Workbench, **run: Any) -> Tables:
    """The utility and size of every user's list with each M in the dissertation's form, and in the exact one."""
    made = opened(bench, **run)
    train, validation, test = parts_of(made)
    recommender = ConfidentRecommender(
        made.source, published_map(), ExpectedUtility(max_size=MAX_SIZE), expected_relevant="fitted"
    ).fit(train, validation)
    lists, parts = recommender.lists(labels=test), []
    for utility in ("ndcg", "f1"):
        policies: dict[str, ListSizePolicy] = {f"{m}": _Truncated(utility, max_size=MAX_SIZE, terms=m) for m in TERMS}
        policies["exact"] = ExpectedUtility(utility, max_size=MAX_SIZE)
        found = compare_policies(policies, lists, utility)
        for name in policies:
            for metric, values in ((utility, found.values[name]), (f"items, {utility}", found.sizes[name])):
                parts.append(pl.DataFrame({"M": name, "metric": metric, "unit": found.users,
                                           "value": np.asarray(values, dtype=float)}))  # fmt: skip
    return {"samples": pl.concat(parts)}


STUDIES = (
    Study(
        name="summation-bound", number="figure-4.5", title="How far to sum: the study of M", measure=by_terms,
        settings=with_recipe, rows=("M",),
        grid={"data": {"quick": ["ml-100k"],
                       "full": ("citeulike-a", "ml-1m", "amazon-music", "ml-10m", "ml-25m", "amazon-books")},
              "model": ["bpr"], "seed": SEEDS},
        note="The dissertation's own maps; it says that M = 2,000 is enough. Items: mean size of the lists.",
    ),
)  # fmt: skip
