"""Share a page between domains by expected utility, and compare it with equal shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.data.splitting import Split
from sureness.lists.comparing import AllocationComparison, evaluate_allocation
from sureness.lists.pages import allocate_domains, equal_shares
from sureness.lists.policies import ExpectedUtility
from sureness.metrics.utility import at_sizes, utility_at_every_size
from sureness.recommender.confident import ConfidentRecommender
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.function import subset_of


@dataclass(frozen=True, eq=False)
class DomainPage:
    """One page per user with slots shared by the domains, compared with equal shares."""

    slots: int
    domains: tuple[str, ...]
    sizes: IntArray  # (n_users, n_domains) of the shared pages
    equal: IntArray  # (n_users, n_domains)
    compared: AllocationComparison

    __repr__ = fields_repr

    @property
    def table(self) -> pl.DataFrame:
        """One row per domain: its mean number of slots, and the fewest and most it gets on any page."""
        return pl.DataFrame(
            {
                "domain": self.domains,
                "equal slots": self.equal.mean(axis=0),
                "shared slots": self.sizes.mean(axis=0),
                "fewest": self.sizes.min(axis=0),
                "most": self.sizes.max(axis=0),
            }
        )


@dataclass(frozen=True, eq=False)
class DomainLists:
    """The lists of every domain, for users with a relevant item in at least one of them."""

    slots: int
    utility: str
    domains: tuple[str, ...]
    users: IntArray  # (n_users,) rows of the source
    worth: FloatArray  # (n_users, n_domains, slots) expected utility of the first 1, 2, ... items
    hits: BoolArray  # (n_users, n_domains, slots)
    relevant: IntArray  # (n_users, n_domains)
    lengths: IntArray  # (n_users, n_domains) number of candidates

    __repr__ = fields_repr

    def equal(self) -> IntArray:
        """The same number of items from each domain."""
        return equal_shares(self.slots, self.lengths)

    def shared(self, *, fill: bool = False) -> IntArray:
        """Slots by expected utility; slots that gain nothing stay free unless `fill` is set."""
        return allocate_domains(_with_bonus(self.worth) if fill else self.worth, self.slots, lengths=self.lengths).sizes

    def realised(self, sizes: IntArray) -> FloatArray:
        """The utility reached with these sizes, of shape (n_users, n_domains)."""
        rows = self.hits.reshape(-1, self.hits.shape[2])
        values = utility_at_every_size(rows, self.relevant.ravel(), self.utility)
        return at_sizes(values, sizes.ravel()).reshape(sizes.shape)


def share_page(
    source: ScoreSource,
    split: Split,
    item_domain: Sequence[str] | AnyArray,
    *,
    slots: int,
    utility: str = "f1",
    fill: bool = False,
    progress: Progress = silent,
) -> DomainPage:
    """Give each user one page for all domains, with its slots shared by expected utility.

    Every domain has probability maps of its own.

    Parameters
    ----------
    source : ScoreSource
        Scores the items of all domains.
    split : Split
        The maps are fitted on train and validation; the test part judges the pages.
    item_domain : sequence of str
        The domain of each item of the source.
    slots : int
        Places on the page.
    utility : str
        Utility of the part of the page that a domain fills; the page's is their sum.
    fill : bool
        Fill every slot. By default slots that gain nothing stay free.
    progress : Progress

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
    lists = domain_lists(source, split, item_domain, slots=slots, utility=utility, progress=progress)
    sizes, equal = lists.shared(fill=fill), lists.equal()
    compared = evaluate_allocation(sizes, equal, lists.hits, lists.relevant, utility=utility)
    return DomainPage(slots, lists.domains, sizes, equal, compared)


def domain_lists(
    source: ScoreSource,
    split: Split,
    item_domain: Sequence[str] | AnyArray,
    *,
    slots: int,
    utility: str = "f1",
    progress: Progress = silent,
) -> DomainLists:
    """The lists that compete for a page; parameters as for `share_page`."""
    names = np.asarray(item_domain)
    domains = tuple(str(name) for name in np.unique(names))
    parts = []
    for number, domain in enumerate(domains):
        progress(f"domain {domain}", number, len(domains))
        parts.append(_of_domain(source, split, np.flatnonzero(names == domain), slots, utility))
    worth, hits, relevant, lengths = (np.stack(values, axis=1) for values in zip(*parts, strict=True))
    judged = np.flatnonzero(relevant.sum(axis=1) > 0)
    return DomainLists(slots, utility, domains, judged, worth[judged], hits[judged], relevant[judged], lengths[judged])


def _of_domain(
    source: ScoreSource, split: Split, columns: IntArray, slots: int, utility: str
) -> tuple[FloatArray, BoolArray, IntArray, IntArray]:
    """Expected utility, hits, number of relevant items and number of candidates of one domain's lists."""
    part = subset_of(source, columns)
    users, items = id_maps(part)
    train, validation, test = (log.aligned(users, items) for log in split.parts.values())
    policy = ExpectedUtility(utility, max_size=slots)
    recommender = ConfidentRecommender(part, policy=policy).fit(train, validation)
    lists = recommender.lists(labels=test)
    missing = ((0, 0), (0, slots - lists.width))  # small domains have short lists
    hits, worth = np.pad(np.asarray(lists.hits), missing), np.pad(policy.expected(lists), missing, mode="edge")
    return worth, hits, np.asarray(lists.n_relevant), lists.lengths


def _with_bonus(worth: FloatArray) -> FloatArray:
    """Utilities with a bonus per item larger than any loss, so that the best full page wins."""
    largest = float(np.abs(worth[np.isfinite(worth)]).max(initial=0.0))
    bonus = 1.0 + 2.0 * worth.shape[1] * largest  # pages differ by no more than this
    return np.asarray(worth + bonus * np.arange(1, worth.shape[2] + 1))
