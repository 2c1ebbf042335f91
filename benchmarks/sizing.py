"""List sizes: per-user maps, expected utilities, and lists with personal sizes, against scoring and top-50."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.baselines.refined_normal import expected_utilities as by_refined_normal
from benchmarks.tables import Bar, Scale, Table, count_of, size_of, small, time_of
from benchmarks.timing import Measured, growth, one_thread, python, ratio, take_turns
from sureness.calibration import PerUserPlatt
from sureness.data import Interactions
from sureness.lists import ExpectedUtility, expected_utilities
from sureness.recommender import ConfidentRecommender
from sureness.sources import FactorSource, top_blocks

_UTILITIES = ("ndcg", "pdcg", "f1", "tp")
_K = 50
_ITEMS = (5_000, 17_000, 100_000)
_QUICK_ITEMS = (500, 1_000, 2_000)
_USERS = (20_000, 100_000, 500_000)
_QUICK_USERS = (500, 1_000, 2_000)
_AT = 17_000  # the size that the bars speak of: that of CiteULike-a


def user_maps(scale: Scale) -> list[Table]:
    """Fitting a map for each user."""
    return [_maps_by_items(scale), _maps_by_users(scale)]


def _maps_by_items(scale: Scale) -> Table:
    rows, found = [], {}
    sizes = _sizes(scale, _ITEMS, _QUICK_ITEMS)
    for n_items in sizes:
        source, train, held_out = world(_users_for(n_items), n_items)
        some = np.arange(min(20, source.n_users))
        every = PerUserPlatt(prior_width=3.0)
        best = PerUserPlatt(top=200, prior_width=3.0)
        with one_thread():
            runs = take_turns(
                {
                    "all": each(source.n_users, lambda f=every, s=source, h=held_out, t=train: f.fit(s, h, seen=t)),
                    "top 200": each(source.n_users, lambda f=best, s=source, h=held_out, t=train: f.fit(s, h, seen=t)),
                    "top-50": each(source.n_users, lambda s=source, t=train: plain_lists(s, t)),
                    "scikit-learn": each(len(some), lambda s=source, h=held_out, u=some: _by_sklearn(s, h, u)),
                },
                scale.rounds,
            )  # fmt: skip
        found[n_items] = runs
        rows.append((
            count_of(n_items), *(time_of(runs[side].median) for side in runs),
            str(ratio(runs["scikit-learn"], runs["all"])), str(ratio(runs["all"], runs["top-50"])),
        ))  # fmt: skip
    exponents = [f"{growth(sizes, [found[n][side].median for n in sizes]):.2f}" for side in found[sizes[0]]]
    bars = ()
    if _AT in found:
        runs = found[_AT]
        bars = (
            Bar.at_least("per-user Platt on all of 17,000 candidates, times faster than scikit-learn", 100,
                         ratio(runs["scikit-learn"], runs["all"]).value),
            Bar.at_most("per-user Platt on all candidates, scoring included, times scoring + top-50", 2.0,
                        ratio(runs["all"], runs["top-50"]).value),
            Bar.at_most("per-user Platt on all candidates, scoring taken off, times scoring + top-50", 1.0,
                        (runs["all"].median - _scoring(_AT)) / runs["top-50"].median),
        )  # fmt: skip
    return Table(
        "A map for each user, time a user",
        ("items", "all candidates", "top 200", "scoring + top-50", "scikit-learn", "times faster", "times top-50"),
        [*rows, ("growth exponent", *exponents, "", "")],
        notes=("One thread each. Fitting includes scoring all items once for the map and once for the users from whom "
               "the prior is learned. scikit-learn: `LogisticRegression` on the scores of 20 users, scoring not "
               "included.",),
        bars=bars,
    )  # fmt: skip


def _maps_by_users(scale: Scale) -> Table:
    """Memory and time while users are streamed, each in a process of its own."""
    rows, seconds, sizes = [], [], _sizes(scale, _USERS, _QUICK_USERS)
    base = python(_CODE.format(users=1_000, items=2_000))()
    for n_users in sizes:
        done = python(_CODE.format(users=n_users, items=2_000))()
        seconds.append(float(done.output))
        kept = 8 * n_users * (7 + 14) + 4 * 64 * n_users + 16 * 15 * n_users  # maps, summaries, factors, the two logs
        rows.append((count_of(n_users), time_of(seconds[-1]), time_of(seconds[-1] / n_users),
                     size_of(done.peak_bytes - base.peak_bytes), size_of(kept)))  # fmt: skip
    rows.append(("growth exponent", f"{growth(sizes, seconds):.2f}", "", "", ""))
    return Table(
        "Fitting a ConfidentRecommender for many users, 2,000 items, streamed",
        ("users", "fit", "time a user", "more memory than for 1,000 users", "of which has to be kept"), rows,
        notes=("Maps, summaries, factors and the two logs grow with the users; the blocks of scores do not.",),
    )  # fmt: skip


_CODE = """
import time, resource
from benchmarks.sizing import world
from sureness.recommender import ConfidentRecommender
source, train, held_out = world({users}, {items}, random=True)
start = time.perf_counter()
ConfidentRecommender(source).fit(train, held_out)
print(time.perf_counter() - start)
"""


def expected(scale: Scale) -> Table:
    """Expected utilities of every size from the probabilities of all candidates."""
    rows, found, sizes = [], {}, _sizes(scale, _ITEMS, _QUICK_ITEMS)
    for n_items in sizes:
        source, train, _ = world(_users_for(n_items), n_items)
        probabilities = _probabilities(source.n_users, n_items)
        few = probabilities[:20]
        with one_thread():
            runs = take_turns(
                {
                    "exact": each(len(probabilities), lambda p=probabilities: _exact(p)),
                    "top-50": each(source.n_users, lambda s=source, t=train: plain_lists(s, t)),
                    "refined normal": each(len(few), lambda p=few: by_refined_normal(p, _K)),
                },
                scale.rounds,
            )  # fmt: skip
        found[n_items] = runs
        off = np.abs(expected_utilities(few, _UTILITIES, max_size=_K) - by_refined_normal(few, _K)).max()
        rows.append((
            count_of(n_items), *(time_of(runs[side].median) for side in runs),
            str(ratio(runs["refined normal"], runs["exact"])), str(ratio(runs["exact"], runs["top-50"])), small(off),
        ))  # fmt: skip
    exponents = [f"{growth(sizes, [found[n][side].median for n in sizes]):.2f}" for side in found[sizes[0]]]
    bars = ()
    if _AT in found:
        bars = (
            Bar.at_least("exact expected utilities, times faster than the refined-normal loop", 20,
                         ratio(found[_AT]["refined normal"], found[_AT]["exact"]).value),
            Bar.at_most("exact expected utilities, times scoring + top-50", 0.5,
                        ratio(found[_AT]["exact"], found[_AT]["top-50"]).value),
        )  # fmt: skip
    return Table(
        "Expected NDCG, PDCG, F1 and TP for k = 1..50 from all probabilities, time a user",
        ("items", "exact", "scoring + top-50", "refined normal", "times faster", "times top-50", "largest difference"),
        [*rows, ("growth exponent", *exponents, "", "", "")], bars=bars,
    )  # fmt: skip


def serving(scale: Scale) -> Table:
    """Lists with personal sizes from stored summaries, against plain top-50 lists of the same source."""
    rows, found, sizes = [], {}, _sizes(scale, _ITEMS, _QUICK_ITEMS)
    for n_items in sizes:
        source, train, held_out = world(_users_for(n_items), n_items)
        fitted = ConfidentRecommender(source, policy=ExpectedUtility("f1")).fit(train, held_out)
        every = np.arange(source.n_users)
        with one_thread():
            runs = take_turns(
                {
                    "personal": each(source.n_users, lambda f=fitted, u=every: _cut(f, u)),
                    "top-50": each(source.n_users, lambda s=source, f=fitted: plain_lists(s, f.seen_)),
                },
                3 * scale.rounds,
            )
        found[n_items] = runs
        rows.append((
            count_of(n_items), *(time_of(runs[side].median) for side in runs),
            str(ratio(runs["personal"], runs["top-50"])),
        ))  # fmt: skip
    exponents = [f"{growth(sizes, [found[n][side].median for n in sizes]):.2f}" for side in found[sizes[0]]]
    bars = ()
    if _AT in found:
        times = ratio(found[_AT]["personal"], found[_AT]["top-50"]).value
        bars = (Bar.at_most("lists with personal sizes, times plain top-50 lists", 1.10, times),)
    return Table(
        "Lists with personal sizes (F1), time a user",
        ("items", "personal sizes", "scoring + top-50", "times"), [*rows, ("growth exponent", *exponents, "")],
        bars=bars,
        notes=("Both score all items, hide the seen ones and take the top 50.",),
    )  # fmt: skip


# --- the sides -----------------------------------------------------------------------------------------------------


def world(n_users: int, n_items: int, *, random: bool = False) -> tuple[FactorSource, Interactions, Interactions]:
    """Factors, and logs of about ten items a user: of high scores, or of any where that would take too long."""
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((n, 64)).astype(np.float32) * 0.45 for n in (n_users, n_items))
    source = FactorSource(users, items)
    logs = []
    for _ in range(2):
        rows = np.repeat(np.arange(n_users), 10)
        columns = rng.integers(n_items, size=len(rows))
        if not random:
            columns = np.concatenate([
                _drawn(users[start : start + 500], items, rng) for start in range(0, n_users, 500)
            ])  # fmt: skip
        logs.append(_log(rows, columns, (n_users, n_items)))
    return source, *logs


def _drawn(users: np.ndarray, items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten items of each user, high scores more often than low ones."""
    chance = rng.random((len(users), len(items)), dtype=np.float32) + np.float32(1e-9)
    noisy = users @ items.T - np.log(-np.log(np.minimum(chance, np.float32(1 - 1e-7)))) * 0.7
    return np.argpartition(-noisy, 10, axis=1)[:, :10].ravel()


def _log(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Interactions:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return Interactions.from_matrix(matrix)


def _probabilities(n_users: int, n_items: int) -> np.ndarray:
    """Falling rows as a calibrated recommender gives them, about ten relevant items a user."""
    rng = np.random.default_rng(1)
    row = 0.6 / (1 + np.arange(n_items) * 0.25) ** 1.1
    return np.clip(row * rng.uniform(0.5, 1.5, size=(n_users, 1)), 0, 1)


def plain_lists(source: FactorSource, seen: Interactions) -> None:
    for _ in top_blocks(source, np.arange(source.n_users), _K, seen):
        pass


def _exact(probabilities: np.ndarray) -> np.ndarray:
    return expected_utilities(probabilities, _UTILITIES, max_size=_K)


def _cut(recommender: ConfidentRecommender, rows: np.ndarray) -> None:
    recommender.policy_.sizes(recommender.lists(rows))


def _by_sklearn(source: FactorSource, held_out: Interactions, users: np.ndarray) -> None:
    from sklearn.linear_model import LogisticRegression

    for user, scores in zip(users, source.score_block(users), strict=True):
        labels = np.zeros(source.n_items)
        labels[held_out.items_of(user)] = 1
        LogisticRegression(C=np.inf).fit(scores[:, None], labels)


def _scoring(n_items: int) -> float:
    """Seconds a user that scoring alone takes."""
    source, _, _ = world(_users_for(n_items), n_items, random=True)
    side = each(source.n_users, lambda: source.score_block(np.arange(source.n_users)))
    with one_thread():
        return take_turns({"scoring": side}, 3)["scoring"].median


def each(n_users: int, function: Callable[[], object]) -> Callable[[], Measured]:
    """A function for so many users as a side, on one thread; its time is the processor's for one of them."""

    def run() -> Measured:
        start = time.process_time()
        function()
        return Measured((time.process_time() - start) / n_users)

    return run


def _users_for(n_items: int) -> int:
    return max(100, min(2_000, 20_000_000 // n_items))


def _sizes(scale: Scale, full: tuple[int, ...], quick: tuple[int, ...]) -> tuple[int, ...]:
    return full if scale.rounds > 1 else quick
