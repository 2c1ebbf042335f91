"""The propensities that the dissertation compares, apart from popularity and given ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sureness.propensity import GivenPropensity

_NEGATIVES_PER_POSITIVE = 10


class RandomPropensity(GivenPropensity):
    """Random propensities between `clip` and 1, one for each item: an uninformed control.

    Examples
    --------
    >>> bool(RandomPropensity(2, seed=3).propensity([0, 1], [1, 1]).std() == 0)
    True
    """

    relative: ClassVar[bool] = True

    def __init__(self, n_items: int, *, clip: float = 0.1, seed: int = 0) -> None:
        self.n_items, self.clip, self.seed = n_items, clip, seed
        super().__init__(np.maximum(np.random.default_rng(seed).random(n_items), clip))


def of_ratings(
    wanted: NDArray[Any], logged: NDArray[Any], uniform: NDArray[Any], *, n_pairs: int, clip: float = 0.01
) -> NDArray[Any]:
    """The chance of seeing a pair with each wanted rating, by naive Bayes.

    ``P(seen | rating) = P(rating | seen) P(seen) / P(rating)``, where a uniformly exposed sample gives P(rating). Every
    wanted rating must be among the logged ones.

    Examples
    --------
    >>> of_ratings(np.array([5, 1]), np.array([5, 5, 5, 1]), np.array([5, 1, 1, 1]), n_pairs=40).round(2)
    array([0.3 , 0.03])
    """
    values, counts = np.unique(logged, return_counts=True)
    among = (uniform[:, None] == values).sum(axis=0).astype(np.float64)
    n_uniform = float(len(uniform))
    if not among.all():  # absent from the sample means rare, not impossible
        among += 1.0
        n_uniform += len(values)
    chance = np.clip(counts / n_pairs / (among / n_uniform), clip, 1.0)
    return np.asarray(chance[np.searchsorted(values, wanted)])


def of_features(
    users: NDArray[Any],
    items: NDArray[Any],
    user_features: NDArray[Any],
    item_features: NDArray[Any],
    *,
    clip: float = 0.01,
    seed: int = 0,
    negatives_per_positive: int = _NEGATIVES_PER_POSITIVE,
) -> GivenPropensity:
    """The chance of seeing every pair, from the features of user and item, by logistic regression.

    Users and items are the rows of logged pairs. Unseen pairs are drawn, and weighted by their sampling rate.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import, and only needed here

    n_users, n_items = len(user_features), len(item_features)
    every = np.arange(n_users * n_items)
    pairs = np.unique(users * n_items + items)
    n_drawn = negatives_per_positive * len(pairs)
    rng = np.random.default_rng(seed)
    drawn = every if n_drawn >= len(every) - len(pairs) else rng.integers(0, len(every), n_drawn)
    unseen = np.setdiff1d(drawn, pairs)
    labels = np.repeat([1.0, 0.0], [len(pairs), len(unseen)])
    weight = np.where(labels, 1.0, (len(every) - len(pairs)) / len(unseen))

    def features(pairs: NDArray[Any]) -> NDArray[Any]:
        return np.hstack([user_features[pairs // n_items], item_features[pairs % n_items]])

    model = LogisticRegression(max_iter=1_000).fit(features(np.concatenate([pairs, unseen])), labels, weight)
    chances = model.predict_proba(features(every))[:, 1].reshape(n_users, n_items)
    return GivenPropensity(np.maximum(chances, clip))
