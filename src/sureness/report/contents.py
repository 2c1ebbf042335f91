"""Everything the page shows, as plain values: computed here, drawn and rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.calibration.base import Calibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError
from sureness.metrics.reliability import ReliabilityCurve, reliability_curve
from sureness.numerics.grouping import group_codes
from sureness.plots import (
    ConfidenceByDegree,
    FittedCurves,
    MetricComparison,
    ScoreDistributions,
    prepare_confidence_by_degree,
    prepare_fitted_curves,
    prepare_metric_comparison,
    prepare_score_distributions,
)
from sureness.report.cases import Case, choose_cases, top_candidates
from sureness.report.distillation import Distillation
from sureness.report.findings import Finding
from sureness.report.headline import Headline, Tile, headline, tiles, uncalibrated
from sureness.report.list_sizes import ListSizes
from sureness.report.methods import TOP_N, GroupRow, Method, Progress, judge_groups, judge_methods

MOST_DIAGRAMS = 6
MOST_ROWS = 200

ExtraTable = tuple[str, str, pl.DataFrame]
"""Title, caption and rows of a table that the caller adds."""


@dataclass(frozen=True, eq=False)
class Contents:
    """The page before it is drawn."""

    title: str
    n_users: int | None  # None: not known
    headline: Headline
    tiles: tuple[Tile, ...]
    methods: tuple[Method, ...]  # the first is the main one
    comparison: MetricComparison
    diagrams: dict[str, ReliabilityCurve]  # frequency reading of the first few methods
    accuracy_diagram: ReliabilityCurve  # of the main one
    distributions: ScoreDistributions
    curves: FittedCurves
    degree: ConfidenceByDegree | None
    groups: tuple[GroupRow, ...]
    cases: tuple[Case, ...]
    tables: tuple[ExtraTable, ...]
    notes: tuple[str, ...]
    left_out: dict[str, str]  # section -> why it is not there
    list_sizes: ListSizes | None = None  # what is shown about them, if anything
    distillation: Distillation | None = None
    findings: tuple[Finding, ...] = ()  # the page in short
    list_tables: tuple[ExtraTable, ...] = ()  # shown behind the list sizes

    @property
    def main(self) -> Method:
        return self.methods[0]


def gather_contents(
    pairs: ScoredPairs,
    calibrators: Mapping[str, Calibrator],
    *,
    items: pl.DataFrame | None = None,
    user_degree: pl.DataFrame | None = None,
    groups: ArrayLike | None = None,
    candidates: pl.DataFrame | None = None,
    list_sizes: ListSizes | None = None,
    distillation: Distillation | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    extra_tables: Sequence[ExtraTable] = (),
    list_tables: Sequence[ExtraTable] = (),
    findings: Iterable[Finding] = (),
    n_resamples: int = 300,
    progress: Progress | None = None,
) -> Contents:
    """Judge the calibrators on the pairs and put together what the page shows; see `write_report`.

    Examples
    --------
    >>> from sureness.calibration.rescaling import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    >>> contents = gather_contents(pairs, {"minmax": MinMaxCalibrator().fit(pairs.scores, pairs.labels)})
    >>> round(contents.main.ece.value, 4), sorted(contents.left_out)
    (0.1667, ['cases', 'degree', 'groups'])
    """
    _check(calibrators)
    probabilities = {name: calibrator.probability(pairs.scores) for name, calibrator in calibrators.items()}
    name, main = next(iter(calibrators.items()))
    methods = judge_methods(
        pairs, calibrators, probabilities, n_resamples=n_resamples, progress=progress or _no_progress
    )
    before = uncalibrated(methods)
    n_users = None if pairs.users is None else group_codes(pairs.users)[1]
    shown = _shown(methods, before)
    top = top_candidates(pairs, candidates, main)
    return Contents(
        title=title or "How sure is the recommender?",
        n_users=n_users,
        headline=headline(pairs, methods[0], probabilities[name], before),
        tiles=tiles(pairs, n_users, methods[0], before),
        methods=methods,
        comparison=_comparison(methods),
        diagrams={one: _curve(pairs, probabilities[one]) for one in shown},
        accuracy_diagram=_curve(pairs, probabilities[name], accuracy=True),
        distributions=prepare_score_distributions(pairs.scores, pairs.labels, sample_weight=pairs.weight),
        curves=prepare_fitted_curves(
            {one: calibrators[one] for one in shown}, pairs.scores, sample_weight=pairs.weight
        ),
        degree=None if top is None or user_degree is None else prepare_confidence_by_degree(top, user_degree, n=TOP_N),
        groups=() if groups is None else judge_groups(pairs, probabilities[name], groups, n_resamples=n_resamples),
        cases=() if top is None else choose_cases(top, items),
        tables=tuple(checked_table(table) for table in extra_tables),
        notes=tuple(notes),
        left_out=_left_out(top, user_degree, groups),
        list_sizes=list_sizes,
        distillation=distillation,
        findings=tuple(findings),
        list_tables=tuple(checked_table(table) for table in list_tables),
    )


def _check(calibrators: Mapping[str, Calibrator]) -> None:
    if not calibrators:
        raise DataError("a report needs at least one fitted calibrator, got none; give {name: calibrator}")
    for name, calibrator in calibrators.items():
        if not isinstance(calibrator, Calibrator):
            raise DataError(
                f"every method of a report maps scores alone to probabilities, got {type(calibrator).__name__} as "
                f"{name!r}; give a fitted Calibrator such as GaussianCalibrator"
            )


def _shown(methods: tuple[Method, ...], before: Method | None) -> list[str]:
    """The methods that get a diagram: the first ones, and in any case what was there before."""
    names = [method.name for method in islice(methods, MOST_DIAGRAMS)]
    if before is not None and before.name not in names:
        names[-1] = before.name
    return names


def _curve(pairs: ScoredPairs, probability: FloatArray, *, accuracy: bool = False) -> ReliabilityCurve:
    reading = "accuracy" if accuracy else "frequency"
    return reliability_curve(pairs.labels, probability, reading=reading, sample_weight=pairs.weight)  # type: ignore[arg-type]


def _comparison(methods: tuple[Method, ...]) -> MetricComparison:
    families = {method.name: method.family for method in methods}
    several = len(set(families.values())) > 1
    return prepare_metric_comparison(
        {method.name: method.ece for method in methods}, groups=families if several else None
    )


def checked_table(table: ExtraTable) -> ExtraTable:
    """A table for the page, cut where it is too long."""
    title, caption, frame = table
    if not isinstance(frame, pl.DataFrame):
        raise DataError(
            f"an extra table is (title, caption, polars DataFrame), got a {type(frame).__name__} in {title!r}; "
            "convert it with polars.DataFrame"
        )
    if frame.height > MOST_ROWS:
        caption = f"{caption} The first {MOST_ROWS} of {frame.height:,} rows.".strip()
    return title, caption, frame.head(MOST_ROWS)


def _left_out(top: pl.DataFrame | None, user_degree: object, groups: object) -> dict[str, str]:
    reasons = {}
    if top is None:
        reasons["cases"] = "the users or items of the pairs are not known, and no candidates were given."
    if user_degree is None or top is None:
        reasons["degree"] = (
            "this needs candidates with users, and the number of training interactions of every user (user_degree); "
            "the number of judged pairs would say nothing about how well a user is known."
        )
    if groups is None:
        reasons["groups"] = "no groups, such as domains, were given for the pairs."
    return reasons


def _no_progress(step: str, done: int, total: int) -> None:
    """Nobody wants to know."""
