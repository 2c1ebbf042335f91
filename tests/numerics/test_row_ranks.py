"""Ranks against sorting, sketched ranks against their bound, and draws against the printed probabilities."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.stats import chi2_contingency, chisquare, rankdata

from sureness.distillation.sampling import SCHEMES, weight_table
from sureness.errors import DataError, SettingError
from sureness.numerics.row_ranks import (
    RowRanks,
    draw_by_ranks,
    exact_ranks,
    product_rank_parts,
    product_ranks,
    ranks_of,
    sketched_ranks,
)

LARGEST = float(np.finfo(np.float32).max)
VALUES = st.one_of(
    st.floats(-LARGEST / 2, LARGEST / 2, width=32), st.floats(-4, 4, width=32), st.integers(-2, 2).map(float),
    st.sampled_from([-np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, LARGEST / 2, -LARGEST / 2]),
)  # fmt: skip
ROWS = st.tuples(st.integers(1, 4), st.integers(1, 250)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=VALUES, fill=VALUES)
)


def exact(scores, **hidden):
    return exact_ranks(scores, **hidden).dense()


def sketched(scores, n_quantiles=256, **hidden):
    return sketched_ranks(scores, n_quantiles, **hidden).dense()


def as_ranks(rows):
    """Ranks that are given as they are."""
    dense = np.array(rows, dtype=np.int32)
    return RowRanks(dense, np.arange(dense.shape[1] + 1, dtype=np.int32)[None])


def run(script, **environment):
    """Code in a process of its own, which may crash."""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=os.environ | environment
    )


# --- exact ranks ---------------------------------------------------------------------------------------------------


@given(ROWS)
def test_exact_ranks_are_those_of_scipy_with_ties_in_any_order(scores):
    ranks = exact(scores)
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
    assert exact(nothing).shape == sketched(nothing, 2).shape == (0, 7)


@given(ROWS, st.data(), st.sampled_from([exact, lambda scores, **hidden: sketched(scores, 3, **hidden)]))
def test_hidden_entries_do_not_count_and_the_scores_stay_as_they_are(scores, data, find):
    """Those of the named sparse row, which may be named for several rows."""
    n_columns = scores.shape[1]
    sets = data.draw(st.lists(st.sets(st.integers(0, n_columns - 1), max_size=5), min_size=1, max_size=4))
    rows = np.array(data.draw(st.lists(st.integers(0, len(sets) - 1), min_size=len(scores), max_size=len(scores))))
    starts = np.cumsum([0, *map(len, sets)])
    hidden = np.array([column for row in sets for column in sorted(row)], dtype=np.int64)
    shown, before = scores.copy(), scores.copy()
    for place, row in enumerate(rows):
        shown[place, sorted(sets[row])] = -np.inf
    ranks = find(scores, rows=rows, starts=starts, seen=hidden)
    assert_array_equal(ranks == 0, np.isneginf(shown))
    assert np.abs(ranks - exact(shown)).max() <= n_columns / 3
    assert_array_equal(scores, before)


@given(ROWS, st.integers(1, 60), st.data())
def test_ranks_of_some_entries_are_those_of_all(scores, n_quantiles, data):
    places = st.tuples(st.integers(0, scores.shape[0] - 1), st.integers(0, scores.shape[1] - 1))
    rows, columns = np.array(data.draw(st.lists(places, min_size=1, max_size=9))).T
    for ranks in (exact_ranks(scores), sketched_ranks(scores, n_quantiles)):
        assert_array_equal(ranks.at(rows, columns), ranks.dense()[rows, columns])


# --- sketched ranks ------------------------------------------------------------------------------------------------


def check_sketch(scores, n_quantiles):
    """Within the bound, 0 for what does not count, and never against the order of the scores."""
    ranks = sketched(scores, n_quantiles)
    assert (ranks.dtype, ranks.shape) == (np.int32, scores.shape)
    assert np.abs(ranks - exact(scores)).max(initial=0) <= scores.shape[1] / n_quantiles
    assert_array_equal(ranks == 0, np.isneginf(scores))
    assert np.all(ranks.max(axis=1) <= np.count_nonzero(scores > -np.inf, axis=1))
    for row, entries in zip(ranks, scores, strict=True):
        by_score = np.lexsort((row, -entries.astype(float)))
        by_score = by_score[entries[by_score] > -np.inf]
        assert np.all(np.diff(row[by_score]) >= 0)


@given(ROWS, st.integers(1, 60))
def test_sketched_ranks_keep_their_bound_whatever_the_scores(scores, n_quantiles):
    check_sketch(scores, n_quantiles)


def nasty(name, rng, shape):
    """Scores that are hard on bins of equal width."""
    normal = rng.normal(size=shape)
    made = {
        "normal": lambda: normal,
        "heavy tails": lambda: rng.standard_cauchy(shape),
        "very heavy tails": lambda: np.sign(normal) * np.exp(np.minimum(np.abs(normal) * 25, 86)),
        "few values": lambda: rng.integers(0, 3, shape),
        "many ties": lambda: rng.integers(0, 400, shape) / 7,
        "constant": lambda: np.full(shape, 0.3),
        "one far above": lambda: np.where(np.arange(shape[1]) == 5, 1e30, normal),
        "one far below": lambda: np.where(np.arange(shape[1]) == 5, -1e30, normal),
        "far from zero": lambda: 1e6 + normal,
        "hardly apart": lambda: 1.0 + normal * 1e-7,
        "next to zero": lambda: normal * 1e-41,
        "huge": lambda: rng.uniform(-LARGEST / 2, LARGEST / 2, shape),
        "mostly unknown": lambda: np.where(rng.random(shape) < 0.99, -np.inf, normal),
        "one known": lambda: np.where(np.arange(shape[1]) == 5, normal, -np.inf),
        "nothing known": lambda: np.full(shape, -np.inf),
        "the largest there is": lambda: np.where(rng.random(shape) < 0.5, LARGEST, normal),
    }
    return made if name is None else made[name]().astype(np.float32)


@pytest.mark.parametrize("n_quantiles", [1, 16, 256, 3_000])
@pytest.mark.parametrize("name", list(nasty(None, np.random.default_rng(0), (1, 1))))
def test_sketched_ranks_keep_their_bound_on_nasty_scores(name, n_quantiles):
    check_sketch(nasty(name, np.random.default_rng(0), (3, 4_000)), n_quantiles)


def test_rows_are_sketched_each_for_itself():
    rng = np.random.default_rng(0)
    scores = np.concatenate([nasty(name, rng, (1, 3_000)) for name in nasty(None, rng, (1, 1))])
    alone = np.concatenate([sketched(row[None], 64) for row in scores])
    assert_array_equal(sketched(scores, 64), alone)


def test_a_sketch_is_really_used_and_cheaper_than_asked_for():
    """Bins are sixteen times finer than the bound needs, so normal scores stay well within it."""
    scores = np.random.default_rng(0).normal(size=(5, 20_000)).astype(np.float32)
    off = np.abs(sketched(scores, 256) - exact(scores))
    assert 0 < off.max() < 0.5 * 20_000 / 256


@given(st.integers(1, 4), st.integers(1, 3_000), st.integers(0, 6), st.sampled_from([1, 3, 16, 60]), st.integers(0, 99))
def test_ranks_of_a_product_keep_their_bound_without_its_scores(n, n_columns, n_factors, n_quantiles, seed):
    rng = np.random.default_rng(seed)
    left, right = (
        rng.standard_t(3, size=shape).astype(np.float32) for shape in ((n, n_factors), (n_factors, n_columns))
    )
    seen = {"rows": np.arange(n), "starts": np.arange(n + 1), "seen": rng.integers(0, n_columns, n)}
    off = product_ranks(left, right, n_quantiles, **seen).dense() - exact(left @ right, **seen)
    ties = n_columns if not n_factors else 0  # equal scores stand in any order
    assert np.abs(off).max() <= max(n_columns / n_quantiles, ties)
    assert_array_equal(product_ranks(left, right, n_quantiles, **seen).dense()[np.arange(n), seen["seen"]], 0)


def test_a_product_is_sketched_like_its_scores():
    """Bins differ only where rounding does."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(7, 6)).astype(np.float32), rng.normal(size=(6, 20_001)).astype(np.float32)
    off = np.abs(product_ranks(left, right, 256).dense() - sketched(left @ right, 256))
    assert off.max() < 20
    assert (off > 0).mean() < 0.01


@pytest.mark.parametrize(("n", "sizes"), [(1, [1]), (6, [4, 2]), (7, [4, 2, 1]), (23, [4, 2, 4, 2, 4, 2, 4, 1])])
@pytest.mark.parametrize("n_columns", [300, 20_001])
def test_products_in_blocks_and_parts_are_those_of_all_rows(n, sizes, n_columns):
    """Blocks of 6 rows, 4 and 2 of them at a time; each part is read before the next one takes its memory."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(n, 6)).astype(np.float32), rng.normal(size=(6, n_columns)).astype(np.float32)
    seen = {"rows": np.arange(n), "starts": np.arange(n + 1) * 2, "seen": rng.integers(0, n_columns, 2 * n)}
    parts = [part.dense() for part in product_rank_parts(left, right, 256, 6, 4, **seen)]
    assert [len(part) for part in parts] == sizes
    off = np.abs(np.concatenate(parts) - product_ranks(left, right, 256, **seen).dense())
    assert off.max() <= 2 * n_columns / 256  # products of other shapes may differ in the last bit
    assert (off > 0).mean() < 0.01


def test_rows_with_many_far_outside_the_range_of_some_are_sorted_after_all():
    """The range is read off every other entry here, and a hundred of the rest lie far above it."""
    scores = np.random.default_rng(0).normal(size=(2, 20_000)).astype(np.float32)
    scores[0, 1:200:2] += 50
    ranks = sketched_ranks(scores, 1_000)
    assert np.abs(ranks.dense() - exact(scores)).max() <= 20
    assert_array_equal(ranks.dense()[0], exact(scores)[0])


def test_one_item_is_first():
    assert sketched(np.array([[3.0], [-np.inf]], dtype=np.float32), 1).tolist() == [[1], [0]]


@pytest.mark.parametrize("n_quantiles", [0, -3])
def test_no_quantiles_are_refused(n_quantiles):
    with pytest.raises(SettingError, match="n_quantiles"):
        sketched_ranks(np.zeros((1, 3), dtype=np.float32), n_quantiles)


def test_scores_from_end_to_end_of_single_precision_are_ranked():
    done = run(
        "import numpy as np\n"
        "from sureness.numerics.row_ranks import exact_ranks, sketched_ranks\n"
        "scores = np.linspace(-3.4e38, 3.4e38, 2_000).astype(np.float32)[None]\n"
        "assert np.abs(sketched_ranks(scores, 10).dense() - exact_ranks(scores).dense()).max() <= 200\n"
    )
    assert done.returncode == 0, done.stderr


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
    return exact(first.astype(np.float32)), exact(second.astype(np.float32))


def draw(scheme, scale, mine, other, counts, seed=0, *, relative=True):
    """Draws from ranks, also from those that are given as plain arrays."""
    mine, other = (ranks if isinstance(ranks, RowRanks) else as_ranks(ranks) for ranks in (mine, other))
    table, rng = weight_table(scheme, scale, mine.codes.shape[1]), np.random.default_rng(seed)
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
    """Where few are asked for, entries are proposed and accepted; all rows have the same ranks."""
    mine, other = two_ranks(5_000, seed=4, agreement=0.8)
    chance = chances(scheme, scale, mine[0], other[0])
    rows = [np.repeat(ranks, 300, axis=0) for ranks in (mine, other)]
    drawn = draw(scheme, scale, *rows, [150] * 300)
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


def test_draws_and_sketches_do_not_depend_on_the_number_of_threads():
    script = (
        "import numpy as np\n"
        "from sureness.numerics.threads import at_most_threads\n"
        "from sureness.numerics.row_ranks import draw_by_ranks, sketched_ranks\n"
        "rng = np.random.default_rng(0)\n"
        "scores = [rng.normal(size=(40, 2_000)).astype(np.float32) for _ in range(2)]\n"
        "table = np.maximum(np.arange(-2_000.0, 2_001.0), 0.0)\n"
        "found = []\n"
        "for threads in (1, 2, 4):\n"
        "    with at_most_threads(threads):\n"
        "        ranks = [sketched_ranks(part, 50) for part in scores]\n"
        "        drawn = draw_by_ranks(*ranks, table, np.arange(40) * 4, np.random.default_rng(1))\n"
        "    found.append(b''.join(part.tobytes() for part in (*(part.dense() for part in ranks), drawn)))\n"
        "assert len(set(found)) == 1\n"
    )
    done = run(script, NUMBA_NUM_THREADS="4")
    assert done.returncode == 0, done.stderr


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


# --- sketch and exact draw alike -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-4, 1e-3])
@pytest.mark.parametrize("scheme", ["tanh", "exp", "rank-aware"])
@pytest.mark.parametrize("agreement", [0.2, 0.9])
def test_the_chances_from_sketched_ranks_are_those_from_exact_ones(scheme, scale, agreement):
    """Their total variation is below 0.02, as the design asks."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(4, 20_000)).astype(np.float32)
    second = (agreement * first + (1 - agreement) * rng.normal(size=first.shape)).astype(np.float32)
    table = weight_table(scheme, scale, 20_000)

    def shares(find):
        mine, other = find(first), find(second)
        weights = table[(mine if SCHEMES[scheme].compared else 0) - other + 20_000]
        return weights / weights.sum(axis=1, keepdims=True)

    variation = 0.5 * np.abs(shares(sketched) - shares(exact)).sum(axis=1)
    assert variation.max() < 0.02


@pytest.mark.parametrize("scheme", ["tanh", "exp"])
def test_sketched_and_exact_ranks_draw_alike(scheme):
    """Draws counted by the true difference of ranks, in up to forty classes that hold about as many each."""
    rng = np.random.default_rng(5)
    first = rng.normal(size=(1, 20_000)).astype(np.float32)
    second = (0.7 * first + 0.3 * rng.normal(size=first.shape)).astype(np.float32)
    gap = (exact(first) - exact(second))[0]
    drawn = [
        gap[draw(scheme, 1e-3, find(first), find(second), [40_000], seed=seed)]
        for seed, find in enumerate((exact_ranks, sketched_ranks))
    ]
    edges = np.unique(np.quantile(drawn[0], np.linspace(0, 1, 41)[1:-1]))
    edges = edges[edges < drawn[0].max()]

    def counted(gaps):
        return np.bincount(np.searchsorted(edges, gaps), minlength=len(edges) + 1)

    assert len(edges) > 20
    assert chi2_contingency([counted(part) for part in drawn]).pvalue > 1e-3
    uniform = gap[rng.integers(0, 20_000, 40_000)]
    assert chi2_contingency([counted(drawn[0]), counted(uniform)]).pvalue < 1e-12  # it can tell one scheme from another
