"""Worlds whose truth is known: what lists promise against the true probabilities of the items they show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

import sureness as sn
from sureness.calibration.list_terms import among_best
from sureness.data.splitting import parted

SHOWN = 50
SIZES = (20, SHOWN)


@dataclass
class World:
    source: sn.MatrixSource
    train: sn.Interactions
    validation: sn.Interactions
    test: sn.Interactions
    truth: NDArray[np.floating]  # (n_users, n_items) chance to be a test item, given that it is in neither other part


@cache
def world(kind: str, seed: int = 0) -> World:
    """Every user's relevant items go to training, validation or test with 60, 20 and 20%."""
    rng = np.random.default_rng(seed)
    n_users = {"sparse": 15_000, "hidden activity": 12_000}.get(kind, 6_000)
    n_items = 100 if kind in ("sparse", "hidden activity") else 120
    taste = rng.normal(size=(n_users, n_items)).astype(np.float32)
    activity = np.zeros(n_users) if kind == "alike" else rng.normal(size=n_users)
    level = {"sparse": -3.3, "hidden activity": -2.0, "alike": -1.8}.get(kind, -2.2)
    log_odds = level + 1.3 * taste + activity[:, None] * (0.7 if kind == "hidden activity" else 1.0)
    scores = 1.3 * taste + 0.7 * rng.normal(size=taste.shape)
    scores = {
        "heavy tails": lambda: np.exp(2 * scores),
        "ties": lambda: np.round(1.5 * scores),
        "scales": lambda: scores * np.exp(rng.normal(size=n_users))[:, None] + 3 * rng.normal(size=n_users)[:, None],
    }.get(kind, lambda: scores)()
    chance = expit(log_odds)
    relevant, part = rng.random(taste.shape) < chance, rng.choice(3, size=taste.shape, p=[0.6, 0.2, 0.2])
    train, validation, test = (relevant & (part == number) for number in range(3))
    truth = 0.2 * chance / (1 - 0.8 * chance)
    if kind == "hidden activity":  # the training log comes from elsewhere: how long a history is tells nothing
        train = rng.random(taste.shape) < 0.2 * expit(taste + rng.normal(size=n_users)[:, None])
        truth = 0.2 * chance / (1 - 0.2 * chance)
        test, validation = relevant & (part == 2) & ~train, relevant & (part == 1) & ~train
    logs = parted(*(sn.Interactions.from_matrix(each) for each in (train, validation, test)))
    return World(sn.MatrixSource(scores), *logs, truth)


@pytest.mark.parametrize("kind", ["alike", "activity", "hidden activity", "sparse", "heavy tails", "ties", "scales"])
def test_lists_promise_what_is_true(kind):
    found = world(kind)
    recommender = sn.ConfidentRecommender(found.source, policy=sn.FixedSize(SHOWN)).fit(found.train, found.validation)
    lists = recommender.lists(labels=found.test)
    assert lists.hits.sum() > 20_000
    history = found.train.user_degree
    quarter = np.searchsorted(np.quantile(history, [0.25, 0.5, 0.75]), history)
    for size in SIZES:
        promised = lists.probabilities[:, :size]
        true = found.truth[lists.users[:, None], lists.items[:, :size]]
        assert promised.sum() / true.sum() == pytest.approx(1, abs=0.03), size
        for number in np.unique(quarter):
            inside = quarter == number
            assert promised[inside].sum() / true[inside].sum() == pytest.approx(1, abs=0.07), (size, number)


def test_users_who_are_all_alike_are_not_promised_hits_they_do_not_get():
    """A map for each user promised 3,607 hits where 851 came: it had learned from users with a positive."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3_000, 300)).astype(np.float32)
    chance = expit(-8.5 + 1.5 * scores)
    parts = [rng.random(scores.shape) < chance for _ in range(3)]
    train, validation, test = parts[0], parts[1] & ~parts[0], parts[2] & ~parts[0] & ~parts[1]
    logs = parted(*(sn.Interactions.from_matrix(each) for each in (train, validation, test)))
    recommender = sn.ConfidentRecommender(sn.MatrixSource(scores), policy=sn.FixedSize(50)).fit(*logs[:2])
    total = recommender.promise(logs[2]).row(0, named=True)
    assert total["ratio"] == pytest.approx(1, abs=0.1)


def test_users_without_validation_items_are_promised_what_they_get():
    """In an exchangeable world a map for each user promised twice too much to users without validation items."""
    found = world("activity")
    recommender = sn.ConfidentRecommender(found.source, policy=sn.FixedSize(SHOWN)).fit(found.train, found.validation)
    lists = recommender.lists(labels=found.test)
    by_history = found.train.user_degree <= np.quantile(found.train.user_degree, 0.1)
    promised, hits = lists.probabilities[by_history].sum(), lists.hits[by_history].sum()
    assert hits / promised == pytest.approx(1, abs=0.12)


def test_groups_never_seen_are_promised_what_is_true():
    found = world("activity")
    half = np.arange(found.source.n_users) % 2 == 0
    users, items = np.nonzero(~found.train.matrix.toarray().astype(bool) & half[:, None])
    labels = found.validation.matrix.toarray()[users, items] > 0
    history = found.train.user_degree
    fitted = sn.ListCalibrator().fit(found.source.matrix[users, items], labels, groups=users, history=history[users])
    others, items = np.nonzero(~found.train.matrix.toarray().astype(bool) & ~half[:, None])
    promised = fitted.probability(found.source.matrix[others, items], groups=others, history=history[others])
    best = among_best(found.source.matrix[others, items], others, 50)  # where it was fitted
    promised, came = promised[best], (found.validation.matrix.toarray()[others, items] > 0)[best]
    assert came.sum() / promised.sum() == pytest.approx(1, abs=0.03)
    likely = promised > 0.2
    assert came[likely].sum() / promised[likely].sum() == pytest.approx(1, abs=0.05)
