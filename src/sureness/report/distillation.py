"""The distillation part of a page as plain values, and its result in one sentence and four numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import FloatArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, SettingError
from sureness.lists.comparing import PolicyComparison
from sureness.metrics.inference import inference_table
from sureness.metrics.intervals import Interval
from sureness.metrics.rank_comparison import RankComparison, RankScatter, compare_ranks, rank_scatter
from sureness.metrics.ranking import evaluate_ranking
from sureness.report.figures.comparison import MetricComparison, prepare_metric_comparison
from sureness.report.figures.distillation import (
    RankDifferences,
    TrainingCurves,
    prepare_rank_differences,
    prepare_training_curves,
)
from sureness.report.formatting import Headline, Tile, chance, count, error, spoken_percent, verdict
from sureness.sources.aligned import Seen, checked_seen
from sureness.sources.base import ScoreSource

METRICS = ("hit@50", "ndcg@50", "hit@100", "ndcg@100")
TEACHER, STUDENT = "teacher", "student"
LIST_LENGTH = 50  # items in the lists that are timed
N_POINTS = 600  # items of each model in the scatter of ranks

_LETTERS = {"hit": "H", "ndcg": "N"}
_CLEAR = 0.05  # p-values below count as a clear difference
_Z = 1.96  # half-width of a 95% interval in standard errors


@dataclass(frozen=True, kw_only=True, eq=False)
class DistilledModels:
    """Large and small models to compare.

    Parameters
    ----------
    teachers, students : mapping of name to ScoreSource
        The large and the small models. The first of each was trained alone, and the others are compared with it.
    after : names of a teacher and a student, optional
        The two that learned from each other; their ranks are compared as well as those of the first two.
    main : str, optional
        The student of the headline; by default that of `after`, else the last one.
    about : mapping of name to sentence, optional
        How each model was trained.
    """

    teachers: Mapping[str, ScoreSource]
    students: Mapping[str, ScoreSource]
    after: tuple[str, str] | None = None
    main: str | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    __repr__ = fields_repr

    @property
    def alone(self) -> tuple[str, str]:
        """Names of the teacher and the student that were trained alone."""
        return next(iter(self.teachers)), next(iter(self.students))

    @property
    def headline_student(self) -> str:
        return self.main or (self.after[1] if self.after else list(self.students)[-1])

    def checked(self) -> dict[str, ScoreSource]:
        """All models by name; refuses missing, ambiguous and unknown names."""
        if not self.teachers or not self.students:
            raise EmptyError(
                f"expected at least one teacher and one student, got {len(self.teachers)} and {len(self.students)}; "
                "give {name: model} of each"
            )
        if both := set(self.teachers) & set(self.students):
            raise SettingError(f"teachers and students must have different names, got {sorted(both)[0]!r} twice")
        _require(self.students, [self.headline_student], "main")
        if self.after is not None:
            _require(self.teachers, self.after[:1], "after")
            _require(self.students, self.after[1:], "after")
        return {**self.teachers, **self.students}


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRecord:
    """How the validation metric went while two models learned from each other.

    Parameters
    ----------
    history : DataFrame
        `BidirectionalDistillation.history_`; shown if any epoch was judged.
    warm_up : int
        `BidirectionalDistillation.warm_up_`.
    metric : str
        The validation metric.
    """

    history: pl.DataFrame
    warm_up: int = 0
    metric: str = "metric"

    __repr__ = fields_repr

    def curves(self) -> TrainingCurves | None:
        """What the page draws; None if no epoch was judged."""
        if not self.history["metric"].is_not_null().any():
            return None
        return prepare_training_curves(self.history, warm_up=self.warm_up, metric=_written(self.metric))


@dataclass(frozen=True)
class Measure:
    """One metric of one model, over all judged users."""

    value: Interval
    difference: float | None  # to the model of this size trained alone, paired by user; None: it is that model
    p_value: float | None

    @property
    def gain(self) -> float | None:
        """The difference as a share of what the model reaches alone; None where that is 0."""
        alone = None if self.difference is None else self.value.value - self.difference
        return None if self.difference is None or not alone else self.difference / alone

    @property
    def unchanged(self) -> bool:
        """Whether every user's value equals that of the model trained alone."""
        return self.difference == 0 and self.p_value == 1

    @property
    def clear(self) -> bool:
        """Whether the difference is significant at the 5% level."""
        return self.p_value is not None and self.p_value < _CLEAR


@dataclass(frozen=True)
class ModelRow:
    """Quality and cost of one model."""

    name: str
    role: str  # "teacher" or "student"
    about: str  # how it was trained, or ""
    measures: dict[str, Measure]  # by metric as the page writes it
    parameters: int | None
    seconds: float  # for the lists of all users


@dataclass(frozen=True, eq=False)
class Distillation:
    """The distillation part of a page before it is drawn."""

    teacher: str  # the first of each: trained alone
    student: str
    main: str  # the student of the headline
    metrics: tuple[str, ...]  # as the page writes them
    n_users: int  # judged
    n_items: int
    list_length: int  # of the lists that were timed
    rows: tuple[ModelRow, ...]
    comparison: MetricComparison  # by the first metric
    before: RankComparison  # of the two models trained alone
    after: RankComparison | None
    after_names: tuple[str, str] | None
    differences: RankDifferences
    scatter: RankScatter  # of the two models trained alone
    training: TrainingCurves | None

    __repr__ = fields_repr

    def row(self, name: str) -> ModelRow:
        """The row of a model."""
        return next(row for row in self.rows if row.name == name)


def gather_distillation(
    models: DistilledModels,
    test: Interactions,
    *,
    seen: Seen = None,
    training: TrainingRecord | None = None,
    metrics: Sequence[str] = METRICS,
    progress: Progress = silent,
) -> Distillation:
    """Judge large and small models on the same test items, and compare how they rank.

    Parameters
    ----------
    models : DistilledModels
        Judged on the users that all of them know.
    test : Interactions
    seen : Interactions or "nothing", optional
        Items that are not shown again: training log and validation items.
    training : TrainingRecord, optional
    metrics : sequence of str
        hit@K, ndcg@K, recall@K, precision@K for any K; the headline is about the first.
    progress : Progress

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> large, small = (MatrixSource(scores) for scores in rng.normal(size=(2, 40, 30)))
    >>> models = DistilledModels(teachers={"Teacher": large}, students={"Student": small})
    >>> found = gather_distillation(models, Interactions.from_matrix(np.eye(40, 30)), metrics=["hit@10"])
    >>> [(row.name, row.role) for row in found.rows], found.metrics
    ([('Teacher', 'teacher'), ('Student', 'student')], ('H@10',))
    """
    sources = models.checked()
    teacher, student = models.alone
    known = checked_seen(seen, *sources.values(), held_out=test)
    seen = "nothing" if known is None else known
    judged = _judged(sources, test, seen, metrics, progress)
    costs = inference_table(sources, length=LIST_LENGTH, seen=seen)
    written = {name: _written(name) for name in metrics}
    rows = tuple(_row(models, judged, written, *cost) for cost in costs.rows())
    pairs = {"before": models.alone} if models.after is None else {"before": models.alone, "after": models.after}
    compared = {
        label: compare_ranks(sources[large], sources[small], test, seen=seen, progress=progress)
        for label, (large, small) in pairs.items()
    }
    return Distillation(
        teacher=teacher,
        student=student,
        main=models.headline_student,
        metrics=tuple(written.values()),
        n_users=judged.height,
        n_items=compared["before"].n_items,
        list_length=LIST_LENGTH,
        rows=rows,
        comparison=_comparison(rows, written[metrics[0]]),
        before=compared["before"],
        after=compared.get("after"),
        after_names=models.after,
        differences=prepare_rank_differences(compared),
        scatter=rank_scatter(sources[teacher], sources[student], seen=seen, n_points=N_POINTS),
        training=None if training is None else training.curves(),
    )


def mean_interval(values: FloatArray) -> Interval:
    """The mean of values between 0 and 1, one per user, with its 95% interval."""
    mean = float(values.mean())
    side = _Z * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return Interval(mean, max(0.0, mean - side), min(1.0, mean + side))


def _require(models: Mapping[str, ScoreSource], names: Sequence[str], what: str) -> None:
    for name in names:
        if name not in models:
            raise SettingError(f"{what} must name one of the models {', '.join(models)}, got {name!r}")


def _judged(
    models: Mapping[str, ScoreSource],
    test: Interactions,
    seen: Seen,
    metrics: Sequence[str],
    progress: Progress,
) -> pl.DataFrame:
    """user_id, and a column per model and metric, for the users that all models know."""
    tables = [
        evaluate_ranking(model, test, seen=seen, metrics=metrics, progress=progress).per_user.rename(
            {metric: f"{metric} {name}" for metric in metrics}
        )
        for name, model in models.items()
    ]
    table = reduce(lambda left, right: left.join(right, on="user_id", how="inner", maintain_order="left"), tables)
    if not table.height:
        raise EmptyError("no user with a test item is known to all models; check that their user ids are of one kind")
    return table


def _row(
    models: DistilledModels,
    judged: pl.DataFrame,
    written: Mapping[str, str],
    name: str,
    parameters: int | None,
    seconds: float,
) -> ModelRow:
    student = name in models.students
    measures = {title: _measure(judged, metric, name, models.alone[student]) for metric, title in written.items()}
    return ModelRow(name, STUDENT if student else TEACHER, models.about.get(name, ""), measures, parameters, seconds)


def _measure(judged: pl.DataFrame, metric: str, name: str, alone: str) -> Measure:
    values = {each: judged[f"{metric} {each}"].to_numpy() for each in (name, alone)}
    value = mean_interval(values[name])
    if name == alone:
        return Measure(value, None, None)
    paired = PolicyComparison(metric, alone, np.arange(judged.height), {}, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all users gain the same: no spread, and p is 0
        return Measure(value, *paired.difference(name, alone))


def _comparison(rows: Sequence[ModelRow], metric: str) -> MetricComparison:
    """Students come first, so that they keep their colour in every figure."""
    ordered = sorted(rows, key=lambda row: row.role)
    return prepare_metric_comparison(
        {row.name: row.measures[metric].value for row in ordered},
        groups={row.name: row.role for row in ordered},
        metric=metric,
        larger_is_better=True,
    )


def _written(metric: str) -> str:
    """A metric as papers write it, such as H@50."""
    word, _, length = metric.partition("@")
    return f"{_LETTERS[word]}@{length}" if word in _LETTERS and length else metric


def distillation_headline(found: Distillation) -> Headline:
    """Whether the main student beats the same model trained alone, and how close it comes to its teacher."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    reached, wanted = main.measures[metric].value.value, teacher.measures[metric].value.value
    share = f"{reached / wanted:.0%} of " if wanted > 0 else ""
    detail = f"{main.name} reaches {metric} {error(reached)}, {share}{teacher.name}'s {error(wanted)}"
    if main is not alone:
        detail += f"; {alone.name}, trained alone, {error(alone.measures[metric].value.value)}"
    return Headline(_verdict(found, main), f"{detail}. Judged on {counted(found.n_users, 'user')}.{_of_teacher(found)}")


def distillation_tiles(found: Distillation) -> tuple[Tile, ...]:
    """The four numbers under the headline."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    before = found.before
    average, note = error(before.average_difference), "both trained alone"
    if found.after is not None:
        average, note = error(found.after.average_difference), f"{average} before distillation"
    tiles = (
        Tile("student size", _size(main, teacher), _counts(main, teacher)),
        Tile(
            "student beats teacher",
            spoken_percent(before.student_better),
            "of test interactions, trained alone",
        ),
        Tile("average rank difference", average, note),
    )
    measure = main.measures[metric]
    if main is alone:
        return (*tiles, Tile(metric, error(measure.value.value), main.name))
    values = f"{error(alone.measures[metric].value.value)} → {error(measure.value.value)}"
    note = f"{alone.name} → {main.name}, p {chance(measure.p_value or 0.0)}"
    return (*tiles, Tile(f"{metric} alone → distilled", values, note, verdict(measure.difference, clear=measure.clear)))


def _verdict(found: Distillation, main: ModelRow) -> str:
    measure = main.measures[found.metrics[0]]
    small = _share(main, found.row(found.teacher))
    if measure.difference is None:
        return f"A student{small} compared with its teacher."
    if not measure.clear:
        return f"{main.name}{small} shows no clear difference from the same model trained alone."
    how = "better" if measure.difference > 0 else "worse"
    much = "clearly" if measure.gain is None else f"{abs(measure.gain):.0%}"
    return f"{main.name}{small} ranks {much} {how} than the same model trained alone."


def _of_teacher(found: Distillation) -> str:
    """What the teacher gained, if it learned too."""
    if found.after_names is None or found.after_names[0] == found.teacher:
        return ""
    measure: Measure = found.row(found.after_names[0]).measures[found.metrics[0]]
    if measure.unchanged:
        return " The teacher is unchanged: no epoch of joint training improved it on the validation set."
    if not measure.clear or measure.difference is None:
        return " The teacher shows no clear gain or loss."
    how = "gains" if measure.difference > 0 else "loses"
    return f" The teacher {how} {error(abs(measure.difference))} {found.metrics[0]}."


def _share(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return ""
    return f", with {spoken_percent(small.parameters / large.parameters)} of the teacher's parameters,"


def _size(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return "–"
    return spoken_percent(small.parameters / large.parameters)


def _counts(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return "number of parameters unknown"
    return f"{count(small.parameters)} parameters; the teacher has {count(large.parameters)}"
