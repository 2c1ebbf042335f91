"""The lists of several domains that share the slots of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureness.data import IdMap, Split
from sureness.lists import ExpectedUtility, allocate_domains, equal_shares
from sureness.metrics import at_sizes, utility_at_every_size
from sureness.recommender import ConfidentRecommender
from sureness.sources import AlignedSource, ScoreSource, id_maps


@dataclass(frozen=True, eq=False)
class DomainLists:
    """The lists of every domain, for users with a relevant item in at least one of them."""

    slots: int
    utility: str
    domains: tuple[str, ...]
    users: NDArray[Any]  # (n_users,) rows of the source
    worth: NDArray[Any]  # (n_users, n_domains, slots) expected utility of the first 1, 2, ... items
    hits: NDArray[Any]  # (n_users, n_domains, slots)
    relevant: NDArray[Any]  # (n_users, n_domains)
    lengths: NDArray[Any]  # (n_users, n_domains) number of candidates

    def equal(self) -> NDArray[Any]:
        """The same number of items from each domain."""
        return equal_shares(self.slots, self.lengths)

    def shared(self, *, fill: bool = False) -> NDArray[Any]:
        """Slots by expected utility; slots that gain nothing stay free unless `fill` is set."""
        return allocate_domains(_with_bonus(self.worth) if fill else self.worth, self.slots, lengths=self.lengths).sizes

    def realised(self, sizes: NDArray[Any]) -> NDArray[Any]:
        """The utility reached with these sizes, of shape (n_users, n_domains)."""
        rows = self.hits.reshape(-1, self.hits.shape[2])
        values = utility_at_every_size(rows, self.relevant.ravel(), self.utility)
        return at_sizes(values, sizes.ravel()).reshape(sizes.shape)


def domain_lists(
    source: ScoreSource,
    split: Split,
    item_domain: Sequence[str] | NDArray[Any],
    *,
    slots: int,
    utility: str = "f1",
) -> DomainLists:
    """The lists that compete for the slots of a page, with probability maps of their own for every domain.

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
    """
    names = np.asarray(item_domain)
    domains = tuple(str(name) for name in np.unique(names))
    parts = [_of_domain(source, split, np.flatnonzero(names == domain), slots, utility) for domain in domains]
    worth, hits, relevant, lengths = (np.stack(values, axis=1) for values in zip(*parts, strict=True))
    judged = np.flatnonzero(relevant.sum(axis=1) > 0)
    return DomainLists(slots, utility, domains, judged, worth[judged], hits[judged], relevant[judged], lengths[judged])


def _of_domain(
    source: ScoreSource, split: Split, columns: NDArray[Any], slots: int, utility: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Expected utility, hits, number of relevant items and number of candidates of one domain's lists."""
    users, every = id_maps(source)
    items = IdMap(every.at(columns))
    part = AlignedSource(source, users, items, np.arange(len(users)), columns)
    train, validation, test = (log.aligned(users, items) for log in split.parts.values())
    policy = ExpectedUtility(utility, max_size=slots)
    recommender = ConfidentRecommender(part, policy=policy).fit(train, validation)
    lists = recommender.lists(labels=test)
    missing = ((0, 0), (0, slots - lists.width))  # small domains have short lists
    hits, worth = np.pad(np.asarray(lists.hits), missing), np.pad(policy.expected(lists), missing, mode="edge")
    return worth, hits, np.asarray(lists.n_relevant), lists.lengths


def _with_bonus(worth: NDArray[Any]) -> NDArray[Any]:
    """Utilities with a bonus per item larger than any loss, so that the best full page wins."""
    largest = float(np.abs(worth[np.isfinite(worth)]).max(initial=0.0))
    bonus = 1.0 + 2.0 * worth.shape[1] * largest  # pages differ by no more than this
    return np.asarray(worth + bonus * np.arange(1, worth.shape[2] + 1))
