"""Ranks against sorting, and draws against the printed probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, rankdata

from sureness.distillation.sampling import SCHEMES, weight_table
from sureness.errors import DataError
from sureness.numerics.ranking import draw_by_ranks, exact_ranks, ranks_of

LARGEST = float(np.finfo(np.float32).max)
VALUES = st.one_of(
    st.floats(-LARGEST / 2, LARGEST / 2, width=32), st.floats(-4, 4, width=32), st.integers(-2, 2).map(float),
    st.sampled_from([-np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, LARGEST / 2, -LARGEST / 2]),
)  # fmt: skip
ROWS = st.tuples(st.integers(1, 4), st.integers(1, 250)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=VALUES, fill=VALUES)
)


def as_ranks(rows):
    return np.array(rows, dtype=np.int32)


# --- exact ranks ---------------------------------------------------------------------------------------------------


@given(ROWS)
def test_exact_ranks_are_those_of_scipy_with_ties_in_any_order(scores):
    ranks = exact_ranks(scores)
    assert (ranks.dtype, ranks.shape) == (np.int32, scores.shape)
    for row, entries in zip(ranks, scores, strict=True):
        there = entries > -np.inf
        assert np.all(row[~there] == 0)
        low, high = (rankdata(-entries[there].astype(float), method=method) for method in ("min", "max"))
        assert np.all((low <= row[there]) & (row[there] <= high))
        assert sorted(row[there]) == list(range(1, there.sum() + 1))


@given(ROWS, st.data())
def test_the_rank_of_an_entry_is_one_more_than_the_number_of_higher_ones(scores, data):
    places = st.tuples(st.integers(0, scores.shape[0] - 1), st.integers(0, scores.shape[1] - 1))
    rows, columns = np.array(data.draw(st.lists(places, min_size=1, max_size=9))).T
    expected = [1 + sum(other > scores[r, c] for other in scores[r]) for r, c in zip(rows, columns, strict=True)]
    assert ranks_of(scores, rows, columns).tolist() == expected


def test_no_rows_have_no_ranks():
    nothing = np.empty((0, 7), dtype=np.float32)
    assert exact_ranks(nothing).shape == (0, 7)


@given(ROWS, st.data())
def test_hidden_entries_do_not_count_and_the_scores_stay_as_they_are(scores, data):
    """Those of the named sparse row, which may be named for several rows."""
    n_columns = scores.shape[1]
    sets = data.draw(st.lists(st.sets(st.integers(0, n_columns - 1), max_size=5), min_size=1, max_size=4))
    rows = np.array(data.draw(st.lists(st.integers(0, len(sets) - 1), min_size=len(scores), max_size=len(scores))))
    starts = np.cumsum([0, *map(len, sets)])
    hidden = np.array([column for row in sets for column in sorted(row)], dtype=np.int64)
    shown, before = scores.copy(), scores.copy()
    for place, row in enumerate(rows):
        shown[place, sorted(sets[row])] = -np.inf
    ranks = exact_ranks(scores, rows=rows, starts=starts, seen=hidden)
    assert_array_equal(ranks == 0, np.isneginf(shown))
    assert_array_equal(ranks, exact_ranks(shown))
    assert_array_equal(scores, before)


# --- draws ---------------------------------------------------------------------------------------------------------

CASES = [
    (scheme, scale) for scheme in SCHEMES for scale in ((1e-4,) if scheme == "uniform" else (1e-4, 1e-3, 1e-2, 0.5))
]


def chances(scheme, scale, mine, other):
    """The dissertation's formulas for one row; what either does not rank has none."""
    there = (mine > 0) & (other > 0)
    gap = np.where(there, mine - other, 0).astype(float)
    weights = there * {
        "tanh": np.tanh(np.maximum(gap * scale, 0.0)), "exp": np.exp((gap - gap.max()) * scale),
        "rank-aware": np.exp(-other * scale), "uniform": np.ones(len(gap)),
    }[scheme]  # fmt: skip
    return weights / weights.sum()


def two_ranks(n_columns, n_rows=1, seed=0, agreement=0.5, hidden=0.2):
    """Ranks of two models that agree somewhat; some entries are seen, and some one of the two does not know."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n_rows, n_columns))
    second = agreement * first + (1 - agreement) * rng.normal(size=(n_rows, n_columns))
    seen, unknown = (rng.random(first.shape) < share for share in (hidden, hidden / 4))
    first[seen], second[seen | unknown] = -np.inf, -np.inf
    return exact_ranks(first.astype(np.float32)), exact_ranks(second.astype(np.float32))


def draw(scheme, scale, mine, other, counts, seed=0, *, relative=True):
    mine, other = as_ranks(mine), as_ranks(other)
    table, rng = weight_table(scheme, scale, mine.shape[1]), np.random.default_rng(seed)
    known = SCHEMES[scheme]
    return draw_by_ranks(
        mine, other, table, np.asarray(counts), rng, compared=known.compared, relative=known.relative and relative
    )


def fits(found, chance, least=5.0):
    """Whether counts follow chances: never where there is none, and chi-square where enough are expected."""
    expected = chance * found.sum()
    rare = expected < least
    observed, wanted = (np.append(part[~rare], part[rare].sum()) for part in (found, expected))
    there = wanted > 0
    pvalue = chisquare(observed[there], wanted[there] * observed.sum() / wanted.sum()).pvalue
    return found[chance == 0].sum() == 0 and pvalue > 1e-3


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize(("scheme", "scale"), CASES)
def test_draws_follow_the_text(scheme, scale, relative):
    """Also of the second row, whose draws begin in the middle."""
    mine, other = two_ranks(70, n_rows=2, seed=3)
    drawn = draw(scheme, scale, mine, other, [30_001, 60_000], relative=relative)
    for row, part in enumerate((drawn[:30_001], drawn[30_001:])):
        assert fits(np.bincount(part, minlength=70), chances(scheme, scale, mine[row], other[row]))


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("factor", [1e-280, 1e-25, 1e25, 1e280])
def test_the_scale_of_the_weights_does_not_matter(factor, relative):
    mine, other = (as_ranks(ranks) for ranks in two_ranks(400, seed=3))
    table, counts = weight_table("exp", 1e-2, 400), np.array([2_000])
    plain, scaled = (
        draw_by_ranks(mine, other, table * times, counts, np.random.default_rng(0), relative=relative)
        for times in (1.0, factor)
    )
    assert (plain == scaled).mean() > 0.99  # rounding


def test_relative_weights_of_one_rank_alone_are_those_of_that_rank():
    mine, other = (as_ranks(ranks) for ranks in two_ranks(400, seed=3))
    table, counts = weight_table("rank-aware", 0.05, 400), np.array([2_000])
    draws = [
        draw_by_ranks(mine, other, table, counts, np.random.default_rng(0), compared=False, relative=relative)
        for relative in (True, False)
    ]
    assert_array_equal(*draws)


@pytest.mark.parametrize(("scheme", "scale"), [case for case in CASES if case[1] < 0.1])
def test_a_few_draws_from_each_of_many_long_rows_follow_the_text(scheme, scale):
    """All rows have the same ranks."""
    mine, other = two_ranks(5_000, seed=4, agreement=0.8)
    chance = chances(scheme, scale, mine[0], other[0])
    rows = [np.repeat(ranks, 300, axis=0) for ranks in (mine, other)]
    drawn = draw(scheme, scale, *rows, [150] * 300, seed=1)
    order = np.argsort(chance)
    classes = np.empty(5_000, dtype=int)
    classes[order] = np.minimum(np.cumsum(chance[order]) * 50, 49).astype(int)  # fifty of about equal chances
    classes[chance == 0] = 50
    found, expected = np.bincount(classes[drawn], minlength=51), np.bincount(classes, chance, minlength=51)
    assert fits(found, expected)
    assert len(np.unique(drawn[:150])) > 1
    assert not np.array_equal(drawn[:150], drawn[150:300])


@given(st.data(), st.sampled_from(CASES), st.integers(1, 200), st.integers(0, 2**32))
def test_what_is_seen_or_unknown_is_never_drawn_and_what_remains_is_enough(data, case, n_columns, seed):
    mine, other = two_ranks(n_columns, n_rows=3, seed=seed, hidden=data.draw(st.floats(0, 1)))
    counts = data.draw(st.lists(st.integers(0, 40), min_size=3, max_size=3))
    drawn = draw(*case, mine, other, counts, seed)
    assert (drawn.dtype, len(drawn)) == (np.int32, sum(counts))
    for row, part in enumerate(np.split(drawn, np.cumsum(counts)[:-1])):
        there = np.flatnonzero((mine[row] > 0) & (other[row] > 0))
        assert np.all(np.isin(part, there)) if len(there) else np.all(part == -1)


@pytest.mark.parametrize(("n_columns", "count"), [(40, 39_000), (4_000, 100)])
def test_models_that_agree_on_everything_draw_uniformly(n_columns, count):
    ranks = np.tile(np.arange(n_columns), (390 if count < 1_000 else 1, 1))  # the first column was seen
    drawn = draw("tanh", 1e-3, ranks, ranks, [count] * len(ranks))
    assert drawn.min() > 0
    found, chance = (np.bincount(part * 40 // n_columns, minlength=40) for part in (drawn, np.arange(1, n_columns)))
    assert fits(found, chance / chance.sum())


def test_only_what_the_other_ranks_higher_is_drawn_by_tanh():
    mine, other = two_ranks(50, seed=1)
    drawn = draw("tanh", 1e-2, mine, other, [5_000])
    assert np.all(mine[0, drawn] > other[0, drawn])


def test_nothing_to_draw_from_gives_minus_one():
    nothing, something = [[0, 0, 0]], [[1, 2, 3]]
    for mine, other in ((nothing, something), (something, nothing), (nothing, nothing)):
        assert draw("exp", 1e-3, mine, other, [4]).tolist() == [-1] * 4
    assert draw("uniform", 1e-3, [[0, 1]], [[1, 0]], [3]).tolist() == [-1] * 3
    assert draw("tanh", 1e-3, np.zeros((1, 500)), np.ones((1, 500)), [3]).tolist() == [-1] * 3


def test_a_seed_decides_all():
    mine, other = two_ranks(60, n_rows=4)
    counts = [50, 0, 80, 30]
    drawn = draw("exp", 1e-2, mine, other, counts)
    assert_array_equal(drawn, draw("exp", 1e-2, mine, other, counts))
    assert not np.array_equal(drawn, draw("exp", 1e-2, mine, other, counts, seed=1))
    assert draw("exp", 1e-2, mine, other, [0, 0, 0, 0]).shape == (0,)


def test_ranks_counts_and_table_must_fit():
    ranks, shorter = as_ranks([[1, 2, 3]]), as_ranks([[1, 2]])
    for other, table, counts in ((shorter, np.ones(7), [1]), (ranks, np.ones(6), [1]), (ranks, np.ones(7), [1, 1])):
        with pytest.raises(DataError, match="ranks"):
            draw_by_ranks(ranks, other, table, np.array(counts), np.random.default_rng(0))


def test_the_smallest_weights_there_are_draw_no_entry_that_does_not_exist():
    """Shares of a weight that cannot be halved are rounded to all of it."""
    table = np.zeros(129)
    table[64 + 4] = 5e-324  # of the first column alone
    ranks = as_ranks([[5, *range(2, 65)]]), as_ranks([range(1, 65)])
    drawn = draw_by_ranks(*ranks, table, np.array([200]), np.random.default_rng(0))
    assert np.all((drawn >= 0) & (drawn < 64))
