"""What a probability is about: how long a period, which pairs, and which of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args

from sureness._printing import fields_repr
from sureness.data.interactions import Interactions
from sureness.saving.packed import JSON, reals

Population: TypeAlias = Literal["unseen", "all"]
"""Which pairs a probability is about: those that nobody has seen yet, or all, training pairs among them."""

Given: TypeAlias = Literal["there"]
"""What a probability supposes: that the user is there, which is to take at least one item in the period."""

_PERIODS = {
    "labelled": "taken in the period of the labels",
    "next": "taken in the next period, once the labelled items are gone",
}
_LATER = ("scores", "given")  # fields that older files do not have
_SAME = 1.05  # periods that differ by less count as equal: months, and shares that were rounded for each user
_MICROSECONDS_OF_A_DAY = 86_400_000_000
_A_DATE = 1e10  # periods this long are in microseconds: hours, where seconds would be centuries


@dataclass(frozen=True)
class Horizon:
    """Which period a probability is about, that of the labels or the next one like it, and which pairs.

    In the *labelled* period a candidate is taken if it is one of the labelled items. In the *next* period these are
    gone, and as much happens again.

    Examples
    --------
    >>> Horizon(held_out_share=0.25).following().sentence
    'taken in the next period, once the labelled items are gone'
    >>> week, month = Horizon(period=7.0), Horizon(period=28.0)
    >>> week.ratio(month), week.ratio(Horizon(log_share=0.2))
    (4.0, None)
    """

    held_out_share: float | None = None  # share of the known positives that was held out; None: unknown
    period: float | None = None  # its length in the unit of the log's times (dates: microseconds); None: unknown
    log_share: float | None = None  # share of a log that was split which was held out; None: unknown
    population: Population | None = None  # None: the pairs that were given
    which: Literal["labelled", "next"] = "labelled"
    scores: str | None = None  # column of the scores, if it is not called score
    given: Given | None = None  # "there": if the user takes anything in the period; None: whether or not

    __repr__ = fields_repr

    @property
    def sentence(self) -> str:
        """What happens to an item with the probability of a map."""
        if self.given == "there":
            return "taken in the coming period, if the user is there"
        return _PERIODS[self.which]

    def following(self) -> Horizon:
        """The next period like this one."""
        return replace(self, which="next")

    def plain(self) -> dict[str, JSON]:
        """As JSON."""
        return {name: value for name, value in asdict(self).items() if name not in _LATER or value is not None}

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None) -> Self:
        """Out of `plain`."""
        found = cls(**(plain or {}))
        reals([each for each in (found.held_out_share, found.period, found.log_share) if each is not None])
        if found.which not in _PERIODS or found.population not in (None, *get_args(Population)):
            raise ValueError(
                f"a period or a population that there is not: {found.which!r:.60}, {found.population!r:.60}"
            )
        if found.given not in (None, *get_args(Given)):
            raise ValueError(f"a condition that there is not: {found.given!r:.60}")
        return found

    @classmethod
    def of_split(cls, held_out: Interactions, seen: Interactions | None) -> Self:
        """The horizon of what was held out beside what was seen; it has a period if the log was cut by time."""
        share = None if seen is None else len(held_out) / max(1, len(held_out) + len(seen))
        return cls(share, period_of(held_out), share_of_log(held_out), "all" if seen is None else "unseen")

    def ratio(self, other: Horizon) -> float | None:
        """How many times as much happens in another horizon; None where that is not known.

        Lengths of periods are compared if both have one, shares of the log if neither has: a share of the pairs of a
        log that was cut by time is an outcome, not a plan.
        """
        if (self.period is None) != (other.period is None):
            return None
        mine, others = (self.log_share, other.log_share) if self.period is None else (self.period, other.period)
        return others / mine if mine and others else None

    def differs(self, other: Horizon) -> bool:
        """Whether another horizon is known to be longer or shorter."""
        ratio = self.ratio(other)
        return ratio is not None and not 1 / _SAME <= ratio <= _SAME

    def other_pairs(self, other: Horizon) -> bool:
        """Whether another horizon is known to be about other pairs; nothing converts one probability to the other.

        Examples
        --------
        >>> unseen = Horizon(population="unseen")
        >>> unseen.other_pairs(Horizon(population="all")), unseen.other_pairs(Horizon())
        (True, False)
        """
        return None not in (self.population, other.population) and self.population != other.population

    def __str__(self) -> str:
        length = "of unknown length"
        if self.period is not None:
            days = self.period / _MICROSECONDS_OF_A_DAY
            length = f"of {days:,.1f} days" if self.period >= _A_DATE else f"of {self.period:,g}"
        elif self.log_share is not None:
            length = f"with {self.log_share:.1%} of the log"
        return f"{self.pairs}, in a period {length}"

    @property
    def pairs(self) -> str:
        """Which pairs a probability is about, in words."""
        named = {"unseen": "unseen pairs", "all": "all pairs, training pairs too", None: "the given pairs"}
        return named[self.population]


def period_of(held_out: object) -> float | None:
    """How long the period is that was held out, in the unit of the log's times; None unless it was cut by time."""
    period = held_out.period if isinstance(held_out, Interactions) else None
    return None if period is None else float(period[1] - period[0])


def share_of_log(held_out: object) -> float | None:
    """Which share of a log was held out; None unless one of our splits did it."""
    part = held_out.part if isinstance(held_out, Interactions) else None
    return None if part is None else part.share
