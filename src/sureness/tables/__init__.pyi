# Written by `make stubs` from the table in __init__.py.
from sureness.tables.columns import Columns as Columns
from sureness.tables.frames import Frame as Frame
from sureness.tables.frames import Table as Table
from sureness.tables.frames import as_frame as as_frame
from sureness.tables.frames import in_kind_of as in_kind_of
from sureness.tables.id_values import id_series as id_series
from sureness.tables.reading import BATCH_ROWS as BATCH_ROWS
from sureness.tables.reading import add_column as add_column
from sureness.tables.reading import column_names as column_names
from sureness.tables.reading import count_rows as count_rows
from sureness.tables.reading import names_aside as names_aside
from sureness.tables.reading import read_table as read_table
from sureness.tables.reading import readable as readable
from sureness.tables.reading import require_columns as require_columns
from sureness.tables.reading import scan_table as scan_table
from sureness.tables.writing import write_table as write_table

__all__ = [
    "BATCH_ROWS",
    "Columns",
    "Frame",
    "Table",
    "add_column",
    "as_frame",
    "column_names",
    "count_rows",
    "id_series",
    "in_kind_of",
    "names_aside",
    "read_table",
    "readable",
    "require_columns",
    "scan_table",
    "write_table",
]
