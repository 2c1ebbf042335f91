"""Level and stretch of every combination of several fields, learned from the pairs that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, prod
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.effect_terms import Term, make_terms
from sureness.calibration.fields import Field
from sureness.errors import DataError
from sureness.numerics.crossed_effects import SWEEPS, EffectCells, fit_effects
from sureness.saving.packed import real, reals

_EXACT_PAIRS = 20_000  # up to this many pairs each is fitted by itself
_SCORE_BINS = 64  # of more: groups of scores in each combination of values
_MOST_COMBINATIONS = 2**56  # so that combinations, and groups of scores in each, have whole numbers


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
class FieldEffects:
    """Log-odds ``level + stretch * (global log-odds - centre)``, with sums of effects for level and log(stretch)."""

    coding: Coding
    terms: tuple[Term, ...]  # those that make a difference
    common: FloatArray  # (2,) level and log(stretch) where no field adds anything
    centre: float

    @classmethod
    def learned(
        cls, pairs: CodedPairs, overall: FloatArray, *, interactions: int, sweeps: int = SWEEPS
    ) -> FieldEffects:
        """From pairs and their global log-odds."""
        centre = float(np.average(overall, weights=pairs.weight))
        made = list(make_terms(pairs.coding.fields, pairs.codes, interactions))
        found = fit_effects(pairs.cells(overall - centre), [groups for _, groups in made], sweeps=sweeps)
        terms = [
            term.with_effects(effects, width)
            for (term, _), effects, width in zip(made, found.of_terms, found.widths, strict=True)
            if effects.any()
        ]
        return cls(pairs.coding, tuple(terms), found.common, centre)

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

    def log_odds_of_one(self, overall: float, codes: Sequence[int]) -> float:
        """The same for one combination, without arrays."""
        coarse = [self._coarse[place][code] for place, code in enumerate(codes)]
        level, log_stretch = self._common
        for fine, steps, effects in self._lookups:
            of_size = codes if fine else coarse
            key = 0
            for place, step in steps:
                key += of_size[place] * step
            if key in effects:
                found = effects[key]
                level += found[0]
                log_stretch += found[1]
        return level + exp(log_stretch) * (overall - self.centre)

    @cached_property
    def _lookups(self) -> list[tuple[bool, list[tuple[int, int]], dict[int, list[float]]]]:
        return [(term.fine, term.steps, term.by_key) for term in self.terms]

    @cached_property
    def _coarse(self) -> list[list[int]]:
        return [field.coarse.tolist() for field in self.coding.fields]

    @cached_property
    def _common(self) -> tuple[float, float]:
        return float(self.common[0]), float(self.common[1])

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
