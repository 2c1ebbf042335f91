"""A map that is asked about the batches of a table, and what it looks at besides the scores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.calibration.maps import ProbabilityMap, Who, unknown_sentence
from sureness.calibration.multi_segment import MultiSegmentCalibrator, unknown_values_sentence
from sureness.calibration.reach import Reach
from sureness.data.frames import Place
from sureness.data.id_values import segment_series
from sureness.data.ids import IdMap
from sureness.data.table_files import is_text
from sureness.errors import warn
from sureness.numerics.checks import check_scores
from sureness.workflows.inputs import is_saved


@dataclass(frozen=True, eq=False)
class Asked:
    """A map, and what it looks at besides the scores."""

    fitted: ProbabilityMap
    users: bool
    segments: IdMap | None = None  # those that the map knows
    of_text: IdMap | None = None  # the ids that the users of a text file are read as
    reach: Reach | None = None  # the scores that it was fitted on
    overlapping: MultiSegmentCalibrator | None = None  # the map of several fields
    unknown: dict[str | None, list[pl.DataFrame]] = field(default_factory=dict)  # by field: what it does not know

    @classmethod
    def of(cls, fitted: ProbabilityMap, data: Place) -> Asked:
        """See whose maps it has, also those of a chain."""
        links: tuple[ProbabilityMap, ...] = getattr(fitted, "links_", (fitted,))
        whose = {link.answers_for for link in links}
        users = next((getattr(link, "users_", None) for link in links if link.answers_for == "user"), None)
        segments = next((getattr(link, "segments_", None) for link in links if link.answers_for == "segment"), None)
        of_text = users if not is_saved(data) and is_text(data) else None
        overlapping = next((link for link in links if isinstance(link, MultiSegmentCalibrator)), None)
        return cls(fitted, "user" in whose, segments, of_text, fitted.reach(), overlapping)

    @property
    def fields(self) -> list[str]:
        """The columns that a map of overlapping segments reads."""
        return [] if self.overlapping is None else list(self.overlapping.fields_)

    def probability(self, scores: AnyArray, *others: AnyArray | pl.Series) -> FloatArray:
        """Probabilities of scores; behind them users, segments or fields, where the map looks at them."""
        return self.of_rows(check_scores(scores).astype(np.float64), self.who(len(scores), *others))

    def of_rows(self, scores: FloatArray, who: Who) -> FloatArray:
        """Probabilities of checked scores; counts those far outside the fitted ones."""
        if self.reach is not None:
            self.reach.look(scores)
        return self.fitted.probability_of(scores, who)

    def who(self, n_scores: int, *others: AnyArray | pl.Series) -> Who:
        """For whom is asked; counts the segments that the map does not know."""
        left = iter(others)
        users: ArrayLike | pl.Series | None = next(left) if self.users else None
        if users is not None and self.of_text is not None:
            users = self.of_text.read_from_text(users)
        if self.overlapping is not None:
            table = pl.DataFrame([pl.Series(name, column) for name, column in zip(self.fields, left, strict=True)])
            return Who(n_scores, self._rows_of(users, n_scores), self._known_fields(self.overlapping, table))
        segments = None if self.segments is None else self._known_segments(segment_series(next(left)))
        return self.fitted.who(n_scores, users, segments)

    def _rows_of(self, users: ArrayLike | pl.Series | None, n_scores: int) -> IntArray | None:
        """Users as rows of the map per user of a chain, if it has one."""
        links: tuple[ProbabilityMap, ...] = getattr(self.fitted, "links_", ())
        own = next((link for link in links if link.answers_for == "user"), None)
        return None if own is None else own.who(n_scores, users).users

    def _known_fields(self, overlapping: MultiSegmentCalibrator, table: pl.DataFrame) -> IntArray:
        """The numbers of combinations of values."""
        numbers = overlapping.numbers_of_file(table)
        for name, values in overlapping.unknown_values(table, numbers).items():
            self._count(name, values)
        return numbers

    def _count(self, field: str | None, unknown: pl.Series) -> None:
        self.unknown.setdefault(field, []).append(unknown.alias("segment").value_counts())

    def _known_segments(self, given: pl.Series) -> pl.Series:
        """Segments of a table as those of the map: a column has one kind, so "7" and 7 are one."""
        assert self.segments is not None
        rows = self.segments.rows(given, of_text=True)
        if len(rows) and rows.min() < 0:
            self._count(None, given.filter(pl.Series(rows < 0)))
        return self.segments.ids.gather(pl.Series(rows).replace(-1, None))

    def say_unknown(self, n_pairs: int) -> None:
        """Once for all batches."""
        for name, parts in self.unknown.items():
            counts = pl.concat(parts).group_by("segment").sum().sort("count", "segment", descending=[True, False])
            values, n_unknown = counts["segment"].to_list(), int(counts["count"].sum())
            if name is None:
                warn(unknown_sentence(values, n_unknown, n_pairs))
            else:
                warn(unknown_values_sentence(name, values, n_unknown, n_pairs))
