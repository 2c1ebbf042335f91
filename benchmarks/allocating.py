"""Slots shared by domains against a plain numpy dynamic programme; a budget shared by users against one big sort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.tables import Bar, Scale, Table, count_of, size_of, small, time_of
from benchmarks.timing import Runs, growth, one_thread, python, ratio, take_turns, timed
from sureness.lists import allocate_budget, allocate_domains

_N_DOMAINS = 4
_SLOTS = (10, 20, 40)
_MAX_SIZE = 50  # of a list under a budget
_SHARE = 0.2  # of all items that the budget pays for
_BLOCK = 2_000  # users that the second numpy programme looks at, so that its tables stay in the cache

_BUDGET = """
import sys, numpy as np
from sureness.lists import allocate_budget
n_users, width, budget, allocate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "yes"
worth = np.empty((n_users, width))
np.random.default_rng(0).random(out=worth)
np.negative(worth, out=worth)
worth.sort(axis=1)
np.negative(worth, out=worth)
np.cumsum(worth, axis=1, out=worth)
allocate_budget(worth[:100], 50.0)  # what compiled code takes is in both
if allocate:
    print(allocate_budget(worth, budget).total)
"""


def allocation(scale: Scale) -> list[Table]:
    """One table for pages, one for budgets."""
    return [_pages(scale), _budgets(scale)]


def _pages(scale: Scale) -> Table:
    n_users = tuple(n_pairs // 100 for n_pairs in scale.pairs)
    rows, bars = [], []
    for shape, draw in {"any": _any_shape, "F1": _f1}.items():
        of_users = [_measured(shape, n, _SLOTS[-1], draw, scale, rows) for n in n_users]
        of_slots = [_measured(shape, n_users[-1], n, draw, scale, rows) for n in _SLOTS[:-1]] + of_users[-1:]
        rows += [_exponents(shape, "users", n_users, of_users), _exponents(shape, "slots", _SLOTS, of_slots)]
        bars.append(Bar.at_least(
            f"{n_users[-1]:,} pages of {_SLOTS[-1]} slots for {_N_DOMAINS} domains, utilities of {shape} shape, times "
            "faster than a numpy dynamic programme", 10, ratio(of_users[-1]["numpy"], of_users[-1]["sureness"]).value,
        ))  # fmt: skip
    return Table(
        f"Slots of a page shared by {_N_DOMAINS} domains, against a numpy dynamic programme",
        ("utilities", "users", "slots", "sureness", "numpy", "in blocks", "times faster", "than blocks", "apart"),
        rows,
        notes=(
            "numpy: loops over domains, slots and sizes, each step for all users at once; in blocks: the same for "
            f"{_BLOCK:,} users after another. One thread each. Any shape: utilities rise by chance, so that every size "
            "counts and none of the short cuts applies; F1: that of the expected number of hits. Apart: largest "
            "difference between the totals of a page.",
        ),
        bars=tuple(bars),
    )  # fmt: skip


def _measured(
    shape: str, n_users: int, slots: int, draw: Callable[[int, int], np.ndarray], scale: Scale, rows: list
) -> dict[str, Runs]:
    worth = draw(n_users, slots)
    allocate_domains(worth, slots)  # compiled, which would count as slow
    parts = [slice(start, start + _BLOCK) for start in range(0, n_users, _BLOCK)]
    with one_thread():
        runs = take_turns(
            {
                "sureness": timed(lambda: allocate_domains(worth, slots)),
                "numpy": timed(lambda: _by_numpy(worth, slots)),
                "blocks": timed(lambda: [_by_numpy(worth[part], slots) for part in parts]),
            },
            scale.rounds,
        )
    checked = slice(0, 10 * _BLOCK)
    apart = np.abs(allocate_domains(worth[checked], slots).value - _by_numpy(worth[checked], slots)[1]).max()
    rows.append((
        shape, count_of(n_users), count_of(slots), *(time_of(side.median) for side in runs.values()),
        str(ratio(runs["numpy"], runs["sureness"])), str(ratio(runs["blocks"], runs["sureness"])), small(apart),
    ))  # fmt: skip
    return runs


def _exponents(shape: str, what: str, sizes: tuple[int, ...], every: list[dict[str, Runs]]) -> tuple[str, ...]:
    found = (f"{growth(sizes, [runs[side].median for runs in every]):.2f}" for side in every[0])
    place = ("growth exponent", "") if what == "users" else ("", "growth exponent")
    return shape, *place, *found, "", "", ""


def _by_numpy(worth: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and totals, the textbook way."""
    n_users, n_domains, max_size = worth.shape
    values = np.ascontiguousarray(worth.transpose(1, 2, 0))  # users last: every step reads and writes whole rows
    best, choice = np.zeros((slots + 1, n_users)), np.zeros((n_domains, slots + 1, n_users), dtype=np.int16)
    for domain in range(n_domains):
        before = best.copy()
        for used in range(1, slots + 1):
            for size in range(1, min(used, max_size) + 1):
                total = before[used - size] + values[domain, size - 1]
                better = total > best[used]
                best[used] = np.where(better, total, best[used])
                choice[domain, used] = np.where(better, size, choice[domain, used])
    left, users, sizes = np.full(n_users, slots), np.arange(n_users), np.empty((n_users, n_domains), dtype=np.int64)
    for domain in range(n_domains - 1, -1, -1):
        sizes[:, domain] = choice[domain, left, users]
        left -= sizes[:, domain]
    return sizes, best[slots]


def _any_shape(n_users: int, slots: int) -> np.ndarray:
    gains = np.random.default_rng(0).random((n_users, _N_DOMAINS, slots))
    return np.cumsum(gains, axis=2, out=gains)


def _f1(n_users: int, slots: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    chance = rng.beta(0.4, 3.0, (n_users, _N_DOMAINS, slots))
    chance = -np.sort(-chance * rng.gamma(1.0, 1.0, (n_users, _N_DOMAINS, 1)).clip(0.1, 2.0) / 2, axis=2)
    return 2 * np.cumsum(chance, axis=2) / (np.arange(1, slots + 1) + chance.sum(axis=2, keepdims=True))


def _budgets(scale: Scale) -> Table:
    n_users = tuple(n_pairs // 20 for n_pairs in scale.pairs)
    rows, every, extra = [], [], []
    for n in n_users:
        gains = -np.sort(-np.random.default_rng(0).random((n, _MAX_SIZE)))
        worth, budget = np.cumsum(gains, axis=1), _SHARE * n * _MAX_SIZE
        found = allocate_budget(worth, budget)  # also compiled by now
        sides = {"sureness": partial(allocate_budget, worth, budget), "numpy": partial(_by_sorting, worth, budget)}
        with one_thread():
            every.append(take_turns({name: timed(side) for name, side in sides.items()}, scale.rounds))
        apart = abs(found.total / _by_sorting(worth, budget) - 1)
        memory = [python(_BUDGET, *map(str, (n, _MAX_SIZE, budget)), word)().peak_bytes for word in ("yes", "no")]
        extra.append(memory[0] - memory[1])
        rows.append((
            count_of(n), *(time_of(side.median) for side in every[-1].values()),
            str(ratio(every[-1]["numpy"], every[-1]["sureness"])), size_of(worth.nbytes), size_of(extra[-1]),
            small(found.bound), small(apart),
        ))  # fmt: skip
    exponents = (f"{growth(n_users, [runs[side].median for runs in every]):.2f}" for side in every[0])
    return Table(
        f"A budget shared by users, lists of up to {_MAX_SIZE} items, against one sort of all gains",
        ("users", "sureness", "numpy", "times faster", "utilities", "memory beyond them", "bound", "apart"),
        [*rows, ("growth exponent", *exponents, "", "", "", "", "")],
        notes=(
            f"The budget pays for {_SHARE:.0%} of all items. numpy: `argsort` of all gains, right only because "
            "utilities rise less and less here; ours makes no use of it. One thread each. Memory: peak of a process "
            "that allocates less that of one that only makes the utilities. Apart: relative difference of the totals.",
        ),
        bars=(
            Bar.at_most(f"a budget over {n_users[-1]:,} users, memory beyond utilities", 100, extra[-1] / 1e6, " MB"),
        ),
    )  # fmt: skip


def _by_sorting(worth: np.ndarray, budget: float) -> float:
    gains = np.diff(worth, axis=1, prepend=0.0).ravel()
    taken = np.argsort(-gains)[: int(budget)]
    sizes = np.bincount(taken // worth.shape[1], minlength=len(worth))
    return float(np.where(sizes > 0, worth[np.arange(len(worth)), np.maximum(sizes, 1) - 1], 0.0).sum())
