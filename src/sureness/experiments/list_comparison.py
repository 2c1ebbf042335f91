"""The lists of one fitted recommender beside the policies that everybody would try first."""

from __future__ import annotations

from sureness.data.interactions import Interactions
from sureness.experiments.list_sizes import DEFAULT, REFERENCE, baselines
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.comparing import PolicyComparison, compare_policies
from sureness.list_size.policies import ExpectedUtility
from sureness.metrics.utility import named_utility
from sureness.pipeline.recommender import ConfidentRecommender


def compare_with_baselines(
    recommender: ConfidentRecommender, *, train: Interactions | None, validation: Interactions, test: Interactions
) -> PolicyComparison:
    """Judge a recommender's sizes by the test, with paired differences to the best fixed size of the validation period.

    Parameters
    ----------
    recommender : ConfidentRecommender
        Fitted on `train` and `validation`.
    train, validation, test : Interactions

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=150, n_items=80)).train), seed=0)
    >>> recommender = ConfidentRecommender(svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    >>> compare_with_baselines(recommender, **split.parts).table["policy"].to_list()[:3]
    ['PerK', 'Oracle', 'Top-1']
    """
    policy = recommender.policy_
    utility = named_utility(getattr(policy, "utility", "f1"))
    before = recommender.validation_lists(train, validation)
    name = DEFAULT if isinstance(policy, ExpectedUtility) else "this policy"
    policies: dict[str, ListSizePolicy] = {name: policy, **baselines(utility, policy.max_size, before)}
    return compare_policies(policies, recommender.lists(labels=test), utility, reference=REFERENCE)
