"""The questions that a service answers: lists, probabilities, pages, budgets and users; those of one type together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError, DataError, EmptyError, IdError, SettingError
from sureness.lists import Lists, allocate_budget, allocate_domains, equal_budget, expected_utility
from sureness.metrics.utility import at_sizes, named_utility
from sureness.service import messages
from sureness.service.engine import Engine

_MOST_CELLS = 2_000_000  # scores of groups side by side


class Question:
    """A question that one engine answers. A type overrides `together` where many cost less than one after the other."""

    engine: Engine
    size: int = 1

    @property
    def artefact(self) -> messages.Artefact:
        """The file that answers."""
        return self.engine.artefact

    def together(self, questions: Sequence[Any]) -> list[Any]:
        return [question.alone() for question in questions]

    def alone(self) -> Any:
        return self.together([self])[0]


@dataclass(frozen=True, eq=False)
class UserLists(Question):
    """Lists of users of the recommender."""

    engine: Engine
    user_ids: Sequence[messages.Id]
    cut: messages.Cut
    explain: bool = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.user_ids)

    def together(self, questions: Sequence[UserLists]) -> list[list[messages.List] | IdError]:
        engine = questions[0].engine
        users, known = engine.users_of(list(chain.from_iterable(each.user_ids for each in questions)))
        if known.all():
            lists = engine.recommender.decide(users)
            return [*_presented(questions, lists, users.to_list(), None)]
        starts = _starts(questions)
        whole = [bool(known[start:stop].all()) for start, stop in pairwise(starts)]
        answers = iter(
            self.together([each for each, known in zip(questions, whole, strict=True) if known]) if any(whole) else ()
        )
        refused = (
            engine.unknown_user(each.user_ids[int(np.argmin(known[start : start + each.size]))])
            for each, start in zip(questions, starts, strict=False)
        )
        return [next(answers) if known else error for known, error in zip(whole, refused, strict=True)]


@dataclass(frozen=True, eq=False)
class LiveLists(Question):
    """Lists of groups with live scores."""

    engine: Engine
    groups: Sequence[messages.Group]
    cut: messages.Cut
    explain: bool = False

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.groups)

    def together(self, questions: Sequence[LiveLists]) -> list[list[messages.List]]:
        blocks = _similar_widths(questions)
        if len(blocks) > 1:
            found: dict[int, list[messages.List]] = {}
            for block in blocks:
                found |= zip(block, self.together([questions[each] for each in block]), strict=True)
            return [found[number] for number in range(len(questions))]
        every = [group for question in questions for group in question.groups]
        lists = questions[0].engine.decided_live(every)
        return _presented(questions, lists, [group.user_id for group in every], every)


def _similar_widths(questions: Sequence[LiveLists]) -> list[list[int]]:
    """Questions whose groups have about as many candidates, as many as fit in memory side by side."""
    blocks: dict[int, list[list[int]]] = {}
    for number, question in enumerate(questions):
        width = max(len(group.scores) for group in question.groups)
        cells = (1 << width.bit_length()) * question.size
        if question.size > 1 and width * question.size > _MOST_CELLS:
            raise SettingError(
                f"the groups of a request may have {_MOST_CELLS:,} places, got {question.size:,} groups of up to "
                f"{counted(width, 'candidate')}; send them in several requests"
            )
        own = blocks.setdefault(width.bit_length(), [[]])
        if own[-1] and cells * len(own[-1]) > _MOST_CELLS:
            own.append([])
        own[-1].append(number)
    return [block for own in blocks.values() for block in own]


def _presented(
    questions: Sequence[UserLists | LiveLists], lists: Lists, users: Sequence[messages.Id | None],
    groups: Sequence[messages.Group] | None,
) -> list[list[messages.List]]:  # fmt: skip
    """The lists of each question; those that ask for the same are presented together."""
    engine, starts = questions[0].engine, _starts(questions)
    alike: dict[tuple[messages.Cut, bool], list[int]] = {}
    for number, asked in enumerate(questions):
        alike.setdefault((asked.cut, asked.explain), []).append(number)
    found: dict[int, list[messages.List]] = {}
    for (cut, explain), numbers in alike.items():
        rows = list(chain.from_iterable(range(starts[each], starts[each + 1]) for each in numbers))
        own = lists if len(alike) == 1 else lists.take(np.array(rows))
        named = None if groups is None else [groups[row] for row in rows]
        made = engine.presented(engine.decided(own, cut), [users[row] for row in rows], named, explain)
        start = 0
        for each in numbers:
            found[each] = made[start : start + questions[each].size]
            start += questions[each].size
    return [found[number] for number in range(len(questions))]


def _starts(questions: Sequence[Question]) -> list[int]:
    """Where the users or groups of each question begin, and their number."""
    return [0, *accumulate(question.size for question in questions)]


@dataclass(frozen=True, eq=False)
class Probabilities(Question):
    """Probabilities of scores, by the map of pairs or by that of lists."""

    engine: Engine
    asked: messages.ProbabilitiesAsked

    @property
    def artefact(self) -> messages.Artefact:
        return self.engine.map_artefact

    def together(self, questions: Sequence[Probabilities]) -> list[list[float]]:
        every = [question.columns(number) for number, question in enumerate(questions)]
        if len({tuple(columns) for columns in every}) > 1 or "traits" in every[0]:
            return [own for question in questions for own in question.found(question.columns(0))]
        joined = {name: list(chain.from_iterable(columns[name] for columns in every)) for name in every[0]}
        return self.found(joined, [len(question.asked.scores) for question in questions])

    def found(self, columns: dict[str, Any], lengths: Sequence[int] = ()) -> list[list[float]]:
        """The probabilities of columns, split into parts of these lengths."""
        scores = columns.pop("scores")
        found = self.engine.map.probability(scores, **columns)
        return [own.tolist() for own in np.split(found, np.cumsum(lengths)[:-1])] if lengths else [found.tolist()]

    def columns(self, number: int) -> dict[str, Any]:
        """What was sent, by the names that the map has for it; groups of several requests are told apart."""
        asked, n = self.asked, len(self.asked.scores)
        sent = {name: getattr(asked, name) for name in ("users", "segments", "groups", "history", "traits")}
        given = {name: values for name, values in sent.items() if values is not None}
        takes, kind = self.engine.map_takes, type(self.engine.map).__name__
        for name, values in given.items():
            if name not in takes:
                raise SettingError(f"the map in force, a {kind}, does not look at {name}; leave it out")
            for each in values.values() if isinstance(values, dict) else (values,):
                if len(each) != n:
                    raise DataError(f"{name} must have one entry for each of {counted(n, 'score')}, got {len(each):,}")
        if absent := [name for name, needed in takes.items() if needed and name not in given]:
            raise ColumnError(f"the map in force, a {kind}, compares the candidates of a group; send {absent[0]}")
        if "groups" in given:
            codes: dict[Any, str] = {}
            given["groups"] = [codes.setdefault(group, f"{number} {len(codes)}") for group in given["groups"]]
        return {"scores": asked.scores, **given}


@dataclass(frozen=True, eq=False)
class PageLists(Question):
    """Pages whose slots domains share."""

    engine: Engine
    asked: messages.PagesAsked

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.asked.user_ids or self.asked.groups or ())

    def alone(self) -> list[messages.Page]:
        engine, asked = self.engine, self.asked
        if asked.groups is None:
            users, known = engine.users_of(asked.user_ids or ())
            if not known.all():
                raise engine.unknown_user((asked.user_ids or ())[int(np.argmin(known))])
            lists = engine.recommender.decide(users)
            return self._shared(lists, users.to_list(), engine.domains_of(lists))
        for group in asked.groups:
            if len(group.domains) != len(group.scores):
                raise DataError(
                    f"domains must name the domain of each of {counted(len(group.scores), 'score')}, got "
                    f"{len(group.domains):,}"
                )
        lists = engine.decided_live(asked.groups)
        rows = zip(asked.groups, lists.needed("places", self).tolist(), strict=True)
        named = [[group.domains[place] if place >= 0 else "" for place in row] for group, row in rows]
        return self._shared(lists, [group.user_id for group in asked.groups], np.array(named, dtype=str))

    def _shared(self, lists: Lists, users: Sequence[messages.Id | None], named: AnyArray) -> list[messages.Page]:
        engine, asked = self.engine, self.asked
        domains, chances, lengths, columns = _by_domain(lists, named)
        utility = named_utility(engine.recommender.policy_.utility if asked.utility is None else asked.utility)
        width = min(chances.shape[2], asked.max_size or chances.shape[2])
        flat = chances.reshape(-1, chances.shape[2])
        worth = expected_utility(flat, utility, max_size=width, lengths=lengths.ravel())
        shared = allocate_domains(
            worth.reshape(*lengths.shape, width), asked.slots, lengths=np.minimum(lengths, width),
            min_size=min(asked.min_size, width), max_size=width,
        )  # fmt: skip
        pages, shown = [], []
        for row, user in enumerate(users):
            ids = engine.item_ids(lists, row, None if asked.groups is None else asked.groups[row])
            sizes = shared.sizes[row].tolist()
            own = [[ids[place] for place in places[:size]] for places, size in zip(columns[row], sizes, strict=True)]
            parts = [
                messages.PagePart(
                    domain=domain, size=size, expected_utility=float(shared.values[row, number]), item_ids=own[number],
                    titles=[], probabilities=chances[row, number, :size].tolist(),
                )
                for number, (domain, size) in enumerate(zip(domains, sizes, strict=True))
            ]  # fmt: skip
            shown += parts
            pages.append(messages.Page(user_id=user, expected_utility=float(shared.value[row]), parts=parts))
        for part, titles in zip(shown, engine.items.titles([each.item_ids for each in shown]), strict=True):
            part.titles.extend(titles)
        return pages


def _by_domain(lists: Lists, named: AnyArray) -> tuple[list[str], FloatArray, IntArray, list[list[list[int]]]]:
    """The domains, and for each its candidates in their order: probabilities, how many, and where they stand."""
    probabilities = lists.needed("probabilities", lists)
    there = np.arange(lists.width) < lists.lengths[:, None]
    domains: list[str] = np.unique(named[there]).tolist()
    if not domains:
        raise EmptyError("none of these users has a candidate, so there is nothing to share a page between")
    columns = [
        [np.flatnonzero(own & (names == domain)).tolist() for domain in domains]
        for own, names in zip(there, named, strict=True)
    ]
    lengths = np.array([[len(own) for own in row] for row in columns])
    chances = np.zeros((*lengths.shape, int(lengths.max())))
    for row, parts in enumerate(columns):
        for number, own in enumerate(parts):
            chances[row, number, : len(own)] = probabilities[row, own]
    return domains, chances, lengths, columns


@dataclass(frozen=True, eq=False)
class Budget(Question):
    """A budget of items, shared by the users that were looked at."""

    engine: Engine
    asked: messages.BudgetAsked

    def alone(self) -> dict[str, Any]:
        curves, lengths = self.engine.survey.curves()
        budget = self.asked.items_per_user * len(curves)
        shared = allocate_budget(curves, budget, lengths=lengths)
        equal = equal_budget(budget, lengths)
        policy = self.engine.recommender.policy_
        return {
            "n_users": len(curves), "utility": named_utility(policy.utility).name, "longest": curves.shape[1],
            "spent": shared.spent, "price": shared.price, "expected_utility": float(shared.value.mean()),
            "expected_utility_of_equal_lists": float(at_sizes(curves, equal).mean()),
            "users_by_size": np.bincount(shared.sizes, minlength=curves.shape[1] + 1).tolist(),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Users(Question):
    """Some of the users in an order."""

    engine: Engine
    asked: messages.UsersQuery

    def alone(self) -> dict[str, Any]:
        survey, longest, asked = self.engine.survey, self.engine.longest, self.asked
        every = survey.rows(asked.search, asked.order)
        rows, known = every[asked.start : asked.start + asked.limit], survey.known
        columns = zip(self.engine.ids[0].at(rows).to_list(), *(each[rows].tolist() for each in known), strict=True)
        users = [
            messages.User(
                user_id=user, list_size=size, expected_utility=messages.number_or_none(expected), expected_hits=hits,
                unsure=unsure,
            )
            for user, size, expected, hits, unsure in columns
        ]  # fmt: skip
        return {
            "n_users": survey.n_users, "n_known": survey.n_known, "n_found": len(every), "users": users,
            "users_by_size": np.bincount(known.sizes, minlength=longest + 1).tolist(),
            "n_unsure": int(known.unsure.sum()),
        }  # fmt: skip


def warm(engine: Engine) -> None:
    """Answer one question of each kind, so that the first real one does not wait for the compiler."""
    scores = np.linspace(*engine.usual_scores, 60).tolist()
    UserLists(engine, engine.ids[0].at([0]).to_list(), messages.Cut(), explain=True).alone()
    UserLists(engine, engine.ids[0].at([0]).to_list(), messages.Cut(utility="f1")).alone()
    LiveLists(engine, [messages.Group(scores=scores)], messages.Cut(), explain=True).alone()
    halves = messages.PageGroup(scores=scores, domains=["a", "b"] * 30)
    PageLists(engine, messages.PagesAsked(slots=4, groups=[halves])).alone()
    next(engine.survey.steps())
    Budget(engine, messages.BudgetAsked(items_per_user=2.0)).alone()
