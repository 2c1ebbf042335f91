"""What confidence costs: fitting a recommender with the map for lists, and a decision for one user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.sizing import each, plain_lists, world
from benchmarks.tables import Bar, Scale, Table, count_of, time_of
from benchmarks.timing import Measured, growth, one_thread, ratio, take_turns
from sureness.recommender import ConfidentRecommender

_K = 50
_N_ITEMS, _QUICK_N_ITEMS = 17_000, 1_000
_USERS, _QUICK_USERS = (5_000, 10_000, 20_000), (300, 600, 1_200)
_ITEMS, _QUICK_ITEMS = (5_000, 17_000, 100_000), (500, 1_000, 2_000)
_DECISIONS = 300  # in a row, of which the fastest counts
_ALLOWED = 100e-6  # seconds that a decision may take beyond numpy's lists


def fitting_recommenders(scale: Scale) -> Table:
    """Everything that a fit does: scoring, the best candidates, the map for lists, what is below the best."""
    full = scale.rounds > 1
    sizes, n_items = (_USERS, _N_ITEMS) if full else (_QUICK_USERS, _QUICK_N_ITEMS)
    rows, found = [], {}
    for n_users in sizes:
        source, train, held_out = world(n_users, n_items)
        sides = {
            "fit": each(n_users, lambda s=source, h=held_out, t=train: ConfidentRecommender(s).fit(t, h)),
            "top-50": each(n_users, lambda s=source, t=train: plain_lists(s, t)),
        }
        with one_thread():
            found[n_users] = runs = take_turns(sides, min(scale.rounds, 3))
        times = (time_of(runs[side].median) for side in sides)
        rows.append((count_of(n_users), *times, str(ratio(runs["fit"], runs["top-50"]))))
    exponents = [f"{growth(sizes, [n * found[n][side].median for n in sizes]):.2f}" for side in ("fit", "top-50")]
    most = found[sizes[-1]]
    what = f"fit of a recommender for {sizes[-1]:,} users, {n_items:,} items, times scoring + top-50"
    return Table(
        f"Fitting a recommender with the map for lists, {n_items:,} items, time a user",
        ("users", "fit", "scoring + top-50", "times"), [*rows, ("growth exponent", *exponents, "")],
        bars=(Bar.at_most(what, 1.5, ratio(most["fit"], most["top-50"]).value),) if full else (),
        notes=("One thread, processor time, after a first round. The map is learned from a sample of users.",),
    )  # fmt: skip


def one_user(scale: Scale) -> Table:
    """Live scores of one user become a list, against the 50 best by numpy."""
    sizes = _ITEMS if scale.rounds > 1 else _QUICK_ITEMS
    rows, found = [], {}
    for n_items in sizes:
        source, train, held_out = world(400, n_items)
        recommender = ConfidentRecommender(source).fit(train, held_out)
        scores, ids = source.score_block(np.array([7]))[0], np.arange(n_items)
        sides = {
            "in order": _fastest(lambda r=recommender, s=scores: r.decide(7, scores=s)),
            "with ids": _fastest(lambda r=recommender, s=scores, i=ids: r.decide(7, i, s)),
            "numpy": _fastest(lambda s=scores: _best(s)),
        }
        with one_thread():
            found[n_items] = runs = take_turns(sides, scale.rounds)
        rows.append((
            count_of(n_items), *(time_of(runs[side].median) for side in sides),
            *(str(ratio(runs[side], runs["numpy"])) for side in ("in order", "with ids")),
        ))  # fmt: skip
    exponents = [f"{growth(sizes, [found[n][side].median for n in sizes]):.2f}" for side in found[sizes[0]]]
    bars = tuple(
        Bar.at_most(f"decide for one user, 17,000 items {side}, less 100 microseconds, times numpy's top-50", 2.0,
                    (found[_N_ITEMS][side].median - _ALLOWED) / found[_N_ITEMS]["numpy"].median)
        for side in ("in order", "with ids") if _N_ITEMS in found
    )  # fmt: skip
    return Table(
        "One decision from live scores of all items",
        ("items", "in order", "with ids", "numpy's top-50", "times, in order", "times, with ids"),
        [*rows, ("growth exponent", *exponents, "", "")], bars=bars,
        notes=(f"The fastest of {_DECISIONS} decisions in a row. numpy: `argpartition`, then `argsort` of the 50.",),
    )  # fmt: skip


def _best(scores: np.ndarray) -> np.ndarray:
    top = np.argpartition(-scores, _K)[:_K]
    return top[np.argsort(-scores[top])]


def _fastest(function: Callable[[], object]) -> Callable[[], Measured]:
    """A short function as a side: the fastest of many calls, which a busy machine disturbs least."""
    once = each(1, function)
    return lambda: Measured(min(once().seconds for _ in range(_DECISIONS)))
