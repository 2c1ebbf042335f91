# Written by `make stubs` from the table in __init__.py.
from sureness.spark.allocating import Allocated as Allocated
from sureness.spark.allocating import allocate as allocate
from sureness.spark.als import als_source as als_source
from sureness.spark.als import source_of as source_of
from sureness.spark.applying import apply as apply
from sureness.spark.fitting import fit as fit
from sureness.spark.fitting import fit_segments as fit_segments
from sureness.spark.fitting import histogram as histogram
from sureness.spark.listing import lists as lists

__all__ = [
    "Allocated",
    "allocate",
    "als_source",
    "apply",
    "fit",
    "fit_segments",
    "histogram",
    "lists",
    "source_of",
]
