"""What the dissertation says of its methods and of its risk, held against what was judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from sureness_reproduction.calibration.fitting import COMPETITORS, CONSTANT, IN_TEXT, PARAMETRIC, PROPOSED
from sureness_reproduction.calibration.judging import name_of
from sureness_reproduction.calibration.summing import PLACE, Difference, difference, mean_of
from sureness_reproduction.published import published

Choice = tuple[str, str]  # method and risk
NO_MAP = "no map with this risk has a minimum"


def lowest(rows: pl.DataFrame, allowed: Callable[[str, str], bool], metric: str = "ece") -> tuple[Choice, float] | None:
    """The method and risk with the lowest mean error over seeds, of those with as many seeds as any."""
    means = rows.group_by("method", "risk").agg(pl.col(metric).mean(), seeds=pl.len())
    whole = means.filter(pl.col("seeds") == pl.col("seeds").max()).sort(metric, "method", "risk")
    for method, risk, error in whole.select("method", "risk", metric).iter_rows():
        if allowed(method, risk):
            return (method, risk), error
    return None


def is_proposed(method: str, risk: str) -> bool:
    """Gaussian or Gamma with the unbiased risk: what the dissertation proposes."""
    return method in PROPOSED and risk == "unbiased"


def is_baseline(method: str, risk: str) -> bool:
    """Every other row of the dissertation's tables."""
    return method != CONSTANT and not is_proposed(method, risk) and (
        risk == "" or (method in IN_TEXT and risk in ("naive", "unbiased"))
    )  # fmt: skip


def is_competitor(method: str, risk: str) -> bool:
    """Platt or Beta with the unbiased risk, over which the dissertation counts its improvement."""
    return method in COMPETITORS and risk == "unbiased"


def proposal_table(rows: pl.DataFrame, metric: str = "ece") -> pl.DataFrame:
    """For every model: is Gaussian or Gamma with the unbiased risk the lowest, and by how much?

    Parameters
    ----------
    rows : table
        As `judgements` gives it, one part of the test only.
    metric : str
    """
    return pl.DataFrame([_proposal(*place, part, metric) for place, part in _places(rows)], infer_schema_length=None)


def _proposal(data: str, model: str, rows: pl.DataFrame, metric: str) -> dict[str, object]:
    found = {"data": data, "model": model}
    proposed, baseline, competitor = (
        lowest(rows, allowed, metric) for allowed in (is_proposed, is_baseline, is_competitor)
    )
    printed = published_improvement(data, model, metric)
    if proposed is None or baseline is None or competitor is None:
        missing = ("-", None, "-", None, "-", "-", None, "-", "-", None, printed, f"not decided: {NO_MAP}")
        return found | dict(zip(_PROPOSAL, missing, strict=True))
    apart = difference(rows, proposed[0], baseline[0], metric)
    improved = difference(rows, proposed[0], competitor[0], metric)
    values = (
        name_of(*proposed[0]), proposed[1], name_of(*baseline[0]), baseline[1], str(apart), name_of(*competitor[0]),
        competitor[1], str(improved), improved.side, 100 * (1 - proposed[1] / competitor[1]), printed, _verdict(apart),
    )  # fmt: skip
    return found | dict(zip(_PROPOSAL, values, strict=True))


_PROPOSAL = (
    "best_proposed", "error", "best_other", "error_of_other", "difference", "best_competitor", "error_of_competitor",
    "difference_to_competitor", "against_competitor", "improvement_percent", "published_improvement", "verdict",
)  # fmt: skip


def _verdict(apart: Difference) -> str:
    """Of a proposed method less the best other."""
    if apart.value < 0:
        return "holds" if apart.is_told else "lowest, but within chance"
    return "does not hold" if apart.is_told else "not lowest, within chance"


def risk_table(rows: pl.DataFrame, metric: str = "ece") -> pl.DataFrame:
    """For every model and parametric method: does the unbiased risk lower the error against the naive one?"""
    return pl.DataFrame(
        [_risk(*place, method, part, metric) for place, part in _places(rows) for method in PARAMETRIC],
        infer_schema_length=None,
    )


def _risk(data: str, model: str, method: str, rows: pl.DataFrame, metric: str) -> dict[str, object]:
    found = {"data": data, "model": model, "method": method}
    naive, unbiased = (rows.filter(method=method, risk=risk) for risk in ("naive", "unbiased"))
    printed = published_decrease(data, model, method, metric)
    common = sorted(set(naive["seed"]) & set(unbiased["seed"]))
    if not common:
        missing = (_mean(naive[metric]), _mean(unbiased[metric]), None, printed, "-", f"not decided: {NO_MAP}")
        return found | dict(zip(_RISK, missing, strict=True))
    apart = difference(rows, (method, "unbiased"), (method, "naive"), metric)
    one, other = (mean_of(part.filter(pl.col("seed").is_in(common)), metric) for part in (naive, unbiased))
    values = (one, other, 100 * (1 - other / one), printed, str(apart), apart.side)
    return found | dict(zip(_RISK, values, strict=True))


_RISK = ("naive", "unbiased", "decrease_percent", "published_decrease", "difference", "unbiased_is")


def _mean(values: pl.Series) -> float | None:
    return float(values.mean()) if len(values) else None  # type: ignore[arg-type]


def _places(rows: pl.DataFrame) -> Iterator[tuple[tuple[str, str], pl.DataFrame]]:
    for place, part in rows.group_by(PLACE, maintain_order=True):
        yield (str(place[0]), str(place[1])), part


def _printed(data: str, model: str, method: str, risk: str, metric: str) -> float | None:
    found = published(metric).filter(data=data, model=model, method=method, risk=risk)["value"]
    return float(found.item()) if len(found) else None


def published_improvement(data: str, model: str, metric: str = "ece") -> float | None:
    """One less the ratio of the best proposed and the best competitor, in percent, from the printed errors.

    Examples
    --------
    >>> round(published_improvement("coat", "neumf"), 2)
    18.67
    """
    best = [
        [_printed(data, model, method, "unbiased", metric) for method in group] for group in (PROPOSED, COMPETITORS)
    ]
    if any(value is None for group in best for value in group):
        return None
    ours, theirs = (min(value for value in group if value is not None) for group in best)
    return 100 * (1 - ours / theirs)


def published_decrease(data: str, model: str, method: str, metric: str = "ece") -> float | None:
    """How much the unbiased risk lowers the printed error, in percent."""
    naive, unbiased = (_printed(data, model, method, risk, metric) for risk in ("naive", "unbiased"))
    return None if naive is None or unbiased is None else 100 * (1 - unbiased / naive)
