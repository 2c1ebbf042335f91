"""Maps as expressions of databases and of polars.

A map gives its formula for everybody (`_for_all`), and those for segments that it knows (`_for_some`), each with a
condition. Expressions answer as `probability` does: what is missing or refused there is missing here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, overload

import numpy as np
import polars as pl

from sureness._types import FloatArray
from sureness.errors import SettingError
from sureness.expressions.columns import ColumnNames, path_of
from sureness.expressions.dialects import dialect_named
from sureness.expressions.nodes import Case, Compare, Is, Named, Node, Number, Reference, absolute, choose, clip, log
from sureness.expressions.polars_printer import polars_of
from sureness.expressions.sql_printer import COMPUTED, computed_sql, sql_of
from sureness.numerics.checks import LARGEST

DialectName = Literal["duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql"]
Conditional = tuple[Compare | Is, Node | None]

_TINY = 1e-100  # PostgreSQL refuses a product that is too small for a number, so what is closer to 0 counts as 0
_SAME = 1e-12
_CERTAIN = 1e6  # log-odds in place of infinite ones
_SCORES, _MAPS = "scores", "maps"  # what tables are called inside a query


class Join(NamedTuple):
    """The columns in which rows of scores and of `table` are equal."""

    own: Reference
    learned: Reference
    kind: Literal["text", "numbers"]


class Expressible:
    """A map that can be written as an expression."""

    @overload
    def expression(self, dialect: Literal["polars"], column: str = ..., *, segment: str = ...) -> pl.Expr: ...
    @overload
    def expression(
        self, dialect: DialectName, column: str = ..., *,
        table: str | None = ..., segment: str = ..., maps: str | None = ...,
    ) -> str: ...  # fmt: skip
    def expression(
        self,
        dialect: str,
        column: str = "score",
        *,
        table: str | None = None,
        segment: str = "segment",
        maps: str | None = None,
    ) -> pl.Expr | str:
        """The map as one expression of a column of scores.

        A score that is missing, infinite or not a number gets no probability. Integers and decimals are taken as double
        precision, and scores beyond ±1e100 as ±1e100; a map of probabilities gives none outside 0 to 1.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql", "polars"}
        column : str
            Name of the column with the scores, letter by letter; it is quoted. ``"t.score"`` is the column score of t.
        table : str, optional
            The table of the columns, or its alias; with it, a dot in the name of a column is part of the name.
        segment : str
            The column with the segments, for maps that differ between segments.
        maps : str, optional
            The joined table with what was learned about each segment, which `table` gives; see `query`.

        Returns
        -------
        str, or polars.Expr for polars

        Examples
        --------
        >>> from sureness.calibration.parametric import PlattCalibrator
        >>> calibrator = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
        >>> frame = pl.DataFrame({"score": [0.5, 2.5]})
        >>> np.allclose(frame.select(calibrator.expression("polars")).to_series(), calibrator.probability([0.5, 2.5]))
        True
        >>> "`t`.`score`" in calibrator.expression("spark", "t.score")
        True
        """
        if dialect != "polars":
            return sql_of(self._tree(ColumnNames(column, table, segment, maps=maps)), dialect_named(dialect))
        if table is not None:
            raise SettingError(f"columns of polars belong to no table, got table={table!r}; leave it out")
        return polars_of(self._tree(ColumnNames(column, None, segment))).alias("probability")

    def query(
        self,
        dialect: DialectName,
        table: str,
        column: str = "score",
        *,
        segment: str = "segment",
        maps: str | None = None,
    ) -> str:
        """A query that gives all columns of a table and the column ``probability``.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql"}
        table : str
            Its name; a dot separates schema and table.
        column, segment : str
            Its columns, letter by letter.
        maps : str, optional
            The table of the database that holds `table`, to be joined by segment; for maps of one field.

        Examples
        --------
        >>> from sureness.calibration.parametric import PlattCalibrator
        >>> calibrator = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
        >>> calibrator.query("postgres", "shop.scores").splitlines()[-1]
        'FROM "shop"."scores" AS "scores"'
        """
        known = dialect_named(dialect)
        names = ColumnNames(column, _SCORES, segment, maps=None if maps is None else _MAPS)
        scores, found = known.identifier(_SCORES), computed_sql(self._tree(names), known, margin="  ")
        lines = [
            f"SELECT {scores}.*,",
            f"  {found.value} AS {known.identifier('probability')}",
            f"FROM {known.identifier(*path_of(table))} AS {scores}",
        ]
        if maps is not None and (join := self._join(names)) is not None:
            same = known.same_ids if join.kind == "text" else "{}"
            lines.append(f"LEFT JOIN {known.identifier(*path_of(maps))} AS {known.identifier(_MAPS)}")
            lines.append(f"  ON {same.format(sql_of(join.own, known))} = {same.format(sql_of(join.learned, known))}")
        if found.subquery is not None:
            lines.append(f"CROSS JOIN LATERAL {found.subquery} AS {known.identifier(COMPUTED)}")
        return "\n".join(lines)

    # --- what maps fill in ------------------------------------------------------------------------------------------

    def _for_all(self, names: ColumnNames) -> Node:
        """The probability of a score for everybody."""
        raise self._has_none()

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        """The probabilities for segments that the map knows, each with the condition that it is theirs."""
        raise self._has_none()

    def log_odds_tree(self, score: Node, names: ColumnNames) -> Node:
        """The log-odds of a score that is neither missing nor infinite, for the segments that `names` has."""
        raise self._has_none()

    def _known(self, names: ColumnNames) -> Compare:
        """The condition that the map has an answer of its own, for maps per segment."""
        raise self._has_none()

    def table(self) -> pl.DataFrame:
        """Everything that was learned about each segment, a row for each: what `query` joins."""
        raise SettingError(f"{type(self).__name__} joins no table of segments")

    def _has_none(self) -> SettingError:
        return SettingError(f"{type(self).__name__} has no expression; use probability(), or sureness apply")

    def _join(self, names: ColumnNames) -> Join | None:
        """How `table` is joined; None: there is nothing to join."""
        return None

    def check_fitted(self) -> None:
        """Refuse to answer before `fit`."""

    def _tree(self, names: ColumnNames) -> Node:
        self.check_fitted()
        some = self._for_some(names)
        return Case(tuple(some), self._for_all(names)) if some else self._for_all(names)


def guarded(score: Reference, formula: Callable[[Node], Node], probability: Callable[[FloatArray], FloatArray]) -> Node:
    """A formula where nothing over- or underflows, and constants elsewhere; nothing where the score is no number."""
    ends = np.array([-LARGEST, -_TINY, 0.0, _TINY, LARGEST])
    lowest, *around, highest = (float(value) for value in probability(ends))
    size = absolute(score)
    tiny: list[Conditional] = [(Compare("<", size, Number(_TINY)), Number(around[1]))]
    return Case((
        (Is(score, "no number"), None),
        *(tiny if max(around) - min(around) < _SAME else []),  # else the scores themselves are as small
        (Compare("<=", size, Number(LARGEST)), formula(score)),
        (Compare("<=", size, Number(sys.float_info.max)), choose(score, [0.0], [lowest, highest])),
    ))  # fmt: skip


def tame(score: Node, largest: float = LARGEST) -> Node:
    """A score that is neither so large nor so close to 0 that arithmetic with it over- or underflows."""
    return clip(choose(absolute(score), [_TINY], [0.0, score]), -largest, largest)


def logit_tree(probability: Node) -> Node:
    """Log-odds of probabilities; where these are 0 or 1, a number that stays so after any change of level or slope."""
    known = Named("chance", probability)
    inside = log(known) - log(1.0 - known)
    certainly: list[Conditional] = [(Compare("<=", known, Number(0.0)), Number(-_CERTAIN))]
    return Case((*certainly, (Compare("<", known, Number(1.0)), inside)), Number(_CERTAIN))


def finite(score: Reference, value: Node) -> Node:
    """A value where the score is a finite number, nothing elsewhere."""
    return Case((
        (Is(score, "no number"), None),
        (Compare("<=", absolute(score), Number(sys.float_info.max)), value),
    ))  # fmt: skip
