"""Choose how list sizes are decided, by what each way would have been worth to users it did not learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._settings import written
from sureness._types import FloatArray
from sureness.calibration.choosing import Choice
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.per_user import PerUserPlatt
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.lists.comparing import compare_policies
from sureness.lists.policies import BestFixedSize, ExpectedUtility
from sureness.metrics.resampling import confidence_in_gains, resampled_means
from sureness.metrics.utility import Utility, named_utility
from sureness.recommender.confident import ConfidentRecommender
from sureness.sources.aligned import Aligned, Seen
from sureness.sources.base import ScoreSource

SIMPLE = "the best fixed size"
_N_RESAMPLES = 2_000


def ways_to_decide(
    source: ScoreSource, utility: str | Utility = "f1", max_size: int = 50
) -> list[ConfidentRecommender]:
    """What is worth comparing on any data: the map for lists, a line for each user, and one line for all."""
    calibrators = (ListCalibrator(), PerUserPlatt(), PlattCalibrator())
    return [ConfidentRecommender(source, c, ExpectedUtility(utility, max_size=max_size)) for c in calibrators]


def choose_list_sizes(
    candidates: Sequence[ConfidentRecommender],
    seen: Seen,
    validation: Interactions,
    *,
    by: str | Utility | None = None,
    sure: float = 0.9,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice[ConfidentRecommender]:
    """Take the best way to decide list sizes, or the best fixed size unless another is surely better.

    Each user's validation items are halved. Everything is fitted on one half, which is then hidden, and judged on the
    other, as it will be at deployment; then the halves change places. The winner is fitted on all validation items.

    Parameters
    ----------
    candidates : sequence of ConfidentRecommender
        All with one source, not fitted; `ways_to_decide` has the usual ones.
    seen, validation : Interactions
        As for `ConfidentRecommender.fit`.
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
    aligned = Aligned.of(source, validation, seen, name="validation")
    before: Seen = "nothing" if aligned.seen is None else aligned.seen
    names = _names(candidates)
    totals = {name: np.zeros(source.n_users) for name in [SIMPLE, *names]}
    times = np.zeros(source.n_users)
    halves = _halves(aligned.held_out, seed)
    for direction, (known, later) in enumerate((halves, halves[::-1])):
        for number, (name, candidate) in enumerate(zip(names, candidates, strict=True)):
            progress("comparing ways to decide", direction * len(names) + number, 2 * len(names))
            fitted = candidate.unfitted().fit_aligned(replace(aligned, held_out=known))
            policies: dict[str, Any] = {name: fitted.policy_}
            if number == 0:
                fixed = BestFixedSize(utility, max_size=fitted.policy_.max_size)
                policies[SIMPLE] = fixed.fit(fitted.validation_lists(before, known))
            compared = compare_policies(policies, fitted.lists(labels=later), utility)
            for entry, values in compared.values.items():
                totals[entry][compared.users] += values
            if number == 0:
                times[compared.users] += 1
    judged = times > 0
    means = {name: total[judged] / times[judged] for name, total in totals.items()}
    return _decided(means, candidates, names, aligned, utility, sure, seed)


def _decided(
    values: Mapping[str, FloatArray],
    candidates: Sequence[ConfidentRecommender],
    names: list[str],
    aligned: Aligned,
    utility: Utility,
    sure: float,
    seed: int,
) -> Choice[ConfidentRecommender]:
    """Resample the users, decide, and fit what was decided on everything."""
    table = _compared(values, names, utility, seed)
    worth, confidence = (
        dict(zip(table["way"], table[column], strict=True)) for column in (utility.name, "sure_better")
    )
    better = [name for name in names if worth[name] > worth[SIMPLE]]
    certain = [name for name in better if confidence[name] >= sure]
    best = max(certain or names, key=lambda name: worth[name])
    if certain:
        reason = (
            f"more {utility.name} on held-out halves than {SIMPLE}, {confidence[best]:.0%} sure as the best of "
            f"{len(names)}"
        )
        winner = candidates[names.index(best)].unfitted()
    else:
        reason = f"nothing has more {utility.name} on held-out halves than {SIMPLE}"
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
    return Choice(winner.fit_aligned(aligned), table, utility.name, bool(better) and not certain, reason)


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


def _halves(validation: Interactions, seed: int) -> tuple[Interactions, Interactions]:
    """Each user's items in two random parts of the same size, or as near as it gets."""
    rng = np.random.default_rng(seed)
    shuffled = np.lexsort((rng.random(len(validation)), validation.user_rows))
    place = np.empty(len(validation), dtype=np.int64)
    place[shuffled] = np.arange(len(validation)) - validation.row_starts[validation.user_rows[shuffled]]
    odd = (place + rng.integers(2, size=validation.n_users)[validation.user_rows]) % 2 == 1
    bare = replace(validation, notes=())
    return bare.keep(odd), bare.keep(~odd)
