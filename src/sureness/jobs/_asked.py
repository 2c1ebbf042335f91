"""A map that is asked about the batches of a table, and the columns that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.calibration.fields import UNNAMED
from sureness.calibration.list_terms import HISTORY
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap, Who
from sureness.calibration.segments import SegmentCalibrator, unknown_values_sentence
from sureness.calibration.usable import Reach
from sureness.data.ids import IdMap
from sureness.errors import DataError, warn
from sureness.jobs.inputs import is_saved
from sureness.numerics.checks import check_scores
from sureness.tables.columns import Columns
from sureness.tables.files import is_text
from sureness.tables.frames import Place


@dataclass(frozen=True, eq=False)
class Asked:
    """A map, and what it reads besides the scores."""

    fitted: ProbabilityMap
    of_text: IdMap | None = None  # the ids that the users of a text file are read as
    reach: Reach | None = None  # the scores that it was fitted on
    unknown: dict[str, list[pl.DataFrame]] = field(default_factory=dict)  # by field: what it does not know

    @classmethod
    def of(cls, fitted: ProbabilityMap, data: Place) -> Asked:
        """A map for a table or a run."""
        fitted.check_fitted()
        users: IdMap | None = getattr(fitted, "users_", None)
        of_text = users if not is_saved(data) and is_text(data) else None
        return cls(fitted, of_text, fitted.reach())

    @property
    def lists(self) -> ListCalibrator | None:
        """The map, if it looks at all candidates of a group; None: it looks at single pairs."""
        return self.fitted if isinstance(self.fitted, ListCalibrator) else None

    @property
    def overlapping(self) -> SegmentCalibrator | None:
        """The map, if it is one of segments."""
        return self.fitted if isinstance(self.fitted, SegmentCalibrator) else None

    @property
    def users(self) -> bool:
        """Whether it reads the users, or whatever else the groups are."""
        return self.overlapping is None and "user_id" in self.fitted.reads()[1:]

    @property
    def fields(self) -> list[str]:
        """The columns that it reads by their own names: fields of segments, history and traits."""
        if self.lists is not None:
            return list(self.fitted.reads()[2:])
        return [] if self.overlapping is None or self.segment else list(self.overlapping.fields_)

    @property
    def segment(self) -> bool:
        """Whether it reads one column of segments, which has no name of its own."""
        return self.overlapping is not None and self.overlapping.fields_ == (UNNAMED,)

    @property
    def numbers(self) -> list[str]:
        """Those of the fields of a map for lists that hold numbers."""
        return [] if self.lists is None else [n for n in self.fields if n == HISTORY or n in self.lists.numeric_]

    def inputs(self, columns: Columns) -> list[str]:
        """The columns of a table to read, score first, by their names in it."""
        segment = [str(columns.segment)] if self.segment else []
        return [columns.score, *([columns.user_id] if self.users else []), *segment, *self.fields]

    def probability(self, scores: AnyArray, *others: AnyArray | pl.Series) -> FloatArray:
        """Probabilities of scores, with what else was read, in the order of `inputs`."""
        checked = check_scores(scores).astype(np.float64)
        return self.of_rows(checked, self.who(checked, *others))

    def of_rows(self, scores: FloatArray, who: Who) -> FloatArray:
        """Probabilities of checked scores; counts those far outside the fitted ones."""
        if self.reach is not None:
            self.reach.look(scores)
        return self.fitted.probability_of(scores, who)

    def who(self, scores: FloatArray, *others: AnyArray | pl.Series) -> Who:
        """For whom is asked; counts the segments that the map does not know."""
        left = iter(others)
        users: ArrayLike | pl.Series | None = next(left) if self.users else None
        if self.lists is not None:
            assert users is not None
            known = {
                name: self._trait(name, pl.Series(name, column)) for name, column in zip(self.fields, left, strict=True)
            }
            return self.lists.grouped(scores, users, known.get(HISTORY), known)
        if users is not None and self.of_text is not None:
            users = self.of_text.read_from_text(users)
        if self.overlapping is not None:
            names = self.overlapping.fields_
            table = pl.DataFrame([pl.Series(name, column) for name, column in zip(names, left, strict=True)])
            return Who(len(scores), segments=self._known_fields(self.overlapping, table))
        return self.fitted.who(len(scores), users)

    def _trait(self, name: str, column: pl.Series) -> pl.Series:
        """A column of history or of a trait: numbers, NaN where one is missing, or text."""
        if name not in self.numbers:
            return column.cast(pl.String)
        try:
            return column.cast(pl.Float64).fill_null(np.nan)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"column {name} must be numbers, got values of type {column.dtype}") from error

    def _known_fields(self, overlapping: SegmentCalibrator, table: pl.DataFrame) -> IntArray:
        """The numbers of combinations of values."""
        numbers = overlapping.numbers_of_file(table)
        for name, values in overlapping.unknown_values(table, numbers).items():
            self._count(name, values)
        return numbers

    def _count(self, field: str, unknown: pl.Series) -> None:
        self.unknown.setdefault(field, []).append(unknown.alias("segment").value_counts())

    def say_unknown(self, n_pairs: int) -> None:
        """Once for all batches."""
        for name, parts in self.unknown.items():
            counts = pl.concat(parts).group_by("segment").sum().sort("count", "segment", descending=[True, False])
            values, n_unknown = counts["segment"].to_list(), int(counts["count"].sum())
            warn(unknown_values_sentence(name, values, n_unknown, n_pairs))
