# Written by `make stubs` from the table in __init__.py.
from sureness.artefacts.files import replacing as replacing
from sureness.artefacts.files import sweep as sweep
from sureness.artefacts.inspecting import Contents as Contents
from sureness.artefacts.inspecting import inspect as inspect
from sureness.artefacts.packed import JSON as JSON
from sureness.artefacts.packed import Packed as Packed
from sureness.artefacts.packed import Savable as Savable
from sureness.artefacts.packed import plain as plain
from sureness.artefacts.packed import revived as revived
from sureness.artefacts.records import read_record as read_record
from sureness.artefacts.records import write_record as write_record
from sureness.artefacts.saving import load as load
from sureness.artefacts.saving import save as save

__all__ = [
    "Contents",
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
