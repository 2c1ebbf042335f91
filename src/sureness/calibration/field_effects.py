"""What the values of fields, alone and together, add to level and slope: learned from the pairs that they share.

A pair belongs to one group of every term: to its market, to its device, to its market and device together. Its
log-odds are ``level + stretch * score``, where level and log(stretch) are sums over its groups. The effects of a term
have a Gaussian prior around 0 whose width is estimated, so a term that makes no difference vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.fields import Field
from sureness.errors import DataError
from sureness.numerics.logistic import sigmoid
from sureness.saving.packed import real, reals

_EXACT_PAIRS = 20_000  # up to this many pairs each is fitted by itself
_SCORE_BINS = 64  # of more: groups of scores in each combination of values
_MOST_COMBINATIONS = 2**56  # so that combinations, and groups of scores in each, have whole numbers
_DENSE = 2**20  # groups that are found in a table rather than by search

_SWEEPS = 12  # steps of each term; more change little

_STILL = 0.01  # log-odds: a sweep whose largest step is below this was the last
_SETTLED = 0.05  # the same for the relative change of the widths
_START = (0.25, 0.05)  # widths before the first sweep, of levels and of log(stretch)
_WIDEST = (5.0, 1.0)
_NARROWEST = 1e-4
_SILENT = 0.01  # a term that is narrower than this, in both, adds nothing
_HEARD = 2  # sweeps in which every term is asked
_SCORING = 3  # steps towards the most likely width
_LONGEST = (2.0, 0.7)  # steps of one sweep
_WEAK = 1e-6  # precision that keeps the common level and slope finite


@dataclass(frozen=True, eq=False)
class Coding:
    """Combinations of the values of all fields as whole numbers, and back."""

    fields: tuple[Field, ...]

    @cached_property
    def strides(self) -> list[int]:
        """What one step of each field's code adds to the number of a combination."""
        sizes = [field.n_codes for field in self.fields]
        if prod(sizes) > _MOST_COMBINATIONS:
            largest = max(self.fields, key=lambda field: field.n_codes)
            raise DataError(
                f"the values of the {counted(len(sizes), 'field')} have {prod(sizes):.1e} combinations, more than can "
                f"be numbered; leave out a field, or join values of {largest.name!r}, which has {largest.n_codes - 1:,}"
            )
        return [prod(sizes[:place]) for place in range(len(sizes))]

    def numbers(self, codes: Sequence[IntArray]) -> IntArray:
        """The number of each combination; 0 where no value is known."""
        found = np.zeros(len(codes[0]), dtype=np.int64)
        for code, stride in zip(codes, self.strides, strict=True):
            found += code * stride
        return found

    def codes(self, numbers: IntArray) -> list[IntArray]:
        """The code of each field in combinations."""
        sizes = [field.n_codes for field in self.fields]
        return [numbers // stride % size for stride, size in zip(self.strides, sizes, strict=True)]


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """Pairs in cells: those with the same fields and nearly the same score are fitted as one. Build it with `of`."""

    coding: Coding
    codes: list[IntArray]  # (n_cells,) of each field
    cell: IntArray  # (n_pairs,)
    targets: FloatArray  # (n_pairs,)
    weight: FloatArray  # (n_pairs,)

    @classmethod
    def of(
        cls, coding: Coding, codes: Sequence[IntArray], scores: FloatArray, targets: FloatArray, weight: FloatArray
    ) -> CodedPairs:
        """Put pairs into cells."""
        cell, first = _cells(coding.numbers(codes), scores, weight)
        return cls(coding, [code[first] for code in codes], cell, targets, weight)

    def cells(self, values: FloatArray) -> EffectCells:
        """The pairs by cells, with scores or what became of them; shape (n_pairs,)."""
        return EffectCells.of(self.cell, len(self.codes[0]), values, self.targets, self.weight)


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


@dataclass(eq=False)
class Term:
    """What groups add to level and log(stretch): the values of one field, or combinations of those of several."""

    places: tuple[int, ...]  # the fields
    sizes: tuple[int, ...]  # codes of each
    fine: bool  # whether numeric fields have their finest groups
    keys: IntArray  # (n,) ascending: the numbers of the groups
    effects: FloatArray  # (n, 2)
    width: FloatArray  # (2,) standard deviations of the effects; 0: they vanished

    @cached_property
    def steps(self) -> list[tuple[int, int]]:
        """Each field, and what one step of its code adds to the number of a group."""
        return [(place, prod(self.sizes[:before])) for before, place in enumerate(self.places)]

    def numbered(self, fine: Sequence[IntArray], coarse: Sequence[IntArray]) -> IntArray:
        """The number of the group that codes belong to."""
        codes = fine if self.fine else coarse
        return np.asarray(sum(codes[place] * step for place, step in self.steps))

    def found(self, keys: IntArray) -> FloatArray:
        """Level and log(stretch) of groups, 0 for groups that were never seen; shape (n, 2)."""
        if prod(self.sizes) <= _DENSE:
            return np.asarray(self._table[keys])
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where((self.keys[places] == keys)[:, None], self.effects[places], 0.0)

    @cached_property
    def _table(self) -> FloatArray:
        table = np.zeros((prod(self.sizes), 2))
        table[self.keys] = self.effects
        return table

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "fields": list(self.places), "fine": self.fine, "groups": self.keys.tolist(),
            "levels": self.effects[:, 0].tolist(), "log_stretches": self.effects[:, 1].tolist(),
            "widths": self.width.tolist(),
        }  # fmt: skip

    @classmethod
    def of(cls, plain: Mapping[str, Any], fields: Sequence[Field]) -> Term:
        """Out of `plain`."""
        places, fine = tuple(plain["fields"]), bool(plain["fine"])
        keys = reals(plain["groups"], rising=True).astype(np.int64)
        effects = np.stack([reals(plain[name], n=len(keys)) for name in ("levels", "log_stretches")], axis=1)
        return cls(places, _sizes(fields, places, fine), fine, keys, effects, reals(plain["widths"]))


def _made_terms(
    fields: Sequence[Field], fine: Sequence[IntArray], interactions: int
) -> Iterator[tuple[Term, IntArray]]:
    """Every field, and up to so many of them together, without effects; each with the group of every cell.

    Fields that have nearly as many combinations as there are cells cannot be learned together and are left out.
    """
    coarse = [field.coarse[code] for field, code in zip(fields, fine, strict=True)]
    for places, is_fine in _kinds(fields, interactions):
        term = Term(
            places, _sizes(fields, places, is_fine), is_fine, np.empty(0, np.int64), np.empty((0, 2)), np.array(_START)
        )
        term.keys, groups = _groups(term.numbered(fine, coarse), prod(term.sizes))
        term.effects = np.zeros((len(term.keys), 2))
        if len(places) == 1 or 2 * len(term.keys) <= len(groups):
            yield term, groups


def _kinds(fields: Sequence[Field], interactions: int) -> Iterator[tuple[tuple[int, ...], bool]]:
    for number in range(1, min(interactions, len(fields)) + 1):
        for places in combinations(range(len(fields)), number):
            yield places, False
            if number == 1 and fields[places[0]].has_two_sizes:
                yield places, True


def _sizes(fields: Sequence[Field], places: Sequence[int], fine: bool) -> tuple[int, ...]:
    return tuple(fields[place].n_codes if fine else int(fields[place].coarse[-1]) + 1 for place in places)


def _groups(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """The different keys, and the place of each cell's key among them."""
    if n_keys > 4 * len(keys):
        found, places = np.unique(keys, return_inverse=True)
        return found, places.astype(np.int32)
    present = np.bincount(keys, minlength=n_keys) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys].astype(np.int32)


@dataclass(frozen=True, eq=False)
class FieldEffects:
    """Log-odds ``level + stretch * (global log-odds - centre)``, with sums of effects for level and log(stretch)."""

    coding: Coding
    terms: tuple[Term, ...]  # those that make a difference
    common: FloatArray  # (2,) level and log(stretch) where no field adds anything
    centre: float

    @classmethod
    def learned(
        cls, pairs: CodedPairs, overall: FloatArray, *, interactions: int, sweeps: int = _SWEEPS
    ) -> FieldEffects:
        """From pairs and their global log-odds."""
        centre = float(np.average(overall, weights=pairs.weight))
        terms = list(_made_terms(pairs.coding.fields, pairs.codes, interactions))
        common = _fit(pairs.cells(overall - centre), terms, sweeps)
        return cls(pairs.coding, tuple(term for term, _ in terms if term.effects.any()), common, centre)

    def log_odds(self, overall: FloatArray, numbers: IntArray) -> FloatArray:
        """Log-odds of combinations, given those of the global map; infinite where these are."""
        level, stretch = self.level_and_stretch(self.coding.codes(numbers))
        return np.asarray(level + stretch * overall)

    def level_and_stretch(self, codes: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Of each combination, for global log-odds as they are, not around their centre; shape (n,) each."""
        coarse = [field.coarse[code] for field, code in zip(self.coding.fields, codes, strict=True)]
        effects = np.repeat(self.common[None], len(codes[0]), axis=0)
        for term in self.terms:
            effects += term.found(term.numbered(codes, coarse))
        stretch = np.exp(effects[:, 1])
        return effects[:, 0] - stretch * self.centre, stretch

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "fields": [field.plain() for field in self.coding.fields], "terms": [term.plain() for term in self.terms],
            "common": self.common.tolist(), "centre": self.centre,
        }  # fmt: skip

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> FieldEffects:
        """Out of `plain`."""
        fields = tuple(Field.of(each) for each in plain["fields"])
        terms = tuple(Term.of(each, fields) for each in plain["terms"])
        return cls(Coding(fields), terms, reals(plain["common"], n=2), real(plain["centre"]))


def _cells(numbers: IntArray, scores: FloatArray, weight: FloatArray) -> tuple[IntArray, IntArray]:
    """The cell of each pair, and one pair of each cell: pairs with the same fields and nearly the same score."""
    if len(numbers) <= _EXACT_PAIRS:
        return np.arange(len(numbers)), np.arange(len(numbers))
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.arange(1, _SCORE_BINS) / _SCORE_BINS * reached[-1])
    keys = numbers * _SCORE_BINS + np.searchsorted(scores[order][places], scores)
    _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    return cell, first


# --- the fit --------------------------------------------------------------------------------------------------------


def _fit(cells: EffectCells, terms: Sequence[tuple[Term, IntArray]], sweeps: int) -> FloatArray:
    """Fill in the effects and the width of every term, given the group of each cell; returns what all cells share.

    One Newton step per term in turn: given the others, groups of a term share no points, so each solves two equations
    of its own. Before each step the width of the term is estimated: how much further than by chance the slopes of the
    risk lie from 0. A step of all points together ends the fit, so that the mean probability is the mean target.
    """
    n_cells = len(cells.weight)
    common = Term((), (), False, np.zeros(1, np.int64), np.zeros((1, 2)), np.full(2, np.inf))
    everyone = common, np.zeros(n_cells, dtype=np.int32)
    level, stretch = np.zeros(n_cells), np.ones(n_cells)
    for sweep in range(sweeps):
        heard = [everyone, *(each for each in terms if sweep < _HEARD or not _is_silent(each[0]))]
        steps = [_improve(term, groups, cells, level, stretch) for term, groups in heard]
        if all(size < _STILL and settled for size, settled in steps):
            break
    _improve(*everyone, cells, level, stretch)
    for term, _ in terms:
        vanished = (term.width <= _NARROWEST) | _is_silent(term)
        term.effects[:, vanished], term.width[vanished] = 0.0, 0.0
    return np.asarray(common.effects[0])


def _is_silent(term: Term) -> bool:
    return bool(np.all(term.width < _SILENT))


def _improve(
    term: Term, groups: IntArray, cells: EffectCells, level: FloatArray, stretch: FloatArray
) -> tuple[float, bool]:
    """One Newton step of a term, with level and stretch of all cells; its size, and whether the width stayed."""
    slope, curvature = _derivatives(groups, len(term.keys), cells, level, stretch)
    first, mixed, second = curvature.T
    settled = np.isinf(term.width[0]) or _estimate_width(term, slope, np.stack([first, second], axis=1))
    precision = np.where(np.isinf(term.width), _WEAK, term.width**-2.0)
    slope = slope + precision * term.effects
    first, second = first + precision[0], second + precision[1]
    step = np.stack([mixed * slope[:, 1] - second * slope[:, 0], mixed * slope[:, 0] - first * slope[:, 1]], axis=1)
    step = np.clip(step / (first * second - mixed**2)[:, None], -np.array(_LONGEST), _LONGEST)
    term.effects += step
    level += step[groups, 0]
    stretch *= np.exp(step[:, 1])[groups]
    return float(np.abs(step).max()), bool(settled)


def _estimate_width(term: Term, slope: FloatArray, curvature: FloatArray) -> bool:
    """Set the width under which the slopes of the risk are most likely, by Fisher scoring; whether it hardly changed.

    Without a prior an effect would be ``pull / curvature``, which scatters by 1 / curvature around the true one.
    """
    pull = curvature * term.effects - slope
    square = term.width**2.0
    for _ in range(_SCORING):
        trust = 1.0 / (1.0 + square * curvature) ** 2
        excess, known = ((pull**2 - curvature) * trust).sum(axis=0), (curvature**2 * trust).sum(axis=0)
        square = np.clip(excess / np.maximum(known, 1e-300), _NARROWEST**2, np.square(_WIDEST))
    before, term.width = term.width, np.sqrt(square)
    audible = np.maximum(term.width, before) > _SILENT
    return bool(np.all(np.abs(term.width - before)[audible] < _SETTLED * term.width[audible]))


def _derivatives(
    groups: IntArray, n_groups: int, cells: EffectCells, level: FloatArray, stretch: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slope (n_groups, 2) and curvature (n_groups, 3) of the risk in the effects of a term."""
    rise = stretch * cells.score
    p = sigmoid(level + rise)
    first = cells.weight * p
    second = first * (1.0 - p)
    columns = (
        first - cells.target, first * rise - stretch * cells.target_score, second, second * rise, second * rise * rise
    )  # fmt: skip
    sums = np.stack([np.bincount(groups, each, n_groups).astype(np.float64) for each in columns], axis=1)
    return sums[:, :2], sums[:, 2:]
