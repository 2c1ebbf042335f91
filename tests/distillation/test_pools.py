"""What is drawn at a refresh, against slow loops over users."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2_contingency, chisquare

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.distillation.foreign import ForeignSource
from sureness.distillation.pools import Pool, Side, position_weights, refresh
from sureness.distillation.sampling import SCHEMES
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.evaluation import ranking
from sureness.models.networks.batches import Batch
from sureness.sources.base import FactorSource, MatrixSource
from tests.distillation.worlds import log_of, scores_for

TO_TEACHER, TO_STUDENT = 0, 1


def look(log, sources=None, to_student=None, to_teacher=None, keep_scores=False, seed=0, report=None, **changes):
    """The lessons of one refresh, of the student first."""
    sources = (scores_for(log, 1), scores_for(log, 2)) if sources is None else sources
    given_sides = [(to_student, TO_STUDENT), (to_teacher, TO_TEACHER)]
    sides = [Side(direction, learner, keep_scores) for direction, learner in given_sides if direction is not None]
    made = DistillationSettings(**({"ranks": "exact"} | changes))
    return refresh(sources, log, sides, made, np.random.default_rng(seed), report)


def unseen_of(log, user):
    return np.setdiff1d(np.arange(log.n_items), log.items_of(user))


def best_unseen(source, log, user, n):
    """The first n items of a user by the scores of a source, seen and unknown ones left out."""
    row = source.score_block(np.array([user]))[0]
    there = [item for item in unseen_of(log, user) if row[item] > -np.inf]
    return sorted(there, key=lambda item: (-row[item], item))[:n]


def some_known(log, known_users, known_items, seed=1):
    """A source of a few users and items, seen through a log."""
    scores = np.random.default_rng(seed).normal(size=(known_users, known_items)).astype(np.float32)
    return ForeignSource.of(MatrixSource(scores), log)


# --- draws ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.sampled_from(list(SCHEMES)), st.integers(2, 12), st.integers(1, 25), st.floats(0.05, 0.9), st.integers(1, 6),
    st.integers(0, 5), st.sampled_from(["sketch", "exact"]), st.integers(0, 99),
)  # fmt: skip
def test_what_is_drawn_is_unseen_and_in_the_order_of_the_learners_pairs(
    scheme, n_users, n_items, density, n, positives, ranks, seed
):
    log = log_of(n_users, n_items, density, seed, full=[0])
    direction = Direction(scheme=scheme, items=n, positives=positives)
    (lesson,) = look(log, to_student=direction, seed=seed, ranks=ranks, refresh_every=3)
    pool = lesson.pool
    assert not pool.by_user
    assert pool.items.shape == (len(lesson.log), 3, n)
    assert pool.items.dtype == np.int32
    for row, user in enumerate(lesson.log.user_rows):
        unseen = unseen_of(log, user)
        assert np.all(np.isin(pool.items[row], unseen)) if len(unseen) else np.all(pool.items[row] == -1)


@pytest.mark.parametrize("learner", [TO_TEACHER, TO_STUDENT])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ranks", ["exact", "sketch"])
def test_a_users_draws_follow_the_text(scheme, learner, ranks):
    """From scores to draws: ranks among unseen items only, and the guide is the other of the two."""
    log = log_of(3, 60, 0.3, seed=2)
    sources, scale, user = (scores_for(log, 1), scores_for(log, 2)), 0.02, 0
    direction = Direction(scheme=scheme, rank_gap_scale=scale, items=2_000)
    side = {"to_student": direction} if learner == TO_STUDENT else {"to_teacher": direction}
    (lesson,) = look(log, sources, **side, refresh_every=2, ranks=ranks)
    drawn = lesson.pool.items[log.user_rows == user].ravel()
    orders = [best_unseen(source, log, user, 60) for source in sources]
    weights = np.zeros(60)
    for item in orders[0]:
        teacher, student = (order.index(item) + 1 for order in orders)
        guide, own = (teacher, student) if learner == TO_STUDENT else (student, teacher)
        gap = own - guide
        weights[item] = {"tanh": np.tanh(max(gap * scale, 0)), "exp": np.exp(gap * scale),
                         "rank-aware": np.exp(-guide * scale), "uniform": 1.0}[scheme]  # fmt: skip
    found, there = np.bincount(drawn, minlength=60), weights > 0
    assert found[~there].sum() == 0
    assert chisquare(found[there], weights[there] / weights.sum() * len(drawn)).pvalue > 1e-3


def test_a_steep_exp_draws_the_largest_gaps_of_a_user():
    """Two models that nearly agree: the scale is steep for the gaps there could be, not for those there are."""
    rng = np.random.default_rng(0)
    log = log_of(2, 1_000, 0.02)
    scores = rng.normal(size=(2, 1_000)).astype(np.float32)
    sources = MatrixSource(scores), MatrixSource(scores + rng.normal(size=scores.shape).astype(np.float32) * 0.01)
    drawn = look(log, sources, to_teacher=Direction(scheme="exp", rank_gap_scale=1.0, items=50))[0].pool.items.ravel()
    teacher, student = (
        {item: rank for rank, item in enumerate(best_unseen(source, log, 0, 1_000))} for source in sources
    )
    gap = np.array([teacher[item] - student[item] for item in teacher])
    chance = np.exp(gap - gap.max()) / np.exp(gap - gap.max()).sum()
    assert np.mean([teacher[item] - student[item] for item in drawn.tolist()]) == pytest.approx(chance @ gap, abs=0.2)


def test_both_directions_draw_for_themselves():
    log = log_of()
    to_student, to_teacher = look(log, to_student=Direction(items=3), to_teacher=Direction(scheme="exp", items=5))
    assert (to_student.pool.items.shape[2], to_teacher.pool.items.shape[2]) == (3, 5)


def test_a_seed_decides_the_draws_and_the_sources_are_left_alone():
    log = log_of()
    matrices = [np.random.default_rng(seed).normal(size=log.shape).astype(np.float32) for seed in (1, 2)]
    before = [matrix.copy() for matrix in matrices]
    sources = tuple(MatrixSource(matrix) for matrix in matrices)
    one, same, other = (look(log, sources, to_student=Direction(), seed=seed)[0].pool.items for seed in (0, 0, 1))
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert_array_equal(matrices, before)


def test_every_round_is_drawn_anew():
    log = log_of(20, 200)
    items = look(log, to_student=Direction(scheme="uniform"), refresh_every=3)[0].pool.items
    assert not np.array_equal(items[:, 0], items[:, 1])


@pytest.mark.parametrize(("direction", "pooled"), [
    (Direction(weight=0.0), False), (Direction(weight=0.0, reuse=True), True),
    (Direction(weight=0.0, positives=2), False), (Direction(weight=0.0, scheme="top"), False),
])  # fmt: skip
def test_nothing_is_drawn_that_is_not_used(direction, pooled):
    lesson = look(log_of(), to_student=direction)[0]
    assert (lesson.pool is not None) == pooled


def test_without_positives_the_log_is_the_one_that_was_given():
    log = log_of()
    assert look(log, to_student=Direction())[0].log is log


# --- the first items -----------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.integers(2, 10),
    st.integers(1, 20),
    st.integers(1, 25),
    st.sampled_from([TO_TEACHER, TO_STUDENT]),
    st.integers(0, 99),
)
def test_top_takes_the_guides_first_unseen_items(n_users, n_items, n, learner, seed):
    log = log_of(n_users, n_items, 0.4, seed, full=[0])
    sources = scores_for(log, seed), scores_for(log, seed + 1)
    direction = Direction(scheme="top", items=n)
    side = {"to_student": direction} if learner == TO_STUDENT else {"to_teacher": direction}
    pool = look(log, sources, **side)[0].pool
    assert pool.by_user
    assert pool.items.shape == (n_users, 1, n)
    for user in range(n_users):
        first = best_unseen(sources[1 - learner], log, user, n)
        assert pool.items[user, 0].tolist() == first + [-1] * (n - len(first))


@settings(max_examples=40)
@given(st.integers(2, 10), st.integers(2, 20), st.integers(1, 25), st.integers(0, 99))
def test_positives_are_the_guides_first_items_and_one_item_stays_unseen(n_users, n_items, positives, seed):
    log = log_of(n_users, n_items, 0.4, seed, full=[0])
    sources = scores_for(log, seed), scores_for(log, seed + 1)
    lesson = look(log, sources, to_student=Direction(positives=positives))[0]
    for user in range(n_users):
        added = best_unseen(sources[0], log, user, min(positives, max(0, n_items - log.user_degree[user] - 1)))
        assert_array_equal(lesson.log.items_of(user), sorted({*log.items_of(user), *added}))
        assert lesson.log.user_degree[user] < n_items or log.user_degree[user] == n_items
    assert lesson.log.users is log.users
    assert lesson.log.items is log.items


def test_a_log_with_ratings_and_times_gets_positives_too():
    log = Interactions.of([0, 0, 1, 2], [0, 1, 2, 3], ratings=[1.0, 2.0, 3.0, 4.0], times=[1, 2, 3, 4])
    lesson = look(log, to_student=Direction(positives=1))[0]
    assert len(lesson.log) == 4 + 3


# --- a guide that does not know everything -------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [*SCHEMES, "top"])
def test_only_what_the_guide_knows_is_passed_on_with_its_scores(scheme):
    log = log_of(12, 30, 0.3)
    guide = some_known(log, known_users=8, known_items=20)
    sources = guide, scores_for(log, 2)
    lesson = look(log, sources, to_student=Direction(scheme=scheme, items=4), keep_scores=True)[0]
    pool, scores = lesson.pool, guide.score_block(np.arange(12))
    owners = np.arange(12) if pool.by_user else log.user_rows
    assert pool.scores.shape == pool.items.shape
    for row, user in enumerate(owners):
        items = pool.items[row].ravel()
        known = items >= 0
        assert np.all(items < 20)
        assert known.any() == (user < 8)
        assert_array_equal(pool.scores[row].ravel(), np.where(known, scores[user, items], 0.0))


@pytest.mark.parametrize("positives", [3, 15])
def test_a_guide_that_knows_too_few_items_adds_fewer_and_the_pool_still_fits(positives):
    log = log_of(12, 30, 0.3)
    guide = some_known(log, known_users=8, known_items=10)
    direction = Direction(positives=positives, items=2)
    lesson = look(log, (guide, scores_for(log, 2)), to_student=direction, keep_scores=True)[0]
    assert len(log) < len(lesson.log) < len(log) + 12 * positives
    assert lesson.pool.items.shape[0] == lesson.pool.scores.shape[0] == len(lesson.log)
    for row, user in enumerate(lesson.log.user_rows):
        items = lesson.pool.items[row]
        assert np.all((items == -1) | np.isin(items, unseen_of(log, user)))


def test_a_user_who_has_seen_everything_takes_part_in_nothing():
    log = log_of(5, 8, 0.5, full=[2])
    for scheme in ("tanh", "top"):
        pool = look(log, to_student=Direction(scheme=scheme, position_decay=2.0 if scheme == "top" else 0.0))[0].pool
        rows = [2] if pool.by_user else np.flatnonzero(log.user_rows == 2)
        assert np.all(pool.items[rows] == -1)
        if pool.weights is not None:
            assert np.all(pool.weights[2] == 0)


# --- how much is kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_scores", [False, True])
@pytest.mark.parametrize("megabytes", [1, 2, 512])
def test_a_pool_is_no_larger_than_allowed(megabytes, keep_scores):
    """What does not fit is drawn once for several epochs; one round there always is."""
    log = log_of(200, 100, 0.2)
    lesson = look(
        log, to_student=Direction(items=10), keep_scores=keep_scores, refresh_every=20, pool_megabytes=megabytes
    )[0]
    rounds = lesson.pool.items.shape[1]
    size = lesson.pool.items.nbytes + (lesson.pool.scores.nbytes if keep_scores else 0)
    assert size <= megabytes << 20 or rounds == 1
    assert rounds == min(20, max(1, (megabytes << 20) * rounds // size))


def test_one_round_there_always_is():
    log = log_of(200, 100, 0.5)
    assert look(log, to_student=Direction(items=100), pool_megabytes=1)[0].pool.items.shape[1] == 1


@pytest.mark.parametrize("ranks", ["exact", "sketch"])
def test_no_table_of_users_and_items_is_ever_held(ranks, monkeypatch):
    """The peak is a few blocks and the pool, far below one table of all scores."""
    monkeypatch.setattr(ranking, "BLOCK_SCORES", 20_000)
    keys = np.unique(np.random.default_rng(0).integers(0, 2_000 * 1_000, 3_000))
    log = Interactions(IdMap.counting(2_000), IdMap.counting(1_000), keys // 1_000, keys % 1_000)
    sources = scores_for(log, 1), scores_for(log, 2)
    directions = {"to_student": Direction(items=2, positives=1), "to_teacher": Direction(scheme="exp", items=2)}
    look(log, sources, **directions, refresh_every=2, ranks=ranks)  # what is compiled and cached
    tracemalloc.start()
    look(log, sources, **directions, refresh_every=2, ranks=ranks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000 * 1_000 * 4 / 2


def test_blocks_are_told_of_as_they_go(monkeypatch):
    monkeypatch.setattr(ranking, "BLOCK_SCORES", 40 * 7)
    told = []
    look(log_of(30, 40), to_student=Direction(), report=lambda *said: told.append(said))
    assert told == [("ranking for the next epochs", done, 30) for done in (7, 14, 21, 28, 30)]


# --- taking from a pool --------------------------------------------------------------------------------------------


def test_a_pool_of_pairs_is_read_by_places_and_turns():
    items = np.arange(5 * 3 * 2, dtype=np.int32).reshape(5, 3, 2)
    pool = Pool(items, by_user=False, scores=items.astype(np.float32) / 2)
    batch = Batch(np.array([9, 9]), np.array([0, 0]), np.array([[0], [0]]), np.array([4, 1]))
    for number in range(7):
        found, scores, weights = pool.take(batch, number)
        assert_array_equal(found, items[[4, 1], number % 3])
        assert_array_equal(scores, items[[4, 1], number % 3] / 2)
        assert found.dtype == np.int64
        assert weights is None


def test_a_pool_of_users_is_read_by_users():
    items = np.arange(4 * 2, dtype=np.int32).reshape(4, 1, 2)
    shares = np.arange(8, dtype=np.float32).reshape(4, 2)
    batch = Batch(np.array([3, 0, 3]), np.zeros(3, int), np.zeros((3, 1), int), np.array([10, 11, 12]))
    found, scores, weights = Pool(items, by_user=True, weights=shares).take(batch, 5)
    assert_array_equal(found, items[[3, 0, 3], 0])
    assert_array_equal(weights, shares[[3, 0, 3]])
    assert scores is None


# --- the weights of positions --------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 8), st.floats(0.5, 20), st.floats(0.01, 1), st.integers(0, 99))
def test_positions_weigh_less_and_less_and_missed_items_more(n_users, n, decay, scale, seed):
    rng = np.random.default_rng(seed)
    tops, gap = rng.integers(-1, 9, (n_users, n)), rng.integers(-40, 40, (n_users, n))
    direction = Direction(scheme="top", position_decay=decay, rank_gap_scale=scale)
    found = position_weights(tops, gap, direction)
    for user in range(n_users):
        position = [np.exp(-place / decay) for place in range(n)]
        weights = [value * np.tanh(max(gap[user, place] * scale, 0)) for place, value in enumerate(position)]
        weights = weights if sum(weights) > 0 else position
        weights = np.array([value if tops[user, place] >= 0 else 0.0 for place, value in enumerate(weights)])
        assert_allclose(found[user], weights / max(weights.sum(), 1e-12), rtol=1e-5, atol=1e-9)


def test_positions_of_a_refresh_know_both_ranks():
    log = log_of(4, 50, 0.1)
    sources = scores_for(log, 1), scores_for(log, 2)
    direction = Direction(scheme="top", items=5, position_decay=3.0, rank_gap_scale=0.1)
    pool = look(log, sources, to_student=direction)[0].pool
    for user in range(4):
        orders = [best_unseen(source, log, user, 50) for source in sources]
        gap = [orders[1].index(item) - place for place, item in enumerate(orders[0][:5])]
        weights = np.exp(-np.arange(5) / 3) * np.tanh(np.maximum(0.1 * np.array(gap), 0))
        assert_allclose(pool.weights[user], weights / weights.sum(), rtol=1e-5)


def test_factors_are_ranked_without_their_scores_and_draw_like_them(monkeypatch):
    """Two models of factors, and the same scores as tables; a few of the many items get most draws."""
    log = log_of(3, 6_000, 0.01, 0)
    rng = np.random.default_rng(0)
    factors = [FactorSource(rng.normal(size=(3, 2)), rng.normal(size=(6_000, 2))) for _ in range(2)]
    tables = [MatrixSource(source.score_block(np.arange(3))) for source in factors]
    direction = Direction(scheme="exp", rank_gap_scale=3e-3, items=200)
    (of_tables,) = look(log, tables, to_student=direction, ranks="sketch", refresh_every=1)
    monkeypatch.setattr(FactorSource, "score_block", None)
    (of_factors,) = look(log, factors, to_student=direction, ranks="sketch", refresh_every=1)
    user = log.user_rows == 1
    found = [np.bincount(lesson.pool.items[user].ravel(), minlength=6_000) for lesson in (of_tables, of_factors)]
    often = np.add(*found) > 50
    rare = [[counts[~often].sum()] for counts in found]
    table = np.hstack([np.array(found)[:, often], rare])
    assert often.sum() > 20
    assert chi2_contingency(table).pvalue > 1e-3


def test_unequal_sources_of_one_log_are_ranked_together():
    """Factors with biases and a plain matrix of the same scores draw the same."""
    log = log_of(10, 30)
    rng = np.random.default_rng(0)
    factors = FactorSource(rng.normal(size=(10, 2)), rng.normal(size=(30, 2)), item_bias=rng.normal(size=30))
    matrix = MatrixSource(factors.score_block(np.arange(10)))
    one, other = (look(log, (guide, scores_for(log, 2)), to_student=Direction())[0].pool for guide in (factors, matrix))
    assert_array_equal(one.items, other.items)
