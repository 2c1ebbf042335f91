"""A tree as SQL text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sureness._wording import counted
from sureness.errors import SettingError
from sureness.expressions.dialects import SqlDialect
from sureness.expressions.nodes import (
    Arithmetic,
    Case,
    Choose,
    Compare,
    Function,
    Id,
    Is,
    Named,
    Node,
    Number,
    Reference,
)

LONGEST = 1_000_000
"""Characters of the longest text: what BigQuery and Snowflake take as one query."""

COMPUTED = "computed"
"""What the subquery of named values is called inside a query."""

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}  # how closely an operator holds its operands
_FANOUT = 8  # branches on one level of a search


def sql_of(node: Node, dialect: SqlDialect, margin: str = "") -> str:
    """The text of a tree in a dialect; further lines begin with the margin.

    Examples
    --------
    >>> from sureness.expressions.dialects import dialect_named
    >>> from sureness.expressions.nodes import Reference, clip
    >>> tree = clip((Reference("score") - 1.0) * 2.0, 0.0, 1.0)
    >>> sql_of(tree, dialect_named("duckdb"))
    'LEAST(GREATEST((CAST("score" AS DOUBLE) - 1.0e0) * 2.0e0, 0.0e0), 1.0e0)'
    >>> sql_of(tree, dialect_named("sqlite"))
    'MIN(MAX((CAST(`score` AS REAL) - 1.0e0) * 2.0e0, 0.0e0), 1.0e0)'
    """
    return _short_enough(_Printer(dialect, margin).value(node))


@dataclass(frozen=True)
class Computed:
    """A tree as a value, and the subquery of what it needs more than once."""

    value: str
    subquery: str | None  # goes after the tables of the query, if the dialect takes it there


def computed_sql(node: Node, dialect: SqlDialect, margin: str = "") -> Computed:
    """The text of a tree for a query, in which named values are computed once.

    Examples
    --------
    >>> from sureness.expressions.dialects import dialect_named
    >>> from sureness.expressions.nodes import Named, Reference
    >>> double = Named("double", Reference("score") * 2.0)
    >>> found = computed_sql(double * double, dialect_named("duckdb"))
    >>> found.value
    '"computed"."double" * "computed"."double"'
    >>> found.subquery
    '(SELECT CAST("score" AS DOUBLE) * 2.0e0 AS "double")'
    >>> computed_sql(double * double, dialect_named("sqlite")).value.splitlines()[-1]
    'FROM (SELECT CAST(`score` AS REAL) * 2.0e0 AS `double`) AS `computed`)'
    """
    printer = _Printer(dialect, margin, named={})
    value = printer.value(node)
    subquery = printer.subquery()
    _short_enough(value + (subquery or ""))
    if subquery is None or dialect.has_lateral:
        return Computed(value, subquery)
    return Computed(f"(SELECT {value}\n{margin}FROM {subquery} AS {dialect.identifier(COMPUTED)})", None)


def _short_enough(text: str) -> str:
    if len(text) > LONGEST:
        raise SettingError(
            f"the expression has {counted(len(text), 'character')}, more than the {LONGEST:,} that databases take; fit "
            "fewer bins or segments, a parametric calibrator, or use sureness apply"
        )
    return text


class _Printer:
    """Prints the nodes of one tree."""

    def __init__(self, dialect: SqlDialect, margin: str, named: dict[Named, tuple[str, str]] | None = None) -> None:
        self.dialect = dialect
        self.margin = margin  # of the line that is written
        self.named = named  # column and text of each named value, in the order of their use; None: written out

    def value(self, node: Node) -> str:
        match node:
            case Number(value):
                text = self.dialect.double_literal(value)
                return f"({text})" if value < 0 else text
            case Reference():
                return self.reference(node)
            case Arithmetic(operator, left, right):
                strength = _STRENGTH[operator]
                return f"{self.operand(left, strength)} {operator} {self.operand(right, strength + 1)}"
            case Function(name, arguments):
                return self.function(name, [self.value(each) for each in arguments])
            case Named():
                return self.value(node.value) if self.named is None else self.computed(node, self.named)
            case Choose(argument, edges, branches):
                return self.search(self.operand(argument, 1), edges, branches)
            case Case():
                return self.case(node)
        raise TypeError(f"no SQL for {node!r}")

    def operand(self, node: Node, strength: int) -> str:
        """A part of a sum or product, in brackets where it would fall apart; equal ranks are read from the left."""
        if isinstance(node, Named) and self.named is None:
            return self.operand(node.value, strength)
        text = self.value(node)
        weaker = isinstance(node, Arithmetic) and _STRENGTH[node.operator] < strength
        return f"({text})" if weaker else text

    def computed(self, node: Named, named: dict[Named, tuple[str, str]]) -> str:
        """The column of a named value, which is computed before it is used."""
        if node not in named:
            margin, self.margin = self.margin, ""
            text = self.value(node.value)  # what it needs itself is named before it
            self.margin = margin
            taken = sum(each.name == node.name for each in named)
            named[node] = (f"{node.name}_{taken + 1}" if taken else node.name, text)
        return self.dialect.identifier(COMPUTED, named[node][0])

    def subquery(self) -> str | None:
        """Named values as the columns of one row; each may use those before it. None: there are none."""
        inner, identifier, apart = "", self.dialect.identifier, self.dialect.kept_apart
        for column, text in (self.named or {}).values():
            before = f"{identifier(COMPUTED)}.*, " if inner else ""
            source = f"\nFROM {inner} AS {identifier(COMPUTED)}" if inner else ""
            inner = f"(SELECT {before}{text} AS {identifier(column)}{source}{apart})"
        return inner or None

    def function(self, name: str, arguments: Sequence[str]) -> str:
        if name != "clip":
            return f"{name.upper()}({', '.join(arguments)})"
        value, low, high = arguments
        return f"{self.dialect.least}({self.dialect.greatest}({value}, {low}), {high})"

    def reference(self, node: Reference) -> str:
        name = self.dialect.identifier(*node.table, node.column)
        return name if node.holds == "ids" else f"CAST({name} AS {self.dialect.double})"

    def search(self, argument: str, edges: Sequence[float], branches: Sequence[Node]) -> str:
        """Nested cases, so that a row is compared with few of many edges."""
        if len(branches) == 1:
            return self.value(branches[0])
        size = -(-len(branches) // _FANOUT)
        starts = range(0, len(branches), size)
        found = [self.search(argument, edges[at : at + size - 1], branches[at : at + size]) for at in starts]
        parts = [
            f"WHEN {argument} < {self.dialect.double_literal(edges[at - 1])} THEN {text}"
            for at, text in zip(starts[1:], found, strict=False)
        ]
        return f"CASE {' '.join(parts)} ELSE {found[-1]} END"

    def case(self, node: Case) -> str:
        """One line for each condition."""
        self.margin += "  "
        lines = ["CASE"]
        for condition, then in node.branches:
            if (text := self.condition(condition)) is not None:
                lines.append(f"{self.margin}WHEN {text} THEN {self.optional(then)}")
        if node.otherwise is not None:
            lines.append(f"{self.margin}ELSE {self.value(node.otherwise)}")
        self.margin = self.margin[2:]
        return "\n".join([*lines, f"{self.margin}END"])

    def optional(self, node: Node | None) -> str:
        return "NULL" if node is None else self.value(node)

    def condition(self, condition: Compare | Is) -> str | None:
        """None where the dialect needs no such condition."""
        if isinstance(condition, Is):
            return self.kind(condition)
        left, right = self.value(condition.left), condition.right
        if isinstance(right, Id):
            return self.dialect.equal_ids(left, right.value)
        return f"{left} {condition.operator} {self.value(right)}"

    def kind(self, condition: Is) -> str | None:
        name = self.dialect.identifier(*condition.reference.table, condition.reference.column)
        if condition.what == "missing":
            return f"{name} IS NULL"
        return None if self.dialect.no_number is None else self.dialect.no_number.format(name)
