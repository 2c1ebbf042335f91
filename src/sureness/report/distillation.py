"""What the distillation part of a page shows, as plain values: computed here, drawn and rendered elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._types import FloatArray
from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.evaluation.inference import inference_table
from sureness.evaluation.rank_comparison import RankComparison, RankScatter, compare_ranks, rank_scatter
from sureness.evaluation.ranking import evaluate_ranking
from sureness.list_size.comparing import PolicyComparison
from sureness.metrics.intervals import Interval
from sureness.plots.comparison import MetricComparison
from sureness.plots.distillation import (
    RankDifferences,
    TrainingCurves,
    prepare_model_comparison,
    prepare_rank_differences,
    prepare_training_curves,
)
from sureness.report.methods import Progress
from sureness.sources.base import ScoreSource

METRICS = ("hit@50", "ndcg@50", "hit@100", "ndcg@100")
TEACHER, STUDENT = "teacher", "student"

_LETTERS = {"hit": "H", "ndcg": "N"}
_Z = 1.96  # standard errors to each side of a mean that hold 95%


@dataclass(frozen=True)
class Measure:
    """One metric of one model, over all judged users."""

    value: Interval
    difference: float | None  # to the model of this size that was trained alone, user by user; None: it is that model
    p_value: float | None

    @property
    def gain(self) -> float | None:
        """The difference as a share of what the model reaches alone; None where that is nothing."""
        alone = None if self.difference is None else self.value.value - self.difference
        return None if self.difference is None or not alone else self.difference / alone

    @property
    def unchanged(self) -> bool:
        """Whether no user's value differs from that of the model alone."""
        return self.difference == 0 and self.p_value == 1

    @property
    def clear(self) -> bool:
        """Whether chance alone would hardly bring such a difference."""
        return self.p_value is not None and self.p_value < 0.05


@dataclass(frozen=True)
class ModelRow:
    """What one model reaches and costs."""

    name: str
    role: str  # "teacher" or "student"
    about: str  # how it was trained, "" if nobody said
    measures: dict[str, Measure]  # by metric as it is written
    parameters: int | None
    seconds: float  # for the lists of all users


@dataclass(frozen=True, eq=False)
class Distillation:
    """The distillation part of a page before it is drawn."""

    teacher: str  # the first of each: trained alone
    student: str
    main: str  # the student that the headline is about
    metrics: tuple[str, ...]  # as they are written
    n_users: int  # judged
    n_items: int
    list_length: int  # of the lists that were timed
    rows: tuple[ModelRow, ...]
    comparison: MetricComparison  # by the first metric
    before: RankComparison  # of the two models alone
    after: RankComparison | None
    after_names: tuple[str, str] | None
    differences: RankDifferences
    scatter: RankScatter  # of the two models alone
    training: TrainingCurves | None

    def row(self, name: str) -> ModelRow:
        """The row of a model."""
        return next(row for row in self.rows if row.name == name)


def gather_distillation(
    teachers: Mapping[str, ScoreSource],
    students: Mapping[str, ScoreSource],
    test: Interactions,
    *,
    seen: Interactions | None = None,
    after: tuple[str, str] | None = None,
    main: str | None = None,
    about: Mapping[str, str] | None = None,
    history: pl.DataFrame | None = None,
    warm_up: int = 0,
    validation_metric: str = "metric",
    metrics: Sequence[str] = METRICS,
    list_length: int = 50,
    n_points: int = 600,
    repeats: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Distillation:
    """Judge large and small models by the same test, and see how differently they rank.

    Parameters
    ----------
    teachers, students : mapping of name to ScoreSource
        The large and the small models; the first of each was trained alone, and the others are compared with it. All
        are judged on the users that every one of them knows.
    test : Interactions
    seen : Interactions, optional
        Items that are not shown again: training log and validation set.
    after : names of a teacher and a student, optional
        The two that taught each other; their ranks are compared beside those of the first two.
    main : str, optional
        The student to speak of first; by default that of `after`, else the last one.
    about : mapping of name to sentence, optional
        How each model was trained.
    history : DataFrame, optional
        `BidirectionalDistillation.history_`; shown if its epochs were judged.
    warm_up : int
        `BidirectionalDistillation.warm_up_`.
    validation_metric : str
        What `history` was judged by.
    metrics : sequence of str
        hit@K, ndcg@K, recall@K, precision@K for any K; the first one decides.
    list_length : int
        Items in the lists that are timed.
    n_points : int
        Items of each model in the picture of both ranks.
    repeats : int
        Measurements of each time.
    seed : int
    progress : callable, optional

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> large, small = (MatrixSource(scores) for scores in rng.normal(size=(2, 40, 30)))
    >>> test = Interactions.from_matrix(np.eye(40, 30))
    >>> found = gather_distillation({"Teacher": large}, {"Student": small}, test, metrics=["hit@10"])
    >>> [(row.name, row.role) for row in found.rows], found.metrics
    ([('Teacher', 'teacher'), ('Student', 'student')], ('H@10',))
    """
    models = _checked(teachers, students)
    alone = next(iter(teachers)), next(iter(students))
    main = main or (after[1] if after else list(students)[-1])
    _require(students, [main], "main")
    if after is not None:
        _require(teachers, after[:1], "after")
        _require(students, after[1:], "after")
    judged = _judged(models, test, seen, metrics, progress)
    costs = inference_table(models, length=list_length, seen=seen, repeats=repeats)
    written = {name: _written(name) for name in metrics}
    told = dict(about or {})
    rows = tuple(
        ModelRow(
            name, TEACHER if name in teachers else STUDENT, told.get(name, ""),
            {title: _measure(judged, metric, name, alone[name in students]) for metric, title in written.items()},
            parameters, seconds,
        )
        for name, parameters, seconds in costs.rows()
    )  # fmt: skip
    pairs = {"before": alone} if after is None else {"before": alone, "after": after}
    compared = {
        label: compare_ranks(models[large], models[small], test, seen=seen, progress=progress)
        for label, (large, small) in pairs.items()
    }
    first = next(iter(written.values()))
    return Distillation(
        teacher=alone[0], student=alone[1], main=main, metrics=tuple(written.values()),
        n_users=judged.height, n_items=compared["before"].n_items, list_length=list_length, rows=rows,
        comparison=_comparison(rows, first),
        before=compared["before"], after=compared.get("after"), after_names=after,
        differences=prepare_rank_differences(compared),
        scatter=rank_scatter(models[alone[0]], models[alone[1]], seen=seen, n_points=n_points, seed=seed),
        training=_training(history, warm_up, validation_metric),
    )  # fmt: skip


def _checked(teachers: Mapping[str, ScoreSource], students: Mapping[str, ScoreSource]) -> dict[str, ScoreSource]:
    if not teachers or not students:
        raise DataError(f"expected at least one teacher and one student, got {len(teachers)} and {len(students)}; "
                        "give {name: model} of each")  # fmt: skip
    if both := set(teachers) & set(students):
        raise DataError(f"teachers and students must have different names, got {sorted(both)[0]!r} twice")
    return {**teachers, **students}


def _require(models: Mapping[str, ScoreSource], names: Sequence[str], what: str) -> None:
    for name in names:
        if name not in models:
            raise DataError(f"{what} must name models that are given, {', '.join(models)}, got {name!r}")


def _judged(
    models: Mapping[str, ScoreSource], test: Interactions, seen: Interactions | None, metrics: Sequence[str],
    progress: Progress | None,
) -> pl.DataFrame:  # fmt: skip
    """user_id, and a column for each model and metric; users that all models know."""
    table: pl.DataFrame | None = None
    for name, model in models.items():
        found = evaluate_ranking(model, test, seen=seen, metrics=metrics, progress=progress).per_user
        found = found.rename({metric: f"{metric} {name}" for metric in metrics})
        table = found if table is None else table.join(found, on="user_id", how="inner", maintain_order="left")
    assert table is not None
    if not table.height:
        raise DataError("there is no user with a test item whom all models know; check that their ids are of one kind")
    return table


def _measure(judged: pl.DataFrame, metric: str, name: str, alone: str) -> Measure:
    values = {each: judged[f"{metric} {each}"].to_numpy() for each in (name, alone)}
    value = _mean(values[name])
    if name == alone:
        return Measure(value, None, None)
    paired = PolicyComparison(metric, alone, np.arange(judged.height), {}, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all users gain the same: there is no spread, and p is 0
        return Measure(value, *paired.difference(name, alone))


def _mean(values: FloatArray) -> Interval:
    """The mean over users with its 95% interval."""
    mean = float(values.mean())
    side = _Z * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return Interval(mean, max(0.0, mean - side), min(1.0, mean + side))


def _comparison(rows: Sequence[ModelRow], metric: str) -> MetricComparison:
    """Students first, so that they have their colour in every figure."""
    ordered = sorted(rows, key=lambda row: row.role)
    return prepare_model_comparison(
        {row.name: row.measures[metric].value for row in ordered}, groups={row.name: row.role for row in ordered},
        metric=metric,
    )  # fmt: skip


def _training(history: pl.DataFrame | None, warm_up: int, metric: str) -> TrainingCurves | None:
    if history is None or not history["metric"].is_not_null().any():
        return None
    return prepare_training_curves(history, warm_up=warm_up, metric=_written(metric))


def _written(metric: str) -> str:
    """A metric as papers write it: H@50 and N@50."""
    word, _, length = metric.partition("@")
    return f"{_LETTERS[word]}@{length}" if word in _LETTERS and length else metric
