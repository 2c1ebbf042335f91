"""Level and stretch of every combination of several fields, learned from the pairs that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, prod
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.calibration.effect_terms import Term, make_terms
from sureness.calibration.fields import Field
from sureness.errors import DataError
from sureness.numerics.crossed_effects import Cells, fit_effects

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
                f"the values of the {len(sizes)} fields have {prod(sizes):.1e} combinations, more than can be "
                f"numbered; leave out a field, or join values of {largest.name!r}, which has {largest.n_codes - 1:,}"
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
class FieldEffects:
    """Log-odds ``level + stretch * (global log-odds - centre)``, with sums of effects for level and log(stretch)."""

    coding: Coding
    terms: tuple[Term, ...]  # those that make a difference
    common: FloatArray  # (2,) level and log(stretch) where no field adds anything
    centre: float

    @classmethod
    def learned(
        cls,
        coding: Coding,
        codes: Sequence[IntArray],
        log_odds: FloatArray,
        targets: FloatArray,
        weight: FloatArray,
        *,
        interactions: int,
    ) -> FieldEffects:
        """From the codes, global log-odds, targets and weights of pairs."""
        centre = float(np.average(log_odds, weights=weight))
        score = log_odds - centre
        cell, first = _cells(coding.numbers(codes), score, weight)
        cells = Cells.of(cell, len(first), score, targets, weight)
        made = list(make_terms(coding.fields, [code[first] for code in codes], interactions))
        found = fit_effects(cells, [groups for _, groups in made])
        terms = [
            term.with_effects(effects, width)
            for (term, _), effects, width in zip(made, found.of_terms, found.widths, strict=True)
            if effects.any()
        ]
        return cls(coding, tuple(terms), found.common, centre)

    def log_odds(self, overall: FloatArray, numbers: IntArray) -> FloatArray:
        """Log-odds of combinations, given those of the global map; infinite where these are."""
        codes = self.coding.codes(numbers)
        coarse = [field.coarse[code] for field, code in zip(self.coding.fields, codes, strict=True)]
        effects = np.repeat(self.common[None], len(numbers), axis=0)
        for term in self.terms:
            effects += term.found(term.numbered(codes, coarse))
        return np.asarray(effects[:, 0] + np.exp(effects[:, 1]) * (overall - self.centre))

    def log_odds_of_one(self, overall: float, codes: Sequence[int]) -> float:
        """The same for one combination, without arrays."""
        coarse = [self._coarse[place][code] for place, code in enumerate(codes)]
        level, log_stretch = self._common
        for term in self.terms:
            found = term.by_key.get(term.numbered(codes, coarse))
            if found is not None:
                level += found[0]
                log_stretch += found[1]
        return level + exp(log_stretch) * (overall - self.centre)

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
        return cls(Coding(fields), terms, np.array(plain["common"], dtype=np.float64), float(plain["centre"]))


def _cells(numbers: IntArray, score: FloatArray, weight: FloatArray) -> tuple[IntArray, IntArray]:
    """The cell of each pair, and one pair of each cell: pairs with the same fields and nearly the same score."""
    if len(numbers) <= _EXACT_PAIRS:
        return np.arange(len(numbers)), np.arange(len(numbers))
    order = np.argsort(score, kind="stable")
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.arange(1, _SCORE_BINS) / _SCORE_BINS * reached[-1])
    keys = numbers * _SCORE_BINS + np.searchsorted(score[order][places], score)
    _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    return cell, first
