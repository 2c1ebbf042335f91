"""Logs are matched to sources by id, never by position; held-out pairs that were seen in training do not count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from sureness.data.interactions import Interactions, union
from sureness.errors import EmptyError, IdError, SurenessWarning
from sureness.metrics import best_items, evaluate_ranking
from sureness.sources.aligned import Aligned, among, fitted_to, unseen

N_USERS, N_ITEMS = 30, 20
SCORES = np.random.default_rng(0).normal(size=(N_USERS, N_ITEMS))


def drawn(n, seed, first_user=0, first_item=0):
    """A log that has every user and every item, so its shape is that of the source whatever its ids are."""
    rng = np.random.default_rng(seed)
    users = np.concatenate([np.arange(N_USERS), rng.integers(0, N_USERS, n)])
    items = np.concatenate([np.arange(N_USERS) % N_ITEMS, rng.integers(0, N_ITEMS, n)])
    return Interactions.of(users + first_user, items + first_item)


TRAIN, LATER = drawn(100, 1), drawn(60, 2)

# every door that takes a source and a log: called with (source, held out, seen)
DOORS = {
    "evaluate_ranking": lambda source, log, seen: evaluate_ranking(source, log, seen=seen),
    "best_items": lambda source, log, seen: best_items(source, [0], seen=log),
    "CalibrationSet": lambda source, log, seen: CalibrationSet.from_source(source, log, seen=seen).gather(),
    "negatives": lambda source, log, seen: CalibrationSet.from_sampled_negatives(
        source, log, seen=seen, negatives_per_positive=2
    ),
    "Platt": lambda source, log, seen: sn.PlattCalibrator().fit_source(source, log, seen=seen),
    "per user": lambda source, log, seen: sn.calibration.PerUserPlatt().fit(source, log, seen=seen),
    "recommender": lambda source, log, seen: sn.ConfidentRecommender(source).fit(seen, log),
}
EVERY = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@EVERY
@pytest.mark.parametrize(("first_user", "first_item"), [(1, 0), (0, 1), (7, 7)], ids=["users", "items", "both"])
def test_a_source_without_names_refuses_ids_that_are_no_rows(door, first_user, first_item):
    later = drawn(60, 2, first_user, first_item)
    assert later.shape == SCORES.shape
    with pytest.raises(IdError):
        door(sn.MatrixSource(SCORES), later, None)


@EVERY
def test_a_source_without_names_refuses_text(door):
    named = Interactions.of([f"u{row}" for row in LATER.user_rows], LATER.item_rows)
    with pytest.raises(IdError):
        door(sn.MatrixSource(SCORES), named, None)


def test_a_source_without_names_takes_logs_of_some_of_its_rows():
    few = Interactions.of([3, 29], [5, 0])
    found = fitted_to(sn.MatrixSource(SCORES), few, "test")
    assert found.shape == SCORES.shape
    assert_array_equal(found.user_rows, [3, 29])
    assert_array_equal(found.item_rows, [5, 0])
    with pytest.raises(IdError, match="30"):
        fitted_to(sn.MatrixSource(SCORES), Interactions.of([3, 30], [5, 0]), "test")


def test_ids_in_another_order_are_found():
    """The rows of this source are in reverse order: matched by position, every answer would be another user's."""
    ids = sn.IdMap.of(np.arange(N_USERS))
    reverse = sn.MatrixSource(SCORES[::-1], users=sn.IdMap(ids.ids.reverse()))
    forward = sn.MatrixSource(SCORES)
    later = LATER.keep(~among(LATER, TRAIN))
    for metric in ("ndcg@5", "recall@5"):
        found = [evaluate_ranking(one, later, seen=TRAIN, metrics=[metric])[metric] for one in (reverse, forward)]
        assert found[0] == pytest.approx(found[1])


# --- held-out pairs that were seen ----------------------------------------------------------------------------------


# best_items has nothing held out
JUDGES = {name: door for name, door in DOORS.items() if name != "best_items"}
EVERY_JUDGE = pytest.mark.parametrize("door", JUDGES.values(), ids=JUDGES)


@EVERY_JUDGE
def test_held_out_pairs_that_were_seen_are_left_out_and_said(door):
    source = sn.MatrixSource(SCORES)
    both = union([LATER.keep(~among(LATER, TRAIN)), TRAIN.keep(np.arange(11))])
    with pytest.warns(SurenessWarning, match="11 of the") as said:
        door(source, both, TRAIN)
    assert len(said) == 1


@EVERY_JUDGE
def test_nothing_is_left_if_all_were_seen(door):
    with pytest.raises(EmptyError):
        door(sn.MatrixSource(SCORES), TRAIN.keep(np.arange(11)), TRAIN)


@pytest.mark.filterwarnings("ignore:.*are also in training")
def test_pairs_that_were_seen_change_nothing():
    source, clean = sn.MatrixSource(SCORES), LATER.keep(~among(LATER, TRAIN))
    both = union([clean, TRAIN])
    per_user = [sn.calibration.PerUserPlatt().fit(source, log, seen=TRAIN) for log in (clean, both)]
    assert_array_equal(per_user[0].n_held_out_, per_user[1].n_held_out_)
    assert_array_equal(per_user[0].intercept_, per_user[1].intercept_)
    assert per_user[0].horizon_ == per_user[1].horizon_
    platt = [sn.PlattCalibrator().fit_source(source, log, seen=TRAIN) for log in (clean, both)]
    assert platt[0].horizon_ == platt[1].horizon_
    labelled = [Aligned.of(source, log, TRAIN) for log in (clean, both)]
    assert labelled[0].counts() == labelled[1].counts()
    of_matrices = Aligned.of(source, both.matrix, TRAIN.matrix)
    assert of_matrices.counts() == labelled[0].counts()
    ranked = [evaluate_ranking(source, log, seen=TRAIN).means for log in (clean, both)]
    assert ranked[0] == ranked[1]
    lists = [sn.ConfidentRecommender(source).fit(TRAIN, log) for log in (clean, both)]
    assert_array_equal(lists[0].sizes()["expected_relevant"], lists[1].sizes()["expected_relevant"])
    test = Interactions.of([0, 1], [19, 18])
    again = union([fitted_to(source, test, "test"), fitted_to(source, TRAIN, "test")])
    assert_array_equal(lists[0].lists(labels=test).n_relevant, lists[0].lists(labels=again).n_relevant)


def test_one_relevant_item_counts_once():
    """Ten training pairs among the held-out ones were counted as if they could be shown."""
    scores = np.random.default_rng(3).normal(size=(1, 40))
    train = Interactions.of([0] * 10, np.arange(10))
    held_out = Interactions.of([0] * 11, np.arange(11))
    with pytest.warns(SurenessWarning, match="10 of the 11"):
        fitted = sn.calibration.PerUserPlatt().fit(sn.MatrixSource(scores), held_out, seen=train)
    assert fitted.n_held_out_.tolist() == [1]


def test_a_model_is_validated_on_pairs_it_was_not_trained_on():
    assert len(unseen(LATER.keep(~among(LATER, TRAIN)), TRAIN)) == len(LATER.keep(~among(LATER, TRAIN)))
    with pytest.warns(SurenessWarning, match="validation"):
        assert len(unseen(LATER, TRAIN, "validation")) < len(LATER)
    with pytest.raises(EmptyError):
        unseen(TRAIN, TRAIN)
