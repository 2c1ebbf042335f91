"""Ranking in compiled blocks judges as a dense sort does, and holds one block at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, EmptyError, IdError, SettingError, SurenessWarning
from sureness.metrics.ranking import RankingQuality, best_items, evaluate_ranking, evaluate_within
from sureness.sources import blocks
from sureness.sources.base import FactorSource, MatrixSource
from tests.metrics.test_ranking_metrics import by_hand

METRICS = [f"{name}@{length}" for name in ("hit", "ndcg", "recall", "precision") for length in (1, 3, 6)]
SEEDS = st.integers(0, 10_000)


def case(seed, n_users=7, n_items=9):
    """Scores with many ties, a log that was seen, and a disjoint test; someone always has a test item."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, (n_users, n_items)).astype(float)
    kind = rng.random((n_users, n_items))
    kind[rng.integers(n_users), rng.integers(n_items)] = 0.9
    return scores, Interactions.from_matrix(kind < 0.3), Interactions.from_matrix(kind > 0.7)


def judged_by_sorting(scores, seen, test, metrics):
    """User by user: mask with -inf, sort, count."""
    rows = []
    for user in np.flatnonzero(test.user_degree):
        masked = scores[user].copy()
        if seen is not None:
            masked[seen.items_of(user)] = -np.inf
        order = [item for item in np.argsort(-masked, kind="stable") if masked[item] > -np.inf]
        marks = [item in test.items_of(user) for item in order] + [False] * (len(masked) - len(order))
        row = {"user_id": int(user)}
        for name in metrics:
            word, length = name.split("@")
            row[name] = by_hand(word, marks[: int(length)], int(test.user_degree[user]))
        rows.append(row)
    return pl.DataFrame(rows)


def assert_same(quality, expected):
    assert quality.per_user.columns == expected.columns
    assert quality.per_user["user_id"].to_list() == expected["user_id"].to_list()
    for name in expected.columns[1:]:
        assert_allclose(quality.per_user[name], expected[name], atol=1e-12, err_msg=name)


class Recorded:
    """A source that remembers how many users it was asked for at a time."""

    def __init__(self, n_users, n_items):
        self.n_users, self.n_items, self.asked = n_users, n_items, []
        self.row = np.linspace(0, 1, n_items, dtype=np.float32)

    def score_block(self, users):
        self.asked.append(len(users))
        return np.broadcast_to(self.row, (len(users), self.n_items))


# --- all items -----------------------------------------------------------------------------------------------------


@given(SEEDS, st.booleans())
def test_every_metric_is_what_a_dense_sort_gives(seed, hide):
    scores, seen, test = case(seed)
    seen = seen if hide else None
    quality = evaluate_ranking(MatrixSource(scores), test, seen=seen, metrics=METRICS)
    assert_same(quality, judged_by_sorting(scores, seen, test, METRICS))


@given(SEEDS, st.integers(1, 70))
@settings(max_examples=15)
def test_the_size_of_a_block_changes_nothing(seed, block):
    scores, seen, test = case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureness.sources.blocks.BLOCK_SCORES", block)
        quality = evaluate_ranking(MatrixSource(scores), test, seen=seen, metrics=METRICS)
    assert_same(quality, judged_by_sorting(scores, seen, test, METRICS))


def test_one_test_item_a_user_gains_by_its_rank():
    scores, n_items = np.random.default_rng(0).normal(size=(40, 30)), 30
    items = np.random.default_rng(1).integers(0, n_items, 40)
    test = Interactions.of(np.arange(40), items).aligned(IdMap.counting(40), IdMap.counting(n_items))
    rank = 1 + (scores > scores[np.arange(40), items][:, None]).sum(axis=1)
    quality = evaluate_ranking(MatrixSource(scores), test, metrics=["hit@10", "ndcg@10"])
    assert_allclose(quality.per_user["ndcg@10"], np.where(rank <= 10, 1 / np.log2(rank + 1), 0.0))
    assert quality["hit@10"] == np.mean(rank <= 10)


def test_lists_may_be_longer_than_there_are_items():
    scores, seen, test = case(3)
    quality = evaluate_ranking(MatrixSource(scores), test, seen=seen, metrics=["ndcg@500", "recall@500"])
    assert_same(quality, judged_by_sorting(scores, seen, test, ["ndcg@500", "recall@500"]))
    assert quality["recall@500"] == 1.0


@given(SEEDS)
@settings(max_examples=20)
def test_ids_in_another_order_are_matched(seed):
    scores, seen, test = case(seed)
    rng = np.random.default_rng(seed)
    users, items = rng.permutation(7), rng.permutation(9)
    shuffled = MatrixSource(scores[users][:, items], users=IdMap(pl.Series(users)), items=IdMap(pl.Series(items)))
    quality = evaluate_ranking(shuffled, test, seen=seen, metrics=["recall@9"])
    expected = judged_by_sorting(scores, seen, test, ["recall@9"])
    found = dict(quality.per_user.rows())
    assert found == pytest.approx(dict(expected.rows()))
    untied = MatrixSource(shuffled.matrix + 1e-3 * rng.normal(size=(7, 9)), users=shuffled.users, items=shuffled.items)
    straight = np.empty((7, 9))
    straight[np.ix_(users, items)] = untied.matrix
    quality = evaluate_ranking(untied, test, seen=seen, metrics=METRICS)
    expected = judged_by_sorting(straight.astype(np.float32), seen, test, METRICS)
    assert_same(RankingQuality(quality.per_user.sort("user_id")), expected)


def test_users_and_items_that_the_source_does_not_know_are_left_out():
    source = MatrixSource(np.array([[3.0, 2.0, 1.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["a", "b", "c"]))
    test = Interactions.of(["ann", "ann", "zoë"], ["b", "nothing", "a"])
    with pytest.warns(SurenessWarning, match="2 of the 3"):
        quality = evaluate_ranking(source, test, metrics=["recall@2"])
    assert quality.per_user.rows() == [("ann", 1.0)]


def test_only_the_asked_users_are_judged():
    scores, seen, test = case(5)
    everyone = evaluate_ranking(MatrixSource(scores), test, seen=seen, metrics=METRICS).per_user
    some = np.flatnonzero(test.user_degree)[1::2]
    quality = evaluate_ranking(MatrixSource(scores), test, seen=seen, metrics=METRICS, users=some)
    assert quality.per_user.equals(everyone.filter(pl.col("user_id").is_in(some.tolist())))


@pytest.mark.parametrize("users", [[7], [-1], [0.5], [[0]]])
def test_users_that_are_no_rows_are_refused(users):
    scores, _, test = case(5)
    with pytest.raises(IdError, match="users"):
        evaluate_ranking(MatrixSource(scores), test, users=users)


def test_a_test_without_items_is_refused():
    scores, _, test = case(5)
    nothing = test.keep(np.zeros(0, dtype=int))
    for log, users in ((nothing, None), (test, np.flatnonzero(test.user_degree == 0)), (test, [])):
        with pytest.raises(EmptyError, match="user"):
            evaluate_ranking(MatrixSource(scores), log, users=users)


def test_scores_that_are_no_numbers_are_refused():
    scores = np.ones((2, 3))
    scores[1, 2] = np.nan
    with pytest.raises(DataError, match="finite"):
        evaluate_ranking(MatrixSource(scores), Interactions.from_matrix(np.eye(2, 3)), metrics=["hit@1"])


def test_a_matrix_may_stand_in_the_place_of_a_log():
    test, seen = Interactions.from_matrix(np.eye(2, 3)), Interactions.from_matrix(np.eye(2, 3, k=1))
    source = MatrixSource(np.array([[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]]))
    of_logs = evaluate_ranking(source, test, seen=seen, metrics=["hit@1", "ndcg@2"])
    assert of_logs.per_user.equals(
        evaluate_ranking(source, test, seen=seen.matrix, metrics=["hit@1", "ndcg@2"]).per_user
    )


def test_a_metric_that_was_not_measured_is_refused():
    quality = RankingQuality(pl.DataFrame({"user_id": [1], "hit@1": [1.0]}))
    with pytest.raises(SettingError, match="ndcg@5"):
        quality["ndcg@5"]


def test_a_log_with_other_ids_than_row_numbers_needs_names():
    scores, _, test = case(5)
    with pytest.raises(IdError, match="test"):
        evaluate_ranking(MatrixSource(scores[:, :8]), test)
    with pytest.raises(IdError, match="seen"):
        evaluate_ranking(MatrixSource(scores), test, seen=Interactions.from_matrix(np.ones((7, 10))))


def test_the_scores_of_a_source_are_left_alone():
    scores, seen, test = case(5)
    matrix = scores.astype(np.float32)
    evaluate_ranking(MatrixSource(matrix), test, seen=seen)
    assert_array_equal(matrix, scores)

    class Same:
        """Hands out its own array, not a copy."""

        n_users, n_items = matrix.shape

        def score_block(self, users):
            return matrix[: len(users)]

    with pytest.warns(SurenessWarning, match="also in training"):
        evaluate_ranking(Same(), Interactions.from_matrix(np.ones((7, 9))), seen=seen)
    assert_array_equal(matrix, scores)


def test_blocks_bound_the_memory_of_a_large_catalogue():
    n_users, n_items = 200_000, 20_000
    users, items = IdMap.counting(n_users), IdMap.counting(n_items)
    judged = np.arange(0, n_users, 100)
    test = Interactions(users, items, judged, np.full(len(judged), n_items - 2))
    seen = Interactions(users, items, judged, np.full(len(judged), n_items - 1))
    source = Recorded(n_users, n_items)
    tracemalloc.start()
    quality = evaluate_ranking(source, test, seen=seen, metrics=["hit@1"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert quality["hit@1"] == 1.0
    assert quality.n_users == sum(source.asked) == 2_000
    assert max(source.asked) * n_items <= blocks.BLOCK_SCORES
    assert peak < 3 * 4 * blocks.BLOCK_SCORES + 50_000_000  # three blocks of float32, and the log


def test_progress_counts_the_judged_users(monkeypatch):
    scores, seen, test = case(5)
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 18)
    told = []
    quality = evaluate_ranking(
        MatrixSource(scores), test, seen=seen, progress=lambda text, done, total: told.append((text, done, total))
    )
    assert [done for _, done, _ in told] == [*range(2, quality.n_users, 2), quality.n_users]
    assert {(text, total) for text, _, total in told} == {("ranking", quality.n_users)}


@given(SEEDS)
@settings(max_examples=20)
def test_a_table_of_candidates_gets_no_credit_for_what_it_does_not_know(seed):
    scores, seen, test = case(seed)
    known = np.random.default_rng(seed).random(scores.shape) < 0.4
    known[0, 0] = True
    users, items = np.nonzero(known)
    table = pl.DataFrame({"user_id": users, "item_id": items, "score": scores[known]})
    source = sn.CandidateSource.from_table(table, users=IdMap.counting(7), items=IdMap.counting(9))
    expected = judged_by_sorting(np.where(known, scores, -np.inf), seen, test, METRICS)
    assert_same(evaluate_ranking(source, test, seen=seen, metrics=METRICS), expected)
    listed = best_items(source, np.arange(7), 9, seen=seen)
    pairs = set(zip(users.tolist(), items.tolist(), strict=True))
    assert set(listed.select("user_id", "item_id").rows()) == {
        (user, item) for user, item in pairs if item not in seen.items_of(user)
    }


def test_the_mean_is_over_users():
    quality = RankingQuality(pl.DataFrame({"user_id": ["a", "b"], "hit@1": [1.0, 0.0], "ndcg@3": [0.5, 0.25]}))
    assert quality.means == {"hit@1": 0.5, "ndcg@3": 0.375}
    assert repr(quality) == "RankingQuality(2 users: hit@1 0.5000, ndcg@3 0.3750)"


# --- lists ---------------------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 12), st.integers(1, 40))
@settings(max_examples=20)
def test_the_best_items_are_those_of_a_sort(seed, n, block):
    scores, seen, _ = case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureness.sources.blocks.BLOCK_SCORES", block)
        table = best_items(MatrixSource(scores), [4, 0, 6], n, seen=seen)
    expected = []
    for user in (4, 0, 6):
        unseen = [item for item in np.argsort(-scores[user], kind="stable") if item not in seen.items_of(user)]
        expected += [(user, rank, item, scores[user, item]) for rank, item in enumerate(unseen[:n], start=1)]
    assert table.rows() == expected


def test_lists_are_asked_for_and_given_by_id():
    factors = FactorSource(
        np.array([[1.0], [-1.0]]), np.array([[1.0], [2.0], [3.0]]),
        users=IdMap.of(["ann", "zoë"]), items=IdMap.of(["film", "song", "書"]),
    )  # fmt: skip
    seen = Interactions.of(["ann", "someone else"], ["書", "film"])
    with pytest.warns(SurenessWarning, match="1 of the 2 pairs of seen"):
        table = best_items(factors, ["zoë", "ann"], 2, seen=seen)
    assert table.rows() == [
        ("zoë", 1, "film", -1.0), ("zoë", 2, "song", -2.0), ("ann", 1, "song", 2.0), ("ann", 2, "film", 1.0),
    ]  # fmt: skip
    with pytest.raises(IdError, match="users"):
        best_items(factors, ["nobody"])
    with pytest.raises(EmptyError, match="user"):
        best_items(factors, np.array([], dtype=str))


# --- only what was shown -------------------------------------------------------------------------------------------


def judged_within(scores, shown, relevant, metrics):
    rows = []
    for user in range(shown.n_users):
        inside = shown.user_rows == user
        items, labels = shown.item_rows[inside], relevant[inside]
        if not labels.any():
            continue
        order = np.argsort(-scores[user, items], kind="stable")
        marks = [*labels[order].tolist(), *[False] * 20]
        row = {"user_id": user}
        for name in metrics:
            word, length = name.split("@")
            row[name] = by_hand(word, marks[: int(length)], int(labels.sum()))
        rows.append(row)
    return pl.DataFrame(rows)


@given(SEEDS)
def test_within_the_shown_items_the_metrics_are_those_of_a_loop(seed):
    scores, shown, _ = case(seed)
    relevant = np.random.default_rng(seed).random(len(shown)) < 0.5
    relevant[:1] = True
    if len(shown):
        quality = evaluate_within(MatrixSource(scores), shown, relevant.astype(int), metrics=METRICS)
        assert_same(quality, judged_within(scores, shown, relevant, METRICS))


@given(SEEDS)
@settings(max_examples=15)
def test_labels_stay_with_their_pairs_when_ids_are_matched(seed):
    _, shown, _ = case(seed)
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.tile(np.arange(9.0), (7, 1)), axis=1)
    relevant = rng.random(len(shown)) < 0.5
    relevant[:1] = True
    users, items = rng.permutation(7), rng.permutation(9)
    shuffled = MatrixSource(scores[users][:, items], users=IdMap(pl.Series(users)), items=IdMap(pl.Series(items)))
    if len(shown):
        quality = evaluate_within(shuffled, shown, relevant, metrics=METRICS)
        expected = judged_within(scores, shown, relevant, METRICS)
        assert_same(RankingQuality(quality.per_user.sort("user_id")), expected)


@pytest.mark.parametrize(
    ("relevant", "more", "word"),
    [
        ([0, 0, 0], {}, "user"),
        ([1, 0], {}, "relevant"),
        ([1, 0, 2], {}, "relevant"),
        ([1, 0, 1], {"metrics": ["best@5"]}, "ranking"),
        ([1, 0, 1], {"metrics": []}, "ranking"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(relevant, more, word):
    shown = Interactions.from_matrix(np.array([[1, 1, 0], [0, 0, 1]]))
    with pytest.raises(DataError, match=word):
        evaluate_within(MatrixSource(np.zeros((2, 3))), shown, relevant, **more)


def test_shown_pairs_that_the_source_does_not_know_are_refused():
    source = MatrixSource(np.zeros((1, 2)), users=IdMap.of(["ann"]), items=IdMap.of(["a", "b"]))
    with pytest.raises(IdError, match="shown"):
        evaluate_within(source, Interactions.of(["ann", "ann"], ["a", "c"]), [1, 0])
