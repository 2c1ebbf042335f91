"""List sizes in a simulated world: against fixed ones, and on a page that domains share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.data.simulator import World
from sureness.data.splitting import Split, by_ratio
from sureness.experiments.list_comparison import compare_with_baselines
from sureness.list_size.allocation import (
    AllocationComparison,
    allocate_domains,
    equal_shares,
    evaluate_allocation,
)
from sureness.list_size.comparing import PolicyComparison
from sureness.list_size.policies import ExpectedUtility
from sureness.pipeline.recommender import ConfidentRecommender
from sureness.sources.base import FactorSource
from sureness.sources.svd import svd_source

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class ListStudy:
    """A confident recommender of a world, and what its lists were worth."""

    split: Split  # of everything the world logged
    source: FactorSource
    recommender: ConfidentRecommender
    compared: PolicyComparison


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


def study_lists(
    world: World,
    *,
    utility: str = "f1",
    max_size: int = 50,
    n_factors: int = 7,
    seed: int = 0,
    progress: Progress | None = None,
) -> ListStudy:
    """Split the log of a world 60/20/20, and let each user see as many items as are worth showing.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> found = study_lists(simulate(SimulatorSettings(n_users=200, n_items=80)))
    >>> found.compared.reference, found.recommender.source.n_users
    ('best fixed k', 200)
    """
    split = by_ratio(Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=seed)
    source = svd_source(split.train, n_factors=n_factors, seed=seed)
    recommender = ConfidentRecommender(source, policy=ExpectedUtility(utility, max_size=max_size))
    recommender.fit(split.train, split.validation, progress=progress)
    return ListStudy(split, source, recommender, compare_with_baselines(recommender, **split.parts))


def share_page(
    world: World, study: ListStudy, *, slots: int = 12, utility: str = "f1", progress: Progress | None = None
) -> DomainPage:
    """Give each user one page of all domains, each with maps of its own, and share the slots by expected utility.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=80))
    >>> page = share_page(world, study_lists(world), slots=8)
    >>> page.sizes.shape, bool(page.sizes.sum(axis=1).max() <= 8)
    ((200, 4), True)
    """
    parts: list[tuple[FloatArray, BoolArray, IntArray, IntArray]] = []
    for domain, name in enumerate(world.domains):
        if progress is not None:
            progress(f"domain {name}", domain, len(world.domains))
        parts.append(_domain(world, study, domain, slots, utility))
    worth, hits, relevant, lengths = (np.stack(values, axis=1) for values in zip(*parts, strict=True))
    sizes, equal = allocate_domains(worth, slots, lengths=lengths).sizes, equal_shares(slots, lengths)
    compared = evaluate_allocation(sizes, equal, hits, relevant, utility=utility)
    return DomainPage(slots, world.domains, sizes, equal, compared)


def _domain(
    world: World, study: ListStudy, domain: int, slots: int, utility: str
) -> tuple[FloatArray, BoolArray, IntArray, IntArray]:
    """Expected utility and hits of the lists of one domain, its relevant items, and how many candidates there are."""
    columns = np.flatnonzero(world.item_domain == domain)
    own = {part: Interactions.from_matrix(log.matrix[:, columns]) for part, log in study.split.parts.items()}
    policy = ExpectedUtility(utility, max_size=slots)
    source = FactorSource(study.source.user_factors, study.source.item_factors[columns])
    recommender = ConfidentRecommender(source, policy=policy).fit(own["train"], own["validation"])
    lists = recommender.lists(labels=own["test"])
    hits = np.pad(np.asarray(lists.hits), ((0, 0), (0, slots - lists.width)))  # small domains have short lists
    return policy.expected(lists), hits, np.asarray(lists.n_relevant), lists.lengths
