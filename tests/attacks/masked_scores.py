"""Fits on scores of which some are masked: every calibrator x value x share masked x pattern of labels.

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
from sureness.errors import DataError, SurenessWarning
from tests.attacks.outcome import Outcome

VALUES = (-1e9, 1e30, -1e30, 1e9, -999.0, -1e38)
SHARES = (0.02, 0.5)
LABELS = ("negative", "as others")  # of the masked pairs
N_PAIRS = 3_000
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


def attack_all() -> Outcome:
    """Every fit."""
    every = list(cases())
    failures = [found for case in every if (found := attack(case)) is not None]
    return Outcome.of(
        "fits with masked scores", "wrong by more than 0.05 without a word, or broken", len(every), failures
    )


def _pairs(case: Case) -> tuple[FloatArray, AnyArray, AnyArray]:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=N_PAIRS)
    labels = rng.random(N_PAIRS) < 1 / (1 + np.exp(1.5 - scores))
    masked = rng.random(N_PAIRS) < case.share
    if case.labels == "negative":
        labels = labels & ~masked
    return np.where(masked, case.value, scores), labels, masked
