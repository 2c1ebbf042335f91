"""A loaded recommender: what is asked of the library, and its answers as messages."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from sureness._registry import names
from sureness._types import AnyArray, BoolArray, FloatArray
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap, Segments
from sureness.data.ids import IdMap
from sureness.errors import DataError, IdError, SettingError
from sureness.lists import ExpectedUtility, FixedSize, Lists, ListSizePolicy, Threshold, expected_utilities
from sureness.metrics.utility import named_utility
from sureness.recommender import ConfidentRecommender
from sureness.service import messages
from sureness.service.items import Items, column
from sureness.service.promises import FoundPromise
from sureness.service.survey import UserSurvey
from sureness.sources import id_maps


@dataclass(frozen=True, eq=False)
class Engine:
    """What answers: a recommender, a map for pairs, what is known of items, and how the users' lists look."""

    recommender: ConfidentRecommender
    map: ProbabilityMap
    artefact: messages.Artefact
    map_artefact: messages.Artefact
    items: Items
    promise: FoundPromise  # as a backtest found it
    survey: UserSurvey = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "survey", UserSurvey(self.recommender))

    @cached_property
    def ids(self) -> tuple[IdMap, IdMap]:
        """Of users and items."""
        return id_maps(self.recommender.source)

    @cached_property
    def domains(self) -> AnyArray | None:
        """The domain of each item, where the recommender or the table of items knows it."""
        known = self.recommender.segments
        if isinstance(known, Segments) and known.of == "items":
            return known.names.astype(str)
        return self.items.domains(self.ids[1])

    @cached_property
    def map_takes(self) -> dict[str, bool]:
        """What the map looks at besides scores, and whether it cannot do without."""
        every = list(inspect.signature(self.map.probability).parameters.values())[1:]
        return {each.name: each.default is each.empty for each in every}

    def policy(self, cut: messages.Cut) -> ListSizePolicy:
        """The policy that was asked for, on the candidates that this recommender looks at."""
        own, most = self.recommender.policy_, self.recommender.policy_.max_size
        for name, given in (("max_size", cut.max_size), ("min_size", cut.min_size), ("size", cut.size)):
            if given is not None and given > most:
                raise SettingError(
                    f"{name} must be at most {most}, the longest list of this recommender, got {given}; fit it with a "
                    "policy of a larger max_size"
                )
        if sum(given is not None for given in (cut.utility, cut.threshold, cut.size)) > 1:
            raise SettingError("give one of utility, threshold and size: each decides alone how long a list is")
        if cut.size is not None:
            return FixedSize(cut.size)
        if cut.threshold is not None:
            return Threshold(cut.threshold, min_size=cut.min_size or 0, max_size=cut.max_size or most)
        if cut.utility is None and cut.min_size is None and cut.max_size is None:
            return own
        utility = own.utility if cut.utility is None else named_utility(cut.utility)
        longest = most if cut.max_size is None else cut.max_size
        shortest = min(own.min_size, longest) if cut.min_size is None else cut.min_size
        return ExpectedUtility(utility, min_size=shortest, max_size=longest)

    def users_of(self, ids: Sequence[messages.Id]) -> tuple[pl.Series, BoolArray]:
        """Ids as the recommender has them, and which of them it can score."""
        known = self.ids[0]
        given = known.read_from_text(column(ids))
        return given, known.rows(given) >= 0

    def unknown_user(self, user: messages.Id) -> IdError:
        """Why there is no list."""
        return IdError(
            f"user {user!r:.80} is not among the {counted(len(self.ids[0]), 'user')} that the recommender can score; "
            "send live scores to /v1/lists, which answers for anybody"
        )

    def decided(self, lists: Lists, cut: messages.Cut) -> Lists:
        """Lists that the recommender has decided, as another policy decides them."""
        policy = self.policy(cut)
        return lists if policy is self.recommender.policy_ else policy.decide(lists)

    def curves(self, lists: Lists) -> dict[str, FloatArray]:
        """The expected utility of every size of lists, by utility."""
        every = names("utility")
        found = expected_utilities(
            lists.needed("probabilities", self), every, max_size=max(1, min(self.longest, lists.width)),
            lengths=np.minimum(lists.lengths, lists.width), tail=lists.tail,
        )  # fmt: skip
        return dict(zip(every, found, strict=True))

    @property
    def longest(self) -> int:
        """Items of the longest list."""
        return int(self.recommender.policy_.max_size)

    @cached_property
    def usual_scores(self) -> tuple[float, float]:
        """From the lowest to the highest score that the lists of the recommender look at, by its first users."""
        ids = self.ids[0].at(np.arange(min(len(self.ids[0]), 100)))
        scores = self.recommender.decide(ids).needed("scores", self)
        there = scores[np.isfinite(scores)]
        return (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)

    def about(self) -> dict[str, Any]:
        """What the explorer needs to know."""
        policy = self.recommender.policy_
        return {
            "n_users": len(self.ids[0]), "n_items": len(self.ids[1]), "longest": self.longest,
            "utility": named_utility(policy.utility).name, "utilities": list(names("utility")),
            "first_user": self.ids[0].at([0])[0], "scores": self.usual_scores,
            "domains": self.domains is not None, "titles": self.items.has_titles, "pictures": self.items.has_pictures,
        }  # fmt: skip

    def decided_live(self, groups: Sequence[messages.Group]) -> Lists:
        """What the recommender decides about groups; shorter ones are filled with what is no candidate."""
        users, items = self.ids
        for group in groups:
            if group.item_ids is not None and len(group.item_ids) != len(group.scores):
                raise DataError(
                    f"item_ids must name the item of each of {counted(len(group.scores), 'score')}, "
                    f"got {len(group.item_ids):,}"
                )
        lengths = np.array([len(group.scores) for group in groups])
        there = np.arange(lengths.max()) < lengths[:, None]
        scores = np.full(there.shape, -np.inf)
        scores[there] = list(chain.from_iterable(group.scores for group in groups))
        item_ids: AnyArray = np.full(there.shape, None, dtype=object)
        if any(group.item_ids is not None for group in groups):
            named: list[Sequence[messages.Id | None]] = [each.item_ids or [None] * len(each.scores) for each in groups]
            known = items.read_from_text(column(list(chain.from_iterable(named))))
            if known.dtype.is_integer() and not known.null_count():
                item_ids = np.zeros(there.shape, np.int64)
            item_ids[there] = known.to_numpy() if item_ids.dtype == np.int64 else known.to_list()
        history = np.array([np.nan if group.history is None else group.history for group in groups])
        whose = users.read_from_text(column([group.user_id for group in groups]))
        return self.recommender.decide(whose, item_ids, scores, history=history)

    def domains_of(self, lists: Lists) -> AnyArray:
        """The domain of each candidate of lists."""
        if self.domains is None:
            raise DataError(
                "the domains of the items are not known; start the service with a table of items that has item_id and "
                "domain, or send groups with domains"
            )
        items = lists.needed("items", self)
        return np.where(items >= 0, self.domains[np.maximum(items, 0)], "")

    # --- presenting -------------------------------------------------------------------------------------------------

    def presented(
        self, lists: Lists, users: Sequence[messages.Id | None], groups: Sequence[messages.Group] | None, explain: bool
    ) -> list[messages.List]:
        """Decided lists as messages."""
        sizes = lists.needed("sizes", self)
        ends = np.cumsum(sizes).tolist()
        shown = lists.shown
        probabilities = lists.needed("probabilities", self)[shown].tolist()
        scores = lists.needed("scores", self)[shown].tolist()
        places = lists.needed("places", self)[shown].tolist()
        ids = None if groups is not None else self.ids[1].at(lists.needed("items", self)[shown]).to_list()
        worth = lists.needed("expected", self).tolist()
        hits, unsure = lists.expected_hits(sizes).tolist(), lists.needed("unsure", self).tolist()
        explained = self._explained(lists, groups) if explain else None
        found, start = [], 0
        for row, end in enumerate(ends):
            own = slice(start, end)
            start = end
            extra: dict[str, Any] = {} if explained is None else {"explained": explained[row]}
            if groups is not None:
                named = groups[row].item_ids
                extra["places"] = places[own]
                item_ids = [None if named is None else named[place] for place in places[own]]
            else:
                item_ids = ids[own]  # type: ignore[index]
            made = messages.List(
                user_id=users[row], list_size=end - own.start, expected_utility=messages.number_or_none(worth[row]),
                expected_hits=hits[row], unsure=unsure[row], item_ids=item_ids, scores=scores[own],
                probabilities=probabilities[own], **extra,
            )  # fmt: skip
            found.append(made)
        return found

    def _explained(self, lists: Lists, groups: Sequence[messages.Group] | None) -> list[messages.Explained]:
        curves, found = self.curves(lists), []
        lengths = np.minimum(lists.lengths, lists.width)
        probabilities, scores = lists.needed("probabilities", self), lists.needed("scores", self)
        every = [self.item_ids(lists, row, None if groups is None else groups[row]) for row in range(len(lengths))]
        for row, (length, item_ids, titles) in enumerate(zip(lengths, every, self.items.titles(every), strict=True)):
            own = {name: values[row, :length].tolist() for name, values in curves.items()}
            made = messages.Explained(
                item_ids=item_ids, titles=titles, scores=scores[row, :length].tolist(),
                probabilities=probabilities[row, :length].tolist(), expected_utility=own,
                below=0.0 if lists.tail is None else float(lists.tail[row, 0]),
            )  # fmt: skip
            found.append(made)
        return found

    def item_ids(self, lists: Lists, row: int, group: messages.Group | None) -> list[Any]:
        """The ids of the candidates of one list, best first."""
        length = int(min(lists.lengths[row], lists.width))
        if group is None:
            return self.ids[1].at(lists.needed("items", self)[row, :length]).to_list()
        places = lists.needed("places", self)[row, :length].tolist()
        return [None if group.item_ids is None else group.item_ids[place] for place in places]
