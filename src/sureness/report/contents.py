"""Everything a page about calibration shows, as plain values: computed here, drawn and rendered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import FloatArray
from sureness.calibration.maps import ProbabilityMap, check_map
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError
from sureness.metrics.calibration import ReliabilityCurve, reliability_curve
from sureness.numerics.grouping import group_codes
from sureness.report.cases import UserCase, choose_cases, top_candidates
from sureness.report.fields import columns_for, given_groups, groups_of_fields, map_of_fields, probability_with
from sureness.report.figures.comparison import MetricComparison, prepare_metric_comparison
from sureness.report.figures.degrees import ByDegree, prepare_confidence_by_degree
from sureness.report.figures.reliability import ProbabilityBands, prepare_bands
from sureness.report.figures.scores import (
    FittedCurves,
    ScoreDistributions,
    prepare_fitted_curves,
    prepare_score_distributions,
)
from sureness.report.formatting import Headline, Tile
from sureness.report.inputs import NO_ADDITIONS, NO_BACKGROUND, Additions, Background
from sureness.report.list_sizes import ListSizes
from sureness.report.methods import TOP_N, GroupRow, Method, judge_groups, judge_methods
from sureness.report.promise import (
    OUTCOMES,
    Promise,
    fitted_on,
    headline,
    judge_promise,
    tiles,
    uncalibrated,
)

MOST_DIAGRAMS = 6
_CROWDED = 0.95  # share of the pairs in one of ten bins from which a diagram from 0% to 100% shows nothing


@dataclass(frozen=True, eq=False)
class Contents:
    """The page before it is drawn."""

    n_users: int | None  # None: unknown
    outcome: str  # what a label of 1 means, as in "were bought"
    headline: Headline
    promise: Promise  # what was promised and what came where lists are made
    tiles: tuple[Tile, ...]
    methods: tuple[Method, ...]  # the first is the main one
    comparison: MetricComparison
    bands: dict[str, ProbabilityBands]  # of the main method; of all with a diagram where events are rare
    diagrams: dict[str, ReliabilityCurve]  # frequencies, for the first few methods; none where events are rare
    distributions: ScoreDistributions
    curves: FittedCurves
    degree: ByDegree | None
    groups: tuple[GroupRow, ...]
    cases: tuple[UserCase, ...]
    list_sizes: ListSizes | None

    __repr__ = fields_repr

    @property
    def main(self) -> Method:
        return self.methods[0]

    @property
    def fitting(self) -> str:
        """What the main method was fitted on, as in the tile of the judged pairs; empty if it is not known."""
        return self.tiles[0].note

    @property
    def rare(self) -> bool:
        """Whether nearly all probabilities fall into one of ten equal bins, so that bands are shown instead."""
        return not self.diagrams


def gather_contents(
    pairs: ScoredPairs,
    calibrators: Mapping[str, ProbabilityMap],
    *,
    background: Background = NO_BACKGROUND,
    additions: Additions = NO_ADDITIONS,
    n_resamples: int = 300,
    progress: Progress = silent,
) -> Contents:
    """Judge the calibrators on the pairs and put together what the page shows; parameters as for `write_report`.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    >>> contents = gather_contents(pairs, {"minmax": MinMaxCalibrator().fit(pairs.scores, pairs.labels)})
    >>> round(contents.main.ece.value, 4)
    0.1667
    """
    _check(calibrators)
    columns = {
        name: columns_for(calibrator, background.segments, background.fields, len(pairs))
        for name, calibrator in calibrators.items()
    }
    probabilities = {
        name: probability_with(calibrator, pairs.scores, pairs.users, columns[name])
        for name, calibrator in calibrators.items()
    }
    name, main = next(iter(calibrators.items()))
    methods = judge_methods(pairs, calibrators, probabilities, n_resamples=n_resamples, progress=progress)
    before = uncalibrated(methods)
    n_users = None if pairs.users is None else group_codes(pairs.users)[1]
    shown = _shown(methods, before)
    outcome = additions.outcome or OUTCOMES[methods[0].kind]
    promise = judge_promise(pairs, probabilities)
    diagrams = _diagrams(pairs, {one: probabilities[one] for one in shown})
    bands = {one: _bands(pairs, probabilities[one]) for one in ([name] if diagrams else shown)}
    top = top_candidates(pairs, main, candidates=background.candidates, known=columns[name])
    degrees = background.user_degree
    groups = _groups(background, main, columns[name], len(pairs))
    return Contents(
        n_users=n_users,
        outcome=outcome,
        headline=headline(promise, outcome, bands[name]),
        promise=promise,
        tiles=tiles(pairs, n_users, promise, outcome, fitted_on(main, pairs, name), bands[name]),
        methods=methods,
        comparison=_comparison(methods),
        bands=bands,
        diagrams=diagrams,
        distributions=prepare_score_distributions(
            pairs.scores, pairs.labels, sample_weight=pairs.weight, names=(f"not {outcome}", outcome)
        ),
        curves=prepare_fitted_curves(
            {one: calibrators[one] for one in shown}, pairs.scores, sample_weight=pairs.weight
        ),
        degree=None if top is None or degrees is None else prepare_confidence_by_degree(top, degrees, n=TOP_N),
        groups=tuple(
            row for each in groups for row in judge_groups(pairs, probabilities[name], each, n_resamples=n_resamples)
        ),
        cases=() if top is None else choose_cases(top, background.items),
        list_sizes=additions.list_sizes,
    )


def _check(calibrators: Mapping[str, ProbabilityMap]) -> None:
    if not calibrators:
        raise EmptyError("a report needs at least one fitted calibrator, got none; give {name: calibrator}")
    for calibrator in calibrators.values():
        check_map(calibrator)


def _shown(methods: tuple[Method, ...], before: Method | None) -> list[str]:
    """The methods that get a diagram: the first ones, and always the uncalibrated one."""
    names = [method.name for method in islice(methods, MOST_DIAGRAMS)]
    if before is not None and before.name not in names:
        names[-1] = before.name
    return names


def _diagrams(pairs: ScoredPairs, probabilities: Mapping[str, FloatArray]) -> dict[str, ReliabilityCurve]:
    """The diagrams from 0% to 100%, the main method first; none if nearly all of its pairs share one bin."""
    curves = {name: reliability_curve(pairs.labels, p, sample_weight=pairs.weight) for name, p in probabilities.items()}
    weight = next(iter(curves.values())).weight
    return {} if len(pairs) > 1 and weight.max() > _CROWDED * weight.sum() else curves


def _bands(pairs: ScoredPairs, probability: FloatArray) -> ProbabilityBands:
    return prepare_bands(pairs.labels, probability, users=pairs.users, sample_weight=pairs.weight)


def _comparison(methods: tuple[Method, ...]) -> MetricComparison:
    families = {method.name: method.family for method in methods}
    several = len(set(families.values())) > 1
    return prepare_metric_comparison(
        {method.name: method.ece for method in methods}, groups=families if several else None
    )


def _groups(
    background: Background, main: ProbabilityMap, columns: pl.DataFrame | None, n_pairs: int
) -> list[ArrayLike | pl.Series]:
    """The groups that were given, or the values of each field of the main map."""
    if background.groups is not None:
        return given_groups(background.groups, n_pairs)
    own = map_of_fields(main)
    return [] if own is None or columns is None else groups_of_fields(own, columns)
