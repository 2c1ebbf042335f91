"""A page that several domains share: slots where they are worth most, against the same number for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.data.splitting import Split
from sureness.list_size.allocation import AllocationComparison, allocate_domains, equal_shares, evaluate_allocation
from sureness.list_size.policies import ExpectedUtility
from sureness.pipeline.recommender import ConfidentRecommender
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.subset import subset_of

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class DomainPage:
    """Pages with so many slots, shared by domains, against pages with equal shares."""

    slots: int
    domains: tuple[str, ...]
    sizes: IntArray  # (n_users, n_domains) of the shared pages
    equal: IntArray  # (n_users, n_domains)
    compared: AllocationComparison

    @property
    def table(self) -> pl.DataFrame:
        """One row a domain: its mean number of slots, and the fewest and most that any user gives it."""
        return pl.DataFrame(
            {
                "domain": self.domains,
                "equal slots": self.equal.mean(axis=0),
                "shared slots": self.sizes.mean(axis=0),
                "fewest": self.sizes.min(axis=0),
                "most": self.sizes.max(axis=0),
            }
        )


def share_page(
    source: ScoreSource,
    split: Split,
    item_domain: Sequence[str] | AnyArray,
    *,
    slots: int,
    utility: str = "f1",
    fill: bool = False,
    progress: Progress | None = None,
) -> DomainPage:
    """Give each user one page of all domains, each with maps of its own, and share the slots by expected utility.

    Parameters
    ----------
    source : ScoreSource
        Of all items.
    split : Split
        Train and validation to learn from, test to judge by.
    item_domain : sequence of str
        The domain of each item of the source.
    slots : int
    utility : str
        Added up over the domains.
    fill : bool
        Whether every slot is filled; by default slots that gain nothing stay free.

    Examples
    --------
    >>> from sureness.data.interactions import Interactions
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=80))
    >>> split = by_ratio(Interactions.from_matrix(world.train))
    >>> page = share_page(svd_source(split.train), split, np.array(world.domains)[world.item_domain], slots=8)
    >>> page.sizes.shape, bool(page.sizes.sum(axis=1).max() <= 8)
    ((88, 4), True)
    """
    names = np.asarray(item_domain)
    domains = tuple(str(name) for name in np.unique(names))
    parts = []
    for number, domain in enumerate(domains):
        if progress is not None:
            progress(f"domain {domain}", number, len(domains))
        parts.append(_of_domain(source, split, np.flatnonzero(names == domain), slots, utility))
    worth, hits, relevant, lengths = (np.stack(values, axis=1) for values in zip(*parts, strict=True))
    judged = relevant.sum(axis=1) > 0
    worth, hits, relevant, lengths = worth[judged], hits[judged], relevant[judged], lengths[judged]
    equal = equal_shares(slots, lengths)
    sizes = allocate_domains(_rising(worth) if fill else worth, slots, lengths=lengths).sizes
    return DomainPage(slots, domains, sizes, equal, evaluate_allocation(sizes, equal, hits, relevant, utility=utility))


def _of_domain(
    source: ScoreSource, split: Split, columns: IntArray, slots: int, utility: str
) -> tuple[FloatArray, BoolArray, IntArray, IntArray]:
    """Expected utility and hits of the lists of one domain, its relevant items, and how many candidates there are."""
    part = subset_of(source, columns)
    users, items = id_maps(part)
    train, validation, test = (log.aligned(users, items) for log in split.parts.values())
    policy = ExpectedUtility(utility, max_size=slots)
    recommender = ConfidentRecommender(part, policy=policy).fit(train, validation)
    lists = recommender.lists(labels=test)
    hits = np.pad(np.asarray(lists.hits), ((0, 0), (0, slots - lists.width)))  # small domains have short lists
    return policy.expected(lists), hits, np.asarray(lists.n_relevant), lists.lengths


def _rising(worth: FloatArray) -> FloatArray:
    """The same utilities with a tiny gain for every further item, so that no slot stays free."""
    best = np.maximum.accumulate(worth, axis=2)
    return np.asarray(best + 1e-9 * np.arange(1, worth.shape[2] + 1))
