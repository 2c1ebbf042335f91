"""Models whose scores are products of factors: opened and served with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping

from sureness._types import AnyArray
from sureness.data.ids import IdMap
from sureness.models.base import Recommender
from sureness.sources.base import FactorSource


def product_source(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
    """Scores as products of the rows of two tables."""
    return FactorSource(arrays["user_factors"], arrays["item_factors"], users=users, items=items)


class FactorRecommender(Recommender):
    """A model whose arrays become factors by one function, which its network uses too."""

    needs = ()

    @staticmethod
    def source_of(arrays: Mapping[str, AnyArray], users: IdMap, items: IdMap) -> FactorSource:
        """The scores, from the arrays of the network."""
        return product_source(arrays, users, items)

    def _opened(self) -> FactorSource:
        return self.source_of(self._arrays or {}, self.users, self.items)
