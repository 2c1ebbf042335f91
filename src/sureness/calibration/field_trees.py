"""What fields add to the log-odds as trees of an expression: nested cases of their values."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.calibration.expressing import Conditional
from sureness.calibration.field_effects import FieldEffects, Term
from sureness.calibration.fields import UNNAMED, Field
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Case, Compare, Id, Is, Node, Number, Reference, absolute, choose, exp

_NOTHING = Number(0.0)
_LARGEST = Number(sys.float_info.max)  # infinite numbers count as missing


def effects_tree(effects: FieldEffects, overall: Node, names: ColumnNames) -> Node:
    """The log-odds of all combinations of values, given those of the global map."""
    level, log_stretch = (_summed(effects, column, names) for column in (0, 1))
    return level + exp(log_stretch) * (overall - effects.centre)


def some_field_known(fields: Sequence[Field], names: ColumnNames) -> Compare:
    """The condition that at least one field has a value that was seen."""
    if any(field.values is None and field.has_missing for field in fields):
        return Compare(">", Number(1.0), Number(0.5))  # every number, and every missing one
    known = [(condition, Number(1.0)) for field in fields for condition in _seen(field, names)]
    return Compare(">", Case(tuple(known), _NOTHING), Number(0.5))


def _summed(effects: FieldEffects, column: int, names: ColumnNames) -> Node:
    """The sum over terms of what each adds to the level (column 0) or log(stretch) (column 1)."""
    result: Node = Number(float(effects.common[column]))
    for term in effects.terms:
        if term.effects[:, column].any():
            result = result + _added(term, effects.coding.fields, term.effects[:, column], names)
    return result


def _added(term: Term, fields: Sequence[Field], added: FloatArray, names: ColumnNames) -> Node:
    """What the groups of a term add: a case of one field, whose branches are those of the next one."""

    def of_groups(steps: Sequence[tuple[int, int]], keys: IntArray, added: FloatArray) -> Node:
        if not steps:
            return Number(float(added[0]))
        place, step = steps[-1]
        codes = keys // step
        branches = {
            int(code): of_groups(steps[:-1], keys[codes == code] % step, added[codes == code])
            for code in np.unique(codes)
        }
        return _of_code(fields[place], branches, names, fine=term.fine)

    return of_groups(term.steps, term.keys, added)


def _of_code(field: Field, branches: Mapping[int, Node], names: ColumnNames, *, fine: bool) -> Node:
    """The branch of the code of a field, 0 for codes without one."""
    n_groups = len(field.edges if fine else field.coarse_edges) + 1 if field.values is None else len(field.values)
    missing = branches.get(n_groups + 1, _NOTHING) if field.has_missing else branches.get(0, _NOTHING)
    found: list[Conditional] = []
    if field.values is None:
        number = column_of(field, names, "numbers")
        edges = field.edges if fine else field.coarse_edges
        groups = choose(number, edges, [branches.get(1 + group, _NOTHING) for group in range(n_groups)])
        found = [(Is(number, "no number"), missing), (Compare("<=", absolute(number), _LARGEST), groups)]
        return Case(tuple(found), missing)
    value = column_of(field, names, "ids")
    found = [(Is(value, "missing"), missing)]
    known = field.values.ids.to_list()
    found += [(Compare("=", value, Id(known[code - 1])), branches[code]) for code in branches if 0 < code <= n_groups]
    return Case(tuple(found), branches.get(0, _NOTHING))


def _seen(field: Field, names: ColumnNames) -> Iterator[Compare | Is]:
    """Conditions one of which holds where a field has a value that was seen."""
    if field.values is None:
        yield Compare("<=", absolute(column_of(field, names, "numbers")), _LARGEST)
    else:
        value = column_of(field, names, "ids")
        yield from (Compare("=", value, Id(each)) for each in field.values.ids.to_list())
    if field.has_missing:
        yield Is(column_of(field, names, "ids"), "missing")


def column_of(field: Field, names: ColumnNames, holds: Literal["numbers", "ids"]) -> Reference:
    """The column of a field; a field without a name is the column of segments."""
    if field.name == UNNAMED:
        return replace(names.reference_to("segment"), holds=holds)
    return names.field(field.name, holds)
