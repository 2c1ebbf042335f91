"""Sources with names: logs are found by id, whatever the order of the rows, and pairs carry their ids."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

import sureness as sn
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import IdError
from sureness.sources.base import id_maps
from sureness.sources.blocks import score_pairs

USERS, ITEMS = IdMap.of(["ann", "bob", "zoë"]), IdMap.of([3, 7, 9, 40])
SCORES = np.arange(12.0).reshape(3, 4)
SOURCE = sn.MatrixSource(SCORES, users=USERS, items=ITEMS)
HELD_OUT = Interactions.of(["zoë", "ann"], [9, 40])
TRAIN = Interactions.of(["zoë", "bob", "ann"], [3, 7, 3])


def expected_pairs(held_out=HELD_OUT, seen=TRAIN):
    """User, item, score and label of every pair outside the training log, by plain loops."""
    positive, seen = (set(zip(*log.table().select("user_id", "item_id"), strict=True)) for log in (held_out, seen))
    return {
        (user, item): (SCORES[row, column], (user, item) in positive)
        for row, user in enumerate(USERS.ids)
        for column, item in enumerate(ITEMS.ids)
        if (user, item) not in seen
    }


def found_pairs(pairs):
    values = zip(pairs.scores.tolist(), pairs.labels.tolist(), strict=True)
    return dict(zip(zip(pairs.users.tolist(), pairs.items.tolist(), strict=True), values, strict=True))


def test_interactions_are_found_by_id_and_pairs_carry_their_ids():
    pairs = sn.CalibrationSet.from_source(SOURCE, HELD_OUT, seen=TRAIN).gather()
    assert found_pairs(pairs) == expected_pairs()


def test_pairs_that_the_source_does_not_know_are_left_out_with_a_warning():
    more = Interactions.of(["zoë", "ann", "ann", "carl"], [9, 40, 41, 3])
    with pytest.warns(sn.errors.SurenessWarning, match="2 of the 4 pairs of held_out") as caught:
        data = sn.CalibrationSet.from_source(SOURCE, more, seen=TRAIN)
    assert caught[0].filename == __file__
    assert found_pairs(data.gather()) == expected_pairs()
    with pytest.warns(sn.errors.SurenessWarning, match="1 of the 2 pairs of seen") as caught:
        sn.CalibrationSet.from_source(SOURCE, HELD_OUT, seen=Interactions.of(["ann", "eve"], [3, 3]))
    assert len(caught) == 1


def test_a_log_of_strangers_is_refused():
    with pytest.raises(IdError, match="held_out"):
        sn.CalibrationSet.from_source(SOURCE, Interactions.of(["eve"], [3]))
    with pytest.raises(IdError, match="held_out"):
        sn.CalibrationSet.from_source(SOURCE, Interactions.of([1], [3]))


def test_matrices_still_go_by_row_and_column():
    held_out, train = HELD_OUT.aligned(USERS, ITEMS).matrix, TRAIN.aligned(USERS, ITEMS).matrix
    pairs = sn.CalibrationSet.from_source(SOURCE, held_out, seen=train).gather()
    assert found_pairs(pairs) == expected_pairs()
    mixed = sn.CalibrationSet.from_source(SOURCE, held_out, seen=TRAIN).gather()
    assert found_pairs(mixed) == expected_pairs()


def test_propensities_are_asked_by_the_ids_of_the_source():
    popularity = sn.propensity.PopularityPropensity().fit(items=[9, 9, 9, 9, 40])
    pairs = sn.CalibrationSet.from_source(SOURCE, HELD_OUT, propensity=popularity, base_rate=0.1).gather()
    omega = dict(zip(pairs.items[pairs.labels].tolist(), pairs.propensity[pairs.labels], strict=True))
    assert omega == {9: 1.0, 40: 0.5}
    rows = HELD_OUT.aligned(USERS, ITEMS).matrix
    again = sn.CalibrationSet.from_source(SOURCE, rows, propensity=popularity, base_rate=0.1).gather()
    assert_array_equal(again.propensity, pairs.propensity)


def test_text_items_have_propensities_too():
    source = sn.MatrixSource(SCORES, users=USERS, items=IdMap.of(["a", "b", "c", "d"]))
    popularity = sn.propensity.PopularityPropensity().fit(items=["b", "b", "b", "b", "d"])
    held_out = Interactions.of(["ann", "ann"], ["b", "d"])
    pairs = sn.CalibrationSet.from_source(source, held_out, propensity=popularity, base_rate=0.1).gather()
    assert_allclose(pairs.propensity[pairs.labels], [1.0, 0.5])


@pytest.mark.parametrize("side", ["both", "users", "items"])
def test_a_source_without_ids_does_not_take_those_of_a_log_with_as_many_rows(side):
    named = {"users": USERS, "items": ITEMS} if side != "both" else {}
    named.pop(side, None)
    source = sn.MatrixSource(SCORES, **named)
    held_out, train = HELD_OUT.aligned(USERS, ITEMS), TRAIN.aligned(USERS, ITEMS)
    with pytest.raises(IdError):
        sn.CalibrationSet.from_source(source, held_out, seen=train)


def test_a_source_without_ids_is_known_by_row_numbers():
    pairs = sn.CalibrationSet.from_source(sn.MatrixSource(SCORES), Interactions.of([2, 0], [3, 1])).gather()
    positive = found_pairs(pairs)
    assert {pair for pair, (_, label) in positive.items() if label} == {(2, 3), (0, 1)}
    with pytest.raises(IdError, match="held_out"):
        sn.CalibrationSet.from_source(sn.MatrixSource(SCORES), HELD_OUT)


def test_sampled_negatives_take_interactions_and_warn_once():
    more = Interactions.of(["zoë", "ann", "carl"], [9, 40, 3])
    with pytest.warns(sn.errors.SurenessWarning, match="held_out") as caught:
        data = sn.CalibrationSet.from_sampled_negatives(SOURCE, more, seen=TRAIN, negatives_per_positive=1)
    assert len(caught) == 1
    assert data.sampling_rate == pytest.approx(2 / 7)
    assert data.gather().n_positive == 2


def test_zeros_written_into_a_sparse_matrix_are_no_positives():
    held_out = csr_matrix((np.array([1.0, 0.0]), ([0, 1], [1, 1])), shape=(3, 4))
    data = sn.CalibrationSet.from_sampled_negatives(SOURCE, held_out, negatives_per_positive=1)
    assert data.gather().n_positive == 1
    assert data.sampling_rate == pytest.approx(1 / 11)
    assert held_out.nnz == 2  # the matrix of the caller is as it was


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, np.finfo(np.float32).min])
def test_scores_that_are_no_numbers_are_named_by_their_ids(strange):
    scores = SCORES.astype(np.float32)
    scores[1, 2] = strange
    data = sn.CalibrationSet.from_source(sn.MatrixSource(scores, users=USERS, items=ITEMS), HELD_OUT)
    word = "scores"
    with pytest.raises(sn.errors.DataError, match=word):
        data.gather()


def test_id_maps_are_the_names_or_the_numbers():
    assert id_maps(SOURCE) == (USERS, ITEMS)
    users, items = id_maps(sn.FactorSource(np.zeros((2, 1)), np.zeros((3, 1)), items=IdMap.of(["a", "b", "c"])))
    assert users.ids.to_list() == [0, 1]
    assert items.ids.to_list() == ["a", "b", "c"]

    class Plain:
        n_users, n_items, users = 2, 1, "not a map"

        def score_block(self, users):
            return np.zeros((len(users), 1))

    assert len(id_maps(Plain())[0]) == 2


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(IdError, match="users"):
        sn.MatrixSource(SCORES, users=ITEMS)
    with pytest.raises(IdError, match="items"):
        sn.FactorSource(SCORES, SCORES, items=["a", "b", "c"])


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ((np.zeros((2, 3)), np.zeros((2, 4))), "matrices"),
        ((np.zeros(3), np.zeros((2, 3))), "matrices"),
        ((np.zeros((2, 3)), np.zeros((4, 3)), np.zeros(3)), "user_bias"),
    ],
)
def test_factors_that_do_not_fit_are_refused(parts, word):
    with pytest.raises(sn.errors.DataError, match=word):
        sn.FactorSource(*parts)


def test_a_matrix_must_be_one():
    with pytest.raises(sn.errors.DataError, match="scores"):
        sn.MatrixSource(np.zeros(3))


def test_tables_are_scored_by_id():
    table = pl.DataFrame({"user_id": ["zoë", "ann"], "item_id": [40, 3]})
    assert score_pairs(SOURCE, table)["score"].to_list() == [11.0, 0.0]
    with pytest.raises(IdError, match="users"):
        score_pairs(SOURCE, pl.DataFrame({"user_id": ["eve"], "item_id": [3]}))


def test_singular_vectors_of_interactions_have_their_ids():
    log = Interactions.of(["b", "a", "a", "c"], [5, 5, 6, 7])
    source = sn.svd_source(log, n_factors=1)
    assert source.users.same_as(log.users)
    assert_array_equal(source.user_factors, sn.svd_source(log.matrix, n_factors=1).user_factors)
