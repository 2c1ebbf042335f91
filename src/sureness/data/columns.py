"""Column names of tables: the agreed names, and the names in the file where they differ."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sureness.errors import SettingError


@dataclass(frozen=True, kw_only=True, repr=False)
class Columns:
    """The name in the file of each agreed column.

    Examples
    --------
    >>> columns = Columns(user_id="customer", score="logit")
    >>> columns.renamed()
    {'user_id': 'customer', 'score': 'logit'}
    >>> columns.only("user_id", "item_id")
    Columns(user_id='customer')
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

    def __repr__(self) -> str:
        return f"Columns({', '.join(f'{ours}={theirs!r}' for ours, theirs in self.renamed().items())})"

    def renamed(self) -> dict[str, str]:
        """Agreed names to the names in the file, where they differ."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {ours: theirs for ours, theirs in every.items() if theirs not in (ours, None)}

    def refuse_shared(self, *names: str) -> None:
        """Refuse to read two of these from one column."""
        whose: dict[str, str] = {}
        for ours in names:
            theirs = getattr(self, ours)
            if theirs in whose:
                raise SettingError(
                    f"column {theirs!r} cannot be both {whose[theirs]} and {ours}; name another column for one of them"
                )
            whose[theirs] = ours

    def only(self, *names: str) -> Columns:
        """The same names for some columns; the others keep the agreed name."""
        return Columns(**{ours: theirs for ours, theirs in self.renamed().items() if ours in names})
