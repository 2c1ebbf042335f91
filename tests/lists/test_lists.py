"""What policies look at: made from arrays, joined, and cut down to some users."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.errors import DataError
from sureness.lists.lists import Lists


def lists_of(n=4, width=3, seed=0, **more):
    rng = np.random.default_rng(seed)
    return Lists.of(probabilities=-np.sort(-rng.random((n, width))), hits=rng.random((n, width)) < 0.5, **more)


def test_lists_are_full_and_users_are_counted_unless_said_otherwise():
    lists = Lists.of(scores=[[3, 2], [5, 1]])
    assert (lists.n_users, lists.width) == (2, 2)
    assert lists.users.tolist() == [0, 1]
    assert lists.lengths.tolist() == [2, 2]
    assert (lists.probabilities, lists.hits, lists.n_relevant, lists.tail) == (None, None, None, None)


def test_without_a_number_of_relevant_items_those_in_the_list_are_all():
    lists = Lists.of(hits=[[1, 0, 1], [0, 0, 0]])
    assert lists.hits.dtype == bool
    assert lists.n_relevant.tolist() == [2, 0]
    assert Lists.of(hits=[[1, 0, 1]], n_relevant=[5]).n_relevant.tolist() == [5]


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True, False])])
def test_taking_users_takes_everything_that_is_known_of_them(rows):
    lists = lists_of(users=[9, 8, 7, 6], lengths=[3, 2, 1, 0], tail=np.arange(8.0).reshape(4, 2))
    taken = lists.take(rows)
    places = np.flatnonzero(rows) if rows.dtype == bool else rows
    assert taken.scores is None
    for name in ("users", "lengths", "probabilities", "hits", "n_relevant", "tail"):
        assert_array_equal(getattr(taken, name), getattr(lists, name)[places])


def test_parts_joined_are_the_whole():
    lists = lists_of(users=[9, 8, 7, 6], tail=np.arange(8.0).reshape(4, 2))
    joined = Lists.joined([lists.take(np.array([0])), lists.take(np.array([1, 2, 3]))])
    for name, value in vars(lists).items():
        if value is None:
            assert getattr(joined, name) is None
        else:
            assert_array_equal(getattr(joined, name), value)


def test_what_is_missing_is_named_with_who_wanted_it_and_what_to_do():
    with pytest.raises(DataError, match="report"):
        Lists.of(scores=[[1.0]]).needed("hits", "the report")
    with pytest.raises(DataError, match="probabilities"):
        Lists.of(scores=[[1.0]]).needed("probabilities", "the report")
    assert Lists.of(scores=[[1.0]]).needed("scores", "the report").tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({}, "lists"),
        ({"scores": [1.0, 2.0]}, "matrices"),
        ({"scores": [[1.0, 2.0]], "hits": [[True]]}, "matrices"),
        ({"hits": [[True], [False]], "n_relevant": [1]}, "n_relevant"),
        ({"hits": [[True], [False]], "lengths": 1}, "lengths"),
        ({"hits": [[True], [False]], "users": [[0], [1]]}, "users"),
    ],
)
def test_lists_that_do_not_fit_together_are_refused(given, word):
    with pytest.raises(DataError, match=word):
        Lists.of(**given)
