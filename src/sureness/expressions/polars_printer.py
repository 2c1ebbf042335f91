"""A tree as an expression of polars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import polars as pl

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

_OPERATORS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "+": pl.Expr.add, "-": pl.Expr.sub, "*": pl.Expr.mul, "/": pl.Expr.truediv,
    "<": pl.Expr.lt, "<=": pl.Expr.le, ">": pl.Expr.gt, "=": pl.Expr.eq,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., pl.Expr]] = {
    "exp": pl.Expr.exp, "ln": pl.Expr.log, "sqrt": pl.Expr.sqrt, "abs": pl.Expr.abs, "clip": pl.Expr.clip,
}  # fmt: skip


def polars_of(node: Node) -> pl.Expr:
    """The tree as an expression.

    Examples
    --------
    >>> from sureness.expressions.nodes import Reference, clip
    >>> frame = pl.DataFrame({"score": [0.5, 2.0]})
    >>> frame.select(polars_of(clip(Reference("score") * 2.0, 0.0, 3.0))).to_series().to_list()
    [1.0, 3.0]
    """
    match node:
        case Number(value):
            return pl.lit(value, dtype=pl.Float64)
        case Reference(holds="ids"):
            return pl.col(_name(node))
        case Reference():
            return pl.col(_name(node)).cast(pl.Float64)
        case Arithmetic(operator, left, right):
            return _OPERATORS[operator](polars_of(left), polars_of(right))
        case Function(name, arguments):
            return _FUNCTIONS[name](*(polars_of(each) for each in arguments))
        case Named(_, value):
            return polars_of(value)  # polars finds what is equal by itself, and computes it once
        case Choose():
            return _chosen(node)
        case Case(branches, otherwise):
            result = _optional(otherwise)
            for condition, then in reversed(branches):
                result = pl.when(_condition(condition)).then(_optional(then)).otherwise(result)
            return result
    raise TypeError(f"no polars expression for {node!r}")


def _name(node: Reference) -> str:
    return ".".join((*node.table, node.column))  # tables of polars have no names, so dots belong to the column


def _optional(node: Node | None) -> pl.Expr:
    return pl.lit(None, dtype=pl.Float64) if node is None else polars_of(node)


def _condition(condition: Compare | Is) -> pl.Expr:
    if isinstance(condition, Is):
        return pl.col(_name(condition.reference)).is_null()
    right = condition.right
    value = pl.lit(right.value) if isinstance(right, Id) else polars_of(right)
    return _OPERATORS[condition.operator](polars_of(condition.left), value)


def _chosen(node: Choose) -> pl.Expr:
    """Branches of one form are computed once, with their constants looked up; polars would compute every branch."""
    numbered = [(_form(branch), number) for number, branch in enumerate(node.branches)]
    runs = [[number for _, number in run] for _, run in groupby(numbered, key=lambda pair: pair[0])]
    edges = pl.lit(pl.Series(node.edges, dtype=pl.Float64))
    place = edges.search_sorted(polars_of(node.argument), side="right").cast(pl.Int64)
    result = _merged([node.branches[number] for number in runs[-1]], place - runs[-1][0])
    for run in reversed(runs[:-1]):
        own = _merged([node.branches[number] for number in run], place - run[0])
        result = pl.when(place <= run[-1]).then(own).otherwise(result)
    return result


def _form(node: Node) -> object:
    """A tree without its constants."""
    match node:
        case Number():
            return "number"
        case Arithmetic(operator, left, right):
            return operator, _form(left), _form(right)
        case Function(name, arguments):
            return name, tuple(_form(each) for each in arguments)
        case Named(_, value):
            return "named", _form(value)
    return node


def _merged(branches: Sequence[Node], place: pl.Expr) -> pl.Expr:
    """Branches of one form as one expression of the place among them."""
    first = branches[0]
    if all(branch == first for branch in branches):
        return polars_of(first)
    match first:
        case Number():
            values = pl.Series([branch.value for branch in branches if isinstance(branch, Number)], dtype=pl.Float64)
            return pl.lit(values).gather(place.clip(0, len(values) - 1))
        case Arithmetic(operator):
            pairs = [(each.left, each.right) for each in branches if isinstance(each, Arithmetic)]
            left, right = (_merged(side, place) for side in zip(*pairs, strict=True))
            return _OPERATORS[operator](left, right)
        case Function(name):
            rows = [each.arguments for each in branches if isinstance(each, Function)]
            return _FUNCTIONS[name](*(_merged(side, place) for side in zip(*rows, strict=True)))
        case Named():
            return _merged([each.value for each in branches if isinstance(each, Named)], place)
    raise TypeError(f"branches of different forms: {first!r}")
