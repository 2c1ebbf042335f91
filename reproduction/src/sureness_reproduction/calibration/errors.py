"""ECE, MCE and NLL of all methods, risks and models: the dissertation's protocol, and one that knows its level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isnan

import polars as pl

from sureness_reproduction.calibration.contests import proposal_table, risk_table
from sureness_reproduction.calibration.fitting import logged, maps_cell
from sureness_reproduction.calibration.grid import DATA, base_of, bases, not_run, why_absent
from sureness_reproduction.calibration.judging import ALL, REST, judged_cell
from sureness_reproduction.calibration.ratios import RATIOS, positive_share, ratio_figure, ratio_findings, ratio_table
from sureness_reproduction.calibration.sentences import (
    claim_verdicts,
    gaming_sentences,
    level_sentences,
    proposal_sentences,
    risk_sentences,
)
from sureness_reproduction.calibration.sets import AS_LOGGED, CANDIDATES, RATINGS, WITH_ANCHOR, WITH_BASE_RATE, title_of
from sureness_reproduction.calibration.summing import judgements, problems, summary
from sureness_reproduction.calibration.tables import at_a_glance, beside, glance_caption
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import TITLES

METRICS = {"ece": "Expected calibration error", "mce": "Maximum calibration error", "nll": "Negative log-likelihood"}

_EVERY = (AS_LOGGED, RATINGS, CANDIDATES, WITH_BASE_RATE, WITH_ANCHOR)
_MAIN = (AS_LOGGED, WITH_BASE_RATE, WITH_ANCHOR)
_JUDGED_ON = {
    ALL: "all uniformly exposed test pairs that are not in training",
    REST: "those of these pairs that are not among the 1,000 of the anchor",
}


def _cells(metric: str, plan: Plan) -> Sequence[Cell]:
    sets = [*_EVERY, *RATIOS[plan.scale]] if metric == "ece" else _MAIN
    return [
        *(logged.cell(data=data) for data in plan.data),
        *(judged_cell(base, pairs) for pairs in sets for base in bases(plan)),
    ]


def _outcome(metric: str, plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=[f"{data}: {why_absent(plan, data)}" for data in plan.absent])
    tables = [_beside_text(metric, plan, find)]
    for pairs in _EVERY if metric == "ece" else _MAIN:
        tables += _glances(metric, plan, find, pairs)
    outcome = _with_claims(Outcome(tables=tables, notes=_notes(plan, find)), metric, plan, find)
    return _with_ratios(outcome, plan, find) if metric == "ece" else outcome


def _part(plan: Plan, find: Finder, pairs: str) -> tuple[pl.DataFrame, str]:
    """What was judged, on all test pairs where no anchor is used."""
    rows = judgements(plan, find, pairs)
    part = ALL if ALL in rows["judged_on"].to_list() else REST
    return rows.filter(judged_on=part), part


def _beside_text(metric: str, plan: Plan, find: Finder) -> ResultTable:
    rows, part = _part(plan, find, AS_LOGGED)
    found = summary(rows, metric)
    table = beside(plan, rows, found, problems(plan, find, AS_LOGGED), metric)
    caption = (
        f"The dissertation's protocol: {title_of(AS_LOGGED)}, judged on {_JUDGED_ON[part]}. low and high are a 95% "
        "interval of "
        "the mean for draws of users and seeds. An empty number is explained by its remark."
    )
    return ResultTable(f"{metric}-beside-text", f"{METRICS[metric]}, ours beside the dissertation", table, caption)


def _glances(metric: str, plan: Plan, find: Finder, pairs: str) -> list[ResultTable]:
    rows, part = _part(plan, find, pairs)
    found, failed = summary(rows, metric), problems(plan, find, pairs)
    with_text = pairs in (AS_LOGGED, RATINGS)
    caption = glance_caption(with_text=with_text, pairs=title_of(pairs), judged=_JUDGED_ON[part])
    return [
        ResultTable(
            f"{metric}-{data}-{pairs}", f"{metric.upper()} on {TITLES[data]}: {title_of(pairs)}",
            at_a_glance(data, found, failed, metric, with_text=with_text), caption, tidy=found.filter(data=data),
        )
        for data in plan.data
    ]  # fmt: skip


def _with_claims(outcome: Outcome, metric: str, plan: Plan, find: Finder) -> Outcome:
    tables, findings, contests = list(outcome.tables), [], {}
    for pairs in _MAIN:
        rows, part = _part(plan, find, pairs)
        proposals, risks = contests[pairs] = proposal_table(rows, metric), risk_table(rows, metric)
        where = f"{title_of(pairs)}; {_JUDGED_ON[part]}"
        tables += [
            ResultTable(f"{metric}-proposed-{pairs}", f"Is a proposed method the best ({title_of(pairs)})?",
                        _explained(proposals), f"{where}. {_PROPOSED_CAPTION}", tidy=proposals),
            ResultTable(f"{metric}-risk-{pairs}", f"Does the unbiased risk lower the error ({title_of(pairs)})?",
                        _explained(risks), f"{where}. {_RISK_CAPTION}", tidy=risks),
        ]  # fmt: skip
        findings += [*proposal_sentences(proposals, pairs, metric), *risk_sentences(risks, pairs, metric)]
        if metric == "ece":
            findings += [*level_sentences(rows, pairs), *gaming_sentences(rows, pairs)]
    verdicts = claim_verdicts(contests, _part(plan, find, AS_LOGGED)[0]) if metric == "ece" else []
    return replace(outcome, tables=tables, findings=findings, verdicts=verdicts)


def _with_ratios(outcome: Outcome, plan: Plan, find: Finder) -> Outcome:
    ratios = ratio_table(plan, find)
    table = ResultTable(
        "ece-by-ratio", "The choice of negatives decides", _explained(ratios), _RATIO_CAPTION, tidy=ratios
    )
    return replace(
        outcome, tables=[*outcome.tables, table], figures=[ratio_figure(ratios)],
        findings=[*outcome.findings, *ratio_findings(ratios)],
    )  # fmt: skip


def _explained(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers as text, so that none is empty: '-' where the dissertation, or the method, has none."""
    numbers = [name for name, kind in table.schema.items() if kind.is_float() or kind == pl.Null]
    return table.with_columns(
        pl.col(name).map_elements(partial(_number, percent=name.startswith(("improvement", "decrease"))),
                                  return_dtype=pl.String, skip_nulls=False)
        for name in numbers
    )  # fmt: skip


def _number(value: float | None, *, percent: bool) -> str:
    return "-" if value is None or isnan(value) else f"{value:.2f}" if percent else f"{value:.4f}"


_PROPOSED_CAPTION = (
    "Proposed: Gaussian or Gamma with the unbiased risk. Other: every other row of the dissertation's table. "
    "Competitor: Platt "
    "or Beta with the unbiased risk, over which the dissertation counts its improvement (5.21 to 25.85%). Differences "
    "are "
    "proposed less other, with 95% intervals for draws of users and seeds; the best of each group is chosen by its "
    "mean, which the intervals do not account for."
)
_RISK_CAPTION = (
    "Over the seeds in which both risks have a minimum. Differences are unbiased less naive, with 95% intervals for "
    "draws of users and seeds. The dissertation reports decreases "
    "of 7.40 to 76.52% for all of its four methods; '-' where it has no number, or a risk no minimum."
)
_RATIO_CAPTION = (
    "Not a choice: the ratio of the main table comes from the training log alone; this shows what others would have "
    "given. ECE and probabilities are means over models, seeds and the four parametric methods of the dissertation, "
    "those "
    "without a minimum left out (their number is given; '-' where all are); 'of' counts the decided cases and models."
)


def _notes(plan: Plan, find: Finder) -> list[str]:
    notes = not_run(plan)
    for data in plan.data:
        base = base_of(data, "bpr", plan.seeds[0], plan.scale)
        ratio = find(maps_cell(base, AS_LOGGED)).table("ratio")["negatives"].item()
        log = find(logged.cell(data=data)).table("log").row(0, named=True)
        share, sampled = log["positives"] / log["ratings"], positive_share(plan, find, AS_LOGGED, data)
        notes.append(
            f"{TITLES[data]}: in the training log {1 / share - 1:.2f} ratings are not positive for each that is, so "
            f"{ratio} negatives (rounded, on average) are drawn for each held-out positive among the pairs that are "
            f"not training positives: the sample then has about the positive share of the log, {sampled:.1%} where the "
            f"log has {share:.1%}. No test label enters this choice, and it is the same for all methods."
        )
    return [*notes, *_METHOD_NOTES]


_METHOD_NOTES = (
    "A tenth of the training positives is held out; it chooses settings and epochs of the recommenders and is the "
    "positives of every calibration set. Propensities are popularity in training to the power 0.5, at least 0.1.",
    "Test pairs that are also in the training log are left out. ECE and MCE have 15 bins of equal width.",
    "The anchor are 1,000 uniformly exposed pairs, drawn anew for each seed and left out of the test; the base rate is "
    "their share of positives. Nothing is chosen with them.",
    "BBQ averages all binnings that its paper allows, the dissertation four; histogram binning has 15 bins on Coat.",
)


def _experiment(metric: str, shows: str) -> Experiment:
    cells: Callable[[Plan], Sequence[Cell]] = partial(_cells, metric)
    return Experiment(
        name=metric, chapter=2, title=f"{METRICS[metric]} of all methods, risks and models", shows=shows, data=DATA,
        cells=cells, outcome=partial(_outcome, metric), claims=metric == "ece",
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("ece", "the table of the expected calibration error, and the claims on it"),
    _experiment("mce", "the table of the maximum calibration error"),
    _experiment("nll", "the table of the negative log-likelihood"),
)
