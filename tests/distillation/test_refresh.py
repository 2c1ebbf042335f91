"""Items drawn at a refresh, against slow loops over users."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.distillation import refresh as refreshing
from sureness.distillation.refresh import Side, refresh
from sureness.distillation.sampling import SCHEMES
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.sources.base import FactorSource, MatrixSource
from sureness.sources.function import AlignedSource
from tests.distillation.worlds import log_of, scores_for

TO_TEACHER, TO_STUDENT = 0, 1


def refreshed(log, sources=None, to_student=None, to_teacher=None, keep_scores=False, seed=0, **changes):
    """The result of one refresh for each direction that was given, to the student first."""
    sources = (scores_for(log, 1), scores_for(log, 2)) if sources is None else sources
    given_sides = [(to_student, TO_STUDENT), (to_teacher, TO_TEACHER)]
    sides = [Side(direction, learner, keep_scores) for direction, learner in given_sides if direction is not None]
    made = DistillationSettings(**changes)
    return refresh(sources, log, sides, made, np.random.default_rng(seed))


def unseen_of(log, user):
    return np.setdiff1d(np.arange(log.n_items), log.items_of(user))


def best_unseen(source, log, user, n):
    """The n best items of a user, without seen items and items that the source does not know."""
    row = source.score_block(np.array([user]))[0]
    there = [item for item in unseen_of(log, user) if row[item] > -np.inf]
    return sorted(there, key=lambda item: (-row[item], item))[:n]


def some_known(log, known_users, known_items, seed=1):
    """A source that knows a few users and items, aligned with a log."""
    scores = np.random.default_rng(seed).normal(size=(known_users, known_items)).astype(np.float32)
    return AlignedSource.of(MatrixSource(scores), log)


# --- draws -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.sampled_from(list(SCHEMES)), st.integers(2, 12), st.integers(1, 25), st.floats(0.05, 0.9), st.integers(1, 6),
    st.integers(0, 5), st.integers(0, 99),
)  # fmt: skip
def test_drawn_items_are_unseen_and_in_the_order_of_the_learners_pairs(
    scheme, n_users, n_items, density, n, positives, seed
):
    log = log_of(n_users, n_items, density, seed, full=[0])
    direction = Direction(scheme=scheme, items=n, positives=positives)
    (drawn,) = refreshed(log, to_student=direction, seed=seed, refresh_every=3)
    pool = drawn.pool
    assert not pool.by_user
    assert pool.items.shape == (len(drawn.log), 3, n)
    assert pool.items.dtype == np.int32
    for row, user in enumerate(drawn.log.user_rows):
        unseen = unseen_of(log, user)
        assert np.all(np.isin(pool.items[row], unseen)) if len(unseen) else np.all(pool.items[row] == -1)


@pytest.mark.parametrize("learner", [TO_TEACHER, TO_STUDENT])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("by", ["guide", "learner"])
def test_items_are_drawn_with_the_probabilities_of_the_dissertation(scheme, learner, by):
    """From scores to draws: ranks count unseen items only, and the guide is the other model.

    The authors' code has the two models in each other's place.
    """
    log = log_of(3, 60, 0.3, seed=2)
    sources, scale, user = (scores_for(log, 1), scores_for(log, 2)), 0.02, 0
    direction = Direction(scheme=scheme, rank_gap_scale=scale, items=2_000, ranked_higher_by=by)
    side = {"to_student": direction} if learner == TO_STUDENT else {"to_teacher": direction}
    (found,) = refreshed(log, sources, **side, refresh_every=2)
    drawn = found.pool.items[log.user_rows == user].ravel()
    orders = [best_unseen(source, log, user, 60) for source in sources]
    weights = np.zeros(60)
    for item in orders[0]:
        teacher, student = (order.index(item) + 1 for order in orders)
        guide, own = (teacher, student) if (learner == TO_STUDENT) == (by == "guide") else (student, teacher)
        gap = own - guide
        weights[item] = {"tanh": np.tanh(max(gap * scale, 0)), "exp": np.exp(gap * scale),
                         "rank-aware": np.exp(-guide * scale), "uniform": 1.0}[scheme]  # fmt: skip
    counts, there = np.bincount(drawn, minlength=60), weights > 0
    assert counts[~there].sum() == 0
    assert chisquare(counts[there], weights[there] / weights.sum() * len(drawn)).pvalue > 1e-3


def test_a_steep_exp_draws_the_largest_gaps_of_a_user():
    """Two models nearly agree: weights relative to the largest possible gap would underflow to zero."""
    rng = np.random.default_rng(0)
    log = log_of(2, 1_000, 0.02)
    scores = rng.normal(size=(2, 1_000)).astype(np.float32)
    sources = MatrixSource(scores), MatrixSource(scores + rng.normal(size=scores.shape).astype(np.float32) * 0.01)
    drawn = refreshed(log, sources, to_teacher=Direction(scheme="exp", rank_gap_scale=1.0, items=50))[
        0
    ].pool.items.ravel()
    teacher, student = (
        {item: rank for rank, item in enumerate(best_unseen(source, log, 0, 1_000))} for source in sources
    )
    gap = np.array([teacher[item] - student[item] for item in teacher])
    chance = np.exp(gap - gap.max()) / np.exp(gap - gap.max()).sum()
    assert np.mean([teacher[item] - student[item] for item in drawn.tolist()]) == pytest.approx(chance @ gap, abs=0.2)


def test_each_direction_draws_its_own_items():
    log = log_of()
    to_student, to_teacher = refreshed(log, to_student=Direction(items=3), to_teacher=Direction(scheme="exp", items=5))
    assert (to_student.pool.items.shape[2], to_teacher.pool.items.shape[2]) == (3, 5)


def test_the_seed_determines_the_draws_and_the_sources_do_not_change():
    log = log_of()
    matrices = [np.random.default_rng(seed).normal(size=log.shape).astype(np.float32) for seed in (1, 2)]
    before = [matrix.copy() for matrix in matrices]
    sources = tuple(MatrixSource(matrix) for matrix in matrices)
    one, same, other = (refreshed(log, sources, to_student=Direction(), seed=seed)[0].pool.items for seed in (0, 0, 1))
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert_array_equal(matrices, before)


def test_each_round_has_new_draws():
    log = log_of(20, 200)
    items = refreshed(log, to_student=Direction(scheme="uniform"), refresh_every=3)[0].pool.items
    assert not np.array_equal(items[:, 0], items[:, 1])


@pytest.mark.parametrize(("direction", "pooled"), [
    (Direction(weight=0.0), False), (Direction(), True),
    (Direction(weight=0.0, positives=2), False), (Direction(weight=0.0, scheme="top"), False),
])  # fmt: skip
def test_a_pool_exists_only_if_its_items_are_used(direction, pooled):
    drawn = refreshed(log_of(), to_student=direction)[0]
    assert (drawn.pool is not None) == pooled


def test_without_positives_the_log_is_the_given_one():
    log = log_of()
    assert refreshed(log, to_student=Direction())[0].log is log


# --- the best items --------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.integers(2, 10),
    st.integers(1, 20),
    st.integers(1, 25),
    st.sampled_from([TO_TEACHER, TO_STUDENT]),
    st.integers(0, 99),
)
def test_top_takes_the_guides_best_unseen_items(n_users, n_items, n, learner, seed):
    log = log_of(n_users, n_items, 0.4, seed, full=[0])
    sources = scores_for(log, seed), scores_for(log, seed + 1)
    direction = Direction(scheme="top", items=n)
    side = {"to_student": direction} if learner == TO_STUDENT else {"to_teacher": direction}
    pool = refreshed(log, sources, **side)[0].pool
    assert pool.by_user
    assert pool.items.shape == (n_users, 1, n)
    for user in range(n_users):
        first = best_unseen(sources[1 - learner], log, user, n)
        assert pool.items[user, 0].tolist() == first + [-1] * (n - len(first))


@settings(max_examples=40)
@given(st.integers(2, 10), st.integers(2, 20), st.integers(1, 25), st.integers(0, 99))
def test_positives_are_the_guides_best_items_and_one_item_stays_unseen(n_users, n_items, positives, seed):
    log = log_of(n_users, n_items, 0.4, seed, full=[0])
    sources = scores_for(log, seed), scores_for(log, seed + 1)
    drawn = refreshed(log, sources, to_student=Direction(positives=positives))[0]
    for user in range(n_users):
        added = best_unseen(sources[0], log, user, min(positives, max(0, n_items - log.user_degree[user] - 1)))
        assert_array_equal(drawn.log.items_of(user), sorted({*log.items_of(user), *added}))
        assert drawn.log.user_degree[user] < n_items or log.user_degree[user] == n_items
    assert drawn.log.users is log.users
    assert drawn.log.items is log.items


def test_positives_can_be_added_to_a_log_with_ratings_and_times():
    log = Interactions.of([0, 0, 1, 2], [0, 1, 2, 3], ratings=[1.0, 2.0, 3.0, 4.0], times=[1, 2, 3, 4])
    drawn = refreshed(log, to_student=Direction(positives=1))[0]
    assert len(drawn.log) == 4 + 3


# --- a guide that does not know everything ---------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [*SCHEMES, "top"])
def test_only_items_that_the_guide_knows_are_drawn_with_their_scores(scheme):
    log = log_of(12, 30, 0.3)
    guide = some_known(log, known_users=8, known_items=20)
    sources = guide, scores_for(log, 2)
    drawn = refreshed(log, sources, to_student=Direction(scheme=scheme, items=4), keep_scores=True)[0]
    pool, scores = drawn.pool, guide.score_block(np.arange(12))
    owners = np.arange(12) if pool.by_user else log.user_rows
    assert pool.scores.shape == pool.items.shape
    for row, user in enumerate(owners):
        items = pool.items[row].ravel()
        known = items >= 0
        assert np.all(items < 20)
        assert known.any() == (user < 8)
        assert_array_equal(pool.scores[row].ravel(), np.where(known, scores[user, items], 0.0))


@pytest.mark.parametrize("positives", [3, 15])
def test_a_guide_that_knows_few_items_adds_fewer_positives_and_the_pool_matches_the_log(positives):
    log = log_of(12, 30, 0.3)
    guide = some_known(log, known_users=8, known_items=10)
    direction = Direction(positives=positives, items=2)
    drawn = refreshed(log, (guide, scores_for(log, 2)), to_student=direction, keep_scores=True)[0]
    assert len(log) < len(drawn.log) < len(log) + 12 * positives
    assert drawn.pool.items.shape[0] == drawn.pool.scores.shape[0] == len(drawn.log)
    for row, user in enumerate(drawn.log.user_rows):
        items = drawn.pool.items[row]
        assert np.all((items == -1) | np.isin(items, unseen_of(log, user)))


def test_a_user_who_has_seen_every_item_gets_no_drawn_items():
    log = log_of(5, 8, 0.5, full=[2])
    for scheme in ("tanh", "top"):
        pool = refreshed(log, to_student=Direction(scheme=scheme, position_decay=2.0 if scheme == "top" else 0.0))[
            0
        ].pool
        rows = [2] if pool.by_user else np.flatnonzero(log.user_rows == 2)
        assert np.all(pool.items[rows] == -1)
        if pool.weights is not None:
            assert np.all(pool.weights[2] == 0)


# --- how much is kept ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_scores", [False, True])
@pytest.mark.parametrize("megabytes", [1, 2, 512])
def test_a_pool_is_no_larger_than_allowed(megabytes, keep_scores, monkeypatch):
    """If not all rounds fit, several epochs share one; there is always at least one."""
    monkeypatch.setattr(refreshing, "_POOL_BYTES", megabytes << 20)
    log = log_of(200, 100, 0.2)
    drawn = refreshed(log, to_student=Direction(items=10), keep_scores=keep_scores, refresh_every=20)[0]
    rounds = drawn.pool.items.shape[1]
    size = drawn.pool.items.nbytes + (drawn.pool.scores.nbytes if keep_scores else 0)
    assert size <= megabytes << 20 or rounds == 1
    assert rounds == min(20, max(1, (megabytes << 20) * rounds // size))


def test_there_is_always_at_least_one_round(monkeypatch):
    monkeypatch.setattr(refreshing, "_POOL_BYTES", 1 << 20)
    log = log_of(200, 100, 0.5)
    assert refreshed(log, to_student=Direction(items=100))[0].pool.items.shape[1] == 1


def test_peak_memory_is_far_below_a_table_of_users_and_items(monkeypatch):
    """The peak is a few blocks and the pool."""
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 20_000)
    keys = np.unique(np.random.default_rng(0).integers(0, 2_000 * 1_000, 3_000))
    log = Interactions(IdMap.counting(2_000), IdMap.counting(1_000), keys // 1_000, keys % 1_000)
    sources = scores_for(log, 1), scores_for(log, 2)
    directions = {"to_student": Direction(items=2, positives=1), "to_teacher": Direction(scheme="exp", items=2)}
    refreshed(log, sources, **directions, refresh_every=2)  # compile and fill caches first
    tracemalloc.start()
    refreshed(log, sources, **directions, refresh_every=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000 * 1_000 * 4 / 2


def test_progress_is_reported_after_each_block(monkeypatch):
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 40 * 7)
    log, reported = log_of(30, 40), []
    sources, side = (scores_for(log, 1), scores_for(log, 2)), Side(Direction(), TO_STUDENT, keep_scores=False)
    rng = np.random.default_rng(0)
    refresh(sources, log, [side], DistillationSettings(), rng, lambda *step: reported.append(step))
    assert reported == [("ranking for the next epochs", done, 30) for done in (7, 14, 21, 28, 30)]


# --- the weights of positions ----------------------------------------------------------------------------------------


def test_position_weights_use_the_ranks_of_both_models():
    log = log_of(4, 50, 0.1)
    sources = scores_for(log, 1), scores_for(log, 2)
    direction = Direction(scheme="top", items=5, position_decay=3.0, rank_gap_scale=0.1)
    pool = refreshed(log, sources, to_student=direction)[0].pool
    for user in range(4):
        orders = [best_unseen(source, log, user, 50) for source in sources]
        gap = [orders[1].index(item) - place for place, item in enumerate(orders[0][:5])]
        weights = np.exp(-np.arange(5) / 3) * np.tanh(np.maximum(0.1 * np.array(gap), 0))
        assert_allclose(pool.weights[user], weights / weights.sum(), rtol=1e-5)


def test_sources_of_different_kinds_with_the_same_scores_give_the_same_draws():
    log = log_of(10, 30)
    rng = np.random.default_rng(0)
    factors = FactorSource(rng.normal(size=(10, 2)), rng.normal(size=(30, 2)), item_bias=rng.normal(size=30))
    matrix = MatrixSource(factors.score_block(np.arange(10)))
    one, other = (
        refreshed(log, (guide, scores_for(log, 2)), to_student=Direction())[0].pool for guide in (factors, matrix)
    )
    assert_array_equal(one.items, other.items)
