"""Findings on the errors, computed from the tables."""

from __future__ import annotations

import polars as pl

from sureness.reproduce.calibration.contests import is_proposed, lowest
from sureness.reproduce.calibration.fitting import CONSTANT, IN_TEXT
from sureness.reproduce.calibration.judging import name_of
from sureness.reproduce.calibration.sets import title_of
from sureness.reproduce.calibration.summing import mean_of
from sureness.reproduce.experiment import Verdict
from sureness.reproduce.published import TITLES

_IMPROVEMENTS = {"ece": " (text: 5.21 to 25.85%)"}
_DECREASES = {"ece": "text: 7.40 to 76.52%; "}


def proposal_sentences(table: pl.DataFrame, pairs: str, metric: str = "ece") -> list[str]:
    """Whether Gaussian or Gamma with the unbiased risk has the lowest error, and the improvement, for each data set."""
    sentences = []
    for (data,), rows in table.group_by("data", maintain_order=True):
        counts = {
            verdict: rows.filter(verdict=verdict)["model"].to_list()
            for verdict in rows["verdict"].unique(maintain_order=True)
        }
        told = "; ".join(f"{verdict}: {', '.join(models)}" for verdict, models in counts.items())
        improvements = rows["improvement_percent"].drop_nulls()
        span = _percent_span(improvements)
        signs = [_sign(text) for text in rows["difference_to_competitor"]]
        better, worse = signs.count(-1), signs.count(1)
        sentences.append(
            f"{TITLES.get(str(data), data)}, {title_of(pairs)}: the text's claim that Gaussian or Gamma with the "
            f"unbiased risk has the lowest {metric.upper()} ({told}). Over the best of Platt and Beta with the same "
            f"risk the improvement is {span}{_IMPROVEMENTS.get(metric, '')}: beyond chance better for {better} and "
            f"worse for {worse} of {rows.height} models."
        )
    return sentences


def _sign(difference: str) -> int:
    """Which side of 0 an interval is on as `Difference` writes it; 0 if it holds 0, or there is none.

    Examples
    --------
    >>> _sign("-0.0300 [-0.0500, -0.0100]"), _sign("+0.0001 [-0.0010, +0.0012]"), _sign("-")
    (-1, 0, 0)
    """
    if "[" not in difference:
        return 0
    low, high = (float(bound) for bound in difference.split("[")[1].rstrip("]").split(", "))
    return 1 if low > 0 else -1 if high < 0 else 0


def _percent_span(values: pl.Series) -> str:
    """From the smallest to the largest.

    Examples
    --------
    >>> _percent_span(pl.Series([-3.0, 12.5])), _percent_span(pl.Series([], dtype=pl.Float64))
    ('-3.00 to 12.50%', 'not defined')
    """
    numbers = values.to_list()
    return f"{min(numbers):.2f} to {max(numbers):.2f}%" if numbers else "not defined"


def risk_sentences(table: pl.DataFrame, pairs: str, metric: str = "ece") -> list[str]:
    """Whether the unbiased risk lowers the error for every parametric method of the text."""
    sentences = []
    for (data,), rows in table.filter(pl.col("method").is_in(IN_TEXT)).group_by("data", maintain_order=True):
        changes = rows["decrease_percent"].drop_nulls()
        lower, surely_lower, surely_higher = (
            rows.filter(pl.col("unbiased_is").str.contains(pattern)).height
            for pattern in ("^lower", "^lower$", "^higher$")
        )
        every = "holds" if lower == rows.height else "does not hold"
        sentences.append(
            f"{TITLES.get(str(data), data)}, {title_of(pairs)}: that the unbiased risk lowers the {metric.upper()} of "
            f"every parametric method {every}: it does in {lower} of {rows.height} cases ({surely_lower} beyond "
            f"chance; higher beyond chance in {surely_higher}), by {_percent_span(changes)} "
            f"({_DECREASES.get(metric, '')}negative: a rise)."
        )
    return sentences


def level_sentence(rows: pl.DataFrame, pairs: str) -> str:
    """How much of the errors is a wrong level alone."""
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
    return f"{title_of(pairs)}: {liked:.3f} of the judged pairs are liked. {'; '.join(parts)}."


def gaming_sentence(rows: pl.DataFrame, pairs: str) -> str:
    """What a constant, which knows no score, reaches."""
    beaten = 0
    places = list(rows.group_by("data", "model", maintain_order=True))
    for _, part in places:
        best = lowest(part, is_proposed)
        beaten += best is not None and mean_of(part.filter(method=CONSTANT), "ece") < best[1]
    constant = rows.filter(method=CONSTANT)
    fitted = rows.filter(pl.col("method") != CONSTANT, pl.col("method").is_in(IN_TEXT))
    return (
        f"{title_of(pairs)}: ECE can be gamed. The same probability for every pair (the share of positives of what was "
        f"fitted on) has a mean ECE of {mean_of(constant, 'ece'):.4f} and is lower than the best proposed method for "
        f"{beaten} of {len(places)} models, although it ranks nothing; its NLL is {mean_of(constant, 'nll'):.4f}, that "
        f"of the parametric methods {mean_of(fitted, 'nll'):.4f} on average and {_best_nll(fitted)} at best."
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
    improvements, text = proposals["improvement_percent"].drop_nulls(), risks.filter(pl.col("method").is_in(IN_TEXT))
    every_model = len(improvements) == proposals.height and bool((improvements > 0).all())
    liked = 100 * mean_of(rows, "positive_share")
    decreases = {pairs: _decreases(risk) for pairs, (_, risk) in contests.items()}
    gains = {
        pairs: _percent_span(proposal["improvement_percent"].drop_nulls()) for pairs, (proposal, _) in contests.items()
    }
    return [
        Verdict("ECE decrease, unbiased risk against naive risk, all parametric methods", _listed(decreases),
                text.filter(pl.col("decrease_percent") > 0).height == text.height),
        Verdict("ECE improvement of the proposed methods over the best competitor", _listed(gains), every_model),
        Verdict("share of preferred items", f"{liked:.1f}% of uniformly exposed pairs", liked <= 10),
    ]  # fmt: skip


def _decreases(risks: pl.DataFrame) -> str:
    text = risks.filter(pl.col("method").is_in(IN_TEXT))
    lower = text.filter(pl.col("decrease_percent") > 0).height
    return f"{_percent_span(text['decrease_percent'].drop_nulls())} (a decrease in {lower} of {text.height} cases)"


def _listed(found: dict[str, str]) -> str:
    return "; ".join(f"{title_of(pairs)}: {text}" for pairs, text in found.items())
