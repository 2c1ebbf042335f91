"""Calibrate, apply, cut and allocate where the data lie: on a Spark cluster, with the results of one machine."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "allocating": ["Allocated", "allocate"],
        "als": ["als_source", "source_of"],
        "applying": ["apply"],
        "fitting": ["fit", "fit_segments", "histogram"],
        "listing": ["lists"],
    },
)
