"""Fits on scores of which some are masked: every calibrator x value x share masked x pattern of labels, and users.

A fit may refuse, or say what it left out; it must not be wrong without a word, and never break.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sureness._settings import clone
from sureness._types import AnyArray, FloatArray
from sureness.calibration import all_calibrators
from sureness.calibration.base import Calibrator
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.calibration.per_user import PerUserGamma, PerUserGaussian, PerUserPlatt
from sureness.data.interactions import Interactions
from sureness.errors import DataError, SurenessWarning
from sureness.sources.base import MatrixSource, ScoreSource
from sureness.sources.candidates import CandidateSource
from tests.attacks.outcome import Outcome

VALUES = (-1e9, 1e30, -1e30, 1e9, -999.0, -1e38)
SHARES = (0.02, 0.5)
LABELS = ("negative", "as others")  # of the masked pairs
N_PAIRS = 3_000
N_USERS, N_ITEMS = 40, 70
WRONG = 0.05


@dataclass(frozen=True, eq=False)
class Case:
    """One fit."""

    calibrator: Calibrator
    value: float
    share: float
    labels: str

    def __str__(self) -> str:
        return f"{self.calibrator!r} with {self.share:.0%} at {self.value:g}, {self.labels}"


def cases() -> Iterator[Case]:
    """Every calibrator x 6 values x 2 shares x 2 patterns of labels: 24 fits each."""
    for calibrator, *rest in itertools.product(all_calibrators(), VALUES, SHARES, LABELS):
        yield Case(calibrator, *rest)


def attack(case: Case) -> str | None:
    """What went wrong in one fit, in one sentence; None if nothing did."""
    scores, labels, masked = _pairs(case)
    grid = np.linspace(-2, 2, 41)
    real = clone(case.calibrator).fit(scores[~masked], labels[~masked]).probability(grid)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = clone(case.calibrator).fit(scores, labels).probability(grid)
    except DataError:
        return None  # a refusal is a word
    except Exception as error:
        return f"{case}: {type(error).__name__}: {error}"
    worst = float(np.abs(found - real).max())
    if worst > WRONG and not any(issubclass(each.category, SurenessWarning) for each in said):
        return f"{case}: wrong by {worst:.2f} without a word"
    return None


@dataclass(frozen=True, eq=False)
class UserCase:
    """One fit of a map that looks at users."""

    calibrator: ProbabilityMap
    value: float
    share: float

    def __str__(self) -> str:
        return f"{self.calibrator!r} with {self.share:.0%} at {self.value:g}"

    @property
    def looks_at_best(self) -> bool:
        return isinstance(self.calibrator, ListCalibrator) or self.calibrator.get_params()["top"] is not None


def user_cases() -> Iterator[UserCase]:
    """The map for lists, and every map of users, of all candidates, of all in bins and of the best, x 6 values x 2."""
    kinds = (PerUserPlatt, PerUserGaussian, PerUserGamma)
    candidates: tuple[dict[str, int | None], ...] = ({"top": 30}, {"top": None}, {"top": None, "n_bins": 8})
    of_users = [kind(**chosen) for kind, chosen in itertools.product(kinds, candidates)]  # type: ignore[arg-type]
    for chosen, value, share in itertools.product((ListCalibrator(best=30), *of_users), VALUES, SHARES):
        yield UserCase(chosen, value, share)


def attack_users(case: UserCase) -> str | None:
    """What went wrong in one fit to a recommender; None if nothing did. Items without a score are the reference."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(N_USERS, N_ITEMS)).astype(np.float32)
    masked = rng.random(scores.shape) < case.share
    held_out = Interactions.from_matrix((rng.random(scores.shape) < 1 / (1 + np.exp(1.5 - scores))) & ~masked)
    with_masks = MatrixSource(np.where(masked, np.float32(case.value), scores))
    real = _answers(case, CandidateSource.of(*np.nonzero(~masked), scores[~masked]), held_out)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = _answers(case, with_masks, held_out)
    except Exception as error:
        return f"{case}: {type(error).__name__}: {error}"
    worst = float(np.abs(found - real).max())
    words = [str(each.message) for each in said if issubclass(each.category, SurenessWarning)]
    if worst > 1e-9:
        return f"{case}: differs by {worst:.2g}"
    expected = f"{np.count_nonzero(masked):,} of {case.value:.6g}"
    unneeded = case.value < 0 and case.looks_at_best  # low scores of others, below the best
    if not (unneeded and not words) and (len(words) != 1 or expected not in words[0]):
        return f"{case}: said {words}"
    return None


def _answers(case: UserCase, source: ScoreSource, held_out: Interactions) -> FloatArray:
    """Probabilities of a grid of scores for every user."""
    fitted = clone(case.calibrator).fit_source(source, held_out, seen="nothing")
    users, asked = np.repeat(np.arange(N_USERS), 15), np.tile(np.linspace(-2, 2, 15), N_USERS)
    name = "groups" if isinstance(fitted, ListCalibrator) else "users"
    return fitted.probability(asked, **{name: users})


def attack_all() -> Outcome:
    """Every fit."""
    every, of_users = list(cases()), list(user_cases())
    failures = [found for case in every if (found := attack(case)) is not None]
    failures += [found for case in of_users if (found := attack_users(case)) is not None]
    n_fits = len(every) + len(of_users)
    return Outcome.of("fits with masked scores", "wrong by more than 0.05 without a word, or broken", n_fits, failures)


def _pairs(case: Case) -> tuple[FloatArray, AnyArray, AnyArray]:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=N_PAIRS)
    labels = rng.random(N_PAIRS) < 1 / (1 + np.exp(1.5 - scores))
    masked = rng.random(N_PAIRS) < case.share
    if case.labels == "negative":
        labels = labels & ~masked
    return np.where(masked, case.value, scores), labels, masked
