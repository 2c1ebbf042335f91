"""How the columns of a table are called: the agreed names, and other names where a table has them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The name in the table for each agreed name.

    Examples
    --------
    >>> columns = Columns(user_id="customer", score="logit")
    >>> columns.renamed()
    {'user_id': 'customer', 'score': 'logit'}
    >>> columns.renamed("user_id", "item_id")
    {'user_id': 'customer'}
    """

    user_id: str = "user_id"
    item_id: str = "item_id"
    score: str = "score"
    label: str = "label"
    probability: str = "probability"
    weight: str = "weight"
    propensity: str = "propensity"
    rating: str = "rating"
    time: str = "time"
    domain: str = "domain"
    segment: str | None = None
    cost: str = "cost"

    def renamed(self, *names: str) -> dict[str, str]:
        """Agreed names, all or only these, to the names in the table, where they differ."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        wanted = names or tuple(every)
        return {name: every[name] for name in wanted if every[name] not in (name, None)}
