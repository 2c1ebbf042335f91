"""Fitted recommenders of other libraries as score sources; a library is imported only when one of its models comes."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cornac": ["from_cornac"],
        "implicit": ["from_implicit"],
        "lenskit": ["from_lenskit"],
        "lightfm": ["from_lightfm"],
        "recbole": ["from_recbole"],
        "recognising": ["source_of"],
        "rectools": ["from_rectools"],
        "rows": ["Rows", "fitted", "rows_of", "where_defined"],
        "surprise": ["from_surprise"],
    },
)
