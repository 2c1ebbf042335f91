"""The list sizes of a page as plain values, and their result in one sentence and four numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import Oracle
from sureness.metrics.intervals import Interval, interval
from sureness.metrics.utility import at_sizes, named_utility
from sureness.numerics.ratios import Ratio
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.promises import KeptPromise, kept_promise
from sureness.report.cases import UserCase, list_cases
from sureness.report.figures.lists import (
    ByDegree,
    draw_promise,
    draw_size_by_degree,
    draw_size_distributions,
    prepare_size_by_degree,
)
from sureness.report.figures.style import Plan
from sureness.report.formatting import Headline, Tile, Verdict, chance, count, error, page_name, ratio, verdict
from sureness.report.methods import promise_in_words
from sureness.tables.frames import Frame, as_frame

MAIN, ORACLE = "PerK", "Oracle"
GROUPS = ("few", "some", "many")

_CLEAR = 0.05  # p-values below count as a clear difference
_TITLES = {"ndcg": "NDCG", "pdcg": "PDCG", "f1": "F1", "tp": "TP", "dcg": "DCG"}


@dataclass(frozen=True)
class PolicyRow:
    """The mean utility and list size of one policy."""

    name: str
    value: float
    mean_size: float
    difference: float | None  # to the reference, user by user
    p_value: float | None

    @property
    def is_clear(self) -> bool:
        """Whether it clearly differs from the reference."""
        return self.p_value is not None and self.p_value < _CLEAR


@dataclass(frozen=True, eq=False)
class ListSizes:
    """The list-size part of a page before it is drawn."""

    utility: str  # as the page writes it
    main: str
    reference: str | None
    n_users: int
    n_judged: int | None  # users with a relevant item; None without labels
    n_empty: int  # users without a list
    n_unsure: int
    mean_size: float
    max_size: int
    policies: tuple[PolicyRow, ...]  # the main one first, then the others from best to worst; empty without labels
    sizes: Mapping[str, IntArray]  # to draw, by policy
    degree: ByDegree
    groups: list[dict[str, Any]]  # users with similar numbers of known interactions; None: what needs labels
    promise: KeptPromise | None  # None without labels, or if nothing is shown
    cases: tuple[UserCase, ...]

    __repr__ = fields_repr

    def policy(self, name: str | None) -> PolicyRow | None:
        """The row of a policy; None if it was not compared."""
        return next((row for row in self.policies if row.name == name), None)


def gather_list_sizes(
    recommender: ConfidentRecommender,
    *,
    test: Interactions | None = None,
    compared: PolicyComparison | None = None,
    items: Frame | None = None,
    n_resamples: int = 200,
) -> ListSizes:
    """Describe the lists of a fitted recommender, and judge them if labels are known.

    Parameters
    ----------
    recommender : ConfidentRecommender
    test : Interactions, optional
        A later period. Users without a relevant item in it count in calibration errors, not in utilities.
    compared : PolicyComparison, optional
        The recommender's policy, which must come first, and others, judged on the same test; by default only the
        oracle is compared.
    items : table of any kind with item_id, title and, if known, domain, optional
    n_resamples : int
        Draws of noise for the intervals.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> world = simulate(SimulatorSettings(n_users=150, n_items=80, seed=0))
    >>> split = by_ratio(Interactions.from_matrix(world.train), seed=0)
    >>> recommender = ConfidentRecommender(svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    >>> found = gather_list_sizes(recommender, test=split.test)
    >>> [row.name for row in found.policies], [group["name"] for group in found.groups]
    (['personal sizes', 'best in hindsight'], ['few', 'some', 'many'])
    """
    titles = None if items is None else as_frame(items)
    policy = recommender.policy_
    utility = named_utility(policy.utility)
    lists = recommender.lists(labels=test)
    if not lists.n_users:
        raise EmptyError("the recommender has no users, so there are no lists to show")
    sizes, expected = policy.sizes(lists), policy.expected(lists)
    unsure = policy.decide(lists).needed("unsure", policy)
    if test is not None and compared is None:
        oracle = Oracle(utility, max_size=policy.max_size)
        compared = compare_policies({MAIN: policy, ORACLE: oracle}, lists, utility)
    main = MAIN if compared is None else next(iter(compared.values))
    degree = recommender.seen_.user_degree
    title = _TITLES.get(utility.name, utility.name)
    return ListSizes(
        utility=title,
        main=page_name(main),
        reference=None if compared is None or compared.reference is None else page_name(compared.reference),
        n_users=lists.n_users,
        n_judged=None if compared is None else len(compared.users),
        n_empty=int(np.count_nonzero(sizes == 0)),
        n_unsure=int(np.count_nonzero(unsure)),
        mean_size=float(sizes.mean()),
        max_size=policy.max_size,
        policies=_policies(compared, main),
        sizes=_drawn(compared, main, sizes),
        degree=prepare_size_by_degree(sizes, degree),
        groups=_groups(lists, sizes, at_sizes(expected, sizes), degree, compared, main, n_resamples),
        promise=None if test is None else kept_promise(recommender, test, lists),
        cases=list_cases(recommender, lists, sizes, expected, unsure, items=titles, utility=title),
    )


def _policies(compared: PolicyComparison | None, main: str) -> tuple[PolicyRow, ...]:
    if compared is None:
        return ()
    rows = [
        PolicyRow(
            page_name(row["policy"]), row[compared.utility], row["mean_size"], row.get("difference"), row.get("p_value")
        )
        for row in compared.table.iter_rows(named=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.name != page_name(main), -row.value)))


def _drawn(compared: PolicyComparison | None, main: str, sizes: IntArray) -> dict[str, IntArray]:
    """The sizes to draw: with labels, those of the judged users and the oracle's."""
    if compared is None:
        return {page_name(main): sizes}
    return {page_name(name): compared.sizes[name] for name in (main, ORACLE) if name in compared.sizes}


def _groups(
    lists: Lists,
    sizes: IntArray,
    expected: FloatArray,
    degree: IntArray,
    compared: PolicyComparison | None,
    main: str,
    n_resamples: int,
) -> list[dict[str, Any]]:
    """Thirds of the users by degree; users with equal degrees share a group."""
    edges = np.quantile(degree, [1 / 3, 2 / 3], method="lower")
    codes = np.searchsorted(edges, degree, side="left")
    reference = None if compared is None else compared.reference
    groups = []
    for code, name in enumerate(GROUPS):
        inside = codes == code
        if not inside.any():
            continue
        judged = None if compared is None else inside[compared.users]
        groups.append(
            {
                "name": name,
                "degrees": f"{degree[inside].min():,} to {degree[inside].max():,}",  # fewest and most interactions
                "n_users": int(inside.sum()),
                "mean_size": float(sizes[inside].mean()),
                "expected": float(expected[inside].mean()),  # utility
                "ece": _error(lists.take(inside), sizes[inside], n_resamples),  # of the shown items
                "value": _mean(compared, main, judged),  # mean utility over the users with a relevant item
                "reference": _mean(compared, reference, judged),
            }
        )
    return groups if len(groups) > 1 else [groups[0] | {"name": "all"}]


def _error(lists: Lists, sizes: IntArray, n_resamples: int) -> Interval | None:
    """Calibration error of the shown items; the interval is over users."""
    if lists.hits is None or not sizes.any():
        return None
    shown = np.arange(lists.width) < sizes[:, None]
    users = np.broadcast_to(lists.users[:, None], shown.shape)[shown]
    return interval("ece", lists.hits[shown], lists.promises("the report")[shown], users=users, n_resamples=n_resamples)


def _mean(compared: PolicyComparison | None, name: str | None, judged: BoolArray | None) -> float | None:
    if compared is None or name is None or judged is None or not judged.any():
        return None
    return float(compared.values[name][judged].mean())


def list_headline(found: ListSizes) -> Headline:
    """Whether personal sizes are better than the reference, and by how much."""
    main, reference = found.policy(found.main), found.policy(found.reference)
    if main is None:
        sentence = f"Each list is as long as it is worth showing: {found.mean_size:.1f} items on average."
        longest = counted(found.max_size, "item")
        return Headline(sentence, f"Lists of up to {longest} that maximise the expected {found.utility}.")
    detail = f"{found.utility} {error(main.value)} with {main.mean_size:.1f} items on average"
    if reference is not None:
        detail += f"; {reference.name} {error(reference.value)} with {reference.mean_size:.1f}"
    if (oracle := found.policy(page_name(ORACLE))) is not None:
        detail += f"; the best size for every user, known only in hindsight, {error(oracle.value)}"
    detail += f". Judged on {counted(found.n_judged or 0, 'user')}."
    if found.promise is not None and (words := promise_of(found.promise)[0]):
        detail += f" Realised over promised is {ratio(found.promise.total)}: {words}."
    return Headline(_verdict(found, main, reference), detail)


def promise_of(kept: KeptPromise) -> tuple[str, Verdict]:
    """Whether lists keep their promise, in total and in bands of ranks and of probabilities, and the colour of that."""
    (total, *ranks), (_, *rising) = (
        [Ratio(*row) for row in table.select("ratio", "low", "high").iter_rows()]
        for table in (kept.by_rank, kept.by_probability)
    )
    return promise_in_words(total, ranks=ranks, probabilities=rising[::-1])


def list_tiles(found: ListSizes) -> tuple[Tile, ...]:
    """The four numbers under the headline."""
    main, reference = found.policy(found.main), found.policy(found.reference)
    judged = "" if found.n_judged is None else f"{count(found.n_judged)} with a relevant item in the test"
    if found.n_unsure:
        third = Tile("ask first", count(found.n_unsure), "users whose best list is not worth showing")
    else:
        third = Tile("users without a list", count(found.n_empty))
    tiles = (
        Tile("users", count(found.n_users), judged),
        Tile("items per list", f"{found.mean_size:.1f}", f"on average, at most {found.max_size}"),
        third,
    )
    if main is None:
        return (*tiles, Tile(f"expected {found.utility}", error(_expected(found)), f"{found.main}, mean over users"))
    if reference is None:
        return (*tiles, Tile(found.utility, error(main.value), found.main))
    values = f"{error(reference.value)} → {error(main.value)}"
    note = f"{reference.name} → {found.main}, p {chance(main.p_value or 0.0)}"
    return (
        *tiles,
        Tile(f"{found.utility} fixed → personal", values, note, verdict(main.difference, clear=main.is_clear)),
    )


def _verdict(found: ListSizes, main: PolicyRow, reference: PolicyRow | None) -> str:
    if reference is None or main.difference is None or main.p_value is None:
        return f"Lists of {main.mean_size:.1f} items on average reach {found.utility} {error(main.value)}."
    baseline = f"the {reference.name}" if reference.name.startswith("best ") else reference.name
    if not main.is_clear:
        return f"Personal list sizes show no clear difference from {baseline} here."
    if main.difference < 0:
        return f"{baseline[:1].upper()}{baseline[1:]} beats personal list sizes here."
    if reference.value <= 0:  # a gain relative to a loss means nothing
        return f"Personal list sizes bring {main.difference:.3g} more {found.utility} than {baseline}."
    gain = main.difference / reference.value
    return f"Personal list sizes bring {gain:.0%} more {found.utility} than {baseline}."


def _expected(found: ListSizes) -> float:
    return float(sum(group["expected"] * group["n_users"] for group in found.groups)) / found.n_users


def list_plans(found: ListSizes) -> Iterator[Plan]:
    """The figures about list sizes."""
    label = "How many users have lists of each size, by policy"
    yield Plan("list_sizes", "list-sizes", label, partial(draw_size_distributions, found.sizes))
    label = "Size of the list against the degree of the user"
    yield Plan("list_degree", "list-degree", label, partial(draw_size_by_degree, found.degree))
    if found.promise is not None:
        for by, table in (("rank", found.promise.by_rank), ("probability", found.promise.by_probability)):
            label = f"Promised and realised hits of shown items by {by}"
            yield Plan(f"promise_{by}", "list-promise", label, partial(draw_promise, table))
    for place, case in enumerate(found.cases, start=1):
        assert case.draw is not None
        label = f"Probabilities of user {case.user} with the cut after {counted(case.size, 'item')}"
        yield Plan(f"list_case_{place}", f"list-case-{place}", label, case.draw)
