"""Tables and sentences that the experiments of chapter 3 share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sureness_reproduction.comparing import paired
from sureness_reproduction.distillation.pairs import NAMES, Pair
from sureness_reproduction.experiment import Finder, Plan
from sureness_reproduction.published import TITLES

NONE = "-"
SHORT = {"hit@50": "H@50", "hit@100": "H@100", "ndcg@50": "N@50", "ndcg@100": "N@100"}
MODELS = {"bpr": "BPR", "neumf": "NeuMF", "cdae": "CDAE"}
STARTS = {
    "published": "Published start: as the dissertation trains, as far as it says, with the counts that were read as "
    "items",
    "strong": "Strong start: clean data, both models at their best alone before anything is distilled",
}
_LEVEL = 0.05  # below it a difference is called one


def mean(values: pl.Series) -> float:
    """The mean of a column of numbers."""
    return float(values.mean())  # type: ignore[arg-type]


def title(data: str) -> str:
    """What people call a data set."""
    return TITLES.get(data, data)


def beside_shown(table: pl.DataFrame, keys: Sequence[str], *, digits: int = 4, verdict: bool = True) -> pl.DataFrame:
    """What `beside_published` found as text; a number that is missing is a dash, explained in the last column.

    Examples
    --------
    >>> row = {"method": "RD", "ours": 0.1, "deviation": None, "seeds": 1, "published": 0.2, "difference": -0.1}
    >>> beside_shown(pl.DataFrame([row | {"verdict": "worse", "remark": ""}]), ["method"]).row(0)
    ('RD', '0.1000', '1', '0.2000', '-0.1000', 'worse', '-')
    """
    rows = []
    for row in table.to_dicts():
        deviation = "" if row["deviation"] is None else f" ± {row['deviation']:.{digits}f}"
        shown = {key: SHORT.get(str(row[key]), row[key]) for key in keys}
        shown |= {
            "ours": NONE if row["ours"] is None else f"{row['ours']:.{digits}f}{deviation}",
            "seeds": str(row["seeds"] or NONE),
            "published": NONE if row["published"] is None else f"{row['published']:.{digits}f}",
            "difference": NONE if row["difference"] is None else f"{row['difference']:+.{digits}f}",
        }
        rows.append(
            shown | ({"verdict": row["verdict"] or NONE} if verdict else {}) | {"remark": row["remark"] or NONE}
        )
    return pl.DataFrame(rows)


@dataclass(frozen=True)
class Contest:
    """Two methods on the same users: the difference of their means, and how sure it is."""

    first: str
    second: str
    metric: str
    values: tuple[float, float]
    difference: float
    p: float

    @property
    def relative(self) -> float:
        """The difference as a share of the second."""
        return self.difference / self.values[1] if self.values[1] else float("nan")

    @property
    def verdict(self) -> str:
        """The first against the second: above, below, or no difference that the users bear out."""
        if self.p >= _LEVEL:
            return "no difference"
        return "above" if self.difference > 0 else "below"

    def sentence(self) -> str:
        """The contest in words.

        Examples
        --------
        >>> Contest("BD-Student", "RD", "hit@50", (0.2, 0.1), 0.1, 0.001).sentence()
        'BD-Student is above RD: H@50 0.2000 against 0.1000 (+100.0%, p = 0.001)'
        """
        first, second = self.values
        how = "does not differ from" if self.verdict == "no difference" else f"is {self.verdict}"
        return (
            f"{self.first} {how} {self.second}: {SHORT.get(self.metric, self.metric)} {first:.4f} against {second:.4f} "
            f"({self.relative:+.1%}, p = {self.p:.2g})"
        )

    def row(self) -> dict[str, str | float]:
        """The contest as a row of a table."""
        return {
            "first": self.first, "second": self.second, "metric": SHORT.get(self.metric, self.metric),
            "difference": self.difference, "relative": f"{self.relative:+.1%}", "p": f"{self.p:.2g}",
            "verdict": self.verdict,
        }  # fmt: skip


Side = tuple[str, str]
"""A method, and the role whose model is judged."""


def contests(
    pair: Pair, which: Sequence[tuple[Side, Side]], metrics: Sequence[str], seeds: Sequence[int], find: Finder
) -> list[Contest]:
    """The paired tests of methods over users, for every metric."""
    users = {side: pair.users(*side, seeds, find) for side in dict.fromkeys(side for both in which for side in both)}
    found = []
    for metric in metrics:
        for sides in which:
            first, second = (users[side].select("user", "seed", value=metric) for side in sides)
            difference, p = paired(first, second)
            names = [NAMES.get(side, ", ".join(side)) for side in sides]
            values = mean(first["value"]), mean(second["value"])
            found.append(Contest(names[0], names[1], metric, values, difference, p))
    return found


def settings_table(pairs: Sequence[Pair], methods: Sequence[str], find: Finder) -> pl.DataFrame:
    """How many settings were tried for each method, and which was chosen on validation."""
    rows = []
    for pair in pairs:
        for method in methods:
            tried = pair.grids.get(method, [{}])
            changes = find(pair.chosen(method)).table("trials")["changes"][0] if len(tried) > 1 else _written(tried[0])
            rows.append({"start": pair.start, "method": method, "settings tried": len(tried), "chosen": changes})
    return pl.DataFrame(rows)


def _written(settings: object) -> str:
    return json.dumps(settings) if settings else "its defaults"


def nothing(plan: Plan) -> list[str]:
    """What is said where no data are there."""
    return [f"Nothing could be run: {', '.join(title(name) for name in plan.absent)} is not here."]
