"""Personal list sizes compared with fixed ones, on a log or in a simulated world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.interactions import Interactions
from sureness.data.simulator import World
from sureness.data.splitting import Split, by_ratio
from sureness.jobs.comparing import compare_with_baselines
from sureness.jobs.shared_pages import DomainPage, share_page
from sureness.lists.comparing import PolicyComparison
from sureness.lists.policies import ExpectedUtility
from sureness.recommender.confident import ConfidentRecommender
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source


@dataclass(frozen=True, eq=False)
class ListStudy:
    """A recommender with personal list sizes, and how they compare with the baselines."""

    split: Split
    source: ScoreSource
    recommender: ConfidentRecommender
    compared: PolicyComparison

    __repr__ = fields_repr


def logged(world: World) -> Interactions:
    """The whole log of a world: training and held-out interactions."""
    return Interactions.from_matrix((world.train + world.held_out).tocsr())


def study_lists(
    world: World,
    *,
    learn: Callable[[Interactions], ScoreSource] | None = None,
    utility: str = "f1",
    max_size: int = 50,
    n_factors: int = 7,
    seed: int = 0,
    progress: Progress = silent,
) -> ListStudy:
    """Split the log of a world 60/20/20, choose personal list sizes, and judge them on the test part.

    Parameters
    ----------
    world : World
    learn : callable, optional
        Trains a recommender on the training part; by default a singular value decomposition with
        `n_factors` factors.
    utility : str
    max_size, n_factors, seed : int
    progress : Progress

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> found = study_lists(simulate(SimulatorSettings(n_users=200, n_items=80)))
    >>> found.compared.reference, found.recommender.source.n_users
    ('best fixed k', 200)
    """
    split = by_ratio(logged(world), seed=seed)
    source = svd_source(split.train, n_factors=n_factors, seed=seed) if learn is None else learn(split.train)
    return lists_of(split, source, utility=utility, max_size=max_size, progress=progress)


def lists_of(
    split: Split, source: ScoreSource, *, utility: str = "f1", max_size: int = 50, progress: Progress = silent
) -> ListStudy:
    """Choose personal list sizes for a recommender and judge them on the test part.

    Parameters
    ----------
    split : Split
        The source was trained on the train part; probabilities are fitted on the validation part.
    source : ScoreSource
    utility : str
    max_size : int
    progress : Progress
    """
    policy = ExpectedUtility(utility, max_size=min(max_size, source.n_items))
    recommender = ConfidentRecommender(source, policy=policy).fit(split.train, split.validation, progress=progress)
    compared = compare_with_baselines(recommender, seen=split.train, validation=split.validation, test=split.test)
    return ListStudy(split, source, recommender, compared)


def share_page_of(
    world: World, study: ListStudy, *, slots: int = 12, utility: str = "f1", progress: Progress = silent
) -> DomainPage:
    """Give each user of a world one page shared by its domains.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=80))
    >>> page = share_page_of(world, study_lists(world), slots=8)
    >>> page.sizes.shape[1], bool(page.sizes.sum(axis=1).max() <= 8)
    (4, True)
    """
    domains = np.array(world.domains)[world.item_domain]
    return share_page(study.source, study.split, domains, slots=slots, utility=utility, progress=progress)
