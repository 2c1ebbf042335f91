"""Recommenders that people already run, as score sources; no library is imported before its model is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sureness.errors import DataError
from sureness.sources.adapters.cornac import from_cornac
from sureness.sources.adapters.implicit import from_implicit
from sureness.sources.adapters.lenskit import from_lenskit
from sureness.sources.adapters.lightfm import from_lightfm
from sureness.sources.adapters.recbole import from_recbole
from sureness.sources.adapters.surprise import from_surprise
from sureness.sources.base import ScoreSource

ADAPTERS: dict[str, Callable[..., ScoreSource]] = {
    "cornac": from_cornac,
    "implicit": from_implicit,
    "lenskit": from_lenskit,
    "lightfm": from_lightfm,
    "recbole": from_recbole,
    "surprise": from_surprise,
}

__all__ = [
    "from_cornac",
    "from_implicit",
    "from_lenskit",
    "from_lightfm",
    "from_recbole",
    "from_surprise",
    "source_of",
]


def source_of(model: Any, *details: Any, **more: Any) -> ScoreSource:
    """The scores of a fitted model of implicit, LensKit, Cornac, RecBole, LightFM or Surprise.

    The library is recognised by the class of the model; whatever else its adapter takes (`from_implicit` and so on) is
    passed on. A ScoreSource is returned as it is.

    Examples
    --------
    >>> from implicit.bpr import BayesianPersonalizedRanking
    >>> from scipy.sparse import eye
    >>> model = BayesianPersonalizedRanking(factors=2, random_state=0, num_threads=1)
    >>> model.fit(eye(3, format="csr"), show_progress=False)
    >>> source_of(model, users=["zoë", "ann", "bob"]).users.ids.to_list()
    ['ann', 'bob', 'zoë']
    """
    for kind in type(model).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ADAPTERS:
            return ADAPTERS[library](model, *details, **more)
    if isinstance(model, ScoreSource):
        return model
    raise DataError(
        f"expected a fitted model of {', '.join(ADAPTERS)}, got {type(model).__module__}.{type(model).__name__}; wrap "
        "a PyTorch model in TorchSource, a function of users in FunctionSource, a matrix in MatrixSource, factors in "
        "FactorSource, a table of scores in CandidateSource"
    )
