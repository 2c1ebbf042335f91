"""What would have been promised at the start of past windows, and what came in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sureness._printing import card, fields_repr
from sureness._progress import Progress, part_of, silent
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.interactions import Interactions
from sureness.data.times import Clock, Length
from sureness.errors import SettingError
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import BestFixedSize, ExpectedUtility, ListSizePolicy
from sureness.metrics.coming import coming_ratio
from sureness.metrics.resampling import paired_difference
from sureness.metrics.utility import named_utility
from sureness.numerics.checks import check_whole
from sureness.numerics.ratios import Ratio, ratio_of_sums
from sureness.recommender.choosing import SURE, sure_of_next
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.forward import PROMISES, Promised, Train, TrainedWindow, given, trained_on, trained_windows
from sureness.recommender.repeats import Repeats
from sureness.saving.packed import JSON

PERSONAL, FIXED = "personal sizes", "best fixed size"
_UTILITIES = ("f1", "ndcg")
_FEWEST = 2  # judged windows


@dataclass(frozen=True, eq=False)
class JudgedWindow:
    """A past window with the recommender as it was when the window began, and what came of its lists."""

    trained: TrainedWindow
    recommender: ConfidentRecommender
    lists: Lists  # of all users, with sizes and with what came in the window as hits
    comparisons: dict[str, PolicyComparison]  # by utility: personal sizes, and the best fixed size of the past
    kept: dict[str, str]  # by utility: personal sizes if the judged windows before it make sure of them

    __repr__ = fields_repr

    @property
    def cautions(self) -> tuple[str, ...]:
        """Why the promise may fail, as it was known when the window began; empty where nothing spoke against it."""
        return self.recommender.cautions_

    @cached_property
    def promises(self) -> dict[Promised, Ratio]:
        """Realised over promised hits of the shown items, if the user is there and in the period."""
        return {of: ratio_of_sums(*reversed(self.sums(of))) for of in PROMISES}

    def sums(self, of: Promised) -> tuple[Any, Any]:
        """Promised and realised hits of the shown items of each user who counts."""
        lists = given(self.lists, of, self.trained.there)
        shown = lists.shown
        promised = np.where(shown, lists.promises(self), 0.0).sum(axis=1)
        return promised, (shown & lists.needed("hits", self)).sum(axis=1).astype(np.float64)

    @property
    def users_there(self) -> tuple[float, int]:
        """How many of the known users were promised to be there, and how many were."""
        return float(self.lists.needed("there", self).sum()), int(np.count_nonzero(self.trained.there))

    def row(self, clock: Clock) -> dict[str, Any]:
        """What `Backtest.table` shows of it."""
        promised_there, there = self.users_there
        row: dict[str, Any] = {
            "start": clock.moment(self.trained.start), "end": clock.moment(self.trained.end),
            "users": self.lists.n_users, "users_promised": promised_there, "users_there": there,
            "warned": bool(self.cautions),
        }  # fmt: skip
        for of in PROMISES:
            promised, realised = self.sums(of)
            ratio = self.promises[of]
            values = (float(promised.sum()), int(realised.sum()), ratio.value, ratio.low, ratio.high)
            row |= {
                f"{of}_{name}": v
                for name, v in zip(("promised", "realised", "ratio", "low", "high"), values, strict=True)
            }
        for utility, compared in self.comparisons.items():
            gain = paired_difference(compared.values[PERSONAL] - compared.values[FIXED])
            own, fixed = (compared.values[name].mean() for name in (PERSONAL, FIXED))
            sizes = (compared.sizes[name].mean() for name in (PERSONAL, FIXED))
            values = (own, fixed, gain.low, gain.high, *sizes)
            names = ("", "_fixed", "_low", "_high", "_size", "_fixed_size")
            row |= {f"{utility}{name}": value for name, value in zip(names, map(_plain, values), strict=True)}
            row[f"{utility}_kept"] = self.kept[utility]
        return row


@dataclass(frozen=True, eq=False)
class Backtest:
    """What recommenders promised at the start of past windows, and what came. Build it with `backtest`."""

    windows: tuple[JudgedWindow, ...]  # the oldest first
    clock: Clock
    recommender: ConfidentRecommender  # for the window that begins at the end of the log

    def __repr__(self) -> str:
        return f"Backtest({counted(len(self.windows), 'window')})"

    def _repr_html_(self) -> str:
        table = self.table().select("start", "end", "there_ratio", "period_ratio", *self.windows[0].comparisons)
        return card(f"Backtest of {counted(len(self.windows), 'window')}", columns=table.columns, rows=table.rows())

    def table(self) -> pl.DataFrame:
        """One row for each window.

        Returns
        -------
        table
            start and end; users (known when it began), users_promised and users_there; warned, whether there was a
            caution; promised, realised, ratio, low and high of shown items, once with the prefix there_ (hits of users
            who were there) and once with period_ (all users); f1 and ndcg of personal sizes and of the best fixed size
            of the past (_fixed), the 95% interval of their difference (_low, _high), the mean sizes (_size,
            _fixed_size), and which of both the judged windows before it speak for (_kept).
        """
        return pl.DataFrame([window.row(self.clock) for window in self.windows])

    def coming(self) -> pl.DataFrame:
        """What is promised for the window that begins at the end of the log, with 90% intervals.

        The intervals are those of the judged windows: how far what came was from what had been promised. The table is
        as that of `ConfidentRecommender.coming`.
        """
        users = np.array([window.users_there for window in self.windows])
        ratios = {"users there": coming_ratio(*users.T)}
        for of, what in (("period", "hits of shown items"), ("there", "hits of a user who is there")):
            sums = [window.sums(of) for window in self.windows]  # type: ignore[arg-type]
            promised, realised = (np.array([each[side].sum() for each in sums]) for side in (0, 1))
            away = [came - asked * (came.sum() / max(asked.sum(), 1e-12)) for asked, came in sums]
            ratios[what] = coming_ratio(promised, realised, variances=[each @ each for each in away])
        table = self.recommender.coming()
        low, high = ([getattr(ratios[what], side) for what in table["what"]] for side in ("low", "high"))
        return table.with_columns(low=pl.col("promised") * pl.Series(low), high=pl.col("promised") * pl.Series(high))

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        windows: list[JSON] = []
        for row in self.table().to_dicts():
            found: dict[str, JSON] = {name: row[name] for name in ("start", "end", "users")}
            found["warned"] = row["warned"]
            found["users_there"] = {"promised": row["users_promised"], "realised": row["users_there"]}
            for name in (*PROMISES, *self.windows[0].comparisons):
                found[name] = {
                    column.removeprefix(f"{name}_") if column != name else "personal": value
                    for column, value in row.items()
                    if column == name or (column.startswith(f"{name}_"))
                }
            windows.append(found)
        return {"windows": windows, "coming": self.coming().to_dicts(), "cautions": list(self.recommender.cautions_)}


def backtest(
    log: Interactions,
    train: Train,
    *,
    window: Length,
    windows: int = 5,
    learned: int = 3,
    calibrator: ProbabilityMap | None = None,
    policy: ListSizePolicy | None = None,
    repeats: Repeats = "skip",
    visits: Interactions | None = None,
    progress: Progress = silent,
) -> Backtest:
    """Live through the last windows of a log again: train, calibrate and decide before each one, then compare.

    A model is trained before each window, once, and one on the whole log for the window that comes next; what came
    later than a window's start is never looked at. Each judged window is promised by
    a recommender that was fitted to the windows before it, as `ConfidentRecommender.forward` fits one.

    Parameters
    ----------
    log : Interactions
        With times.
    train : function of a log, or model
        What trains a recommender; see `ConfidentRecommender.forward`.
    window : text, number or timedelta
        How long each is, such as 30d, 2w or 1mo; see `past_windows`.
    windows : int
        How many of the last ones are judged.
    learned : int
        How many windows before it each recommender is fitted to; the log must hold them as well.
    calibrator, policy, repeats
        As for `ConfidentRecommender`.
    visits : Interactions, optional
        As for `ConfidentRecommender.forward`.
    progress : Progress

    Examples
    --------
    >>> from sureness.sources.svd import svd_source
    >>> rng = np.random.default_rng(0)
    >>> user, item, day = rng.integers(100, size=4_000), rng.integers(60, size=4_000), rng.integers(120, size=4_000)
    >>> log = Interactions.of(user, item, times=np.datetime64("2024-01-01") + day)
    >>> found = backtest(log, svd_source, window="15d", windows=2)
    >>> found.table()["start"].to_list()
    ['2024-03-31', '2024-04-15']
    """
    check_whole(windows, "windows")
    check_whole(learned, "learned", 1)
    if windows < _FEWEST:
        raise SettingError(
            f"a backtest needs at least {_FEWEST} windows, got {windows}; one alone does not tell how they differ"
        )
    shown = part_of(progress, 0, 2, "training")
    every = trained_windows(log, train, window, n=windows + learned, visits=visits, progress=shown)
    judged: list[JudgedWindow] = []
    for number in range(learned, len(every)):
        now, past = every[number], every[number - learned : number]
        progress("judging windows", windows + learned + number, 2 * (windows + learned))
        recommender = ConfidentRecommender(now.source, calibrator, policy, repeats=repeats).fit_windows(
            now.past.before, past
        )
        judged.append(_judged(now, recommender, past, judged))
    source = trained_on(train, log)
    coming = ConfidentRecommender(source, calibrator, policy, repeats=repeats).fit_windows(log, every[-learned:])
    return Backtest(tuple(judged), Clock.of(log.every_row().times), coming)


def _judged(
    now: TrainedWindow,
    recommender: ConfidentRecommender,
    past: Sequence[TrainedWindow],
    earlier: Sequence[JudgedWindow],
) -> JudgedWindow:
    policy = recommender.policy_
    lists = policy.decide(recommender.window_lists(now))
    before = Lists.joined(recommender.past_lists(past))
    comparisons = {}
    for utility in dict.fromkeys((named_utility(policy.utility).name, *_UTILITIES)):
        own = ExpectedUtility(utility, max_size=policy.max_size) if isinstance(policy, ExpectedUtility) else policy
        own = policy if named_utility(policy.utility).name == utility else own
        fixed = BestFixedSize(utility, max_size=policy.max_size).fit(before)
        comparisons[utility] = compare_policies({PERSONAL: own, FIXED: fixed}, lists, utility)
    sure = {
        utility: sure_of_next([window.comparisons[utility] for window in earlier], PERSONAL, FIXED)
        for utility in comparisons
    }
    kept = {utility: PERSONAL if value >= SURE else FIXED for utility, value in sure.items()}
    return JudgedWindow(now, recommender, lists, comparisons, kept)


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value)
