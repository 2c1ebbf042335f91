"""A source whose scores become probabilities: source, map and what is known of users and items, by rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.calibration.fields import SIDES, Fields, PairNumbers, Side
from sureness.calibration.horizon import Horizon
from sureness.calibration.lists import ListCalibrator, as_input
from sureness.calibration.maps import ProbabilityMap, Segments, Who
from sureness.calibration.segments import SegmentCalibrator, unknown_values_sentence
from sureness.data.interactions import Interactions
from sureness.errors import IdError, SettingError, warn
from sureness.sources.base import ScoreSource, id_maps

PairTraits: TypeAlias = Callable[[IntArray, IntArray], Mapping[str, AnyArray]]
"""Traits by name, (n, n_candidates), of rows of users, (n,), and of their items, (n, n_candidates)."""


@dataclass(frozen=True, eq=False)
class MappedSource:
    """Scores of a source, turned into log-odds by a fitted map. Build it with `of`."""

    source: ScoreSource
    map: ProbabilityMap
    segments: Segments | Fields | None = None
    numbers: PairNumbers | None = None  # of the segments of users and items in the map
    history: IntArray | None = None  # (n_users,) items of each user that the source was trained on
    traits: dict[str, tuple[Side, AnyArray]] = field(
        default_factory=dict
    )  # of a map for lists, by row of users or items
    pairs: PairTraits | None = None  # further ones of users and their candidates

    __repr__ = fields_repr

    @classmethod
    def of(
        cls,
        source: ScoreSource,
        fitted: ProbabilityMap,
        segments: Segments | Fields | None,
        trained: Interactions | None = None,
        known: Mapping[str, FloatArray] | None = None,
        pairs: PairTraits | None = None,
    ) -> MappedSource:
        """Look up segments and traits once, for all users or items; `known` has further numbers of users by name."""
        history = None if trained is None else trained.user_degree
        if segments is not None:
            segments.check(source)
        if isinstance(fitted, ListCalibrator):
            further = known or {}
            nobody = np.empty(0, dtype=np.int64)
            of_pairs = () if pairs is None else pairs(nobody, nobody.reshape(0, 1))
            fitted.check_fields(segments, {*further, *of_pairs})
            traits = _traits(fitted, segments) | user_traits(further)
            return cls(source, fitted, segments, history=history, traits=traits, pairs=pairs)
        numbers = None
        if segments is not None and isinstance(fitted, SegmentCalibrator):
            numbers = fitted.pair_numbers(segments)
        return cls(source, fitted, segments, numbers, history)

    def histories(self, users: IntArray) -> IntArray:
        """How many items of each user the source was trained on; 0 for unknown users (-1)."""
        if self.history is None:
            return np.zeros(len(users), dtype=np.int64)
        return np.where(users < 0, 0, self.history[users])

    def log_odds(
        self,
        scores: FloatArray,
        users: IntArray,
        items: IntArray,
        best: FloatArray,
        history: FloatArray | IntArray,
        traits: Mapping[str, AnyArray] | None = None,
    ) -> FloatArray:
        """Log-odds of scores, (n, n_candidates); -inf where there is no candidate.

        Parameters
        ----------
        scores : array of shape (n, n_candidates)
        users, items : arrays of shape (n,) and (n, n_candidates)
            Rows; -1: unknown.
        best : array of shape (n, n_best)
            Scores of each user's best candidates, those that are listed and those that were taken since the training.
        history : array of shape (n,)
        traits : mapping, optional
            Arrays of shape (n,) or (n, n_candidates), in the place of those that are known now.
        """
        exact = scores.astype(np.float64, copy=False)
        return self.map.log_odds_of(exact, self._who(users, items, best, history, traits))

    def _who(
        self, users: IntArray, items: IntArray, best: FloatArray, history: FloatArray | IntArray,
        given: Mapping[str, AnyArray] | None,
    ) -> Who:  # fmt: skip
        if isinstance(self.map, ListCalibrator):
            known = {
                name: _at(values, users if side == "users" else items, side)
                for name, (side, values) in self.traits.items()
            }
            if given is not None:
                known |= {name: values[:, None] if values.ndim == 1 else values for name, values in given.items()}
            elif self.pairs is not None:
                known |= self.pairs(users, items)
            groups = self.map.groups_of(best.astype(np.float64, copy=False), history, known)
            return Who(len(users), groups=groups)
        if self.numbers is None:
            return Who(len(users), users)
        return Who(len(users), users, self.numbers.of_rows(users, items))


def kept_map(
    given: ProbabilityMap, source: ScoreSource, segments: Segments | Fields | None, before: Interactions | None
) -> ProbabilityMap:
    """A map that is fitted already, if it can make lists of this source."""
    given.check_fitted()
    if segments is None and isinstance(given, SegmentCalibrator):
        raise SettingError("the calibrator has one map per segment; give segments=, that of every item or user")
    if segments is not None:
        _warn_unknown(given, segments)
    users, _ = id_maps(source)
    if not given.fits(users):
        raise IdError(
            f"the calibrator is fitted to other users than the {source.n_users:,} of the source; fit it to "
            "this source, or leave refit as it is"
        )
    candidates = Horizon(population="all" if before is None else "unseen")
    if given.horizon_.other_pairs(candidates):
        raise SettingError(
            f"the kept {type(given).__name__} gives probabilities of {given.horizon_.pairs}, but lists are made of "
            f"{candidates.pairs}; fit it with the same seen, or let the recommender fit it (refit)"
        )
    if given.estimand_ == "interaction" and "user_id" not in given.reads():
        warn(
            f"the kept {type(given).__name__} gives the chance that a pair is {given.horizon_.sentence}, among all "
            "pairs it was fitted on; lists are about the next period and each user's best candidates, where it may "
            "promise far too much or too little. Let the recommender fit it (refit), or look at promise(test)"
        )
    return copy.copy(given)  # so that fitting the given one again does not change this recommender


def _warn_unknown(given: ProbabilityMap, segments: Segments | Fields) -> None:
    """Warn of segments, or values of fields, a fitted map does not know."""
    if not isinstance(given, SegmentCalibrator):
        return
    tables = {segments.of: segments.names} if isinstance(segments, Segments) else segments.tables
    for side, table in tables.items():
        for name, values in given.unknown_of(table).items():
            shown = values.value_counts(sort=True)[:, 0].to_list()
            warn(unknown_values_sentence(name, shown, len(values), len(table), side[:-1]))


def _traits(fitted: ListCalibrator, segments: Segments | Fields | None) -> dict[str, tuple[Side, AnyArray]]:
    """The traits of all users or items, with one row more for those that are unknown."""
    if segments is None:
        return {}
    tables: dict[Side, dict[str, Any]]
    if isinstance(segments, Segments):
        tables = {segments.of: {"segment": pl.Series(segments.names)}}
    else:
        tables = {side: dict(zip(table.columns, table, strict=True)) for side, table in segments.tables.items()}
    found: dict[str, tuple[Side, AnyArray]] = {}
    for side in SIDES:
        for name, column in tables.get(side, {}).items():
            if name in (*fitted.numeric_, *fitted.named_):
                numeric = name in fitted.numeric_
                values = as_input(column, numeric)
                found[name] = (side, np.append(values, np.nan if numeric else ""))
    return found


def user_traits(known: Mapping[str, FloatArray]) -> dict[str, tuple[Side, AnyArray]]:
    """Numbers of users by name as traits, with one more for those that are unknown."""
    return {name: ("users", np.append(values, np.nan)) for name, values in known.items()}


def _at(values: AnyArray, rows: IntArray, side: Side) -> AnyArray:
    """Values of rows, the last one for unknown rows (-1); those of users in a column."""
    taken = values[rows]
    return taken[:, None] if side == "users" else taken
