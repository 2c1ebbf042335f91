"""The estimators of propensity that the dissertation compares, and given propensities."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, IdError, NotFittedError, SettingError, SurenessError
from sureness.numerics.checks import (
    as_array,
    brief,
    check_ids,
    check_propensity,
    check_rows,
    check_scores,
    check_share,
    one_dimension,
    same_length,
)


class _ItemPropensity(Configurable):
    """One relative propensity per item; unknown items get `clip`."""

    relative: ClassVar[bool] = True
    clip: float
    items_: AnyArray  # (n_items,) sorted
    propensity_: FloatArray  # (n_items,)

    def propensity(self, users: ArrayLike | None, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair."""
        _check_fitted(self, "propensity_")
        wanted = _items_of_pairs(users, items)
        if len(wanted) and (wanted.dtype.kind in "iuf") != (self.items_.dtype.kind in "iuf"):
            raise IdError(f"items must be of the type of the fitted ones, {self.items_.dtype}, got {wanted.dtype}")
        place, known = _find(self.items_, wanted)
        return np.asarray(np.where(known, self.propensity_[place], self.clip))


class PopularityPropensity(_ItemPropensity):
    """Popular items are seen more: ``max(clip, (count / largest count) ** power)``.

    This is a *relative* propensity: only ratios between items are meaningful, so give a base rate or an anchor if the
    level of the probabilities matters.

    Parameters
    ----------
    power : float
    clip : float
        The smallest propensity, also used for items without interactions.

    Examples
    --------
    >>> model = PopularityPropensity().fit(items=["a", "a", "a", "a", "b"])
    >>> model.propensity(["u", "u", "u"], ["a", "b", "never seen"])
    array([1. , 0.5, 0.1])
    """

    def __init__(self, *, power: float = 0.5, clip: float = 0.1) -> None:
        self.power = power
        self.clip = clip

    def fit(self, users: ArrayLike | None = None, items: ArrayLike | None = None) -> Self:
        """Count the interactions of every item; users are not needed."""
        if items is None:
            raise SettingError("popularity needs the items of the interactions, got none; give items=")
        check_share(self.clip, "clip")
        if not self.power >= 0:
            raise SettingError(f"power must be 0 or more, got {self.power}; a negative one would favour rare items")
        known = one_dimension(items, "items")
        try:
            self.items_, counts = np.unique(check_ids(known, len(known), "items"), return_counts=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, SurenessError):
                raise
            raise IdError(f"items must be numbers or text, got {brief(known[0])}; convert them first") from error
        self.propensity_ = np.maximum((counts / counts.max()) ** self.power, self.clip)
        return self


class UniformPropensity(Configurable):
    """The same propensity for every pair; 1 gives the naive risk.

    Examples
    --------
    >>> UniformPropensity().propensity(["u"], ["a"])
    array([1.])
    """

    def __init__(self, *, value: float = 1.0) -> None:
        self.value = value

    def fit(self, users: ArrayLike | None = None, items: ArrayLike | None = None) -> Self:
        check_share(self.value, "value")
        return self

    def propensity(self, users: ArrayLike | None, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair."""
        return np.full(len(_items_of_pairs(users, items)), check_share(self.value, "value"))


class RandomPropensity(_ItemPropensity):
    """Random propensities between `clip` and 1, one per item: an uninformed control.

    Examples
    --------
    >>> model = RandomPropensity(seed=3).fit(items=["a", "b"])
    >>> bool(model.propensity(["u", "v"], ["a", "a"]).std() == 0)
    True
    """

    def __init__(self, *, clip: float = 0.1, seed: int = 0) -> None:
        self.clip = clip
        self.seed = seed

    def fit(self, users: ArrayLike | None = None, items: ArrayLike | None = None) -> Self:
        if items is None:
            raise SettingError("random propensities are drawn for each item, got none; give items=")
        self.items_ = np.unique(one_dimension(items, "items"))
        rng = np.random.default_rng(self.seed)
        self.propensity_ = np.maximum(rng.random(len(self.items_)), check_share(self.clip, "clip"))
        return self


class NaiveBayesPropensity(Configurable):
    """The probability of seeing a pair given its rating, from a uniformly exposed sample of ratings.

    ``P(seen | rating) = P(rating | seen) P(seen) / P(rating)``, where the uniform sample gives P(rating). It is only
    known for pairs with a rating, that is for observed pairs; other pairs do not enter the unbiased risk.

    Parameters
    ----------
    clip : float

    Examples
    --------
    >>> model = NaiveBayesPropensity().fit([5, 5, 5, 1], [5, 1, 1, 1], n_pairs=40)
    >>> model.of_ratings([5, 1]).round(2)  # 5 is a quarter of all ratings, but three quarters of those seen
    array([0.3 , 0.03])
    """

    def __init__(self, *, clip: float = 0.01) -> None:
        self.clip = clip

    def fit(self, ratings: ArrayLike, uniform_ratings: ArrayLike, *, n_pairs: int) -> Self:
        """Fit to the ratings of the log, those of the uniform sample, and the number of all pairs."""
        seen, random = one_dimension(ratings, "ratings"), one_dimension(uniform_ratings, "uniform_ratings")
        if n_pairs < len(seen):
            raise SettingError(f"n_pairs must be at least the {counted(len(seen), 'logged rating')}, got {n_pairs}")
        self.values_, counts = np.unique(seen, return_counts=True)
        place, known = _find(self.values_, random)
        uniform = np.bincount(place[known], minlength=len(self.values_)).astype(np.float64)
        n_uniform = float(len(random))
        if not uniform.all():  # absent from the sample means rare, not impossible
            uniform += 1.0
            n_uniform += len(self.values_)
        chance = counts / n_pairs / (uniform / n_uniform)
        self.propensity_ = np.clip(chance, check_share(self.clip, "clip"), 1.0)
        return self

    def of_ratings(self, ratings: ArrayLike) -> FloatArray:
        """Propensities, one for each rating."""
        _check_fitted(self, "propensity_")
        values = one_dimension(ratings, "ratings")
        place, known = _find(self.values_, values)
        if not known.all():
            raise DataError(f"ratings must be among {self.values_.tolist()}, got {values[~known][0]!s}")
        return np.asarray(self.propensity_[place])

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Always refused: the propensity depends on the rating."""
        raise DataError("naive Bayes knows the propensity of a rating, not of a pair; use of_ratings(ratings)")


class LogisticPropensity(Configurable):
    """The probability of seeing a pair, from features of user and item, by logistic regression.

    Parameters
    ----------
    clip : float
    regularisation : float
        Inverse strength of the penalty, as scikit-learn's ``C``.
    negatives_per_positive : int
        Unseen pairs drawn per seen pair; the fit corrects for the sampling rate.
    seed : int

    Examples
    --------
    >>> users, items = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)   # everyone saw the first 4 of 8 items
    >>> model = LogisticPropensity().fit(users, items, user_features=np.ones((50, 1)),
    ...                                  item_features=np.repeat([[1.0], [0.0]], 4, axis=0))
    >>> model.propensity([0, 0], [0, 7]).round(1)
    array([1., 0.])
    """

    def __init__(
        self, *, clip: float = 0.01, regularisation: float = 1.0, negatives_per_positive: int = 10, seed: int = 0
    ) -> None:
        self.clip = clip
        self.regularisation = regularisation
        self.negatives_per_positive = negatives_per_positive
        self.seed = seed

    def fit(self, users: ArrayLike, items: ArrayLike, *, user_features: ArrayLike, item_features: ArrayLike) -> Self:
        """Fit to the pairs of the log; users and items are row numbers of the feature matrices."""
        from sklearn.linear_model import LogisticRegression  # slow to import, and only needed here

        self.user_features_, self.item_features_ = _matrix(user_features), _matrix(item_features)
        n_users, n_items = len(self.user_features_), len(self.item_features_)
        check_share(self.clip, "clip")
        if self.negatives_per_positive < 1:
            raise SettingError(f"negatives_per_positive must be at least 1, got {self.negatives_per_positive}")
        rows, columns = self._pairs(users, items)
        pairs = np.unique(rows * n_items + columns)
        n_drawn = self.negatives_per_positive * len(pairs)
        rng = np.random.default_rng(self.seed)
        if n_drawn >= n_users * n_items - len(pairs):
            unseen = np.setdiff1d(np.arange(n_users * n_items), pairs)
        else:
            unseen = np.setdiff1d(rng.integers(0, n_users * n_items, n_drawn), pairs)
        if not len(unseen):
            raise DataError("every pair is in the log, so propensities are 1; use UniformPropensity")
        both = np.concatenate([pairs, unseen])
        labels = np.r_[np.ones(len(pairs)), np.zeros(len(unseen))]
        weight = np.r_[np.ones(len(pairs)), np.full(len(unseen), (n_users * n_items - len(pairs)) / len(unseen))]
        model = LogisticRegression(C=self.regularisation, max_iter=1_000)
        model.fit(self._features(both // n_items, both % n_items), labels, sample_weight=weight)
        self.model_ = model
        return self

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair."""
        _check_fitted(self, "model_")
        rows, columns = self._pairs(users, items)
        if not len(rows):
            return np.empty(0)
        return np.asarray(np.maximum(self.model_.predict_proba(self._features(rows, columns))[:, 1], self.clip))

    def _features(self, users: AnyArray, items: AnyArray) -> FloatArray:
        return np.hstack([self.user_features_[users], self.item_features_[items]])

    def _pairs(self, users: ArrayLike, items: ArrayLike) -> tuple[IntArray, IntArray]:
        rows = check_rows(users, len(self.user_features_), "users", "must be rows {} of the features")
        columns = check_rows(items, len(self.item_features_), "items", "must be rows {} of the features")
        same_length(columns, len(rows), "items")
        return rows, columns


class GivenPropensity(Configurable):
    """Given propensities: a matrix of users and items, or one value per item.

    Examples
    --------
    >>> GivenPropensity(np.array([[0.5, 0.1], [0.3, 1.0]])).propensity([0, 1], [1, 0])
    array([0.1, 0.3])
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values = values

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Propensities, one for each pair; users and items are row and column numbers."""
        values = as_array(self.values, "propensities")
        if values.ndim not in (1, 2) or values.dtype.kind not in "iuf":
            raise DataError(
                f"propensities must be numbers, one for each item or a matrix of users and items, got shape "
                f"{values.shape} of {values.dtype}; for one value for all pairs use UniformPropensity(value=...)"
            )
        inside = f"must lie inside the given {values.shape} propensities, {{}}"
        columns = check_rows(items, values.shape[-1], "items", inside)
        same_length(np.atleast_1d(as_array(users, "users")), len(columns), "users")
        rows = check_rows(users, len(values), "users", inside) if values.ndim == 2 else columns
        found = values[columns] if values.ndim == 1 else values[rows, columns]
        return np.asarray(check_propensity(found, len(found))) if len(found) else found


def _items_of_pairs(users: ArrayLike | None, items: ArrayLike) -> AnyArray:
    array = np.atleast_1d(as_array(items, "items"))
    if users is not None:
        same_length(np.atleast_1d(as_array(users, "users")), len(array), "users")
    return array


def _matrix(features: ArrayLike) -> FloatArray:
    array = np.asarray(features, dtype=np.float64)
    if array.ndim != 2:
        raise DataError(f"features must be a matrix with one row per id, got shape {array.shape}")
    check_scores(array.ravel(), "features")
    return array


def _find(known: AnyArray, wanted: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Position of each wanted value among the sorted known ones, and whether it is there."""
    place = np.searchsorted(known, wanted)
    place[place == len(known)] = 0
    return place, known[place] == wanted


def _check_fitted(model: Configurable, attribute: str) -> None:
    if not hasattr(model, attribute):
        raise NotFittedError(f"{type(model).__name__} is not fitted yet; call fit first")
