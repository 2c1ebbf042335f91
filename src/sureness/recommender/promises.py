"""What became of the promise of a recommender's lists, for pages, jobs and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import ProbabilityMap
from sureness.data.interactions import Interactions
from sureness.lists.lists import Lists
from sureness.lists.promises import promise
from sureness.recommender.confident import ConfidentRecommender
from sureness.saving.packed import JSON


@dataclass(frozen=True, eq=False)
class KeptPromise:
    """Realised against promised hits of the shown items; the first row of each table is the total."""

    by_rank: pl.DataFrame
    by_probability: pl.DataFrame
    of: str  # what happens to an item with the promised probability
    by_time: bool  # whether the test is a period of its own

    @property
    def total(self) -> dict[str, Any]:
        """The row of all shown items."""
        return self.by_rank.row(0, named=True)

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        tables = {"by_rank": self.by_rank.to_dicts(), "by_probability": self.by_probability.to_dicts()}
        return {"probability": self.of, "test_by_time": self.by_time, **tables}


def kept_promise(
    recommender: ConfidentRecommender, test: Interactions, lists: Lists | None = None
) -> KeptPromise | None:
    """Promised against realised hits by rank and by probability; None if no item is shown to anybody.

    Parameters
    ----------
    recommender : ConfidentRecommender
    test : Interactions
        What came in the period after the validation items.
    lists : Lists, optional
        The lists with the test items as hits, if they are there already.
    """
    lists = recommender.lists(labels=test) if lists is None else lists
    policy = recommender.policy_
    if not policy.sizes(lists).any():
        return None
    by_rank, by_probability = promise(lists, policy), promise(lists, policy, by="probability")
    return KeptPromise(by_rank, by_probability, meaning_in(recommender), test.period is not None)


def meaning_in(recommender: ConfidentRecommender) -> str:
    """What happens to an item with the probability that it has in the lists; that of the map is of the labels."""
    fitted = recommender.map_
    return recommender.horizon_.sentence if fitted.estimand_ == "interaction" else fitted.meaning


def is_converted(fitted: ProbabilityMap, horizon: Horizon) -> bool:
    """Whether lists of a horizon have other probabilities than the map itself.

    A map of labels that were cut by time holds for the next period as it is, if that is as long.
    """
    own = fitted.horizon_
    other = own.differs(horizon) or (own.period is None and own.which != horizon.which)
    return other and fitted.estimand_ == "interaction"
