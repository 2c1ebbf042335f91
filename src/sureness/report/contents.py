"""A page about calibration: what a caller gives, what the page shows as plain values, and its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import FloatArray
from sureness.calibration.fields import FieldTable
from sureness.calibration.maps import ProbabilityMap, check_map
from sureness.calibration.segments import SegmentCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError
from sureness.metrics.calibration import ReliabilityCurve, reliability_curve
from sureness.numerics.grouping import group_codes
from sureness.report.cases import UserCase, choose_cases, top_pairs
from sureness.report.figures.lists import ByDegree, draw_confidence_by_degree, prepare_confidence_by_degree
from sureness.report.figures.reliability import ProbabilityBands, draw_bands, draw_reliability, prepare_bands
from sureness.report.figures.scores import draw_fitted_curves, draw_metric_comparison, draw_score_distributions
from sureness.report.figures.style import Plan, error_text
from sureness.report.formatting import Finding, Headline, Tile
from sureness.report.methods import (
    OUTCOMES,
    TOP_N,
    Method,
    Promise,
    fitted_on,
    headline,
    judge_groups,
    judge_methods,
    judge_promise,
    tiles,
    uncalibrated,
)
from sureness.report.tables import columns_for, given_groups, groups_of_fields, probability_with
from sureness.tables.frames import Frame

MOST_DIAGRAMS = 6
_CROWDED = 0.95  # share of the pairs in one of ten bins from which a diagram from 0% to 100% shows nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Background:
    """What is known about the judged pairs, their users and their items; every part is optional.

    Parameters
    ----------
    items : table of any kind with item_id, title and, if known, domain
    user_degree : table of any kind with user_id and degree
        Number of training interactions of each user.
    groups : array-like of shape (n_pairs,), table, or mapping of names to columns
        A group for every pair, such as its domain; the main calibrator is judged on each. Of several columns, such as
        country and device, it is judged on each value of each, and on each two of them together.
    segments : array-like of shape (n_pairs,)
        The segment of every pair; needed by maps that differ between segments.
    fields : table, or mapping of names to columns of shape (n_pairs,)
        The fields of every pair; needed by maps of several fields, and by maps for lists that read the history or
        traits. Without `groups`, a main map of several fields is judged on each value of each field, and
        on each two of them together.
    """

    items: Frame | None = None
    user_degree: Frame | None = None
    groups: ArrayLike | FieldTable | None = None
    segments: ArrayLike | None = None
    fields: FieldTable | None = None

    __repr__ = fields_repr


@dataclass(frozen=True, kw_only=True, eq=False)
class Additions:
    """What a page shows as well; every part is optional.

    Parameters
    ----------
    title : str
    outcome : str
        What a label of 1 means, as in "were bought": the page then writes bought and not bought. By default liked
        or chosen, by what the main map estimates.
    headline : Headline, optional
        By default the result of calibration or of the list sizes.
    findings : sequence of Finding
        The page in short, at its top.
    notes : sequence of str
        Sentences for the end of the page, for example how the pairs were drawn.
    """

    title: str | None = None
    outcome: str | None = None
    headline: Headline | None = None
    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()

    __repr__ = fields_repr

    def shown(self, title: str) -> dict[str, object]:
        """What every page shows of it; `title` is used if none was given."""
        return {"title": self.title or title, "findings": self.findings, "notes": self.notes}


NO_BACKGROUND, NO_ADDITIONS = Background(), Additions()


@dataclass(frozen=True, eq=False)
class Contents:
    """The page before it is drawn."""

    n_users: int | None  # None: unknown
    outcome: str  # what a label of 1 means, as in "were bought"
    headline: Headline
    promise: Promise  # what was promised and what came where lists are made
    tiles: tuple[Tile, ...]
    methods: tuple[Method, ...]  # the first is the main one
    pairs: ScoredPairs
    drawn: Mapping[str, ProbabilityMap]  # the maps that get a diagram and a curve
    bands: dict[str, ProbabilityBands]  # of the main method; of all with a diagram where events are rare
    diagrams: dict[str, ReliabilityCurve]  # frequencies, for the first few methods; none where events are rare
    degree: ByDegree | None
    groups: Sequence[Mapping[str, Any]]
    cases: tuple[UserCase, ...]

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
    top = top_pairs(pairs, probabilities[name])
    degrees = background.user_degree
    groups = _groups(background, main, columns[name], len(pairs))
    return Contents(
        n_users=n_users,
        outcome=outcome,
        headline=headline(promise, outcome, bands[name]),
        promise=promise,
        tiles=tiles(pairs, n_users, promise, outcome, fitted_on(main, pairs, name), bands[name]),
        methods=methods,
        pairs=pairs,
        drawn={one: calibrators[one] for one in shown},
        bands=bands,
        diagrams=diagrams,
        degree=None if top is None or degrees is None else prepare_confidence_by_degree(top, degrees, n=TOP_N),
        groups=[
            row for each in groups for row in judge_groups(pairs, probabilities[name], each, n_resamples=n_resamples)
        ],
        cases=() if top is None else choose_cases(top, background.items),
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


def _groups(
    background: Background, main: ProbabilityMap, columns: pl.DataFrame | None, n_pairs: int
) -> list[ArrayLike | pl.Series]:
    """The groups that were given, or the values of each field of the main map."""
    if background.groups is not None:
        return given_groups(background.groups, n_pairs)
    return groups_of_fields(main, columns) if isinstance(main, SegmentCalibrator) and columns is not None else []


def page_plans(page: Contents) -> Iterator[Plan]:
    """The figures of the page."""
    pairs, outcome, main = page.pairs, page.outcome, page.main.name
    if len(page.methods) > 1:
        families = {method.name: method.family for method in page.methods}
        groups = families if len(set(families.values())) > 1 else None
        draw = partial(draw_metric_comparison, {method.name: method.ece for method in page.methods}, groups=groups)
        yield Plan("comparison", "metrics", "ECE of every method with its interval", draw)
    label = f"Promised and realised shares of {main} from the least to the most likely pairs"
    yield Plan("promise", "promise", label, partial(draw_bands, page.bands[main], title=main))
    if not page.rare:
        label = f"Reliability diagram of {main}; ECE {error_text(page.main.ece.value)}"
        yield Plan("reliability", "reliability", label, _reliability(page, main))
    yield from _small_diagrams(page)
    label = f"Densities of the scores of pairs {outcome} and not {outcome}"
    draw = partial(draw_score_distributions, pairs.scores, pairs.labels, names=(f"not {outcome}", outcome))
    yield Plan("scores", "scores", label, partial(draw, sample_weight=pairs.weight))
    draw = partial(draw_fitted_curves, page.drawn, pairs.scores, sample_weight=pairs.weight)
    yield Plan("curves", "curves", "Probability against score for several calibrators", draw)
    if page.degree is not None:
        label = "Mean probability of the top items against the degree of the user"
        yield Plan("degree", "degree", label, partial(draw_confidence_by_degree, page.degree))


def _small_diagrams(page: Contents) -> Iterator[Plan]:
    """One small diagram per method; none if there is only the main one, which is shown large."""
    if len(page.drawn) == 1:
        return
    for place, name in enumerate(page.drawn, start=1):
        end = f"{place}_{re.sub('[^a-z0-9]+', '_', name.lower()).strip('_') or 'method'}"
        if page.rare:
            draw = partial(draw_bands, page.bands[name], title=name, compact=True)
            yield Plan(f"promise_{end}", "diagrams", f"Promised and realised shares of {name}", draw)
        else:
            draw = partial(_reliability(page, name), compact=True)
            yield Plan(f"reliability_{end}", "diagrams", f"Reliability diagram of {name}", draw)


def _reliability(page: Contents, name: str) -> partial[Any]:
    """A reliability diagram with the ECE of the table of methods, which has other bins."""
    error = next(method.ece.value for method in page.methods if method.name == name)
    return partial(draw_reliability, page.diagrams[name], title=name, error=error)
