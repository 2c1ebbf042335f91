# Written by `make stubs` from the table in __init__.py.
from sureness.sources.adapters.cornac import from_cornac as from_cornac
from sureness.sources.adapters.implicit import from_implicit as from_implicit
from sureness.sources.adapters.lenskit import from_lenskit as from_lenskit
from sureness.sources.adapters.lightfm import from_lightfm as from_lightfm
from sureness.sources.adapters.recbole import from_recbole as from_recbole
from sureness.sources.adapters.recognising import source_of as source_of
from sureness.sources.adapters.rectools import from_rectools as from_rectools
from sureness.sources.adapters.rows import Rows as Rows
from sureness.sources.adapters.rows import fitted as fitted
from sureness.sources.adapters.rows import rows_of as rows_of
from sureness.sources.adapters.rows import where_defined as where_defined
from sureness.sources.adapters.surprise import from_surprise as from_surprise

__all__ = [
    "Rows",
    "fitted",
    "from_cornac",
    "from_implicit",
    "from_lenskit",
    "from_lightfm",
    "from_recbole",
    "from_rectools",
    "from_surprise",
    "rows_of",
    "source_of",
    "where_defined",
]
