from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureness.data.filtering import at_least, k_core, rating_above
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, EmptyError, SettingError

PAIRS = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40)


def log_of(pairs, **values):
    users, items = zip(*sorted(pairs), strict=True)
    return Interactions.of(users, items, **values)


def pairs_of(log):
    return set(log.table()["user_id", "item_id"].rows())


def enough(pairs, per_user, per_item):
    users, items = Counter(u for u, _ in pairs), Counter(i for _, i in pairs)
    return {(u, i) for u, i in pairs if users[u] >= per_user and items[i] >= per_item}


def core(pairs, k):
    while (fewer := enough(pairs, k, k)) != pairs:
        pairs = fewer
    return pairs


@given(PAIRS, st.integers(1, 4), st.integers(1, 4))
def test_counts_are_taken_once(pairs, per_user, per_item):
    expected = enough(pairs, per_user, per_item)
    if not expected:
        with pytest.raises(EmptyError, match="none"):
            at_least(log_of(pairs), per_user=per_user, per_item=per_item)
        return
    found = at_least(log_of(pairs), per_user=per_user, per_item=per_item)
    assert pairs_of(found) == expected
    assert found.shape == (len({u for u, _ in expected}), len({i for _, i in expected}))


@given(PAIRS, st.integers(1, 4))
def test_the_core_is_stable_and_as_large_as_it_can_be(pairs, k):
    expected = core(pairs, k)
    if not expected:
        with pytest.raises(EmptyError, match="core"):
            k_core(log_of(pairs), k)
        return
    found = k_core(log_of(pairs), k)
    assert pairs_of(found) == expected
    assert found.user_degree.min() >= k
    assert found.item_degree.min() >= k
    assert pairs_of(k_core(found, k)) == expected


@given(PAIRS, st.integers(1, 3))
def test_filters_leave_their_input_alone_and_say_what_went(pairs, k):
    log = log_of(pairs)
    before = pairs_of(log)
    if core(pairs, k):
        found = k_core(log, k)
        gone = len(log) - len(found)
        assert found.notes[-1].startswith(f"{k}-core: {gone} of {len(log)} pairs, ")
    assert pairs_of(log) == before
    assert log.notes == ()


def test_ratings_must_be_higher_than_the_threshold():
    log = Interactions.of([1, 1, 2, 3], [1, 2, 1, 9], ratings=[3, 4, 5, np.nan])
    found = rating_above(log, 3)
    assert pairs_of(found) == {(1, 2), (2, 1)}
    assert found.ratings.tolist() == [4, 5]
    assert found.notes[-1] == "ratings above 3: 2 of 4 pairs, 1 of 3 users and 1 of 3 items removed"


def test_a_threshold_needs_ratings():
    with pytest.raises(ColumnError, match="interactions"):
        rating_above(Interactions.of([1], [1]), 3)


def test_what_leaves_nothing_says_what_there_is():
    log = Interactions.of([1, 1, 2], [1, 2, 1])
    with pytest.raises(EmptyError, match="per"):
        at_least(log, per_user=9)


@pytest.mark.parametrize("call", [lambda log: k_core(log, 0), lambda log: at_least(log, per_item=-1)])
def test_counts_must_be_whole_and_positive(call):
    with pytest.raises(SettingError, match="whole"):
        call(Interactions.of([1], [1]))
