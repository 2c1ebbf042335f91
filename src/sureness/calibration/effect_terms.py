"""What the values of a field, or of several fields together, add to the log-odds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.calibration.fields import Field
from sureness.saving.packed import reals

_DENSE = 2**20  # groups that are found in a table rather than by search


@dataclass(frozen=True, eq=False)
class Term:
    """What groups add to level and log(stretch): the values of one field, or combinations of those of several."""

    places: tuple[int, ...]  # the fields
    sizes: tuple[int, ...]  # codes of each
    fine: bool  # whether numeric fields have their finest groups
    keys: IntArray  # (n,) ascending: the numbers of the groups
    effects: FloatArray  # (n, 2)
    width: FloatArray  # (2,) standard deviations

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

    @cached_property
    def by_key(self) -> dict[int, list[float]]:
        """Level and log(stretch) of each group, for single questions."""
        return dict(zip(self.keys.tolist(), self.effects.tolist(), strict=True))

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

    def with_effects(self, effects: FloatArray, width: FloatArray) -> Term:
        """The same groups with what was learned of them."""
        return replace(self, effects=effects, width=width)


def make_terms(fields: Sequence[Field], fine: Sequence[IntArray], interactions: int) -> Iterator[tuple[Term, IntArray]]:
    """Every field, and up to so many of them together, without effects; each with the group of every cell.

    Fields that have nearly as many combinations as there are cells cannot be learned together and are left out.
    """
    coarse = [field.coarse[code] for field, code in zip(fields, fine, strict=True)]
    for places, is_fine in _kinds(fields, interactions):
        term = Term(
            places, _sizes(fields, places, is_fine), is_fine, np.empty(0, np.int64), np.empty((0, 2)), np.zeros(2)
        )
        keys, groups = _groups(term.numbered(fine, coarse), prod(term.sizes))
        if len(places) == 1 or 2 * len(keys) <= len(groups):
            yield replace(term, keys=keys), groups


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
