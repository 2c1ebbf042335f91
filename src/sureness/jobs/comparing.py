"""Compare the list sizes of a fitted recommender with simple baselines."""

from __future__ import annotations

from sureness.data.interactions import Interactions
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import (
    BestFixedSize,
    ExpectedUtility,
    FixedSize,
    ListSizePolicy,
    Oracle,
    RandomSize,
    Threshold,
    ValidationBest,
)
from sureness.metrics.utility import Utility, named_utility
from sureness.recommender.confident import ConfidentRecommender
from sureness.sources.aligned import Seen

PERSONAL = ExpectedUtility.title
"""What comparisons call personal sizes by expected utility, after the dissertation."""

REFERENCE = "best fixed k"
"""The baseline that the others are compared with, user by user."""

_FIXED = (1, 5, 10, 20, 50, 100)


def compare_with_baselines(
    recommender: ConfidentRecommender, *, seen: Seen, validation: Interactions, test: Interactions
) -> PolicyComparison:
    """Judge a recommender's list sizes and those of the baselines on the test period.

    Paired differences are to the fixed size that was best in the validation period.

    Parameters
    ----------
    recommender : ConfidentRecommender
        Fitted on `seen` and `validation`.
    seen, validation, test : Interactions
        The first as for `ConfidentRecommender.fit`.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=150, n_items=80)).train), seed=0)
    >>> recommender = ConfidentRecommender(svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    >>> compared = compare_with_baselines(recommender, seen=split.train, validation=split.validation, test=split.test)
    >>> compared.table["policy"].to_list()[:3]
    ['PerK', 'Oracle', 'Top-1']
    """
    policy = recommender.policy_
    utility = named_utility(policy.utility)
    before = recommender.validation_lists(seen, validation)
    policies: dict[str, ListSizePolicy] = {policy.title: policy, **baselines(utility, policy.max_size, before)}
    return compare_policies(policies, recommender.lists(labels=test), utility, reference=REFERENCE)


def baselines(utility: str | Utility, max_size: int, validation: Lists) -> dict[str, ListSizePolicy]:
    """The policies of the dissertation that need no training, by name.

    Parameters
    ----------
    utility : str or Utility
        What the fitted ones and the oracle maximise.
    max_size : int
        Longest list.
    validation : Lists
        Labelled lists of the validation period, on which the best fixed sizes are chosen.
    """
    bounds = {"max_size": max_size}
    return {
        "Oracle": Oracle(utility, **bounds),
        **{f"Top-{k}": FixedSize(k) for k in _FIXED if k <= max_size},
        "Rand": RandomSize(**bounds),
        REFERENCE: BestFixedSize(utility, **bounds).fit(validation),
        "Val-k": ValidationBest(utility, **bounds).fit(validation),
        "p >= 0.2": Threshold(0.2, **bounds),
    }
