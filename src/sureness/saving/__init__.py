"""One file per saved thing: written whole, checked when it is read, opened by `load`; knows no domain."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "files": ["replacing", "sweep"],
        "packed": ["JSON", "Packed", "Savable", "plain", "revived"],
        "records": ["read_record", "write_record"],
        "objects": ["FileContents", "inspect", "load", "save"],
    },
)
