"""A recommender that knows how sure it is, and stops where showing more does not help."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import Literal, Self, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._progress import Progress, silent
from sureness._settings import Configurable, clone, written
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.artefacts.packed import JSON, Packed, Parts, Savable, kind_of, packed_or_none
from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import ANSWERS, ProbabilityMap, Segments, check_map, unknown_sentence
from sureness.calibration.multi_segment import unknown_values_sentence
from sureness.calibration.pair_fields import Fields
from sureness.calibration.per_user import PerUserCalibrator
from sureness.calibration.shared import where_lists_are_made
from sureness.data.interactions import Interactions, union
from sureness.errors import DataError, IdError, NotFittedError, SettingError, warn
from sureness.evaluation.ranking import gathered, top_blocks
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.comparing import PolicyComparison, compare_policies
from sureness.list_size.keeping import By, promise
from sureness.list_size.lists import Lists
from sureness.list_size.policies import ExpectedUtility
from sureness.metrics.utility import Utility
from sureness.numerics.checks import check_choice
from sureness.numerics.forks import check_not_forked
from sureness.numerics.intensity import over_periods
from sureness.numerics.logistic import sigmoid
from sureness.numerics.ranking import members
from sureness.pipeline.deciding import Decisions, LiveScores
from sureness.pipeline.mapped import MappedSource
from sureness.pipeline.runs import check_given_source
from sureness.pipeline.summaries import Summaries, Target, by_activity, expectations, summarise
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.matching import Seen, fitted_to, seen_of, settled, unseen


class ConfidentRecommender(Configurable, Savable):
    """Source, calibrator and list-size policy: each user sees as many items as are worth showing.

    Parameters
    ----------
    source : ScoreSource
        Any recommender: one of ours, or that of another library through its adapter.
    calibrator : ProbabilityMap, optional
        One map for all, per segment or per user, or a chain of them; by default `PerUserCalibrator`. A calibrator for
        all pairs or per segment is fitted where lists are made, as the `base` of a `SharedCalibrator`.
    policy : ListSizePolicy, optional
        By default `ExpectedUtility` of F1 with up to 50 items.
    expected_relevant : "carried", "by_activity", "fitted", float or array of shape (n_users,)
        How many relevant items a user has when lists are made. Validation items were candidates when the map was
        fitted and are gone then. "carried": as many as in the validation period, by scaling the odds of each user;
        "by_activity": the same, but drawn towards users who had seen as many items instead of towards all users, which
        matters where users take few items in a period; "fitted": what the probabilities of the remaining candidates
        add up to; numbers: another horizon.
    segments : Segments, Fields or "domain", optional
        The segment of every user or item, for maps that differ between segments; "domain" takes the items' domains
        from the training log. Fields of users and items are for `MultiSegmentCalibrator`.

    Attributes
    ----------
    map_ : ProbabilityMap
        The fitted map; the given calibrator stays as it was.
    policy_ : ListSizePolicy
        The fitted policy.
    summaries_ : Summaries
        What is stored of each user for `recommend`.
    seen_ : Interactions
        What is not shown again.
    horizon_ : Horizon
        Which period and pairs the probabilities of its lists are about.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> world = simulate(SimulatorSettings(n_users=150, n_items=80, seed=0))
    >>> split = by_ratio(Interactions.from_matrix(world.train), seed=0)
    >>> recommender = ConfidentRecommender(svd_source(split.train, n_factors=4))
    >>> table = recommender.fit(split.train, split.validation).recommend([3])
    >>> table.columns
    ['user_id', 'rank', 'item_id', 'score', 'probability', 'list_size', 'expected_utility', 'unsure', 'map']
    >>> table.height == table["list_size"][0]
    True
    """

    def __init__(
        self,
        source: ScoreSource,
        calibrator: ProbabilityMap | None = None,
        policy: ListSizePolicy | None = None,
        *,
        expected_relevant: Target | ArrayLike = "carried",
        segments: Segments | Fields | Literal["domain"] | None = None,
    ) -> None:
        self.source = source
        self.calibrator = calibrator
        self.policy = policy
        self.expected_relevant = expected_relevant
        self.segments = segments

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        seen: Seen,
        validation: Interactions,
        *,
        refit: bool = True,
        progress: Progress = silent,
    ) -> Self:
        """Fit the calibrator and the policy on the validation items, and summarise every user as things are after it.

        Parameters
        ----------
        seen : Interactions, "nothing" or None
            What the recommender was trained on, never shown again; "nothing": every pair may be shown.
        validation : Interactions
            What came after; not shown again either, once it was learned from.
        refit : bool
            False keeps a calibrator that is fitted already, whatever its probabilities are of (``map_.horizon_``).
        progress : Progress
        """
        learner = copy.copy(self)  # a fit that fails or is stopped leaves what was learned before as it was
        learner._learn(seen, validation, refit, progress)
        vars(self).update(vars(learner))
        return self

    def _learn(self, seen: Seen, validation: Interactions, refit: bool, progress: Progress) -> None:
        validation = fitted_to(self.source, validation, "validation")
        before = seen_of(self.source, seen, validation)
        validation = unseen(validation, before, "validation")
        policy = self._unfitted_policy()
        segments = self._segments_of(before if before is not None else validation)
        if refit:
            self.map_ = self._fitted_map(before, validation, segments, policy.max_size, progress)
        else:
            self.map_ = self._kept_map(segments, before)
        self.mapped_ = MappedSource.of(self.source, self.map_, segments)
        self.seen_ = validation if before is None else union([before, validation])
        self.horizon_ = self._horizon_of(validation, before)
        times = self.map_.horizon_.ratio(self.horizon_) or 1.0  # 1 unless the map was fitted before
        expected, beyond = expectations(self.mapped_, validation, before, times=times)
        if isinstance(self.expected_relevant, str) and self.expected_relevant == "by_activity":
            expected = by_activity(validation, before)
        self.summaries_ = summarise(
            self.mapped_, self.seen_, (expected, beyond),
            max_size=policy.max_size, expected_relevant=self.expected_relevant, progress=progress,
        )  # fmt: skip
        self.policy_ = policy
        if type(policy).fit is not ListSizePolicy.fit:
            policy.fit(self._joined(validation, before))

    def unfitted(self) -> Self:
        """The same source with copies of calibrator and policy that have learned nothing."""
        calibrator, policy = self.calibrator, self.policy
        return type(self)(
            self.source,
            None if calibrator is None else clone(calibrator),
            None if policy is None else clone(policy),
            expected_relevant=self.expected_relevant,
            segments=self.segments,
        )

    def _unfitted_policy(self) -> ListSizePolicy:
        policy = ExpectedUtility() if self.policy is None else self.policy
        if not isinstance(policy, ListSizePolicy):
            raise SettingError(f"policy must be a list-size policy such as ExpectedUtility(), got {policy!r}")
        policy.check()
        return clone(policy)

    def _segments_of(self, log: Interactions) -> Segments | Fields | None:
        given = self.segments
        if isinstance(given, str) and given == "domain":
            return Segments.of_domains(log)
        if not (given is None or isinstance(given, Segments | Fields)):
            raise SettingError(f"segments must be Segments, Fields, 'domain' or None, got {given!r:.60}")
        return given

    def _fitted_map(
        self, before: Interactions | None, validation: Interactions, segments: Segments | Fields | None, longest: int,
        progress: Progress,
    ) -> ProbabilityMap:  # fmt: skip
        given = clone(check_map(PerUserCalibrator() if self.calibrator is None else self.calibrator))
        unfitted = where_lists_are_made(given, longest)
        seen = settled(before)
        return unfitted.fit_source(self.source, validation, seen=seen, segments=segments, progress=progress)

    def _kept_map(self, segments: Segments | Fields | None, before: Interactions | None) -> ProbabilityMap:
        """The given map, which is fitted already."""
        given = check_map(PerUserCalibrator() if self.calibrator is None else self.calibrator)
        given.check_fitted()
        if segments is None and given.segment_numbers(np.empty(0, dtype=str)) is not None:
            raise SettingError("the calibrator has one map per segment; give segments=, that of every item or user")
        if segments is not None:
            _say_unknown(given, segments)
        users, _ = id_maps(self.source)
        if not given.fits(users):
            raise IdError(
                f"the calibrator is fitted to other users than the {self.source.n_users:,} of the source; fit it to "
                "this source, or leave refit as it is"
            )
        candidates = Horizon(population="all" if before is None else "unseen")
        if given.horizon_.other_pairs(candidates):
            raise SettingError(
                f"the kept {type(given).__name__} gives probabilities of {given.horizon_.pairs}, but lists are made of "
                f"{candidates.pairs}; fit it with the same seen, or let the recommender fit it (refit)"
            )
        if given.estimand_ == "interaction" and given.horizon_.which == "labelled":
            warn(
                f"the kept {type(given).__name__} gives the chance that a pair is {given.horizon_.sentence}, among all "
                "pairs it was fitted on; lists are about the next period and each user's best candidates, where it may "
                "promise far too much or too little. Let the recommender fit it (refit), or look at promise(test)"
            )
        return copy.copy(given)  # so that fitting the given one again does not change this recommender

    def learned_facts(self) -> dict[str, str]:
        if not hasattr(self, "map_"):
            return {}
        return {
            "map": written(self.map_), "policy": written(self.policy_), "estimand": self.map_.estimand_,
            "horizon": str(self.horizon_), "users": f"{self.source.n_users:,}", "items": f"{self.source.n_items:,}",
            "seen": counted(len(self.seen_), "pair"),
        }  # fmt: skip

    # --- using ------------------------------------------------------------------------------------------------------

    def recommend(self, users: ArrayLike | None = None, *, progress: Progress = silent) -> pl.DataFrame:
        """The list of each user, by id; all users by default.

        Returns
        -------
        table with the columns user_id, rank, item_id, score, probability, list_size, expected_utility, unsure, map
            List size, expected utility and unsure are the same in all rows of a user; expected_utility is missing where
            the policy does not look at it. `map` says whose map gave the probability: "user", "segment" or "all". A
            user whose list is empty has no row; `sizes` has everyone.
        """
        parts = []
        rows = self._rows(users)
        done = 0
        for part, n_users in self.tables(rows):
            parts.append(part)
            done += n_users
            progress("recommending", done, len(rows))
        return pl.concat(parts) if parts else self._table(self._nothing())

    def tables(self, rows: IntArray) -> Iterator[tuple[pl.DataFrame, int]]:
        """`recommend` block by block, for users given as row numbers; each table with its number of users."""
        for items, lists in self._shown(rows):
            yield self._table(self._decision(items, lists)), lists.n_users

    def decide(
        self,
        user_ids: ArrayLike | None,
        item_ids: ArrayLike | None = None,
        scores: ArrayLike | None = None,
        *,
        unknown: Literal["refuse", "all"] = "refuse",
    ) -> Decisions:
        """What to show, as arrays: from the scores of the source, or from live scores of another system.

        Live scores come from a vector index, a ranker or the same model elsewhere, on the scale that the map was fitted
        to. What a user has seen is left out, as in `recommend`, which is a table around this.

        Parameters
        ----------
        user_ids : one id or array-like of shape (n,); None: all users
        item_ids : array-like of shape (n, n_candidates) or (n_candidates,), optional
            Whose scores they are; in any order, and not all of them need be known. By default all items of the source,
            in its order.
        scores : array-like of shape (n, n_candidates), or (n_candidates,) for one user; optional
            Live scores; -inf where there is no candidate, and no columns at all where nobody has one. By default the
            source is asked.
        unknown : {"refuse", "all"}
            What happens to users that the recommender does not know: they are refused, or get the global map and the
            mean number of relevant items. Only with live scores.

        Returns
        -------
        Decisions
            `places` are positions in the row of scores, best first; the first `sizes` of them are shown.

        Examples
        --------
        >>> from sureness.data.simulator import SimulatorSettings, simulate
        >>> from sureness.data.splitting import by_ratio
        >>> from sureness.sources.svd import svd_source
        >>> world = simulate(SimulatorSettings(n_users=150, n_items=80, seed=0))
        >>> split = by_ratio(Interactions.from_matrix(world.train), seed=0)
        >>> source = svd_source(split.train, n_factors=4)
        >>> recommender = ConfidentRecommender(source).fit(split.train, split.validation)
        >>> live = source.score_block(np.array([3]))[0]
        >>> found = recommender.decide(3, np.arange(80), live)
        >>> found.places[found.shown].tolist() == recommender.recommend([3])["item_id"].to_list()
        True
        """
        self._check_fitted()
        check_choice(unknown, "unknown", ("refuse", "all"))
        if scores is None:
            if item_ids is not None:
                raise SettingError("item_ids say whose scores are given, but scores are missing; give both")
            blocks = self._shown(self._rows(user_ids))
            return Decisions.joined([self._decision(items, lists) for items, lists in blocks] or [self._nothing()])
        users, items = id_maps(self.source)
        rows = self._rows(user_ids) if user_ids is None or unknown == "refuse" else users.rows(user_ids)
        if not len(rows):
            return self._nothing()
        live = LiveScores.of(scores, item_ids, n_users=len(rows), n_items=self.source.n_items)
        best = live.best(self.policy_.max_size, rows, items, self.seen_)
        if (reach := self.map_.reach()) is not None:
            reach.look(best.scores)
            reach.say()
        return self._decision(best.items, self._listed(rows, best.items, best.scores), best.places)

    def sizes(self, users: ArrayLike | None = None) -> pl.DataFrame:
        """One row per user.

        Returns
        -------
        table with the columns user_id, list_size, expected_utility, expected_hits, unsure, expected_relevant
            expected_utility is missing where the policy does not look at it; expected_hits is what the probabilities of
            the list add up to, expected_relevant what those of all candidates do.
        """
        rows = self._rows(users)
        parts = []
        for _, lists in self._shown(rows):
            decided = self.policy_.decide(lists)
            parts.append((*decided, lists.expected_hits(decided.sizes)))
        ids, _ = id_maps(self.source)
        columns = [np.concatenate([part[number] for part in parts] or [np.empty(0)]) for number in range(4)]
        return pl.DataFrame(
            {
                "user_id": ids.at(rows),
                "list_size": columns[0].astype(np.int64),
                "expected_utility": pl.Series(columns[1]).fill_nan(None),
                "expected_hits": columns[3],
                "unsure": columns[2].astype(bool),
                "expected_relevant": self.summaries_.met[rows],
            }
        )

    def lists(self, users: ArrayLike | None = None, *, labels: Interactions | None = None) -> Lists:
        """Ranked candidates with probabilities, and with hits where labels are given: what policies look at.

        Labels of a longer or shorter period than that of the lists (`horizon_`), where a split tells, are compared with
        `promised`, the probabilities of that period, and a warning says so. Policies still cut the lists that
        `recommend` shows.
        """
        self._check_fitted()
        found = None if labels is None else unseen(fitted_to(self.source, labels, "labels"), self.seen_, "labels")
        return self._joined(found, self.seen_, self._rows(users))

    def validation_lists(self, seen: Seen, validation: Interactions) -> Lists:
        """The lists as they were when only `seen` had been seen, with the validation items as hits: for policies."""
        self._check_fitted()
        before = seen_of(self.source, seen, validation)
        return self._joined(unseen(fitted_to(self.source, validation, "validation"), before, "validation"), before)

    def evaluate(
        self,
        test: Interactions,
        *,
        utility: str | Utility | None = None,
        policies: Mapping[str, ListSizePolicy] | None = None,
        reference: str | None = None,
    ) -> PolicyComparison:
        """Judge the lists by what came later, beside other policies on the same candidates.

        Parameters
        ----------
        test : Interactions
        utility : str or Utility, optional
            By default that of the policy, or F1.
        policies : mapping, optional
            Fitted policies to compare with.
        reference : str, optional
            The name of one of them, or "this": the table then has the difference of each to it, with the p-value of a
            paired t-test over users.
        """
        self._check_fitted()
        chosen = self.policy_.utility if utility is None else utility
        if "this" in (policies or {}):
            raise SettingError("'this' stands for the recommender itself; give the other policy another name")
        entries: dict[str, ListSizePolicy] = {"this": self.policy_, **(policies or {})}
        lists = self.lists(labels=test)
        return compare_policies(entries, lists, chosen, reference=reference)

    def promise(self, test: Interactions, *, by: By | Fields | Segments = "rank") -> pl.DataFrame:
        """Realised over promised hits of the shown items, in total and by rank; see `sureness.list_size.promise`.

        With `Fields` or `Segments` by groups of users and items: is anyone promised more than they get?

        Parameters
        ----------
        test : Interactions
            What came in the period after the validation items. If it is known to hold more or less than theirs, the
            promise is that of its period, see `lists`.
        by : {"rank", "probability"}, Fields or Segments
        """
        self._check_fitted()
        if isinstance(by, Fields | Segments):
            by.check(self.source)
        if self.map_.estimand_ == "preference" and self.expected_relevant == "fitted":
            raise SettingError("the probabilities are of preference, and a log holds interactions, so it cannot keep "
                               "their promise; expected_relevant='carried' makes them those of a period")  # fmt: skip
        return promise(self.lists(labels=test), self.policy_, by=by)

    # --- saving -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that serving needs to one file; `sureness.load` opens it again.

        A source that cannot be saved is left out and has to be given again: ``load(path, parts={"source": model})``.
        """
        self._check_fitted()
        super().save(path)

    def pack(self) -> Packed:
        users, items = id_maps(self.source)
        source = packed_or_none(self.source)
        parts = {"map": self.map_.pack(), "policy": self.policy_.pack()}
        parts |= {"users": users.pack(), "items": items.pack()} if source is None else {"source": source}
        parts["seen"] = self.seen_.pack(with_ids=False)
        if self.mapped_.segments is not None:
            parts["segments"] = self.mapped_.segments.pack()
        settings: dict[str, JSON] = {}
        arrays = self.summaries_.arrays()
        if isinstance(self.expected_relevant, str):
            settings["expected_relevant"] = self.expected_relevant
        else:
            arrays["expected_relevant"] = np.asarray(self.expected_relevant, dtype=np.float64)
        return Packed(
            kind=kind_of("saved", type(self)),
            settings=settings,
            state={"shape": [self.source.n_users, self.source.n_items]},
            arrays=arrays,
            parts=parts,
            about={"estimand": self.map_.estimand_, "horizon": self.horizon_.plain()},
        )

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        if "source" not in parts:
            raise DataError(
                "it was saved without its source, which cannot be saved; give it with "
                "load(path, parts={'source': model})"
            )
        source = parts.opened("source", ScoreSource)
        map_, policy = parts.opened("map", ProbabilityMap), parts.opened("policy", ListSizePolicy)
        if parts.given("source"):
            check_given_source(source, packed)
        users, items = id_maps(source)
        segments = parts.get("segments")
        arrays = dict(packed.arrays)
        given = arrays.pop("expected_relevant", None)
        opened = cls(
            source, map_, policy, segments=segments,
            expected_relevant=cast(Target, packed.settings["expected_relevant"]) if given is None else given,
        )  # fmt: skip
        opened.map_, opened.policy_ = map_, policy
        opened.mapped_ = MappedSource.of(source, opened.map_, segments)
        opened.summaries_ = Summaries(**arrays)
        opened.seen_ = parts.open("seen", users=users, items=items)
        opened.horizon_ = Horizon.of(cast(dict[str, JSON], packed.about["horizon"]))
        return opened

    # --- inside -----------------------------------------------------------------------------------------------------

    def _lists(self, rows: IntArray, seen: Interactions | None) -> Iterator[tuple[IntArray, Lists]]:
        """Blocks of users: the items of their longest lists, and these lists with probabilities."""
        self._check_fitted()
        width = min(self.policy_.max_size, self.source.n_items)
        for block, items, scores in gathered(top_blocks(self.source, rows, width, seen)):
            yield items, self._listed(block, items, scores)

    def _shown(self, rows: IntArray) -> Iterator[tuple[IntArray, Lists]]:
        """The same for lists that are shown; says once if their scores lie far outside those the map was fitted on."""
        self._check_fitted()
        reach = self.map_.reach()
        for items, lists in self._lists(rows, self.seen_):
            if reach is not None:
                reach.look(lists.needed("scores", self.policy_))
            yield items, lists
        if reach is not None:
            reach.say()

    def _listed(self, users: IntArray, items: IntArray, scores: FloatArray) -> Lists:
        """The best candidates of users, who may be unknown (-1), with their probabilities."""
        shift, tail = self.summaries_.of_users(users)
        exact = scores.astype(np.float64)
        return Lists(
            users=users, lengths=np.count_nonzero(exact > -np.inf, axis=1), scores=exact,
            probabilities=sigmoid(self.mapped_.log_odds(exact, users, items) + shift[:, None]), tail=tail,
        )  # fmt: skip

    def _joined(self, labels: Interactions | None, seen: Interactions | None, rows: IntArray | None = None) -> Lists:
        """The lists of many users as one, with hits where labels are given."""
        rows = np.arange(self.source.n_users) if rows is None else rows
        parts = []
        times = None if labels is None else self._times(labels)
        for items, lists in self._lists(rows, seen):
            if labels is not None:
                hits = members(items, lists.users, labels.row_starts, labels.item_rows) & (items >= 0)
                lists = replace(lists, items=items, hits=hits, n_relevant=labels.user_degree[lists.users])
            if times is not None:
                lists = replace(lists, promised=over_periods(lists.needed("probabilities", self), times))
            parts.append(lists)
        return Lists.joined(parts) if parts else self._empty()

    def _horizon_of(self, validation: Interactions, before: Interactions | None) -> Horizon:
        """What the probabilities of the lists are about."""
        if not isinstance(self.expected_relevant, str):
            return Horizon()  # only who gave the numbers knows
        if self.expected_relevant == "fitted":
            return self.map_.horizon_
        return Horizon.of_split(validation, before).following()

    def _times(self, labels: Interactions) -> float | None:
        """How many times as much happens where labels come from; None: as much, or it is not known."""
        other = Horizon.of_split(labels, None)
        if not self.horizon_.differs(other):
            return None
        times = self.horizon_.ratio(other)
        warn(
            f"the labels are of a period with {times:.3g} times as much as that of the lists, so what they promise is "
            f"converted by 1 - (1 - p)^{times:.3g}, as if interactions came at a steady rate"
        )
        return times

    def _decision(self, items: IntArray, lists: Lists, places: IntArray | None = None) -> Decisions:
        """What the policy makes of lists; `places` are those of the items in other scores than the source's."""
        sizes, expected, unsure = self.policy_.decide(lists)
        return Decisions(
            users=lists.users, places=items if places is None else places, scores=lists.needed("scores", self.policy_),
            probabilities=lists.needed("probabilities", self.policy_),
            answered_by=self.mapped_.answered_by(lists.users, items), sizes=sizes, expected=expected, unsure=unsure,
        )  # fmt: skip

    def _table(self, found: Decisions) -> pl.DataFrame:
        users, names = id_maps(self.source)
        shown = found.shown
        place, rank = np.nonzero(shown)
        return pl.DataFrame(
            {
                "user_id": users.at(found.users[place]),
                "rank": rank + 1,
                "item_id": names.at(found.places[shown]),
                "score": found.scores[shown].astype(np.float32),
                "probability": found.probabilities[shown],
                "list_size": found.sizes[place],
                "expected_utility": pl.Series(found.expected[place], nan_to_null=True),
                "unsure": found.unsure[place],
                "map": pl.Series(ANSWERS, dtype=pl.String).gather(found.answered_by[shown]),
            }
        )

    def _nothing(self) -> Decisions:
        return self._decision(np.empty((0, 1), dtype=np.int64), self._empty())

    def _empty(self) -> Lists:
        return Lists.of(probabilities=np.empty((0, 1)), scores=np.empty((0, 1)))

    def _rows(self, users: ArrayLike | None) -> IntArray:
        self._check_fitted()
        check_not_forked()
        if users is None:
            return np.arange(self.source.n_users)
        ids, _ = id_maps(self.source)
        return ids.known_rows(users, "users")

    def _check_fitted(self) -> None:
        if not hasattr(self, "summaries_"):
            raise NotFittedError("ConfidentRecommender is not fitted yet; call fit(seen, validation) first")


def _say_unknown(given: ProbabilityMap, told: Segments | Fields) -> None:
    """Say which segments, or values of fields, a fitted map does not know."""
    if isinstance(told, Segments):
        unknown = given.unknown_segments(told.names)
        if len(unknown):
            names = unknown.unique(maintain_order=True).to_list()
            warn(unknown_sentence(names, len(unknown), len(told.names), told.of))
        return
    for side, table in told.tables.items():
        for name, values in given.unknown_of(table).items():
            shown = values.value_counts(sort=True)[:, 0].to_list()
            warn(unknown_values_sentence(name, shown, len(values), table.height, side[:-1]))
