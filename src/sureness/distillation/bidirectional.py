"""Bidirectional distillation as people use it: two recommenders in, two better ones out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import polars as pl

from sureness._progress import Progress, silent
from sureness._settings import Configurable, written
from sureness.data.interactions import Interactions
from sureness.distillation.settings import DistillationSettings, SettingValue
from sureness.models.base import checked_validation, need_torch
from sureness.sources.base import ScoreSource

if TYPE_CHECKING:
    from sureness.distillation.joint import JointTraining

T = TypeVar("T", bound=ScoreSource)  # the kind of the teacher
S = TypeVar("S", bound=ScoreSource)  # the kind of the student

_HISTORY = {"epoch": pl.Int64, "model": pl.String, "loss": pl.Float64, "metric": pl.Float64, "seconds": pl.Float64}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _Pair(DistillationSettings, Generic[T, S]):
    """The settings with the two models they are for; its fields are the arguments of BidirectionalDistillation."""

    teacher: T = field(kw_only=False)
    student: S = field(kw_only=False)


class BidirectionalDistillation(Configurable, _Pair[T, S]):
    """A large and a small recommender train each other on the items they rank most differently.

    Each learns with its own loss plus the soft labels of the other on drawn items. A recommender that is fitted already
    starts from its weights. The given models are never changed: the results are `teacher_` and `student_`. A fixed
    model (``teacher_learns=False``) may be any source of scores, also one that knows other users and items; then it
    teaches only what it knows, and `teacher_` is the given object.

    Parameters
    ----------
    teacher, student : Recommender
        Of any size and kind; a fixed one may be any ScoreSource.
    to_teacher, to_student : Direction
        How the other model's soft labels enter the loss of the teacher, and of the student.
    warm_up : int
        Epochs that an unfitted model first trains alone.
    fitted_rate : float
        Learning rate of a fitted model as a share of its own, since its optimiser starts afresh.
    end_rate : float
        Share of the rate after the last joint epoch, to which it falls evenly.
    epochs : int
        Of joint training, at most.
    refresh_every : int
        Epochs between two refreshes of the ranks.
    guides : "current" or "best"
        Which weights supply soft labels: current ones, or the best so far at the last refresh.
    validate_every, patience : int
        Epochs between validations, and validations without improvement before a model stops learning.
    teacher_learns, student_learns : bool
        False keeps a model fixed.
    student_start : "own" or "svd"
        "svd" starts the student from the truncated singular vectors of the teacher.
    seed : int

    Attributes
    ----------
    teacher_, student_ : ScoreSource
        What was learned; recommenders of the kinds that were given.
    history_ : DataFrame
        One row per epoch and model: epoch, model, loss, metric, seconds.
    warm_up_ : int
        Epochs that were spent alone.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.models.bpr import BPR
    >>> log = Interactions.from_matrix(simulate(SimulatorSettings(n_users=200, n_items=60)).train)
    >>> both = BidirectionalDistillation(BPR(n_factors=16), BPR(n_factors=2), warm_up=5, epochs=5).fit(log)
    >>> both.teacher_.n_parameters, both.student_.n_parameters
    (4160, 520)
    """

    teacher_: T
    student_: S
    history_: pl.DataFrame
    warm_up_: int

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other  # an estimator, not a value: two with equal settings may have learned different things

    @classmethod
    def from_settings(cls, teacher: T, student: S, settings: DistillationSettings) -> Self:
        """With the settings of a method.

        Examples
        --------
        >>> from sureness.distillation.settings import distillation_method
        >>> from sureness.models.bpr import BPR
        >>> settings = distillation_method("bd-best", epochs=50)
        >>> BidirectionalDistillation.from_settings(BPR(n_factors=50), BPR(n_factors=5), settings).guides
        'best'
        """
        return cls(teacher, student, **_values(settings))

    @property
    def settings(self) -> DistillationSettings:
        """The settings alone, without the models."""
        return DistillationSettings(**_values(self))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Models and settings by name; with `deep` also those of each direction, as ``to_student__weight``."""
        params = super().get_params(deep=False)
        if deep:
            for name in ("to_teacher", "to_student"):
                params |= {f"{name}__{inner}": value for inner, value in asdict(params[name]).items()}
        return params

    def set_params(self, **settings: SettingValue | ScoreSource) -> Self:
        """Change models or settings by name; learned values stay until the next fit."""
        changed = self.changed(**settings)  # type: ignore[arg-type]
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(changed, each.name))
        return self

    def __repr__(self) -> str:
        default = _values(DistillationSettings())
        changed = [f"{name}={value!r}" for name, value in _values(self).items() if value != default[name]]
        return f"{type(self).__name__}({', '.join([written(self.teacher), written(self.student), *changed])})"

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
        progress: Progress = silent,
    ) -> Self:
        """Train both models together.

        Parameters
        ----------
        train : Interactions
        validation : Interactions, optional
            Each model stops when its metric on these stops rising, and its best epoch is kept. Without it, all epochs
            are run.
        checkpoint : path, optional
            Interrupted training resumes from this file. It is written at most every `checkpoint_seconds`, and is whole
            at any moment.
        checkpoint_seconds : float
        progress : Progress
        """
        joint = self._training(train, validation)
        joint.run(None if checkpoint is None else joint.checkpoint_file(checkpoint, checkpoint_seconds), progress)
        self.history_ = pl.DataFrame(joint.history, schema=_HISTORY)
        self.warm_up_ = joint.warm_up
        teacher, student = (each.result() for each in joint.participants)
        self.teacher_, self.student_ = cast(T, teacher), cast(S, student)
        return self

    def check(
        self, train: Interactions, validation: Interactions | None = None, *, assume_fitted: bool = False
    ) -> None:
        """Refuse what cannot be distilled, without training anything.

        Parameters
        ----------
        train, validation : Interactions
            As for `fit`.
        assume_fitted : bool
            Models that are not fitted yet will be fitted on `train` before `fit` is called.
        """
        self._training(train, validation, assume_fitted=assume_fitted)

    def _training(
        self, train: Interactions, validation: Interactions | None, *, assume_fitted: bool = False
    ) -> JointTraining:
        need_torch("distillation")
        from sureness.distillation.joint import JointTraining
        from sureness.distillation.participants import participant

        validation = checked_validation(train, validation)
        teacher = participant("teacher", self.teacher, train, self.settings, assume_fitted=assume_fitted)
        student = participant("student", self.student, train, self.settings, assume_fitted=assume_fitted)
        return JointTraining(teacher, student, train, validation, self.settings)


def _values(settings: DistillationSettings) -> dict[str, Any]:
    return {each.name: getattr(settings, each.name) for each in fields(DistillationSettings)}
