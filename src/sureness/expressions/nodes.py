"""The tree of a formula: numbers, columns, arithmetic, a few functions, and choices between branches.

Formulas are written with + - * / and the functions at the end of this module, as they are on arrays. Values are
double-precision numbers; the text of a segment only appears in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sureness.errors import SettingError

Operator = Literal["+", "-", "*", "/"]
FunctionName = Literal["exp", "ln", "sqrt", "abs", "clip"]


class Node:
    """A value of each row."""

    __array_ufunc__ = None  # numpy's numbers leave arithmetic with a node to the node

    def __add__(self, other: Node | float) -> Node:
        return Arithmetic("+", self, as_node(other))

    def __radd__(self, other: float) -> Node:
        return Arithmetic("+", as_node(other), self)

    def __sub__(self, other: Node | float) -> Node:
        return Arithmetic("-", self, as_node(other))

    def __rsub__(self, other: float) -> Node:
        return Arithmetic("-", as_node(other), self)

    def __mul__(self, other: Node | float) -> Node:
        return Arithmetic("*", self, as_node(other))

    def __rmul__(self, other: float) -> Node:
        return Arithmetic("*", as_node(other), self)

    def __truediv__(self, other: Node | float) -> Node:
        return Arithmetic("/", self, as_node(other))

    def __rtruediv__(self, other: float) -> Node:
        return Arithmetic("/", as_node(other), self)

    def __neg__(self) -> Node:
        return self * -1.0


@dataclass(frozen=True)
class Number(Node):
    """A finite constant."""

    value: float

    def __post_init__(self) -> None:
        if not abs(self.value) < float("inf"):
            raise SettingError(
                f"an expression must be made of finite numbers, got {self.value}; the map was fitted on scores too "
                "large or too close to each other, so rescale them and fit again"
            )


@dataclass(frozen=True)
class Reference(Node):
    """A column: of numbers, which are taken as double precision, or of ids, which are taken as they are."""

    column: str
    table: tuple[str, ...] = ()  # schema and table, or an alias; empty: the column alone
    holds: Literal["numbers", "ids"] = "numbers"


@dataclass(frozen=True)
class Arithmetic(Node):
    """Two values added, subtracted, multiplied or divided."""

    operator: Operator
    left: Node
    right: Node


@dataclass(frozen=True)
class Function(Node):
    """A function; clip takes a value, that is not missing, and its bounds."""

    name: FunctionName
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Named(Node):
    """A value that a formula needs more than once; a query computes it once, under its name."""

    name: str
    value: Node


@dataclass(frozen=True)
class Choose(Node):
    """The branch of the interval that holds the argument; one more branch than ascending edges, closed on the left."""

    argument: Node
    edges: tuple[float, ...]
    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Id:
    """A text or whole number to compare ids with."""

    value: str | int


@dataclass(frozen=True)
class Compare:
    """Whether a value is smaller than, at most, greater than or equal to another."""

    operator: Literal["<", "<=", ">", "="]
    left: Node
    right: Node | Id


@dataclass(frozen=True)
class Is:
    """Whether a column is missing, or holds something else than a number where a database does not mind."""

    reference: Reference
    what: Literal["missing", "no number"]


@dataclass(frozen=True)
class Case(Node):
    """The value of the first condition that holds; missing where that has no value, or where none holds."""

    branches: tuple[tuple[Compare | Is, Node | None], ...]
    otherwise: Node | None = None


def as_node(value: Node | float) -> Node:
    """A node as it is, a number as a constant."""
    return value if isinstance(value, Node) else Number(float(value))


def log(argument: Node) -> Node:
    """Natural logarithm of a positive value."""
    return Function("ln", (argument,))


def sqrt(argument: Node) -> Node:
    """Square root of a value that is not negative."""
    return Function("sqrt", (argument,))


_LARGEST_POWER = 600.0  # e to this power, and products with it, are in the range of double precision


def exp(argument: Node) -> Node:
    """The exponential; the value is cut where databases refuse the result as too large or too small."""
    return Function("exp", (clip(argument, -_LARGEST_POWER, _LARGEST_POWER),))


_SMALLEST_SQUARED, _LARGEST_SQUARED = 1e-150, 1e150  # whose squares are in the range of double precision


def asinh(argument: Node) -> Node:
    """The inverse hyperbolic sine, a logarithm with a sign; values are cut where databases refuse their squares."""
    value = Named("scaled", argument)
    size = clip(absolute(value), _SMALLEST_SQUARED, _LARGEST_SQUARED)
    return choose(value, [0.0], [-1.0, 1.0]) * log(size + sqrt(size * size + 1.0))


def absolute(argument: Node) -> Node:
    """The value without its sign."""
    return Function("abs", (argument,))


def clip(argument: Node, low: float, high: float) -> Node:
    """The value, or the bound that it crosses."""
    return Function("clip", (argument, as_node(low), as_node(high)))


def choose(argument: Node, edges: Iterable[float], branches: Iterable[Node | float]) -> Node:
    """The branch of the interval that holds the argument."""
    known = tuple(as_node(branch) for branch in branches)
    return Choose(argument, tuple(float(edge) for edge in edges), known) if len(known) > 1 else known[0]
