# Written by `make stubs` from the table in __init__.py.
from sureness.expressions.columns import ColumnNames as ColumnNames
from sureness.expressions.dialects import DIALECTS as DIALECTS
from sureness.expressions.dialects import SqlDialect as SqlDialect
from sureness.expressions.dialects import dialect_named as dialect_named
from sureness.expressions.nodes import Case as Case
from sureness.expressions.nodes import Choose as Choose
from sureness.expressions.nodes import Compare as Compare
from sureness.expressions.nodes import Id as Id
from sureness.expressions.nodes import Is as Is
from sureness.expressions.nodes import Named as Named
from sureness.expressions.nodes import Node as Node
from sureness.expressions.nodes import Number as Number
from sureness.expressions.nodes import Reference as Reference
from sureness.expressions.onnx_printer import onnx_of as onnx_of
from sureness.expressions.polars_printer import polars_of as polars_of
from sureness.expressions.sql_printer import LONGEST as LONGEST
from sureness.expressions.sql_printer import Computed as Computed
from sureness.expressions.sql_printer import computed_sql as computed_sql
from sureness.expressions.sql_printer import sql_of as sql_of

__all__ = [
    "Case",
    "Choose",
    "ColumnNames",
    "Compare",
    "Computed",
    "DIALECTS",
    "Id",
    "Is",
    "LONGEST",
    "Named",
    "Node",
    "Number",
    "Reference",
    "SqlDialect",
    "computed_sql",
    "dialect_named",
    "onnx_of",
    "polars_of",
    "sql_of",
]
