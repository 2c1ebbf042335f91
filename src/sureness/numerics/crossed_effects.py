"""Levels and slopes of many overlapping groups at once, each shrunk as far as its groups do not differ.

A point belongs to one group of every term: to its market, to its device, to its market and device together. Its
log-odds are ``level + stretch * score``, where level and log(stretch) are sums over its groups. The effects of a term
have a Gaussian prior around 0 whose width is estimated, so a term that makes no difference vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.numerics.logistic import sigmoid

SWEEPS = 12
"""Steps of each term; more change little."""

_STILL = 0.01  # log-odds: a sweep whose largest step is below this was the last
_SETTLED = 0.05  # the same for the relative change of the widths
_START = (0.25, 0.05)  # widths before the first sweep, of levels and of log(stretch)
_WIDEST = (5.0, 1.0)
_NARROWEST = 1e-4
_SILENT = 0.01  # a term that is narrower than this, in both, says nothing
_HEARD = 2  # sweeps in which every term is asked
_SCORING = 3  # steps towards the most likely width
_LONGEST = (2.0, 0.7)  # steps of one sweep
_WEAK = 1e-6  # precision that keeps the common level and slope finite


@dataclass(frozen=True, eq=False)
class EffectCells:
    """Weighted scores, and the targets among them."""

    weight: FloatArray  # (n,)
    score: FloatArray  # (n,) mean score
    target: FloatArray  # (n,) sum of weight * target
    target_score: FloatArray  # (n,) sum of weight * target * score

    @classmethod
    def of(cls, cell: IntArray, n_cells: int, score: FloatArray, target: FloatArray, weight: FloatArray) -> EffectCells:
        """The sums over the points of each cell; every cell has a weight."""
        mass = weight * target
        total, summed, positive, positive_summed = (
            np.bincount(cell, values, n_cells).astype(np.float64, copy=False)
            for values in (weight, weight * score, mass, mass * score)
        )
        return cls(total, summed / total, positive, positive_summed)


@dataclass(frozen=True, eq=False)
class Effects:
    """Level and log(stretch) common to all points, and what each group of each term adds."""

    common: FloatArray  # (2,)
    of_terms: tuple[FloatArray, ...]  # (n_groups, 2) each; all 0 where a term says nothing
    widths: tuple[FloatArray, ...]  # (2,) each: standard deviation of the effects of a term; 0: they vanished


def fit_effects(cells: EffectCells, terms: Sequence[IntArray], *, sweeps: int = SWEEPS) -> Effects:
    """Estimate the effects of all groups, and how widely those of a term differ.

    Parameters
    ----------
    cells : EffectCells
    terms : sequence of integer arrays of shape (n,)
        The group of each cell in each term, counted from 0.
    sweeps : int
        At most so many steps of each term.

    Notes
    -----
    One Newton step per term in turn: given the others, groups of a term share no points, so each solves two equations
    of its own. Before each step the width of the term is estimated: how much further than by chance the slopes of the
    risk lie from 0. A step of all points together ends the fit, so that the mean probability is the mean target.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score, market, device = rng.normal(size=20_000), rng.integers(0, 8, 20_000), rng.integers(0, 3, 20_000)
    >>> label = rng.random(20_000) < 1 / (1 + np.exp(-(market - 3.5) / 3 - score))
    >>> cells = EffectCells.of(np.arange(20_000), 20_000, score, label, np.ones(20_000))
    >>> found = fit_effects(cells, [market, device])
    >>> bool(found.widths[0][0] > 0.4), found.of_terms[1].any()  # markets differ, devices do not
    (True, np.False_)
    """
    everyone = np.zeros(len(cells.weight), dtype=np.int32)
    common = _Term(everyone, 1, np.full(2, np.inf))
    single = [_Term(np.asarray(codes, dtype=np.int32), int(codes.max()) + 1, np.array(_START)) for codes in terms]
    state = _State(cells, np.zeros(len(everyone)), np.ones(len(everyone)))
    for sweep in range(sweeps):
        speaking = [common, *(term for term in single if sweep < _HEARD or not term.is_silent)]
        steps = [state.improve(term) for term in speaking]
        if max(steps) < _STILL and all(term.settled for term in speaking):
            break
    state.improve(common)
    for term in single:
        vanished = (term.width <= _NARROWEST) | term.is_silent
        term.effects[:, vanished], term.width[vanished] = 0.0, 0.0
    return Effects(common.effects[0], tuple(term.effects for term in single), tuple(term.width for term in single))


@dataclass(eq=False)
class _Term:
    """The groups of a term, their effects so far and how widely these differ."""

    codes: IntArray  # (n,)
    n_groups: int
    width: FloatArray  # (2,)
    effects: FloatArray = field(init=False)  # (n_groups, 2)
    settled: bool = True  # whether the last step left the width as it was

    def __post_init__(self) -> None:
        self.effects = np.zeros((self.n_groups, 2))

    @property
    def is_silent(self) -> bool:
        return bool(np.all(self.width < _SILENT))

    @property
    def precision(self) -> FloatArray:
        return np.where(np.isinf(self.width), _WEAK, self.width**-2.0)

    def estimate_width(self, slope: FloatArray, curvature: FloatArray) -> None:
        """The width under which the slopes of the risk are most likely, by Fisher scoring; both of shape (n_groups, 2).

        Without a prior an effect would be ``pull / curvature``, which scatters by 1 / curvature around the true one.
        """
        if np.isinf(self.width).all():
            return
        pull = curvature * self.effects - slope
        square = self.width**2.0
        for _ in range(_SCORING):
            trust = 1.0 / (1.0 + square * curvature) ** 2
            excess, known = ((pull**2 - curvature) * trust).sum(axis=0), (curvature**2 * trust).sum(axis=0)
            square = np.clip(excess / np.maximum(known, 1e-300), _NARROWEST**2, np.square(_WIDEST))
        found = np.sqrt(square)
        audible = np.maximum(found, self.width) > _SILENT
        self.settled = bool(np.all(np.abs(found - self.width)[audible] < _SETTLED * found[audible]))
        self.width = found


@dataclass(eq=False)
class _State:
    """Level and stretch of every cell."""

    cells: EffectCells
    level: FloatArray  # (n,)
    stretch: FloatArray  # (n,)

    def improve(self, term: _Term) -> float:
        """One Newton step of the effects of a term, and the size of the largest one."""
        slope, curvature = self._derivatives(term)
        first, mixed, second = curvature.T
        term.estimate_width(slope, np.stack([first, second], axis=1))
        slope = slope + term.precision * term.effects
        first, second = first + term.precision[0], second + term.precision[1]
        step = np.stack([mixed * slope[:, 1] - second * slope[:, 0], mixed * slope[:, 0] - first * slope[:, 1]], axis=1)
        step = np.clip(step / (first * second - mixed**2)[:, None], -np.array(_LONGEST), _LONGEST)
        term.effects += step
        self.level += step[term.codes, 0]
        self.stretch *= np.exp(step[:, 1])[term.codes]
        return float(np.abs(step).max())

    def _derivatives(self, term: _Term) -> tuple[FloatArray, FloatArray]:
        """Slope (n_groups, 2) and curvature (n_groups, 3) of the risk in the effects of a term."""
        cells, rise = self.cells, self.stretch * self.cells.score
        p = sigmoid(self.level + rise)
        first = cells.weight * p
        second = first * (1.0 - p)
        columns = (
            first - cells.target, first * rise - self.stretch * cells.target_score, second, second * rise,
            second * rise * rise,
        )  # fmt: skip
        sums = np.empty((term.n_groups, 5))
        for place, each in enumerate(columns):
            sums[:, place] = np.bincount(term.codes, each, term.n_groups)
        return sums[:, :2], sums[:, 2:]
