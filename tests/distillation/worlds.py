"""Small models, logs and sources on which a distillation takes less than a second."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.testing import assert_array_equal

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.distillation.bidirectional import BidirectionalDistillation
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.models.catalogue import make_recommender
from sureness.sources.base import FactorSource, MatrixSource
from tests.models.worlds import everyone, simulated

SHORT = {"warm_up": 2, "epochs": 4, "refresh_every": 2, "validate_every": 2}
UNLABELLED = Direction(weight=0.0)


def model(name="bpr", **changes):
    """A quick recommender, not fitted."""
    settings = {"n_factors": 6, "batch_size": 512, "learning_rate": 0.01, "epochs": 4, "metric": "ndcg@10"}
    return make_recommender(name, **(settings | changes))


@cache
def fitted(name="bpr", n_factors=8, **changes):
    """A quick recommender, fitted on the simulated world; shared between tests, so do not change it."""
    return model(name, n_factors=n_factors, **changes).fit(simulated().train)


def parts():
    return simulated().train, simulated().validation


def joined(teacher, student, settings=None, **changes):
    """A distillation of a few epochs, unless the settings say otherwise."""
    made = DistillationSettings(**SHORT) if settings is None else settings
    return BidirectionalDistillation.from_settings(teacher, student, made.changed(**changes))


def unlabelled(**changes):
    """Settings without soft labels in either direction."""
    return DistillationSettings(to_teacher=UNLABELLED, to_student=UNLABELLED).changed(**(SHORT | changes))


def log_of(n_users=30, n_items=40, density=0.15, seed=0, full=()):
    """Random pairs; the users in `full` have seen every item, the last user none."""
    seen = np.random.default_rng(seed).random((n_users, n_items)) < density
    seen[list(full)] = True
    seen[-1] = False
    return Interactions.from_matrix(seen)


def scores_for(log, seed=0, n_factors=3):
    """A source of random factors with the ids of a log."""
    rng = np.random.default_rng([seed, 1])
    users, items = (rng.normal(size=(n, n_factors)).astype(np.float32) for n in log.shape)
    return FactorSource(users, items, users=log.users, items=log.items)


def weights(recommender):
    """The learned tensors by name."""
    return {name: tensor.detach().numpy().copy() for name, tensor in recommender.network_.state_dict().items()}


def elsewhere(n_users=140, n_items=90, first=5):
    """A score matrix for some users and items of the log, and for others that the log does not contain."""
    scores = np.random.default_rng(0).normal(size=(n_users, n_items)).astype(np.float32)
    return MatrixSource(
        scores, users=IdMap.of(np.arange(first, first + n_users)), items=IdMap.of(np.arange(20, 20 + n_items))
    )


def same(first, second):
    """Assert that two distillations learned the same, bit by bit, and have the same history."""
    for one, other in ((first.teacher_, second.teacher_), (first.student_, second.student_)):
        if not hasattr(one, "network_"):
            continue
        mine, theirs = weights(one), weights(other)
        for name in mine:
            assert_array_equal(mine[name], theirs[name], err_msg=name)
        assert_array_equal(everyone(one), everyone(other))
        assert (one.best_epoch_, one.best_metric_) == (other.best_epoch_, other.best_metric_)
    assert first.history_.drop("seconds").equals(second.history_.drop("seconds"))
    assert first.warm_up_ == second.warm_up_
