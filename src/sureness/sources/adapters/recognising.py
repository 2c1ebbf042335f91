"""Find the adapter for a model by the library that its class comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sureness._registry import find, names
from sureness.errors import DataError
from sureness.sources.base import ScoreSource


def source_of(model: Any, *details: Any, **more: Any) -> ScoreSource:
    """The scores of a fitted model of implicit, LensKit, Cornac, RecTools, RecBole, LightFM, Surprise or Spark's ALS.

    The class of the model, or the first of its base classes that has an adapter, decides which adapter is called;
    further arguments are passed on to it (see `from_implicit` and the others). A `ScoreSource` is returned as it is.
    ``sureness.register("adapter", "library", function)`` adds an adapter for another library, whose name is that of its
    top-level package.

    Examples
    --------
    >>> from implicit.bpr import BayesianPersonalizedRanking
    >>> from scipy.sparse import eye
    >>> model = BayesianPersonalizedRanking(factors=2, random_state=0, num_threads=1)
    >>> model.fit(eye(3, format="csr"), show_progress=False)
    >>> source_of(model, users=["zoë", "ann", "bob"]).users.ids.to_list()
    ['ann', 'bob', 'zoë']
    """
    known = names("adapter")
    for kind in type(model).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in known:
            return cast(Callable[..., ScoreSource], find("adapter", library))(model, *details, **more)
    if isinstance(model, ScoreSource):
        return model
    raise DataError(
        f"expected a fitted model of {', '.join(known)}, got {type(model).__module__}.{type(model).__name__}; wrap a "
        "PyTorch model in TorchSource, a function of users in FunctionSource, a matrix in MatrixSource, factors in "
        "FactorSource, a table of scores in CandidateSource"
    )
