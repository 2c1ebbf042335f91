"""A recommender that knows how sure it is, and stops where showing more does not help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import Configurable
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.per_user import PerUserCalibrator, PerUserPlatt
from sureness.data.interactions import Interactions, union
from sureness.errors import DataError, NotFittedError
from sureness.evaluation.ranking import fitted_to, top_blocks
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.comparing import PolicyComparison, compare_policies
from sureness.list_size.lists import Lists
from sureness.list_size.policies import ExpectedUtility
from sureness.metrics.utility import Utility
from sureness.numerics.logistic import sigmoid
from sureness.numerics.ranking import members
from sureness.pipeline.maps import GlobalMap, as_maps
from sureness.pipeline.summaries import Target, summarise
from sureness.sources.base import ScoreSource, id_maps

Progress = Callable[[str, int, int], None]


def _sparse(log: Interactions) -> tuple[IntArray, IntArray]:
    return log.row_starts, log.item_rows


class ConfidentRecommender(Configurable):
    """Source, calibrator and list-size policy: each user sees as many items as are worth showing.

    Parameters
    ----------
    source : ScoreSource
        Any recommender: one of ours, or that of another library through its adapter.
    calibrator : PerUserCalibrator or Calibrator, optional
        By default `PerUserPlatt`.
    policy : ListSizePolicy, optional
        By default `ExpectedUtility` of F1 with up to 50 items.
    expected_relevant : "carried", "fitted", float or array of shape (n_users,)
        How many relevant items a user has when lists are made. Validation items were candidates when the map was
        fitted and are gone then. "carried": as many as in the validation period, by scaling the odds of each user;
        "fitted": whatever the probabilities of the remaining candidates add up to; numbers: another horizon.

    Attributes
    ----------
    maps_ : the fitted calibrator
    summaries_ : Summaries
        What is stored of each user for `recommend`.
    seen_ : Interactions
        What is not shown again.

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
        calibrator: PerUserCalibrator | GlobalMap | Calibrator | None = None,
        policy: ListSizePolicy | None = None,
        *,
        expected_relevant: Target | ArrayLike = "carried",
    ) -> None:
        self.source = source
        self.calibrator = calibrator
        self.policy = policy
        self.expected_relevant = expected_relevant

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Interactions | None,
        validation: Interactions,
        *,
        refit: bool = True,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the calibrator and the policy on the validation items, and summarise every user as things are after it.

        Parameters
        ----------
        train : Interactions or None
            What the recommender was trained on; never shown.
        validation : Interactions
            What came after; never shown either, once it was learned from.
        refit : bool
            False keeps a calibrator that is fitted already.
        progress : callable, optional
        """
        train = None if train is None else fitted_to(self.source, train, "train")
        validation = fitted_to(self.source, validation, "validation")
        self.maps_ = as_maps(self.calibrator if self.calibrator is not None else PerUserPlatt())
        self.policy_ = self.policy if self.policy is not None else ExpectedUtility()
        if not isinstance(self.policy_, ListSizePolicy):
            raise DataError(f"policy must be a list-size policy such as ExpectedUtility(), got {self.policy_!r}")
        self.policy_.check()
        if isinstance(self.maps_, GlobalMap):
            self.maps_.fit(self.source, validation, seen=train, refit=refit)
        elif refit or not hasattr(self.maps_, "coef_"):
            self.maps_.fit(self.source, validation, seen=train, progress=progress)
        elif not self.maps_.users_.same_as(id_maps(self.source)[0]):
            raise DataError(
                f"the calibrator is fitted to other users than the {self.source.n_users:,} of the source; fit it to "
                "this source, or leave refit as it is"
            )
        self.seen_ = validation if train is None else union([train, validation])
        self.summaries_ = summarise(
            self.source, self.maps_, self.seen_, max_size=self.policy_.max_size,
            expected_relevant=self.expected_relevant, progress=progress,
        )  # fmt: skip
        if type(self.policy_).fit is not ListSizePolicy.fit:
            self.policy_.fit(self._joined(validation, train))
        return self

    # --- using ------------------------------------------------------------------------------------------------------

    def recommend(self, users: ArrayLike | None = None, *, progress: Progress | None = None) -> pl.DataFrame:
        """The list of each user, by id; all users by default.

        Returns
        -------
        table with the columns user_id, rank, item_id, score, probability, list_size, expected_utility, unsure
            The last three are the same in all rows of a user; expected_utility is missing where the policy does not
            look at it. A user whose list is empty has no row; `sizes` has everyone.
        """
        parts = []
        rows = self._rows(users)
        done = 0
        for part, n_users in self.tables(rows):
            parts.append(part)
            done += n_users
            if progress is not None:
                progress("recommending", done, len(rows))
        return pl.concat(parts) if parts else self._table(np.empty((0, 1), np.int64), self._empty())

    def tables(self, rows: IntArray) -> Iterator[tuple[pl.DataFrame, int]]:
        """`recommend` block by block, for users given as row numbers; each table with its number of users."""
        for items, lists in self._lists(rows, self.seen_):
            yield self._table(items, lists), lists.n_users

    def sizes(self, users: ArrayLike | None = None) -> pl.DataFrame:
        """One row a user: user_id, list_size, expected_utility (if the policy has it), unsure, expected_relevant."""
        rows = self._rows(users)
        parts = [self._decide(lists) for _, lists in self._lists(rows, self.seen_)]
        ids, _ = id_maps(self.source)
        columns = [np.concatenate([part[number] for part in parts] or [np.empty(0)]) for number in range(3)]
        return pl.DataFrame(
            {
                "user_id": ids.at(rows),
                "list_size": columns[0].astype(np.int64),
                "expected_utility": pl.Series(columns[1]).fill_nan(None),
                "unsure": columns[2].astype(bool),
                "expected_relevant": self.summaries_.met[rows],
            }
        )

    def lists(self, users: ArrayLike | None = None, *, labels: Interactions | None = None) -> Lists:
        """Ranked candidates with probabilities, and with hits where labels are given: what policies look at."""
        self._check_fitted()
        found = None if labels is None else fitted_to(self.source, labels, "labels")
        return self._joined(found, self.seen_, self._rows(users))

    def validation_lists(self, train: Interactions | None, validation: Interactions) -> Lists:
        """The lists as they were when only `train` was hidden, with the validation items as hits: for policies."""
        hidden = None if train is None else fitted_to(self.source, train, "train")
        return self._joined(fitted_to(self.source, validation, "validation"), hidden)

    def evaluate(
        self,
        test: Interactions,
        *,
        utility: str | Utility | None = None,
        policies: dict[str, ListSizePolicy] | None = None,
    ) -> PolicyComparison:
        """Judge the lists by what came later, beside other policies on the same candidates.

        Parameters
        ----------
        test : Interactions
        utility : str or Utility, optional
            By default that of the policy, or F1.
        policies : mapping, optional
            Fitted policies to compare with.
        """
        self._check_fitted()
        chosen = utility if utility is not None else getattr(self.policy_, "utility", "f1")
        if "this" in (policies or {}):
            raise DataError("'this' stands for the recommender itself; give the other policy another name")
        entries: dict[str, ListSizePolicy] = {"this": self.policy_, **(policies or {})}
        lists = self.lists(labels=test)
        known = fitted_to(self.source, test, "test")
        if len(known) and members(known.item_rows[:, None], known.user_rows, *_sparse(self.seen_)).all():
            raise DataError("every test item was seen before, in training or validation, so no list can hold it")
        return compare_policies(entries, lists, chosen)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write everything to a folder, the source too if it is one that can be saved."""
        from sureness.pipeline.saving import save_recommender

        save_recommender(self, folder)

    @classmethod
    def load(cls, folder: str | PathLike[str], source: ScoreSource | None = None) -> Self:
        """Read what `save` wrote; the source is needed where it was not saved with the rest."""
        from sureness.pipeline.saving import load_recommender

        loaded = load_recommender(folder, source)
        assert isinstance(loaded, cls)
        return loaded

    # --- inside -----------------------------------------------------------------------------------------------------

    def _lists(self, rows: IntArray, seen: Interactions | None) -> Iterator[tuple[IntArray, Lists]]:
        """Blocks of users: the items of their longest lists, and these lists with probabilities."""
        self._check_fitted()
        width = min(self.policy_.max_size, self.source.n_items)
        for block, items, scores in top_blocks(self.source, rows, width, seen):
            shift = self.summaries_.shift[block][:, None]
            probabilities = sigmoid(self.maps_.log_odds(scores.astype(np.float64), block) + shift)
            yield items, Lists(
                users=block, lengths=np.count_nonzero(items >= 0, axis=1), scores=scores.astype(np.float64),
                probabilities=probabilities, tail=self.summaries_.tail[block],
            )  # fmt: skip

    def _joined(self, labels: Interactions | None, seen: Interactions | None, rows: IntArray | None = None) -> Lists:
        """The lists of many users as one, with hits where labels are given."""
        rows = np.arange(self.source.n_users) if rows is None else rows
        parts = []
        for items, lists in self._lists(rows, seen):
            if labels is not None:
                hits = members(items, lists.users, labels.row_starts, labels.item_rows) & (items >= 0)
                lists = replace(lists, hits=hits, n_relevant=labels.user_degree[lists.users])
            parts.append(lists)
        return Lists.joined(parts) if parts else self._empty()

    def _decide(self, lists: Lists) -> tuple[IntArray, FloatArray, BoolArray]:
        if isinstance(self.policy_, ExpectedUtility):
            return self.policy_.decide(lists)
        return self.policy_.sizes(lists), np.full(lists.n_users, np.nan), lists.lengths == 0

    def _table(self, items: IntArray, lists: Lists) -> pl.DataFrame:
        sizes, expected, unsure = self._decide(lists)
        users, names = id_maps(self.source)
        shown = np.arange(items.shape[1]) < sizes[:, None]
        place, rank = np.nonzero(shown)
        return pl.DataFrame(
            {
                "user_id": users.at(lists.users[place]),
                "rank": rank + 1,
                "item_id": names.at(items[shown]),
                "score": np.asarray(lists.scores)[shown].astype(np.float32),
                "probability": np.asarray(lists.probabilities)[shown],
                "list_size": sizes[place],
                "expected_utility": pl.Series(expected[place]).fill_nan(None),
                "unsure": unsure[place],
            }
        )

    def _empty(self) -> Lists:
        return Lists.of(probabilities=np.empty((0, 1)), scores=np.empty((0, 1)))

    def _rows(self, users: ArrayLike | None) -> IntArray:
        self._check_fitted()
        if users is None:
            return np.arange(self.source.n_users)
        if np.size(users) == 0:  # of whatever kind the ids are
            return np.empty(0, dtype=np.int64)
        ids, _ = id_maps(self.source)
        return ids.known_rows(users, "users")

    def _check_fitted(self) -> None:
        if not hasattr(self, "summaries_"):
            raise NotFittedError("ConfidentRecommender is not fitted yet; call fit(train, validation) first")
