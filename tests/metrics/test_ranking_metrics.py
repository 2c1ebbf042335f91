"""Hit ratio, NDCG, recall and precision are what a loop over a list gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import ndcg_score

from sureness.errors import SettingError
from sureness.metrics.ranking import MEASURES, judge_lists, longest, parse_measure

LISTS = st.integers(1, 12).flatmap(
    lambda length: st.lists(
        st.tuples(st.lists(st.booleans(), min_size=length, max_size=length), st.integers(0, 9)), min_size=1, max_size=6
    )
)


def by_hand(name, hits, n_relevant):
    """One user, one list, no arrays."""
    found = sum(hits)
    if name == "hit":
        return 1.0 if found else 0.0
    if name == "recall":
        return found / n_relevant if n_relevant else 0.0
    if name == "precision":
        return found / len(hits)
    gain = sum(1 / np.log2(place + 1) for place, hit in enumerate(hits, start=1) if hit)
    best = sum(1 / np.log2(place + 1) for place in range(1, min(n_relevant, len(hits)) + 1))
    return gain / best if best else 0.0


@given(LISTS, st.integers(1, 14))
def test_every_measure_is_what_a_loop_gives(lists, length):
    """Beyond the list there are more relevant items, none or some."""
    hits = np.array([marks for marks, _ in lists])
    n_relevant = hits.sum(axis=1) + [more for _, more in lists]
    found = judge_lists(hits, n_relevant, [f"{name}@{length}" for name in MEASURES])
    for name in MEASURES:
        expected = [by_hand(name, row[:length].tolist(), n) for row, n in zip(hits, n_relevant, strict=True)]
        assert_allclose(found[f"{name}@{length}"], expected, atol=1e-12)


@given(st.integers(2, 30), st.integers(0, 10_000))
def test_ndcg_is_that_of_scikit_learn(n_items, seed):
    rng = np.random.default_rng(seed)
    relevant = rng.random((5, n_items)) < 0.3
    relevant[np.arange(5), rng.integers(0, n_items, 5)] = True
    scores = rng.permuted(np.tile(np.arange(n_items), (5, 1)), axis=1)
    hits = np.take_along_axis(relevant, np.argsort(-scores, axis=1), axis=1)
    for length in (1, 3, n_items):
        found = judge_lists(hits, relevant.sum(axis=1), [f"ndcg@{length}"])[f"ndcg@{length}"]
        assert found.mean() == pytest.approx(ndcg_score(relevant.astype(int), scores, k=length), abs=1e-12)


def test_one_relevant_item_gains_by_its_rank():
    hits = np.eye(10, dtype=bool)  # found at rank 1, 2, ..., 10
    found = judge_lists(hits, np.ones(10, dtype=int), ["ndcg@10", "hit@3", "recall@3"])
    assert_allclose(found["ndcg@10"], 1 / np.log2(np.arange(1, 11) + 1), atol=1e-12)
    assert found["hit@3"].tolist() == found["recall@3"].tolist() == [1.0] * 3 + [0.0] * 7


def test_a_list_without_a_miss_is_perfect():
    hits = np.arange(6) < np.array([[1], [4], [6]])
    found = judge_lists(hits, np.array([1, 4, 20]), ["ndcg@6", "ndcg@1"])
    assert_allclose(found["ndcg@6"], 1.0)
    assert_allclose(found["ndcg@1"], 1.0)


def test_names_may_be_written_in_capitals():
    assert parse_measure("NDCG@7") == (MEASURES["ndcg"], 7)
    assert longest(["hit@3", "Recall@20", "ndcg@5"]) == 20


@pytest.mark.parametrize("name", ["", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@five", "ndcg@²", "map@5", "@5"])
def test_other_names_are_refused_with_those_there_are(name):
    with pytest.raises(SettingError, match="name"):
        parse_measure(name)


def test_no_names_are_refused():
    with pytest.raises(SettingError, match="ranking"):
        longest([])
