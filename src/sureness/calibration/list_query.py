"""The map for lists where the candidates lie: as a query of a database, and as an expression of polars.

The query finds how the scores of each group lie, and joins it to the candidates of the group.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from sureness.calibration.expressing import DialectName, finite, tame
from sureness.calibration.families import TREE, sigmoid_of
from sureness.calibration.list_terms import FEWEST, HISTORY, SAME, SPREAD, LevelCurve, Rising, Terms
from sureness.expressions.columns import ColumnNames, path_of
from sureness.expressions.dialects import SqlDialect, dialect_named
from sureness.expressions.nodes import (
    Case,
    Compare,
    Id,
    Is,
    Named,
    Node,
    Number,
    Reference,
    absolute,
    choose,
    clip,
    log,
    sqrt,
)
from sureness.expressions.sql_printer import COMPUTED, computed_sql, sql_of
from sureness.numerics.ramps import Compression, Curve

if TYPE_CHECKING:
    from sureness.calibration.lists import ListCalibrator

_SCORES, _LISTS = "scores", "lists"  # what tables are called inside a query
_MAX = sys.float_info.max
_FARTHEST = 1e150  # a compressed score's argument, whose square is in the range of double precision


class Lying(NamedTuple):
    """How the scores of a row's group lie: `Groups`, as trees."""

    candidates: Node
    mean: Node
    spread: Node


def list_query(
    calibrator: ListCalibrator, dialect: DialectName, table: str, *, score: str, group: str, history: str
) -> str:
    """All columns of a table and ``probability``; see `ListCalibrator.query`."""
    known = dialect_named(dialect)
    names = ColumnNames(score, _SCORES, user=group)
    lying = Lying(*(Reference(name, (_LISTS,)) for name in Lying._fields))
    found = computed_sql(_probability(calibrator, names, history, lying), known, margin="  ")
    scores, lists = known.identifier(_SCORES), known.identifier(_LISTS)
    lines = [
        f"SELECT {scores}.*,",
        f"  {found.value} AS {known.identifier('probability')}",
        f"FROM {known.identifier(*path_of(table))} AS {scores}",
        f"LEFT JOIN {_lists(calibrator, known, table, names)} AS {lists}",
        f"  ON {_group(names, known)} = {known.identifier(_LISTS, 'list')}",
    ]
    if found.subquery is not None:
        lines.append(f"CROSS JOIN LATERAL {found.subquery} AS {known.identifier(COMPUTED)}")
    return "\n".join(lines)


def _group(names: ColumnNames, dialect: SqlDialect) -> str:
    return dialect.same_ids.format(sql_of(names.reference_to("user"), dialect))


def _lists(calibrator: ListCalibrator, dialect: SqlDialect, table: str, names: ColumnNames) -> str:
    """A subquery with one row for each group: how its best scores lie. The deviation is found after the mean."""
    name = dialect.identifier
    score, group = names.reference_to("score"), _group(names, dialect)
    number, whose = sql_of(tame(score), dialect), sql_of(names.reference_to("user"), dialect)
    own, value, mean = (name("centred", each) for each in ("list", "value", "mean"))
    # not AVG: PostgreSQL's also sums up the squares of what it averages, which overflow
    spread = f"SQRT(SUM(({value} - {mean}) * ({value} - {mean})) / COUNT(*))"
    rounding = f"{dialect.double_literal(SAME)} * MAX(ABS({value}))"
    return f"""(
  SELECT {own} AS {name("list")}, COUNT(*) AS {name("candidates")}, MIN({mean}) AS {name("mean")},
    CASE WHEN {spread} > {rounding} THEN {spread} ELSE {dialect.double_literal(0.0)} END AS {name("spread")}
  FROM (
    SELECT {name("best", "list")} AS {name("list")}, {name("best", "value")} AS {name("value")},
      AVG({name("best", "value")}) OVER (PARTITION BY {name("best", "list")}) AS {name("mean")}
    FROM (
      SELECT {name("ranked", "list")} AS {name("list")}, {name("ranked", "score")} AS {name("value")}
      FROM (
        SELECT {group} AS {name("list")}, {number} AS {name("score")},
          ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY {number} DESC) AS {name("place")}
        FROM {name(*path_of(table))} AS {name(_SCORES)}
        WHERE {whose} IS NOT NULL AND {sql_of(finite(score, score), dialect, "        ")} IS NOT NULL
      ) AS {name("ranked")}
      WHERE {name("ranked", "place")} <= {calibrator.best}
    ) AS {name("best")}
  ) AS {name("centred")}
  GROUP BY {own}
)"""


def list_expression(calibrator: ListCalibrator, score: str, *, group: str, history: str) -> pl.Expr:
    """The probability as an expression of polars, which asks the map itself; see `ListCalibrator.expression`."""
    of_history = () if calibrator.activity_ is None else (history,)
    traits = (*calibrator.numeric_, *calibrator.named_)

    def answer(columns: Sequence[pl.Series]) -> pl.Series:
        scores = columns[0].cast(pl.Float64).fill_null(np.nan)
        there = scores.is_finite() & columns[1].is_not_null()
        known = None
        if of_history:
            items = columns[2].cast(pl.Float64).fill_null(np.nan)
            known = items.set(~(items.is_finite() & (items >= 0)), np.nan).filter(there).to_numpy()
        asked, groups = scores.filter(there).to_numpy(), columns[1].filter(there)
        own = dict(zip(traits, (column.filter(there) for column in columns[2 + len(of_history) :]), strict=True))
        found = np.full(len(scores), np.nan)
        found[there.to_numpy()] = calibrator.probability_of(asked, calibrator.grouped(asked, groups, known, own))
        return pl.Series(found, nan_to_null=True)

    read = [pl.col(name) for name in (score, group, *of_history, *traits)]
    return pl.map_batches(read, answer, return_dtype=pl.Float64).alias("probability")


# --- trees -----------------------------------------------------------------------------------------------------------


def compressed(score: Reference, compression: Compression) -> Node:
    """`Compression` as a tree: databases have no asinh in common, so it is a logarithm without cancellation."""
    scaled = Named("scaled", tame((tame(score) - compression.base) / compression.width, _FARTHEST))
    square = scaled * scaled
    more = Named("more", absolute(scaled) + square / (sqrt(square + 1.0) + 1.0))
    whole = Named("whole", more + 1.0)
    value = Named("size", log(whole) - ((whole - 1.0) - more) / whole)  # ln(1 + more), also where 1 + more is 1
    return Named("compressed", Case(((Compare("<", scaled, Number(0.0)), -value),), value))


def _probability(calibrator: ListCalibrator, names: ColumnNames, history: str, lying: Lying) -> Node:
    score, group = names.reference_to("score"), names.reference_to("user")
    spread = Case(((Compare(">", lying.spread, Number(0.0)), lying.spread),), Number(1.0))
    place = Named("place", (tame(score) - lying.mean) / spread)
    inputs = _Inputs(names, compressed(score, calibrator.compression_), place, lying.spread)
    if calibrator.activity_ is not None:
        items = names.field(history, "numbers")
        there = (Compare("<=", items, Number(_MAX)), log(items + 1.0))
        inputs.levels[HISTORY] = amount = Named("amount", Case(((Compare("<", items, Number(0.0)), None), there)))
        light, heavy = calibrator.activity_
        mixed = clip((amount - light) / max(heavy - light, 1e-12), 0.0, 1.0)
        known = Compare("<=", amount, Number(_MAX))
        inputs.activity = Named("activity", Case(((known, mixed),), Number(0.5)))
    found = inputs.log_odds(calibrator.score_terms_)
    if calibrator.terms_ is not None:
        few = Compare("<", lying.candidates, Number(float(FEWEST)))
        found = Case(((few, found),), inputs.log_odds(calibrator.terms_))
    return finite(score, Case(((Is(group, "missing"), None),), sigmoid_of(found, TREE)))


class _Inputs:
    """What the terms look at, as trees."""

    def __init__(self, names: ColumnNames, score: Node, place: Node, spread: Node) -> None:
        self.names = names
        self.rising = {"score": score, "place": place}
        differ = Compare(">", spread, Number(0.0))
        self.levels: dict[str, Node] = {SPREAD: Named("log_spread", Case(((differ, log(spread)),)))}  # not columns
        self.activity: Node | None = None

    def log_odds(self, terms: Terms) -> Node:
        """`Terms.log_odds`."""
        total: Node = Number(terms.intercept)
        for name, level in terms.levels.items():
            total = total + self.level(name, level)
        for name, effects in terms.effects.items():
            total = total + _effect(self.names.field(name, "ids"), effects)
        for name, rising in terms.rising.items():
            total = total + self.curve(rising, self.rising[name])
        return total

    def curve(self, rising: Rising, x: Node) -> Node:
        """`Rising.values`; both curves have the same knots."""
        light, heavy = rising
        found = _curve(light, x)
        if heavy is None or self.activity is None:
            return found
        return found + self.activity * _curve(Curve(light.knots, heavy.slopes - light.slopes), x)

    def level(self, name: str, level: LevelCurve) -> Node:
        """`LevelCurve.values`: of a column, where it is not known otherwise. NaN is above everything, or nothing."""
        x = self.levels.get(name, self.names.field(name, "numbers"))
        low, high = (float(level.curve.knots[end]) for end in (0, -1))
        inside = _curve(level.curve, Named("level", clip(x, low, high)))
        top = Number(float(level.curve.values(np.array([high]))[0]))
        infinite = Compare("<", -x, Number(-_MAX))
        return Case(((Compare("<=", x, Number(_MAX)), inside), (infinite, top)), Number(level.missing))


def _curve(curve: Curve, x: Node) -> Node:
    """`Curve.values`."""
    heights = np.concatenate([[0.0], np.cumsum(curve.slopes * np.diff(curve.knots))])
    parts = zip(heights.tolist(), curve.slopes.tolist(), curve.knots.tolist(), strict=False)
    return choose(x, curve.knots[1:-1].tolist(), [(x - knot) * slope + height for height, slope, knot in parts])


def _effect(column: Reference, effects: Mapping[str, float]) -> Node:
    """What the value of a category adds; a missing one is the empty text."""
    known = tuple((Compare("=", column, Id(value)), Number(effect)) for value, effect in effects.items())
    return Case(((Is(column, "missing"), Number(effects.get("", 0.0))), *known), Number(0.0))
