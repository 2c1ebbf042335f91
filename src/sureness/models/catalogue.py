"""All recommenders by the name the command line uses."""

from __future__ import annotations

from typing import Any

from sureness.errors import DataError
from sureness.models.base import Recommender
from sureness.models.bpr import BPR
from sureness.models.cdae import CDAE
from sureness.models.cml import CML
from sureness.models.lightgcn import LightGCN
from sureness.models.neumf import NeuMF
from sureness.models.ubpr import UBPR

RECOMMENDERS: dict[str, type[Recommender]] = {
    kind.__name__.lower(): kind for kind in (BPR, UBPR, NeuMF, CML, LightGCN, CDAE)
}


def make_recommender(name: str, **settings: Any) -> Recommender:
    """A recommender by name.

    Examples
    --------
    >>> make_recommender("bpr", n_factors=8)
    BPR(n_factors=8)
    """
    kind = RECOMMENDERS.get("neumf" if name.lower() == "ncf" else name.lower())
    if kind is None:
        raise DataError(f"there is no recommender {name!r}; there are {', '.join(RECOMMENDERS)}")
    return kind(**settings)
