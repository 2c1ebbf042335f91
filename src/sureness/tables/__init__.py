"""Any table or file at the door: read and written in the kind that came."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "columns": ["Columns"],
        "frames": ["Frame", "Table", "as_frame", "in_kind_of"],
        "id_values": ["id_series"],
        "reading": [
            "BATCH_ROWS",
            "add_column",
            "column_names",
            "count_rows",
            "names_aside",
            "read_table",
            "readable",
            "require_columns",
            "scan_table",
        ],
        "writing": ["write_table"],
    },
)
