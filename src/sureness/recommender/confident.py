"""A recommender that knows how sure it is, and stops where showing more does not help."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal, Self, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._progress import Progress, part_of, silent
from sureness._settings import Configurable, clone, written
from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.activity import Activity, ActivityModel
from sureness.calibration.fields import Fields
from sureness.calibration.horizon import Horizon
from sureness.calibration.level import Level
from sureness.calibration.list_sample import ListSample, sample_lists
from sureness.calibration.lists import ListCalibrator, check_history
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, check_map
from sureness.data.interactions import Interactions, union
from sureness.data.times import Clock, Length
from sureness.errors import DataError, NotFittedError, SettingError, VersionError, warn
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import ExpectedUtility, ListSizePolicy
from sureness.lists.promises import By, promise
from sureness.metrics.intervals import Interval
from sureness.metrics.utility import Utility
from sureness.numerics.checks import check_choice
from sureness.numerics.forks import check_not_forked
from sureness.numerics.intensity import over_periods, over_shares
from sureness.numerics.logistic import sigmoid
from sureness.numerics.ranking import members
from sureness.recommender.candidates import candidate_blocks, live_candidates
from sureness.recommender.chances import Chances
from sureness.recommender.expecting import Below, Target, check_target, report_unmet
from sureness.recommender.forward import (
    Promised,
    Train,
    TrainedWindow,
    activity_of,
    apart,
    cautions_of,
    coming_of,
    given,
    last_window,
    note_repeats,
    pooled,
    score_grid,
    there_in,
    trained_on,
    trained_windows,
    traits_of,
)
from sureness.recommender.mapped import MappedSource, kept_map
from sureness.recommender.repeats import MOST_OWN, REPEATS, Repeats, Taken, pair_traits
from sureness.recommender.run import check_given_source
from sureness.saving.packed import JSON, Packed, Parts, Savable, check_text, kind_of, packed_or_none, real, reals
from sureness.sources.aligned import Aligned, Seen
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.blocks import Candidates

_BEST, _MOST_BEST = 50, 200  # candidates of each user that maps are fitted on: as many as the longest list within these
_LEARNING_USERS = 3_000
_MORE_APART = 0.1  # share of the scores of a model trained again that may lie elsewhere, beyond what is usual


class ConfidentRecommender(Configurable, Savable):
    """Source, calibrator and list-size policy: each user sees as many items as are worth showing.

    Parameters
    ----------
    source : ScoreSource
        Any recommender: one of ours, or that of another library through its adapter.
    calibrator : ProbabilityMap, optional
        By default `ListCalibrator`, the map for lists. Calibrators of pairs and per segment are fitted on each user's
        best candidates, where lists are made; maps per user on all candidates.
    policy : ListSizePolicy, optional
        By default `ExpectedUtility` of F1 with up to 50 items.
    expected_relevant : "carried", "fitted", float or array of shape (n_users,)
        How many relevant items a user has when lists are made. Validation items were candidates when the map was
        fitted and are gone then. "carried": as much again happens as in the validation part; "fitted": the remaining
        candidates keep the probabilities that they had in it; numbers: the odds of each user are scaled so that all
        probabilities add up to them.
    segments : Segments, Fields or "domain", optional
        What is known of users and items: traits of the map for lists, segments or fields of the others. "domain" takes
        the items' domains from the training log.
    repeats : {"skip", "count"}
        What was taken before is not shown again, or it stays among the candidates, with how often and how long ago the
        user took it; the latter is learned from past windows, see `forward`.

    Attributes
    ----------
    map_ : ProbabilityMap
        The fitted map; the given calibrator stays as it was.
    policy_ : ListSizePolicy
        The fitted policy.
    below_ : Below
        How many relevant items to expect below a user's best candidates.
    seen_ : Interactions
        What is not shown again.
    horizon_ : Horizon
        Which period and pairs the probabilities of its lists are about.
    activity_ : ActivityModel
        After `forward`: who will be there.
    cautions_ : tuple of str
        After `forward`: why the promise of the next window may fail.

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
    ['user_id', 'rank', 'item_id', 'score', 'probability', 'list_size', 'expected_utility', 'unsure']
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
        repeats: Repeats = "skip",
    ) -> None:
        self.source = source
        self.calibrator = calibrator
        self.policy = policy
        self.expected_relevant = expected_relevant
        self.segments = segments
        self.repeats = repeats

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
        if self.repeats == "count":
            raise SettingError(
                "what users take again is learned from past windows; use ConfidentRecommender.forward(repeats='count') "
                "or repeats='skip'"
            )
        aligned = Aligned.of(self.source, validation, seen, name="validation")
        return self.fit_aligned(aligned, refit=refit, progress=progress)

    def fit_aligned(self, aligned: Aligned, *, refit: bool = True, progress: Progress = silent) -> Self:
        """`fit` to logs that are matched to the source already."""
        learner = copy.copy(self)  # a fit that fails or is stopped leaves what was learned before as it was
        learner._learn(aligned, refit, progress)
        vars(self).update(vars(learner))
        return self

    def _learn(self, aligned: Aligned, refit: bool, progress: Progress) -> None:
        source, validation, before = aligned.source, aligned.held_out, aligned.seen
        expected = check_target(self.expected_relevant, source.n_users)
        policy = self._unfitted_policy()
        segments = self._segments_of(before if before is not None else validation)
        observed = Observed(source, validation, before, segments, progress)
        best, given = self._best(policy)
        n_users = given.n_groups if isinstance(given, ListCalibrator) else _LEARNING_USERS
        sample = sample_lists(observed, best, n_users, getattr(given, "seed", 0))
        fitted = clone(given).fit_sample(observed, sample) if refit else kept_map(given, source, segments, before)
        self.trained_, self.held_out_ = before, validation
        self.seen_ = validation if before is None else union([before, validation])
        mapped = MappedSource.of(source, fitted, segments, before)
        below = Below.learned(sample.n_below, mapped.histories(sample.users))
        chances = Chances(mapped, best, below, self._horizon_of(fitted, validation, before), expected)
        self.chances_, self.policy_ = replace(chances, level=chances.level_of(sample)), policy
        if not isinstance(expected, str):
            blocks = self._candidates(sample.users, self.seen_)
            report_unmet(np.concatenate([chances.can_have(each, policy.max_size) for each in blocks]))
        if type(policy).fit is not ListSizePolicy.fit:
            policy.fit(self._joined(validation, before, labelled=True))

    @classmethod
    def forward(
        cls,
        log: Interactions,
        train: Train,
        *,
        window: Length,
        windows: int = 3,
        calibrator: ProbabilityMap | None = None,
        policy: ListSizePolicy | None = None,
        segments: Segments | Fields | Literal["domain"] | None = None,
        repeats: Repeats = "skip",
        visits: Interactions | None = None,
        progress: Progress = silent,
    ) -> Self:
        """A recommender for the window that begins at the end of a log, fitted to the last windows of it.

        For each past window, a model is trained on what came before it, and its candidates are labelled by what users
        took in the window, if they were there at all; the map is fitted to all windows, of which each counts half as
        much as the one after it. The model of the result is trained on the whole log. Its probabilities are those of
        the next window, if the user is there, which is to take at least one item; tables also have
        probability_in_period, that times the chance of being there.

        Parameters
        ----------
        log : Interactions
            With times.
        train : function of a log, or model
            What trains a recommender: a function that is given a log and returns a source or a fitted model of a
            library that `source_of` knows; or a model that is not fitted, of ours or of implicit.
        window : text, number or timedelta
            How long the next window is, such as 30d, 2w or 1mo; see `past_windows`.
        windows : int
            How many past ones to learn from.
        calibrator, policy, segments, repeats
            As for the constructor; segments are those of the users or items of the whole log.
        visits : Interactions, optional
            Who came, and when, whether or not something was taken: users are then there who visit.
        progress : Progress

        Examples
        --------
        >>> from sureness.sources.svd import svd_source
        >>> rng = np.random.default_rng(0)
        >>> pair, day = rng.permutation(6_000)[:4_000], rng.integers(120, size=4_000)
        >>> log = Interactions.of(pair // 60, pair % 60, times=np.datetime64("2024-01-01") + day)
        >>> recommender = ConfidentRecommender.forward(log, svd_source, window="15d")
        >>> recommender.recommend([3]).columns[3:6]
        ['score', 'probability', 'probability_in_period']
        >>> recommender.horizon_.sentence
        'taken in the coming period, if the user is there'
        """
        past = trained_windows(log, train, window, n=windows, visits=visits, progress=progress)
        progress("training on the whole log", 0, 1)
        source = trained_on(train, log)
        recommender = cls(source, calibrator, policy, segments=segments, repeats=repeats)
        recommender.fit_windows(log, past, progress=progress)
        for caution in (*recommender.cautions_, *(note_repeats(past) if repeats == "skip" else ())):
            warn(caution)
        return recommender

    def fit_windows(self, log: Interactions, windows: Sequence[TrainedWindow], *, progress: Progress = silent) -> Self:
        """Fit the calibrator and the policy on past windows, and summarise every user as things are after a log.

        Parameters
        ----------
        log : Interactions
            What the source was trained on: all that came before the next window.
        windows : sequence of TrainedWindow
            The oldest first; see `trained_windows`.
        progress : Progress
        """
        learner = copy.copy(self)
        learner._learn_windows(log, windows, progress)
        vars(self).update(vars(learner))
        return self

    def _learn_windows(self, log: Interactions, windows: Sequence[TrainedWindow], progress: Progress) -> None:
        source, policy = self.source, self._unfitted_policy()
        expected = check_target(self.expected_relevant, source.n_users)
        check_choice(self.repeats, "repeats", REPEATS)
        best, given = self._best(policy)
        trained = log.aligned(*id_maps(source))
        segments = self._segments_of(trained)
        visits = windows[-1].visits
        self.activity_ = ActivityModel().fit_windows([window.past for window in windows], visits=visits)
        sample = pooled(self._samples(windows, best, given, progress), windows, source)
        counts = self.repeats == "count"
        observed = Observed(source, last_window(windows, source), None if counts else trained, segments, progress)
        fitted = clone(given).fit_sample(observed, sample)
        fitted.horizon_ = replace(fitted.horizon_, given="there")
        self.trained_, self.held_out_ = trained, trained.keep(np.empty(0, dtype=np.int64))
        self.seen_ = self.held_out_ if counts else trained
        now = activity_of(source, log, self.activity_.predict_at(log, windows[-1].end, visits=visits))
        assert sample.amount is not None
        below = Below.learned(sample.n_below, sample.amount, sample.weight)
        taken = Taken.of(trained, windows[-1].end, self.activity_.length_) if counts else None
        self.chances_ = self._chances_of(fitted, segments, below, expected, now, taken, best)
        self.policy_ = policy
        past = self.past_lists(windows)
        if type(policy).fit is not ListSizePolicy.fit:
            policy.fit(Lists.joined(past))
        self.end_ = windows[-1].end
        models = [(window.source, window.before) for window in windows] + [(source, trained)]
        width = best - MOST_OWN if counts else best
        self.grids_ = np.stack([score_grid(model, None if counts else seen, width) for model, seen in models])
        self.coming_ = coming_of(past, windows, self.activity_)
        self.cautions_ = cautions_of(self.coming_, now, sample, windows)

    def _chances_of(
        self, fitted: ProbabilityMap, segments: Segments | Fields | None, below: Below, expected: Target | FloatArray,
        now: Activity, taken: Taken | None, best: int,
    ) -> Chances:  # fmt: skip
        """What the lists of the next window are made with."""
        known = traits_of(now) if taken is None else None
        pairs = None if taken is None else partial(pair_traits, taken, now)
        mapped = MappedSource.of(self.source, fitted, segments, self.trained_, known, pairs)
        return Chances(mapped, best, below, fitted.horizon_, expected, activity=now, taken=taken)

    def _best(self, policy: ListSizePolicy) -> tuple[int, ProbabilityMap]:
        """How many candidates of each user the map is fitted on, and the map, which is not fitted yet."""
        best = min(max(_BEST, policy.max_size), _MOST_BEST)
        own = MOST_OWN if self.repeats == "count" else 0
        given = check_map(ListCalibrator(best=best + own) if self.calibrator is None else self.calibrator)
        return given.best if isinstance(given, ListCalibrator) else best + own, given

    def _samples(
        self, windows: Sequence[TrainedWindow], best: int, given: ProbabilityMap, progress: Progress = silent
    ) -> list[ListSample]:
        """The candidates of users who were there in past windows, with what was known of them then."""
        n_users = given.n_groups if isinstance(given, ListCalibrator) else _LEARNING_USERS
        samples, seed = [], getattr(given, "seed", 0)
        best = max(best - MOST_OWN, 1) if self.repeats == "count" else best  # own items are added to these
        for number, window in enumerate(windows):
            part = part_of(progress, number, len(windows), f"window {number + 1}")
            sample = window.sample(best, n_users, seed, self.repeats, part)
            samples.append(window.known(sample, self.activity_, self.repeats))
        return samples

    def past_lists(self, windows: Sequence[TrainedWindow]) -> list[Lists]:
        """For each past window the lists of users who were there as the map would have had them, with what came."""
        self._check_fitted()
        chances, parts = self.chances_, []
        best, given = self._best(self.policy_)
        for window, sample in zip(windows, self._samples(windows, best, given), strict=True):
            rows = pooled([sample], [window], self.source)
            history, amount = cast(IntArray, sample.history), cast(FloatArray, sample.amount)
            log_odds = chances.mapped.log_odds(rows.scores, rows.users, rows.items, rows.scores, history, sample.traits)
            hits, items, scores, lengths = rows.hits, rows.items, rows.scores, rows.there.sum(axis=1)
            if chances.taken is not None:
                order = np.argsort(-np.where(rows.there, log_odds, -np.inf), axis=1, kind="stable")
                hits, items = np.take_along_axis(hits, order, axis=1), np.take_along_axis(items, order, axis=1)
                scores, log_odds = (np.take_along_axis(each, order, axis=1) for each in (scores, log_odds))
            parts.append(Lists(
                users=rows.users, lengths=lengths, scores=scores, probabilities=sigmoid(log_odds),
                tail=chances.below.expected(amount)[:, None], hits=hits, n_relevant=hits.sum(axis=1) + rows.n_below,
                items=items,
            ))  # fmt: skip
        return parts

    def coming(self) -> pl.DataFrame:
        """What is promised for the coming window as a whole, with 90% intervals; after `forward`.

        Returns
        -------
        table
            what ("users there", "hits of shown items", "hits of a user who is there"), promised, low, high: the
            interval is how far the windows that were learned from are from their promise, sampling and what windows
            differ by together.
        """
        self._check_fitted()
        if self.chances_.activity is None:
            raise SettingError("what comes in the next window is not known of this recommender; make it with forward")
        chance = hits = 0.0
        for lists in self._shown(np.arange(self.source.n_users)):
            expected = lists.expected_hits(self.policy_.sizes(lists))
            there = lists.needed("there", self)
            chance, hits = chance + float(there.sum()), hits + float(there @ expected)
        rows = {"users": ("users there", chance), "period": ("hits of shown items", hits),
                "there": ("hits of a user who is there", hits / max(chance, 1e-12))}  # fmt: skip
        return pl.DataFrame(
            [
                {
                    "what": what,
                    "promised": value,
                    "low": value * self.coming_[name].low,
                    "high": value * self.coming_[name].high,
                }
                for name, (what, value) in rows.items()
            ]
        )

    def window_lists(self, window: TrainedWindow) -> Lists:
        """The lists of all users with what came in a window as hits; the recommender is as it was when it began."""
        self._check_fitted()
        return self._joined(window.hits(self.repeats), self.seen_)

    def retrained(self, source: ScoreSource, log: Interactions, *, visits: Interactions | None = None) -> Self:
        """The same map and policy on a model that was trained again, tonight; after `forward`.

        The scores of the new model are compared with those that the map was fitted on. They may differ a little more
        than those of the past windows' models do from each other; otherwise the map would not fit, and is refused.

        Parameters
        ----------
        source : ScoreSource
            The new model.
        log : Interactions
            All that it was trained on, with times; the next window begins where it ends.
        visits : Interactions, optional
            Who came, and when, if `forward` was told too.
        """
        self._check_fitted()
        if self.chances_.activity is None:
            raise SettingError("a map is kept for a model that was trained again after forward; make it with that")
        counts, best = self.repeats == "count", self.chances_.best
        trained = log.aligned(*id_maps(source))
        grid = score_grid(source, None if counts else trained, best - MOST_OWN if counts else best)
        usual = max(apart(one, other) for one in self.grids_ for other in self.grids_)
        now_apart = min(apart(grid, one) for one in self.grids_)
        if now_apart > usual + _MORE_APART:
            raise SettingError(
                f"the scores of the new model are not like those that the map was fitted on ({now_apart:.0%} lie "
                f"elsewhere, at most {usual:.0%} between the models of past windows); fit again with forward"
            )
        again = copy.copy(self)
        again.source, again.trained_, again.held_out_ = source, trained, trained.keep(np.empty(0, dtype=np.int64))
        again.seen_ = again.held_out_ if counts else trained
        again.end_ = Clock.of(log.every_row().times).end
        now = activity_of(source, log, self.activity_.predict_at(log, again.end_, visits=visits))
        taken = Taken.of(trained, again.end_, self.activity_.length_) if counts else None
        before = self.chances_
        if before.mapped.segments is not None:
            before.mapped.segments.check(source)
        again.chances_ = again._chances_of(
            self.map_, before.mapped.segments, before.below, before.expected, now, taken, best
        )
        return again

    def unfitted(self) -> Self:
        """The same source with copies of calibrator and policy that have learned nothing."""
        calibrator, policy = self.calibrator, self.policy
        return type(self)(
            self.source,
            None if calibrator is None else clone(calibrator),
            None if policy is None else clone(policy),
            expected_relevant=self.expected_relevant,
            segments=self.segments,
            repeats=self.repeats,
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

    def learned_facts(self) -> dict[str, str]:
        if not hasattr(self, "map_"):
            return {}
        return {
            "map": written(self.map_),
            "policy": written(self.policy_),
            "estimand": self.map_.estimand_,
            "horizon": str(self.horizon_),
            "users": f"{self.source.n_users:,}",
            "items": f"{self.source.n_items:,}",
            "seen": counted(len(self.seen_), "pair"),
        }

    @property
    def map_(self) -> ProbabilityMap:
        """The fitted map."""
        return self.chances_.mapped.map

    @property
    def below_(self) -> Below:
        """How many relevant items to expect below a user's best candidates."""
        return self.chances_.below

    @property
    def horizon_(self) -> Horizon:
        """Which period and pairs the probabilities of the lists are about."""
        return self.chances_.horizon

    # --- using ------------------------------------------------------------------------------------------------------

    def recommend(self, users: ArrayLike | None = None, *, progress: Progress = silent) -> pl.DataFrame:
        """The list of each user, by id; all users by default.

        Returns
        -------
        table with the columns user_id, rank, item_id, score, probability, list_size, expected_utility, unsure
            List size, expected utility and unsure are the same in all rows of a user; expected_utility is missing where
            the policy does not look at it. A user whose list is empty has no row; `sizes` has everyone.
        """
        rows, done = self._rows(users), 0
        parts = [self._table(self.policy_.decide(self._nobody()))]
        for part, n_users in self.tables(rows):
            parts.append(part)
            done += n_users
            progress("recommending", done, len(rows))
        return pl.concat(parts)

    def tables(self, rows: IntArray) -> Iterator[tuple[pl.DataFrame, int]]:
        """`recommend` block by block, for users given as row numbers; each table with its number of users."""
        for lists in self._shown(rows):
            yield self._table(self.policy_.decide(lists)), lists.n_users

    def _table(self, decided: Lists) -> pl.DataFrame:
        users, items = id_maps(self.source)
        return decided.table(users.at(decided.users), items.at(decided.needed("places", self)[decided.shown]))

    def decide(
        self,
        user_ids: ArrayLike | None,
        item_ids: ArrayLike | None = None,
        scores: ArrayLike | None = None,
        *,
        history: ArrayLike | None = None,
    ) -> Lists:
        """What to show, as arrays: from the scores of the source, or from live scores of another system.

        Live scores come from a vector index, a ranker or the same model elsewhere, on the scale that the map was fitted
        to. They may be those of users, queries or sessions that the recommender has never met. What a user has seen is
        left out, as in `recommend`, which is a table around this.

        Parameters
        ----------
        user_ids : one id or array-like of shape (n,); None: all users
        item_ids : array-like of shape (n, n_candidates) or (n_candidates,), optional
            Whose scores they are; in any order, and not all of them need be known. By default all items of the source,
            in its order.
        scores : array-like of shape (n, n_candidates), or (n_candidates,) for one user; optional
            Live scores of all candidates, or of the best 50 at least; -inf where there is no candidate, and no columns
            at all where nobody has one. By default those of the source.
        history : number or array-like of shape (n,), optional
            With live scores: how many items of each user the other system was trained on. By default as many as this
            recommender was trained on, 0 for users it does not know; the same where one is missing.

        Returns
        -------
        Lists
            With a decision: `places` are positions in the row of scores, best first; the first `sizes` of them are
            `shown`. There are also `probabilities`, `expected` utilities, and which users are `unsure`.

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
        >>> new = recommender.decide(999, np.arange(80), live, history=2)  # a user of five minutes ago
        >>> bool(new.sizes[0] >= 1)
        True
        """
        self._check_fitted()
        if scores is None:
            for name, given in (("item_ids", item_ids), ("history", history)):
                if given is not None:
                    raise SettingError(f"{name} belongs to live scores, but scores are missing; give both")
            return self.policy_.decide(Lists.joined([*self._shown(self._rows(user_ids))] or [self._nobody()]))
        users, names = id_maps(self.source)
        rows = self._rows(None) if user_ids is None else users.rows(user_ids)
        if not len(rows):
            return self.policy_.decide(self._nobody())
        found = live_candidates(
            scores, item_ids, rows, names, self._width, seen=self.seen_, later=self.held_out_, best=self.chances_.best
        )
        known = None
        if history is not None:
            known = check_history(np.repeat(history, len(rows)) if np.ndim(history) == 0 else history, len(rows))
            known = np.where(np.isnan(known), self.chances_.mapped.histories(rows), known)
        longest = self.policy_.max_size
        if (reach := self.map_.reach()) is not None:
            reach.count(found.scores[:, :longest])
            reach.warn()
        return self.policy_.decide(self.chances_.lists(found, longest, history=known))

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
        for lists in self._shown(rows):
            decided = self.policy_.decide(lists)
            sizes, in_all = decided.needed("sizes", self), lists.needed("probabilities", self).sum(axis=1)
            in_all = in_all + lists.needed("tail", self)[:, 0]
            parts.append((sizes, decided.expected, lists.expected_hits(sizes), decided.unsure, in_all))
        names = ("list_size", "expected_utility", "expected_hits", "unsure", "expected_relevant")
        kinds = (np.int64, np.float64, np.float64, np.bool_, np.float64)
        columns = {
            name: np.concatenate([np.empty(0, kind), *(part[number] for part in parts)])
            for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
        }
        table = pl.DataFrame({"user_id": id_maps(self.source)[0].at(rows), **columns})
        return table.with_columns(pl.col("expected_utility").fill_nan(None))

    def lists(self, users: ArrayLike | None = None, *, labels: Interactions | None = None) -> Lists:
        """Ranked candidates with probabilities, and with hits where labels are given: what policies look at.

        Labels of a longer or shorter period than that of the lists (`horizon_`), where a split tells, are compared with
        `promised`, the probabilities of that period, and there is a warning. Policies still cut the lists that
        `recommend` shows.
        """
        self._check_fitted()
        found = None if labels is None else Aligned.of(self.source, labels, self.seen_, name="labels").held_out
        return self._joined(found, self.seen_, self._rows(users))

    def validation_lists(self, seen: Seen, validation: Interactions) -> Lists:
        """The lists as they were when only `seen` had been seen, with the validation items as hits: for policies."""
        self._check_fitted()
        aligned = Aligned.of(self.source, validation, seen, name="validation")
        return self._joined(aligned.held_out, aligned.seen, labelled=True)

    def evaluate(
        self,
        test: Interactions,
        *,
        utility: str | Utility | None = None,
        policies: Mapping[str, ListSizePolicy] | None = None,
        reference: str | None = None,
    ) -> PolicyComparison:
        """Judge the lists by what came later, next to other policies on the same candidates.

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

    def promise(
        self,
        test: Interactions,
        *,
        by: By | Fields | Segments = "rank",
        of: Promised | None = None,
        visits: Interactions | None = None,
    ) -> pl.DataFrame:
        """Realised over promised hits of the shown items, in total and by rank; see `sureness.lists.promise`.

        With `Fields` or `Segments` by groups of users and items: is anyone promised more than they get?

        Parameters
        ----------
        test : Interactions
            What came in the period after the validation items. If it is known to hold more or less than theirs, the
            promise is that of its period, see `lists`.
        by : {"rank", "probability", "repeats"}, Fields or Segments
        of : {"there", "period"}, optional
            Of a recommender made with `forward`: "there", the default, compares `probability` with the hits of users
            who took at least one item in the test, known to the recommender or not; "period" compares
            `probability_in_period` with the hits of all users.
        visits : Interactions, optional
            Who came in the period of the test, if `forward` was told of visits: these users were there.
        """
        self._check_fitted()
        if isinstance(by, Fields | Segments):
            by.check(self.source)
        if self.map_.estimand_ == "preference" and self.chances_.is_expected("fitted"):
            raise SettingError(
                "the probabilities are of preference, and a log holds interactions, so it cannot keep "
                "their promise; expected_relevant='carried' makes them those of a period"
            )
        lists = self.lists(labels=test)
        if self.chances_.activity is not None:
            lists = given(lists, of or "there", there_in(test if visits is None else visits, id_maps(self.source)[0]))
        elif of == "there":
            raise SettingError(
                "the chance of being there is not known of this recommender; make it with forward, or leave of out"
            )
        return promise(lists, self.policy_, by=by)

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
        parts["held_out"] = self.held_out_.pack(with_ids=False)
        if self.trained_ is not None:
            parts["trained"] = self.trained_.pack(with_ids=False)
        if self.chances_.mapped.segments is not None:
            parts["segments"] = self.chances_.mapped.segments.pack()
        settings: dict[str, JSON] = {} if self.repeats == "skip" else {"repeats": self.repeats}
        arrays: dict[str, AnyArray] = {}
        if isinstance(self.expected_relevant, str):
            settings["expected_relevant"] = self.expected_relevant
        else:
            arrays["expected_relevant"] = np.asarray(self.expected_relevant, dtype=np.float64)
        about_next: dict[str, JSON] = {}
        if self.chances_.activity is not None:
            arrays |= {f"activity_{name}": values for name, values in self.chances_.activity._asdict().items()}
            parts["activity"] = self.activity_.pack()
            arrays["grids"] = self.grids_
            about_next = {
                "coming": {name: [each.value, each.low, each.high, each.level] for name, each in self.coming_.items()},
                "cautions": list(self.cautions_),
                "end": self.end_,
            }
        level = self.chances_.level
        state: dict[str, JSON] = {
            "shape": [self.source.n_users, self.source.n_items],
            "best": self.chances_.best,
            "below": self.below_.plain(),
            "level": [level.intercept, level.slope],
            **about_next,
        }
        about: dict[str, JSON] = {"estimand": self.map_.estimand_, "horizon": self.horizon_.plain()}
        return Packed(
            kind=kind_of("saved", type(self)), settings=settings, state=state, arrays=arrays, parts=parts, about=about
        )

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        if "below" not in packed.state:
            raise VersionError(
                "the recommender was saved by an older version, which decided list sizes differently; fit it again"
            )
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
        given = packed.arrays.get("expected_relevant")
        opened = cls(
            source,
            map_,
            policy,
            segments=segments,
            expected_relevant=cast(Target, packed.settings["expected_relevant"]) if given is None else given,
            repeats=cast(Repeats, check_choice(packed.settings.get("repeats", "skip"), "repeats", REPEATS)),
        )
        state = cast(dict[str, Any], packed.state)
        opened.policy_ = policy
        opened.held_out_ = parts.open("held_out", users=users, items=items)
        opened.trained_ = parts.open("trained", users=users, items=items) if "trained" in packed.parts else None
        logs = [log for log in (opened.trained_, opened.held_out_) if log is not None]
        opened.seen_ = logs[0] if len(logs) == 1 else union(logs)
        opened.seen_ = opened.held_out_ if opened.repeats == "count" else opened.seen_
        below, best = Below.of(state["below"]), int(real(state["best"]))
        expected = check_target(opened.expected_relevant, source.n_users)
        if "activity" in packed.parts:
            opened.activity_ = parts.opened("activity", ActivityModel)
            opened.coming_ = {name: Interval(*reals(each, n=4).tolist()) for name, each in state["coming"].items()}
            opened.cautions_, opened.end_ = tuple(map(check_text, state["cautions"])), real(state["end"])
            opened.grids_ = packed.array("grids", "f", None, 101)
            now = Activity(*(packed.array(f"activity_{name}", "iuf", source.n_users) for name in Activity._fields))
            assert opened.trained_ is not None
            counts = opened.repeats == "count"
            taken = Taken.of(opened.trained_, opened.end_, opened.activity_.length_) if counts else None
            opened.chances_ = opened._chances_of(map_, segments, below, expected, now, taken, best)
            return opened
        opened.chances_ = Chances(
            MappedSource.of(source, map_, segments, opened.trained_),
            best,
            below,
            Horizon.of(cast(dict[str, JSON], packed.about["horizon"])),
            expected,
            Level(*reals(state["level"], n=2).tolist()),
        )
        return opened

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """How many candidates of a user are looked at."""
        return max(self.policy_.max_size, self.chances_.best)

    def _candidates(self, rows: IntArray, seen: Interactions | None, *, labelled: bool = False) -> Iterator[Candidates]:
        """Blocks of users with the candidates that are looked at."""
        later, best, taken = None if labelled else self.held_out_, self.chances_.best, self.chances_.taken
        width = self._width if taken is not None else min(self._width, self.source.n_items)
        return candidate_blocks(self.source, rows, width, seen=seen, later=later, best=best, taken=taken)

    def _lists(self, rows: IntArray, seen: Interactions | None, *, labelled: bool = False) -> Iterator[Lists]:
        """Blocks of users with their longest lists."""
        for found in self._candidates(rows, seen, labelled=labelled):
            yield self.chances_.lists(found, self.policy_.max_size, labelled=labelled)

    def _shown(self, rows: IntArray) -> Iterator[Lists]:
        """The same for lists that are shown, with one warning if scores lie far outside those the map was fitted on."""
        reach = self.map_.reach()
        for lists in self._lists(rows, self.seen_):
            if reach is not None:
                reach.count(lists.needed("scores", self.policy_))
            yield lists
        if reach is not None:
            reach.warn()

    def _joined(
        self,
        labels: Interactions | None,
        seen: Interactions | None,
        rows: IntArray | None = None,
        *,
        labelled: bool = False,
    ) -> Lists:
        """The lists of many users as one, with hits where labels are given."""
        rows = np.arange(self.source.n_users) if rows is None else rows
        parts = []
        times = None if labels is None or labelled else self._times(labels)
        convert = over_periods if self.horizon_.period is not None else over_shares
        for lists in self._lists(rows, seen, labelled=labelled):
            if labels is not None:
                items = lists.needed("items", self)
                hits = members(items, lists.users, labels.row_starts, labels.item_rows) & (items >= 0)
                lists = replace(lists, hits=hits, n_relevant=labels.user_degree[lists.users])
            if times is not None:
                lists = replace(lists, promised=convert(lists.needed("probabilities", self), times))
            parts.append(lists)
        return Lists.joined(parts or [self._nobody()])

    def _horizon_of(self, fitted: ProbabilityMap, validation: Interactions, before: Interactions | None) -> Horizon:
        """What the probabilities of the lists are about."""
        if not isinstance(self.expected_relevant, str):
            return Horizon()  # numbers without a period
        if self.expected_relevant == "fitted":
            return fitted.horizon_
        return Horizon.of_split(validation, before).following()

    def _times(self, labels: Interactions) -> float | None:
        """How many times as much happens where labels come from; None: as much, or it is not known."""
        other = Horizon.of_split(labels, None)
        if not self.horizon_.differs(other):
            return None
        times = self.horizon_.ratio(other)
        how = (
            "1 - (1 - p)^{0:.3g}, as if interactions came at a steady rate"
            if other.period is not None
            else ("{0:.3g} times the probability, bent towards 1")
        )
        warn(
            f"the labels are of a period with {times:.3g} times as much as that of the lists, so what they promise is "
            f"converted to {how.format(times)}"
        )
        return times

    def _rows(self, users: ArrayLike | None) -> IntArray:
        self._check_fitted()
        check_not_forked()
        if users is None:
            return np.arange(self.source.n_users)
        ids, _ = id_maps(self.source)
        return ids.known_rows(users, "users")

    def _nobody(self) -> Lists:
        nothing = np.empty((0, 1), dtype=np.int64)
        there = None if self.chances_.activity is None else np.empty(0)
        return replace(Lists.of(probabilities=nothing, scores=nothing), items=nothing, places=nothing, there=there)

    def _check_fitted(self) -> None:
        if not hasattr(self, "policy_"):
            raise NotFittedError("ConfidentRecommender is not fitted yet; call fit(seen, validation) first")
