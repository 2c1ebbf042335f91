from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureness.data.interactions import Interactions, union
from sureness.data.splitting import Split, by_ratio, hold_out, leave_one_out
from sureness.errors import ColumnError, IdError, SettingError

PAIRS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 15)), min_size=1, max_size=60)
SEEDS = st.integers(0, 1000)
SHARES = st.sampled_from([(0.6, 0.2, 0.2), (0.8, 0.1, 0.1), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0), (0.1, 0.45, 0.45)])


def log_of(pairs, **values):
    users, items = zip(*sorted(pairs), strict=True)
    return Interactions.of(users, items, **values)


def many(n_users=50, n_items=40, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    return Interactions.of(users, items, ratings=rng.integers(1, 6, len(users)), times=rng.integers(0, 9, len(users)))


def pairs_of(log):
    return set(zip(log.user_rows.tolist(), log.item_rows.tolist(), strict=True))


def assert_parts_of(log, *parts):
    """Disjoint, together the log, with its ratings and its id maps."""
    assert sum(map(len, parts)) == len(log)
    assert union(list(parts)).table().equals(log.table())
    assert all(part.users is log.users and part.items is log.items for part in parts)


# --- a share of all pairs ------------------------------------------------------------------------------------------


@given(PAIRS, st.sampled_from([0.0, 0.1, 0.5, 0.99]), SEEDS)
def test_a_share_of_the_pairs_is_held_out(pairs, share, seed):
    log = log_of(pairs)
    train, held_out = hold_out(log, share, seed=seed)
    assert_parts_of(log, train, held_out)
    assert abs(len(held_out) - share * len(log)) <= 0.5


@pytest.mark.parametrize("share", [-0.1, 1.0, 2])
def test_a_share_must_be_a_share(share):
    with pytest.raises(SettingError, match="held"):
        hold_out(many(), share)


# --- leave one out -------------------------------------------------------------------------------------------------


@given(PAIRS, SEEDS, st.booleans())
def test_the_last_two_of_each_user_are_held_out(pairs, seed, timed):
    times = np.random.default_rng(seed).integers(0, 4, len(pairs)) if timed else None
    log = log_of(pairs, times=times)
    split = leave_one_out(log, seed=seed)
    assert_parts_of(log, *split.parts.values())
    enough = log.user_degree >= 3
    for part in (split.validation, split.test):
        assert part.user_degree.tolist() == enough.astype(int).tolist()
    if timed:
        for user in np.flatnonzero(enough):
            test, validation, train = (
                part.times[part.user_rows == user] for part in (split.test, split.validation, split.train)
            )
            assert test[0] >= validation[0] >= train.max()
    few = np.count_nonzero((log.user_degree > 0) & ~enough)
    assert any("with fewer than 3 interactions" in note for note in split.notes) == bool(few)


def test_equal_times_are_broken_at_random():
    log = Interactions.of(np.repeat(np.arange(3_000), 4), np.tile(np.arange(4), 3_000), times=np.zeros(12_000))
    shares = leave_one_out(log, seed=1).test.item_degree / 3_000
    assert np.abs(shares - 0.25).max() < 0.04


def test_pairs_without_a_time_are_the_oldest():
    log = Interactions.of([1] * 5, [1, 2, 3, 4, 5], times=[1.0, np.nan, 2.0, np.nan, 3.0])
    split = leave_one_out(log)
    assert split.test.table()["item_id"].to_list() == [5]
    assert split.validation.table()["item_id"].to_list() == [3]


# --- shares of each user's pairs -----------------------------------------------------------------------------------


@given(PAIRS, SHARES, SEEDS)
def test_each_user_is_split_by_the_shares(pairs, shares, seed):
    log = log_of(pairs)
    split = by_ratio(log, shares, seed=seed)
    assert_parts_of(log, *split.parts.values())
    assert (split.train.user_degree >= 1).all()
    for part, share in zip((split.validation, split.test), shares[1:], strict=True):
        assert (part.user_degree <= np.floor(log.user_degree * share + 0.5)).all()
        plenty = log.user_degree * shares[0] >= 2
        assert (np.abs(part.user_degree - log.user_degree * share)[plenty] <= 0.5).all()


def test_users_with_few_pairs_keep_them_in_training():
    log = Interactions.of([1, 2, 2, 3, 3, 3], [1, 1, 2, 1, 2, 3])
    split = by_ratio(log, (0.1, 0.45, 0.45))
    assert split.train.user_degree.tolist() == [1, 1, 1]
    assert split.notes == ("1 user has too few interactions for a test pair",)


@given(SEEDS)
def test_each_domain_of_a_user_is_split_by_itself(seed):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame({
        "user_id": rng.integers(0, 5, 200), "item_id": rng.integers(0, 60, 200),
        "domain": rng.choice(["toys", "books", "music"], 200, p=[0.7, 0.2, 0.1]),
    })  # fmt: skip
    log = Interactions.from_table(table)
    split = by_ratio(log, seed=seed, per_domain=True)
    assert_parts_of(log, *split.parts.values())
    counts = {
        name: part.table().group_by("user_id", "domain").len(name) for name, part in {"all": log, **split.parts}.items()
    }
    joined = counts["all"]
    for name in split.parts:
        joined = joined.join(counts[name], on=["user_id", "domain"], how="left").with_columns(pl.col(name).fill_null(0))
    assert (joined["train"] >= 1).all()
    for name in ("validation", "test"):
        assert ((joined[name] - joined["all"] * 0.2).abs() <= 0.5 + 1e-9).all()


def test_domains_must_be_there():
    with pytest.raises(ColumnError, match="split"):
        by_ratio(many(), per_domain=True)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.2, 0.2), (0, 0.5, 0.5), (1.2, -0.1, -0.1), (0.6, 0.2, 0.2, 0)])
def test_shares_must_sum_to_one(shares):
    with pytest.raises(SettingError, match="shares"):
        by_ratio(many(), shares)


# --- all of them ---------------------------------------------------------------------------------------------------

PROTOCOLS = {
    "hold_out": lambda log, seed: hold_out(log, 0.2, seed=seed),
    "leave_one_out": lambda log, seed: tuple(leave_one_out(log, seed=seed).parts.values()),
    "by_ratio": lambda log, seed: tuple(by_ratio(log, seed=seed).parts.values()),
}


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_seed_gives_the_same_split_and_another_another(protocol):
    log = many()
    first, again, other = (list(map(pairs_of, protocol(log, seed))) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    generated = [list(map(pairs_of, protocol(log, np.random.default_rng(3)))) for _ in range(2)]
    assert generated[0] == generated[1] == first


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_an_empty_log_can_be_split(protocol):
    log = many().keep(np.zeros(0, dtype=int))
    assert [len(part) for part in protocol(log, 0)][-1] == 0


def test_parts_with_other_ids_are_refused():
    log = many()
    other = Interactions.of([1], ["x"])
    with pytest.raises(IdError, match="parts"):
        Split(log, log, other)


def test_a_summary_counts_each_part():
    split = by_ratio(many(), seed=0)
    summary = split.summary()
    assert summary["part"].to_list() == ["train", "validation", "test"]
    assert summary["interactions"].sum() == len(many())
    assert "train" in repr(split)


@pytest.mark.parametrize("split", [hold_out, leave_one_out, by_ratio])
@pytest.mark.parametrize("seed", [-1, "x"])
def test_a_seed_that_is_none_is_refused(split, seed):
    with pytest.raises(SettingError, match="seed"):
        split(Interactions.of([1] * 4, [1, 2, 3, 4]), seed=seed)


@pytest.mark.parametrize("shares", [(np.nan, 0.5, 0.5), (0.5, 0.5, np.nan), ("a", 0.5, 0.5), "abc", None, 0.5, (1, 0)])
def test_shares_that_are_not_three_numbers_are_refused(shares):
    with pytest.raises(SettingError, match="three numbers"):
        by_ratio(Interactions.of([1, 2], [1, 2]), shares)


@pytest.mark.parametrize("share", ["x", None, np.nan, 1.0, -0.1])
def test_a_held_out_share_that_is_not_a_number_is_refused(share):
    with pytest.raises(SettingError, match="share"):
        hold_out(Interactions.of([1, 2], [1, 2]), share)
