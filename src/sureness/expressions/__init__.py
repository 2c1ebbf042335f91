"""A formula of columns as a small tree, printed in the dialect of a database or as a polars expression."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "columns": ["ColumnNames"],
        "dialects": ["DIALECTS", "SqlDialect", "dialect_named"],
        "nodes": ["Case", "Choose", "Compare", "Id", "Is", "Named", "Node", "Number", "Reference"],
        "onnx_printer": ["onnx_of"],
        "polars_printer": ["polars_of"],
        "sql_printer": ["LONGEST", "Computed", "computed_sql", "sql_of"],
    },
)
