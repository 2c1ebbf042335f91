"""Choose how list sizes are decided, by what each way would have been worth to users it did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from sureness._progress import Progress, part_of, silent
from sureness._settings import written
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.choosing import Choice
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.per_user import PerUserPlatt
from sureness.data.interactions import Interactions, union
from sureness.errors import SettingError, SurenessWarning
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import BestFixedSize, ExpectedUtility
from sureness.metrics.resampling import confidence_in_gains, paired_difference, resampled_means
from sureness.metrics.utility import Utility, named_utility
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.forward import TrainedWindow
from sureness.sources.aligned import Aligned, Seen, among
from sureness.sources.base import ScoreSource, id_maps

SIMPLE = "the best fixed size"
SURE = 0.9
"""The confidence with which another way must be better."""

_N_RESAMPLES = 2_000
_MOST_WINDOWS, _FEWEST_PAIRS = 4, 200  # of a validation part that was cut by time; in each
_LEARNED = 3  # windows that a way is fitted to, at most
_USUAL_SPREAD, _WORTH_WINDOWS = (
    0.05,
    2,
)  # of gains between windows, as a share of the worth; how many windows that counts


def ways_to_decide(
    source: ScoreSource, utility: str | Utility = "f1", max_size: int = 50
) -> list[ConfidentRecommender]:
    """What is worth comparing on any data: the map for lists, a line for each user, and one line for all."""
    calibrators = (ListCalibrator(), PerUserPlatt(), PlattCalibrator())
    return [ConfidentRecommender(source, c, ExpectedUtility(utility, max_size=max_size)) for c in calibrators]


def choose_list_sizes(
    candidates: Sequence[ConfidentRecommender],
    seen: Seen,
    validation: Interactions | None = None,
    *,
    windows: Sequence[TrainedWindow] | None = None,
    by: str | Utility | None = None,
    sure: float = SURE,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice[ConfidentRecommender]:
    """Take the best way to decide list sizes, or the best fixed size unless another is surely better.

    Forward in time, give past windows with the recommenders that were trained before them. Every way is fitted to the
    windows before each one and judged in it, and the winner is fitted to the last ones. Without them, a validation
    part that was cut by time is cut again into up to four windows; everything is fitted on one of them, which is then
    hidden, and judged on the next. How sure a gain is then counts windows as well as users: it must be expected of a
    window that has not been seen.

    At random each user's validation items are halved. Everything is fitted on one half and judged on the other, as it
    will be at deployment; then the halves change places. The winner is fitted on all validation items.

    Parameters
    ----------
    candidates : sequence of ConfidentRecommender
        All with one source, not fitted; `ways_to_decide` has the usual ones.
    seen, validation : Interactions
        As for `ConfidentRecommender.fit`; with windows `seen` is the whole log, and there is no validation part.
    windows : sequence of TrainedWindow, optional
        Two or more, the oldest first; see `trained_windows`.
    by : str or Utility, optional
        What to judge by; by default the utility of the first candidate's policy.
    sure : float
        The confidence with which the best one must be better than the best fixed size. It accounts for their number:
        the best of many looks better by chance more often than any one of them.
    seed : int
    progress : callable, optional

    Returns
    -------
    Choice
        `best` is fitted; `table` has the mean utility of each, its difference to the best fixed size with a 95%
        interval, and how sure it is that it is better; after a fall back `best` shows the best fixed number of items,
        with the probabilities of the first candidate.
    """
    if not candidates:
        raise SettingError("choose_list_sizes needs at least one recommender, got none")
    if not sure >= 0:
        raise SettingError(f"sure must be a confidence, 0 or more, got {sure}")
    source = candidates[0].source
    if any(candidate.source is not source for candidate in candidates):
        raise SettingError("all recommenders must have the same source, so that only their list sizes differ")
    utility = named_utility(by if by is not None else getattr(candidates[0].policy, "utility", "f1"))
    names = _names(candidates)
    if windows is not None:
        trials, finish = _past_trials(seen, validation, windows)
    elif validation is None:
        raise SettingError("choose_list_sizes needs a validation part, or past windows; give one of them")
    else:
        trials, finish = _trials(Aligned.of(source, validation, seen, name="validation"), seed)
    judged = []
    for number, trial in enumerate(trials):
        shown = part_of(progress, number, len(trials), f"comparison {number + 1}")
        judged.append(_judged(candidates, names, trial, utility, shown))
    return _decided(judged, trials[0].in_time, candidates, names, finish, utility, sure, seed)


class _Trial(NamedTuple):
    """One comparison: how to fit a candidate to what came before, and what came later."""

    fit: Callable[[ConfidentRecommender], ConfidentRecommender]
    past: Callable[[ConfidentRecommender], Lists]  # what a fixed size is chosen on
    later: Callable[[ConfidentRecommender], Lists]
    rows: Callable[[IntArray], IntArray]  # rows of users that are the same in all trials
    in_time: bool


_Finish: TypeAlias = Callable[[ConfidentRecommender], ConfidentRecommender]


def _past_trials(
    log: Seen, validation: Interactions | None, windows: Sequence[TrainedWindow]
) -> tuple[list[_Trial], _Finish]:
    """Each window but the first, with up to three windows before it."""
    if len(windows) < 2 or validation is not None or not isinstance(log, Interactions):
        raise SettingError(
            f"choose_list_sizes needs two or more windows with the whole log and no validation part, got "
            f"{counted(len(windows), 'window')}; give choose_list_sizes(candidates, log, windows=...)"
        )

    def trial(now: TrainedWindow, past: Sequence[TrainedWindow]) -> _Trial:
        users = id_maps(now.source)[0]
        return _Trial(
            lambda candidate: candidate.set_params(source=now.source).fit_windows(now.past.before, past),
            lambda fitted: Lists.joined(fitted.past_lists(past)),
            lambda fitted: fitted.window_lists(now),
            lambda rows: log.users.rows(users.at(rows)),
            in_time=True,
        )

    trials = [trial(windows[n], windows[max(0, n - _LEARNED) : n]) for n in range(1, len(windows))]
    return trials, lambda winner: winner.fit_windows(log, windows[-_LEARNED:])


def _trials(aligned: Aligned, seed: int) -> tuple[list[_Trial], _Finish]:
    """Windows of a validation part that was cut by time, each fitted on the one before; else halves of each user."""
    parts = _windows(aligned.held_out)
    halves = _halves(aligned.held_out, seed)
    pairs = list(pairwise(parts)) if parts else [halves, halves[::-1]]

    def trial(number: int, known: Interactions, later: Interactions) -> _Trial:
        seen = _together([aligned.seen, *parts[:number]])
        if parts:  # what was taken once is not taken again
            later = later.keep(~among(later, union([*parts[:number], known])))
            known = known if seen is None else known.keep(~among(known, seen))
        now = replace(aligned, held_out=known, seen=seen)
        before: Seen = "nothing" if seen is None else seen
        return _Trial(
            lambda candidate: candidate.fit_aligned(now),
            lambda fitted: fitted.validation_lists(before, known),
            lambda fitted: fitted.lists(labels=later),
            lambda rows: rows,
            in_time=bool(parts),
        )

    return [trial(n, *pair) for n, pair in enumerate(pairs)], lambda winner: winner.fit_aligned(aligned)


def _together(logs: Sequence[Interactions | None]) -> Interactions | None:
    parts = [log for log in logs if log is not None]
    return union(parts) if parts else None


def _judged(
    candidates: Sequence[ConfidentRecommender],
    names: list[str],
    trial: _Trial,
    utility: Utility,
    progress: Progress,
) -> PolicyComparison:
    """What each way was worth to the users of a later part; the fixed size is the best one before it."""
    found: list[PolicyComparison] = []
    for number, (name, candidate) in enumerate(zip(names, candidates, strict=True)):
        progress(name, number, len(names))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # the final fit warns once
            fitted = trial.fit(candidate.unfitted())
        policies: dict[str, Any] = {name: fitted.policy_}
        if number == 0:
            policies[SIMPLE] = BestFixedSize(utility, max_size=fitted.policy_.max_size).fit(trial.past(fitted))
        found.append(compare_policies(policies, trial.later(fitted), utility))
    values = {name: values for each in found for name, values in each.values.items()}
    return replace(found[0], users=trial.rows(found[0].users), values=values)


def _decided(
    judged: Sequence[PolicyComparison],
    in_time: bool,
    candidates: Sequence[ConfidentRecommender],
    names: list[str],
    finish: _Finish,
    utility: Utility,
    sure: float,
    seed: int,
) -> Choice[ConfidentRecommender]:
    """Resample the users, decide, and fit what was decided on everything."""
    table = _compared(_of_users(judged), names, utility, seed)
    if in_time:
        expected = [sure_of_next(judged, way) for way in table["way"]]
        table = table.with_columns(sure_better=pl.min_horizontal("sure_better", pl.Series(expected)))
    where = "in later windows" if in_time else "on held-out halves"
    worth, confidence = (
        dict(zip(table["way"], table[column], strict=True)) for column in (utility.name, "sure_better")
    )
    better = [name for name in names if worth[name] > worth[SIMPLE]]
    certain = [name for name in better if confidence[name] >= sure]
    best = max(certain or names, key=lambda name: worth[name])
    if certain:
        reason = f"more {utility.name} {where} than {SIMPLE}, {confidence[best]:.0%} sure as the best of {len(names)}"
        winner = candidates[names.index(best)].unfitted()
    else:
        reason = f"nothing has more {utility.name} {where} than {SIMPLE}"
        if better:
            reason = (
                f"{best} has more {utility.name}, but that is only {confidence[best]:.0%} sure as the best of "
                f"{len(names)} ({sure:.0%} are needed), so {SIMPLE} stays"
            )
        first = candidates[0].unfitted()
        size = getattr(first.policy, "max_size", 50)
        winner = ConfidentRecommender(
            first.source,
            first.calibrator,
            BestFixedSize(_plain(utility), max_size=size),
            expected_relevant=first.expected_relevant,
            segments=first.segments,
        )
    return Choice(finish(winner), table, utility.name, bool(better) and not certain, reason)


def _of_users(judged: Sequence[PolicyComparison]) -> dict[str, FloatArray]:
    """The mean worth of each way to each user who was judged at least once."""
    users, place = np.unique(np.concatenate([each.users for each in judged]), return_inverse=True)
    times = np.bincount(place, minlength=len(users))
    return {
        name: np.bincount(place, np.concatenate([each.values[name] for each in judged]), len(users)) / times
        for name in judged[0].values
    }


def sure_of_next(judged: Sequence[PolicyComparison], way: str, simple: str = SIMPLE) -> float:
    """How sure it is that a way is better than the fixed size in a window that was not judged: Student's t.

    Windows differ in their gains; of few windows that is known from a prior alone, a share of what the fixed size is
    worth, which counts as much as some windows. Without a judged window nothing is sure.
    """
    from scipy.special import stdtr  # slow to import, and only needed here

    by_user = [each.values[way] - each.values[simple] for each in judged]
    gains = np.array([np.mean(each) for each in by_user])
    if not gains.any():
        return 0.0
    errors = np.array([paired_difference(each).standard_error for each in by_user])
    usual = _USUAL_SPREAD * float(np.mean([np.mean(each.values[simple]) for each in judged]))
    free = _WORTH_WINDOWS + len(gains) - 1
    spread = (_WORTH_WINDOWS * usual**2 + float(((gains - gains.mean()) ** 2).sum())) / free
    error = np.sqrt(spread * (1 + 1 / len(gains)) + np.nan_to_num(errors**2).mean() / len(gains))
    return float(stdtr(free, gains.mean() / max(error, 1e-12)))


def _compared(values: Mapping[str, FloatArray], names: list[str], utility: Utility, seed: int) -> pl.DataFrame:
    """One row per way, the simple one first: its worth, how much more that is, and how sure it is that it is more."""
    ways = [SIMPLE, *names]
    gains = np.stack([values[way] - values[SIMPLE] for way in ways], axis=1)  # (n_users, n_ways)
    resampled = resampled_means(gains, _N_RESAMPLES, np.random.default_rng(seed))
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    return pl.DataFrame(
        {
            "way": ways,
            utility.name: [float(values[way].mean()) for way in ways],
            "difference": gains.mean(axis=0),
            "low": low,
            "high": high,
            "sure_better": confidence_in_gains(gains.mean(axis=0), resampled),
        }
    )


def _plain(utility: Utility) -> str | Utility:
    """The name of a usual utility, which reads better than the utility itself."""
    return utility.name if utility.plain(1) == {"name": utility.name} else utility


def _names(candidates: Sequence[ConfidentRecommender]) -> list[str]:
    """How each candidate is called in the table: its calibrator and policy."""
    names = [
        f"{written(c.calibrator or ListCalibrator())}, {written(c.policy or ExpectedUtility())}" for c in candidates
    ]
    if len(set(names)) < len(names):
        raise SettingError("two of the recommenders have the same calibrator and policy; leave one of them out")
    return names


def _windows(validation: Interactions) -> list[Interactions]:
    """Parts of a validation part that was cut by time, one after the other; none where there are no two of them."""
    if validation.period is None or validation.times is None:
        return []
    n = int(np.clip(len(validation) // _FEWEST_PAIRS, 2, _MOST_WINDOWS))
    edges = np.linspace(*validation.period, n + 1)
    place = np.clip(np.searchsorted(edges, validation.every_row().times, side="right") - 1, 0, n - 1)
    bare = replace(validation, notes=())
    parts = [
        replace(bare.keep_rows(place == number), period=(float(edges[number]), float(edges[number + 1])))
        for number in np.unique(place)
    ]
    return parts if len(parts) > 1 else []


def _halves(validation: Interactions, seed: int) -> tuple[Interactions, Interactions]:
    """Each user's items in two random parts of the same size, or as near as it gets."""
    rng = np.random.default_rng(seed)
    shuffled = np.lexsort((rng.random(len(validation)), validation.user_rows))
    place = np.empty(len(validation), dtype=np.int64)
    place[shuffled] = np.arange(len(validation)) - validation.row_starts[validation.user_rows[shuffled]]
    odd = (place + rng.integers(2, size=validation.n_users)[validation.user_rows]) % 2 == 1
    bare = replace(validation, notes=())
    return bare.keep(odd), bare.keep(~odd)
