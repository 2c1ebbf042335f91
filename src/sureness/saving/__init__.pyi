# Written by `make stubs` from the table in __init__.py.
from sureness.saving.files import replacing as replacing
from sureness.saving.files import sweep as sweep
from sureness.saving.objects import FileContents as FileContents
from sureness.saving.objects import inspect as inspect
from sureness.saving.objects import load as load
from sureness.saving.objects import save as save
from sureness.saving.packed import JSON as JSON
from sureness.saving.packed import Packed as Packed
from sureness.saving.packed import Savable as Savable
from sureness.saving.packed import plain as plain
from sureness.saving.packed import revived as revived
from sureness.saving.records import read_record as read_record
from sureness.saving.records import write_record as write_record

__all__ = [
    "FileContents",
    "JSON",
    "Packed",
    "Savable",
    "inspect",
    "load",
    "plain",
    "read_record",
    "replacing",
    "revived",
    "save",
    "sweep",
    "write_record",
]
