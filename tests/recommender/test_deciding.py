"""Decisions on live scores: the same as those on the source's own, whatever the order, the ids and the users."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness.errors import DataError, IdError, SettingError
from tests.recommender.worlds import shop

MAPS = {
    "for lists": sn.ListCalibrator(best=20),
    "per user": sn.calibration.PerUserPlatt(top=15),
    "one for all": sn.PlattCalibrator(),
    "per segment": sn.SegmentCalibrator(),
}


def fitted(world, calibrator=None, policy=None):
    segments = sn.calibration.Segments(np.where(np.arange(world.source.n_items) % 2, "odd", "even"))
    policy = sn.ExpectedUtility(max_size=10) if policy is None else policy
    recommender = sn.ConfidentRecommender(world.source, calibrator, policy, segments=segments)
    return recommender.fit(world.train, world.validation)


@pytest.fixture(scope="module", params=[False, True], ids=["counted ids", "named ids"])
def world(request):
    return shop(names=request.param)


@pytest.fixture(scope="module", params=MAPS.values(), ids=MAPS)
def recommender(request, world):
    return fitted(world, request.param)


@pytest.fixture(scope="module")
def one():
    return fitted(shop(names=True))


def ids_of(recommender):
    return recommender.source.users.ids.to_numpy(), recommender.source.items.ids.to_numpy()


def names_of(recommender):
    source = recommender.source
    if getattr(source, "users", None) is None:
        return np.arange(source.n_users), np.arange(source.n_items)
    return ids_of(recommender)


def assert_same(found, expected, items, columns=None):
    """Two decisions show the same items with the same probabilities."""
    assert_array_equal(found.sizes, expected.sizes)
    assert_allclose(found.expected, expected.expected, rtol=1e-12)
    assert_array_equal(found.unsure, expected.unsure)
    there = expected.places >= 0
    assert_array_equal(found.places >= 0, there)
    given = items[found.places] if columns is None else np.take_along_axis(columns, np.maximum(found.places, 0), axis=1)
    assert_array_equal(given[there], items[expected.places][there])
    assert_allclose(found.probabilities[there], expected.probabilities[there], rtol=1e-12)


class TestAsInTheSource:
    def test_the_table_of_recommend_holds_the_decisions(self, recommender):
        users, items = names_of(recommender)
        found, table = recommender.decide(users), recommender.recommend()
        assert_array_equal(table["item_id"].to_numpy(), items[found.places[found.shown]])
        assert_array_equal(table["probability"].to_numpy(), found.probabilities[found.shown])
        assert_array_equal(recommender.sizes()["list_size"].to_numpy(), found.sizes)

    def test_live_scores_of_all_items_in_order(self, recommender):
        users, items = names_of(recommender)
        live = recommender.source.score_block(np.arange(len(users)))
        before = live.copy()
        assert_same(recommender.decide(users, None, live), recommender.decide(users), items)
        assert_array_equal(live, before)

    def test_live_scores_in_any_order(self, recommender):
        users, items = names_of(recommender)
        live = recommender.source.score_block(np.arange(len(users)))
        order = np.argsort(np.random.default_rng(0).random(live.shape), axis=1)
        shuffled = np.take_along_axis(live, order, axis=1)
        found = recommender.decide(users, items[order], shuffled)
        assert_same(found, recommender.decide(users), items, items[order])

    def test_one_list_of_items_for_all_users(self, recommender):
        users, items = names_of(recommender)
        live = recommender.source.score_block(np.arange(len(users)))[:, ::-1]
        found = recommender.decide(users, items[::-1], live)
        assert_same(found, recommender.decide(users), items, np.broadcast_to(items[::-1], live.shape))

    def test_one_user_is_asked_for_alone(self, recommender):
        users, items = names_of(recommender)
        live = recommender.source.score_block(np.arange(len(users)))
        for row in (0, 7, len(users) - 1):
            alone = recommender.decide(users[row], items, live[row])
            assert_same(alone, recommender.decide(users[[row]]), items)


class TestCandidates:
    @given(st.data())
    @settings(max_examples=20, deadline=None)
    def test_what_was_seen_is_never_shown(self, one, data):
        users, items = ids_of(one)
        size = data.draw(st.integers(1, len(items)))
        row = data.draw(st.integers(0, len(users) - 1))
        chosen = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(items))[:size]
        live = one.source.score_block(np.array([row]))[0, chosen]
        found = one.decide(users[row], items[chosen], live)
        seen = set(one.seen_.item_rows[one.seen_.row_starts[row] : one.seen_.row_starts[row + 1]].tolist())
        candidates = [column for column in chosen.tolist() if column not in seen]
        best = sorted(candidates, key=lambda column: -one.source.matrix[row, column])[:10]
        assert chosen[found.places[0][found.places[0] >= 0]].tolist() == best

    def test_items_nobody_knows_can_be_shown(self, one):
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0]))[0]
        names = np.array([*items[:-1], "brand new"])
        live[-1] = live.max() + 1
        assert one.decide(users[0], names, live).places[0, 0] == len(items) - 1

    def test_minus_infinity_is_no_candidate(self, one):
        users, items = ids_of(one)
        live = np.full(len(items), -np.inf)
        found = one.decide(users[0], items, live)
        assert found.sizes.tolist() == [0]
        assert found.unsure.tolist() == [True]

    def test_a_candidate_that_is_named_twice_is_refused(self, one):
        users, items = ids_of(one)
        free = np.setdiff1d(np.arange(len(items)), one.seen_.item_rows[: one.seen_.row_starts[1]])[:1]
        with pytest.raises(IdError):
            one.decide(users[0], items[np.r_[free, free]], [2.0, 1.0])

    def test_a_new_candidate_that_is_named_twice_is_refused(self, one):
        users, _ = ids_of(one)
        with pytest.raises(IdError):
            one.decide(users[:2], [["new", "newer"], ["new", "new"]], [[2.0, 1.0], [2.0, 1.0]])
        assert one.decide(users[:2], ["new", "newer"], [[2.0, 1.0], [2.0, 1.0]]).places.shape == (2, 2)

    @pytest.mark.parametrize("item_ids", [None, [], np.empty((1, 0), dtype=str)], ids=["no ids", "list", "array"])
    def test_no_candidate_at_all_is_an_empty_list(self, one, item_ids):
        users, _ = ids_of(one)
        found = one.decide(users[0], item_ids, [])
        assert (found.sizes.tolist(), found.unsure.tolist(), found.places.tolist()) == ([0], [True], [[-1]])

    def test_columns_of_polars_and_arrays_that_cannot_be_written_to(self, one):
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0]))[0]
        kept = live.copy()
        live.flags.writeable = False
        for column in (live, pl.Series(live), pl.Series(live).cast(pl.Float64)):
            assert_same(one.decide(users[0], pl.Series(items), column), one.decide(users[0], items, live.copy()), items)
        assert_array_equal(live, kept)

    def test_candidates_below_the_best_change_nothing(self):
        one = fitted(shop(names=True), sn.ListCalibrator(best=15))
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0]))[0]
        more = np.concatenate([items, [f"new {n}" for n in range(500)]])
        found = one.decide(users[0], more, np.concatenate([live, np.full(500, live.min() - 1)]))
        assert_same(found, one.decide([users[0]]), items)


class TestUsers:
    def test_a_user_never_met_is_ordinary(self, one):
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0, 1]))
        found = one.decide(["somebody", users[1]], items, live)
        assert found.users.tolist() == [-1, 1]
        assert 1 <= found.sizes[0] <= 10
        assert_same(_row(found, 1), one.decide([users[1]]), items)

    def test_the_history_of_another_system_counts_in_place_of_our_own(self, one):
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0]))[0]
        own = one.chances_.mapped.histories(np.array([0]))
        assert_same(one.decide(users[0], items, live, history=own), one.decide([users[0]]), items)
        more = one.decide("somebody", items, live, history=40).probabilities
        assert np.any(more != one.decide("somebody", items, live).probabilities)

    def test_a_missing_history_is_that_of_this_recommender(self, one):
        users, items = ids_of(one)
        live = one.source.score_block(np.array([0, 0]))
        asked = [users[0], "somebody"]
        assert_same(one.decide(asked, items, live, history=[np.nan, None]), one.decide(asked, items, live), items)

    @pytest.mark.parametrize("history", [-1, np.inf, "many", [1, 2]])
    def test_what_is_no_history_is_refused(self, one, history):
        _, items = ids_of(one)
        with pytest.raises(DataError):
            one.decide("somebody", items, np.zeros(len(items)), history=history)

    def test_an_unknown_user_has_seen_nothing(self, one):
        _, items = ids_of(one)
        live = np.linspace(-2, 2, len(items), dtype=np.float32)
        for names in (None, items):
            found = one.decide("somebody", names, live)
            assert found.places[0].tolist() == list(range(len(items) - 1, len(items) - 11, -1))

    @pytest.mark.parametrize(
        "policy", [sn.ExpectedUtility(max_size=10), sn.FixedSize(4), sn.Threshold(0.2, max_size=10)], ids=repr
    )
    def test_every_policy_decides_for_unknown_users(self, policy):
        recommender = fitted(shop(names=True), policy=policy)
        _, items = ids_of(recommender)
        found = recommender.decide("somebody", items, np.linspace(-2, 2, len(items)))
        assert 1 <= found.sizes[0] <= 10

    def test_what_was_best_in_validation_holds_for_users_who_were_there(self):
        recommender = fitted(shop(names=True), policy=sn.lists.ValidationBest(max_size=10))
        _, items = ids_of(recommender)
        found = recommender.decide("somebody", items, np.linspace(-2, 2, len(items)))
        assert found.sizes.tolist() == [recommender.policy_.size_]

    def test_all_users_are_asked_for(self, one):
        _, items = ids_of(one)
        every = one.source.score_block(np.arange(one.source.n_users))
        assert_same(one.decide(None, items, every), one.decide(None), items)

    def test_an_id_of_another_kind_is_refused(self, one):
        _, items = ids_of(one)
        with pytest.raises(IdError):
            one.decide(3, items, np.zeros(len(items)))

    def test_a_missing_id_is_an_unknown_user(self, one):
        _, items = ids_of(one)
        assert one.decide([None], items, np.zeros(len(items))).users.tolist() == [-1]

    def test_nobody_is_asked_for(self, one):
        _, items = ids_of(one)
        assert one.decide([], items, np.empty((0, len(items)))).places.shape[0] == 0
        assert one.decide([]).sizes.shape == (0,)


@pytest.mark.parametrize(
    ("item_ids", "scores", "error"),
    [
        (None, [[0.1, 0.2]], DataError),
        (["item 001"], [[0.1, 0.2]], DataError),
        ([1, 2], [[0.1, 0.2]], IdError),
        (["item 001", "item 002"], [[0.1, np.nan]], DataError),
        (["item 001", "item 002"], [[0.1, np.inf]], DataError),
        (["item 001", "item 002"], [["a", "b"]], DataError),
        (["item 001", "item 002"], [[0.1, 0.2], [0.3, 0.4]], DataError),
        (["item 001"], None, SettingError),
    ],
)
def test_what_does_not_fit_is_refused(one, item_ids, scores, error):
    with pytest.raises(error):
        one.decide(["user 001"], item_ids, scores)


def test_a_saved_recommender_decides_alike(one, tmp_path):
    users, items = ids_of(one)
    one.save(tmp_path / "r.sureness")
    opened = sn.load(tmp_path / "r.sureness", sn.ConfidentRecommender)
    live = one.source.score_block(np.arange(len(users)))
    assert_same(opened.decide(users, items, live), one.decide(users), items)


def _row(found, row):
    return found.take(np.array([row]))
