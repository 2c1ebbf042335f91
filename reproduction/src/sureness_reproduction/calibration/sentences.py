"""Findings on the errors, computed from the tables."""

from __future__ import annotations

import polars as pl

from sureness_reproduction.calibration.contests import is_proposed, lowest
from sureness_reproduction.calibration.fitting import CONSTANT, IN_TEXT
from sureness_reproduction.calibration.judging import name_of
from sureness_reproduction.calibration.sets import title_of, uses_anchor
from sureness_reproduction.calibration.summing import mean_of
from sureness_reproduction.outcome import Verdict
from sureness_reproduction.published import TITLES

_IMPROVEMENTS = {"ece": " (dissertation: falls by 5.21 to 25.85%)"}
_DECREASES = {"ece": " (dissertation: falls by 7.40 to 76.52%)"}
_ANSWERS = {
    "holds": "yes", "lowest, but within chance": "yes, but within chance,", "does not hold": "no",
    "not lowest, within chance": "no, but within chance,",
}  # fmt: skip


def proposal_sentences(table: pl.DataFrame, pairs: str, metric: str = "ece") -> list[str]:
    """Whether Gaussian or Gamma with the unbiased risk has the lowest error, and the improvement, for each data set."""
    sentences = []
    for (data,), rows in table.group_by("data", maintain_order=True):
        sentences.append(
            f"{_place(data, pairs)}: is Gaussian or Gamma with the unbiased risk the lowest in {metric.upper()}, as "
            f"the dissertation claims? {_answers(rows)} {_improvement(rows.drop_nulls('improvement_percent'), metric)}"
        )
    return sentences


def _place(data: object, pairs: str) -> str:
    return f"{TITLES.get(str(data), data)}, {title_of(pairs)}"


def _answers(rows: pl.DataFrame) -> str:
    """Which models say yes, which no, and which nothing."""
    answers: dict[str, list[str]] = {}
    for model, verdict in rows.select("model", "verdict").iter_rows():
        answers.setdefault(_ANSWERS.get(verdict, "not decided (no minimum)"), []).append(model)
    told = "; ".join(f"{answer} for {', '.join(models)}" for answer, models in answers.items())
    return f"{told[:1].upper()}{told[1:]}."


def _improvement(rows: pl.DataFrame, metric: str) -> str:
    """Over the competitors, of the models for which it is defined."""
    if rows.is_empty():
        return "No model has both a proposed method and Platt or Beta to compare."
    told = rows["against_competitor"].to_list()
    return (
        f"Against the best of Platt and Beta with the same risk the {metric.upper()} of the best proposed one "
        f"{_changes(rows['improvement_percent'])}{_IMPROVEMENTS.get(metric, '')}: beyond chance better for "
        f"{told.count('lower')} and worse for {told.count('higher')} of {rows.height} decided models."
    )


def _changes(decreases: pl.Series) -> str:
    """Decreases in percent as people read them; a rise to twice as much and beyond is told as its multiple.

    Examples
    --------
    >>> _changes(pl.Series([5.0, 12.5])), _changes(pl.Series([-3.0, 12.5]))
    ('falls by 5.00 to 12.50%', 'falls by 12.50% or rises by 3.00%')
    >>> _changes(pl.Series([-1072.15, -520.0])), _changes(pl.Series([], dtype=pl.Float64))
    ('rises 6.2- to 11.7-fold', 'is not defined')
    """
    falls = [value for value in decreases.drop_nulls() if value > 0]
    rises = [-value for value in decreases.drop_nulls() if value <= 0]
    told = [f"falls by {between(falls)}%"] if falls else []
    if rises and max(rises) >= 100:
        told.append(f"rises {between([1 + value / 100 for value in rises], digits=1, unit='-')}fold")
    elif rises:
        told.append(f"rises by {between(rises)}%")
    return " or ".join(told) or "is not defined"


def between(values: list[float], *, digits: int = 2, unit: str = "") -> str:
    """From the smallest to the largest; once if they read the same.

    Examples
    --------
    >>> between([1.0, 2.5]), between([0.091, 0.094]), between([1.5, 3.0], digits=1, unit="-")
    ('1.00 to 2.50', '0.09', '1.5- to 3.0-')
    """
    low, high = (f"{value:.{digits}f}{unit}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def risk_sentences(table: pl.DataFrame, pairs: str, metric: str = "ece") -> list[str]:
    """Whether the unbiased risk lowers the error for every parametric method of the dissertation."""
    sentences = []
    for (data,), rows in table.filter(pl.col("method").is_in(IN_TEXT)).group_by("data", maintain_order=True):
        decided = rows.drop_nulls("decrease_percent").height
        lower, surely_lower, surely_higher = (
            rows.filter(pl.col("unbiased_is").str.contains(pattern)).height
            for pattern in ("^lower", "^lower$", "^higher$")
        )
        claim = f"{_place(data, pairs)}: that the unbiased risk lowers the {metric.upper()} of every parametric method"
        if not decided:
            sentences.append(f"{claim} is not decided: in none of {rows.height} cases have both risks a minimum.")
            continue
        without = f"; {rows.height - decided} are not decided (no minimum)" if decided < rows.height else ""
        sentences.append(
            f"{claim} {_whether(lower, decided, rows.height)}: it does in {lower} of {decided} decided cases "
            f"({surely_lower} beyond chance; higher beyond chance in {surely_higher}{without}). The {metric.upper()} "
            f"{_changes(rows['decrease_percent'])}{_DECREASES.get(metric, '')}."
        )
    return sentences


def _whether(lower: int, decided: int, total: int) -> str:
    if lower < decided:
        return "does not hold"
    return "holds" if decided == total else "holds where it is decided"


def level_sentences(rows: pl.DataFrame, pairs: str) -> list[str]:
    """How much of the errors is a wrong level alone, for each data set."""
    return [f"{_place(data, pairs)}: {_level(part)}" for (data,), part in rows.group_by("data", maintain_order=True)]


def _level(rows: pl.DataFrame) -> str:
    text = rows.filter(pl.col("method").is_in(IN_TEXT))
    parts = []
    for risk in ("naive", "unbiased", "weighted"):
        some = text.filter(risk=risk)
        if not some.height:
            parts.append(f"{risk}: no map has a minimum")
            continue
        off = (some["mean_probability"] - some["positive_share"]).abs()
        mean, ece = mean_of(some, "mean_probability"), mean_of(some, "ece")
        share = float(off.mean()) / ece  # type: ignore[arg-type]
        parts.append(f"{risk}: mean probability {mean:.3f}, ECE {ece:.4f}, of which the level alone {share:.0%}")
    liked = mean_of(rows, "positive_share")
    told = "; ".join(parts)
    return f"{liked:.3f} of the judged pairs are liked. {told[:1].upper()}{told[1:]}."


def gaming_sentences(rows: pl.DataFrame, pairs: str) -> list[str]:
    """What a constant, which knows no score, reaches, for each data set."""
    what = "the base rate of the anchor" if uses_anchor(pairs) else "the share of positives of what was fitted on"
    return [
        f"{_place(data, pairs)}: {_gaming(part, what)}" for (data,), part in rows.group_by("data", maintain_order=True)
    ]


def _gaming(rows: pl.DataFrame, what: str) -> str:
    places = [part for _, part in rows.group_by("model", maintain_order=True)]
    bests = [(part, best) for part in places if (best := lowest(part, is_proposed)) is not None]
    beaten = sum(mean_of(part.filter(method=CONSTANT), "ece") < best[1] for part, best in bests)
    constant = rows.filter(method=CONSTANT)
    fitted = rows.filter(pl.col("method") != CONSTANT, pl.col("method").is_in(IN_TEXT))
    return (
        f"ECE can be gamed. The same probability for every pair ({what}) has a mean ECE of "
        f"{mean_of(constant, 'ece'):.4f} and is lower than the best proposed method for {beaten} of {len(bests)} "
        f"decided models, although it ranks nothing; its NLL is {mean_of(constant, 'nll'):.4f}, that of the parametric "
        f"methods {mean_of(fitted, 'nll'):.4f} on average and {_best_nll(fitted)} at best."
    )


def _best_nll(rows: pl.DataFrame) -> str:
    means = rows.group_by("method", "risk").agg(pl.col("nll").mean()).sort("nll")
    if not means.height:
        return "none"
    method, risk, value = means.row(0)
    return f"{value:.4f} ({name_of(method, risk)})"


def claim_verdicts(contests: dict[str, tuple[pl.DataFrame, pl.DataFrame]], rows: pl.DataFrame) -> list[Verdict]:
    """On the claims of the running text: decided on the first calibration set, with what the others give beside it.

    Parameters
    ----------
    contests : dict
        From calibration sets to `proposal_table` and `risk_table`.
    rows : table
        What was judged, for the share of positives.
    """
    proposals, risks = next(iter(contests.values()))
    text = risks.filter(pl.col("method").is_in(IN_TEXT))
    liked = 100 * mean_of(rows, "positive_share")
    decreases = {pairs: _decreases(risk) for pairs, (_, risk) in contests.items()}
    gains = {pairs: _changes(proposal["improvement_percent"]) for pairs, (proposal, _) in contests.items()}
    return [
        Verdict("ECE decrease, unbiased risk against naive risk, all parametric methods", _listed(decreases),
                all_fall(text["decrease_percent"])),
        Verdict("ECE improvement of the proposed methods over the best competitor", _listed(gains),
                all_fall(proposals["improvement_percent"])),
        Verdict("share of preferred items", f"{liked:.1f}% of uniformly exposed pairs", liked <= 10),
    ]  # fmt: skip


def all_fall(decreases: pl.Series) -> bool | None:
    """Whether a claim of all cases holds by their means: one that rises is enough against it, for it all must fall.

    Examples
    --------
    >>> all_fall(pl.Series([1.0, 2.0])), all_fall(pl.Series([1.0, -2.0, None])), all_fall(pl.Series([1.0, None]))
    (True, False, None)
    """
    if any(value <= 0 for value in decreases.drop_nulls()):
        return False
    return None if decreases.null_count() or not len(decreases) else True


def _decreases(risks: pl.DataFrame) -> str:
    text = risks.filter(pl.col("method").is_in(IN_TEXT))
    lower = text.filter(pl.col("decrease_percent") > 0).height
    decided = text.drop_nulls("decrease_percent").height
    return f"{_changes(text['decrease_percent'])} (a decrease in {lower} of {decided} decided cases)"


def _listed(found: dict[str, str]) -> str:
    return "; ".join(f"{title_of(pairs)}: {text}" for pairs, text in found.items())
