"""A tree of one column as an ONNX graph, computed in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sureness._wording import counted
from sureness.errors import SettingError, missing_extra
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

if TYPE_CHECKING:
    import onnx

_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}
_COMPARISONS = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", "=": "Equal"}
_FUNCTIONS = {"exp": "Exp", "ln": "Log", "sqrt": "Sqrt", "abs": "Abs"}
_MOST_BRANCHES = 2_000
_OPSET, _VERSION = 17, 8  # of 2022: what older runtimes read too


def onnx_of(node: Node, column: str, result: str = "probability") -> onnx.ModelProto:
    """A model with one input, the column as 32-bit floats of any length, and one output of the same shape.

    What is missing in the tree is NaN. Columns of ids have no ONNX form here and are refused.
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise missing_extra("writing ONNX", "onnx", "onnx") from error
    printer = _Printer(column)
    found = printer.value(node)
    cast_in = helper.make_node("Cast", [column], ["double"], to=TensorProto.DOUBLE)
    cast_out = helper.make_node("Cast", [found], [result], to=TensorProto.FLOAT)
    graph = helper.make_graph(
        [cast_in, *(helper.make_node(*parts) for parts in printer.nodes), cast_out],
        "sureness",
        [helper.make_tensor_value_info(column, TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, ["n"])],
        [
            helper.make_tensor(name, TensorProto.DOUBLE, [], [float(number)])
            for number, name in printer.constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_VERSION)
    checker.check_model(model)
    return model


class _Printer:
    """The operations of a tree in the order of their computation; equal ones are written once."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.nodes: list[tuple[str, list[str], list[str]]] = []
        self.constants: dict[str, str] = {}  # names by number
        self.known: dict[tuple[str, ...], str] = {}

    def value(self, node: Node) -> str:
        match node:
            case Number(value):
                return self.constant(value)
            case Reference(holds="numbers"):
                return "double"
            case Arithmetic(operator, left, right):
                return self.of(_OPERATORS[operator], self.value(left), self.value(right))
            case Function("clip", (value, low, high)):
                return self.of("Min", self.of("Max", self.value(value), self.value(low)), self.value(high))
            case Function("coalesce", (value, otherwise)):
                found = self.value(value)
                return self.of("Where", self.of("IsNaN", found), self.value(otherwise), found)
            case Function(name, (value,)):
                return self.of(_FUNCTIONS[name], self.value(value))
            case Named(_, value):
                return self.value(value)
            case Choose(argument, edges, branches):
                if len(branches) > _MOST_BRANCHES:
                    raise SettingError(
                        f"the map has {counted(len(branches), 'piece')}, more than the {_MOST_BRANCHES:,} that an ONNX "
                        "file takes; fit a parametric map, or ShapeCalibrator"
                    )
                place, found = self.value(argument), self.value(branches[-1])
                for edge, branch in zip(reversed(edges), reversed(branches[:-1]), strict=True):
                    found = self.of("Where", self.of("Less", place, self.constant(edge)), self.value(branch), found)
                return found
            case Case(branches, otherwise):
                found = self.optional(otherwise)
                for condition, then in reversed(branches):
                    found = self.of("Where", self.condition(condition), self.optional(then), found)
                return found
        raise SettingError(f"ONNX takes maps of a score alone, got {node!r}; use SQL, or sureness apply")

    def optional(self, node: Node | None) -> str:
        return self.constant(float("nan")) if node is None else self.value(node)

    def condition(self, condition: Compare | Is) -> str:
        if isinstance(condition, Is):
            return self.of("IsNaN", self.value(condition.reference))
        if isinstance(condition.right, Id):
            raise SettingError("ONNX takes maps of a score alone, got one of segments; use SQL, or sureness apply")
        return self.of(_COMPARISONS[condition.operator], self.value(condition.left), self.value(condition.right))

    def constant(self, value: float) -> str:
        return self.constants.setdefault(repr(float(value)), f"constant_{len(self.constants)}")

    def of(self, operation: str, *inputs: str) -> str:
        key = (operation, *inputs)
        if key not in self.known:
            self.known[key] = f"value_{len(self.known)}"
            self.nodes.append((operation, list(inputs), [self.known[key]]))
        return self.known[key]
