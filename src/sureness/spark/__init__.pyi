# Written by `make stubs` from the table in __init__.py.
from sureness.spark.applying import apply as apply
from sureness.spark.fitting import fit as fit
from sureness.spark.fitting import histogram as histogram

__all__ = [
    "apply",
    "fit",
    "histogram",
]
